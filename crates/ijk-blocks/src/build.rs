//! Builds terms.

use crate::aggregation::IntoAggregation;
use crate::function::IntoFunction;
use crate::store::{Literal, MemoryStore, Recut, RecutCost, Source};
use crate::term::{Kind, Positions, Term};
use crate::{
    Aggregation, BigTensor, Block, ElementType, Error, Problem, Type, TypeError, Value, rules,
};
use ijk_tensor::Tensor;
use ijk_types::{BinaryOp, DType, Element};
use ndarray::{Array, Dimension};
use std::sync::Arc;

/// Bytes of stored blocks that `reblock` keeps.
const KEPT: u64 = 64 << 20;

/// Tensors that are not computed from others.
impl BigTensor {
    /// `lit([e…], d, b)`: elements in C order.
    ///
    /// # Errors
    /// If there are more or fewer elements than the dimensions have, or as many blocks as there are not
    /// dimensions.
    ///
    /// ```
    /// use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit([1, 2, 3, 4, 5, 6], [2, 3], [None, Some(2)])?;
    /// assert_eq!(u.ty().to_string(), "([2, 3], [⊥, 2], i32)");
    /// let error = BigTensor::lit([1, 2, 3], [2, 3], [None, None]).unwrap_err();
    /// assert!(error.to_string().contains("the dimensions have 6 elements, but 3 are given"));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn lit<T: Element>(
        elements: impl IntoIterator<Item = T>,
        dims: impl AsRef<[usize]>,
        blocks: impl AsRef<[Option<usize>]>,
    ) -> Result<Self, Error> {
        let elements: Vec<T> = elements.into_iter().collect();
        let (dims, count) = (dims.as_ref(), Some(elements.len()));
        let ty = rules::literal(dims, blocks.as_ref(), T::DTYPE.into(), count)?;
        Ok(Self::whole(Block::Numbers(Tensor::from_vec(elements, dims)?), ty))
    }

    /// The same of elements that may be lists, all of one type.
    ///
    /// # Errors
    /// As for [`lit`](Self::lit); also if elements are of different types, or there is none.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, Value};
    /// let lists = [Value::list([1.0, 2.0]), Value::list::<f64>([])];
    /// assert_eq!(BigTensor::lit_values(lists, [2], [None])?.ty().to_string(), "([2], [⊥], array(f64))");
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn lit_values(
        elements: impl IntoIterator<Item = Value>,
        dims: impl AsRef<[usize]>,
        blocks: impl AsRef<[Option<usize>]>,
    ) -> Result<Self, Error> {
        let elements: Vec<Value> = elements.into_iter().collect();
        let element = elements.first().map(Value::element_type);
        let none = || TypeError::new("lit([…], d, b)", Vec::new(), Problem::NoElement);
        Self::lit_of(element.ok_or_else(none)?, elements, dims, blocks)
    }

    /// The same of elements of a type that is given, also where there is none of them.
    ///
    /// # Errors
    /// As for [`lit`](Self::lit); also if an element is of another type.
    ///
    /// ```
    /// use ijk_blocks::BigTensor;
    /// use ijk_types::DType;
    /// let empty = BigTensor::lit_of(DType::F64.into(), [], [0, 3], [None, Some(2)])?;
    /// assert_eq!(empty.ty().to_string(), "([0, 3], [⊥, 2], f64)");
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn lit_of(
        expected: ElementType,
        elements: impl IntoIterator<Item = Value>,
        dims: impl AsRef<[usize]>,
        blocks: impl AsRef<[Option<usize>]>,
    ) -> Result<Self, Error> {
        let elements: Vec<Value> = elements.into_iter().collect();
        let refuse = |problem| Error::from(TypeError::new("lit([…], d, b)", Vec::new(), problem));
        if let Some(at) = elements.iter().position(|value| !value.is_of(&expected)) {
            let found = elements[at].element_type();
            return Err(refuse(Problem::Element { at, expected, found }));
        }
        let (dims, count) = (dims.as_ref(), Some(elements.len()));
        let ty = rules::literal(dims, blocks.as_ref(), expected, count)?;
        Ok(Self::whole(Block::from_values(&ty.element, dims, elements)?, ty))
    }

    /// An array of ndarray's, without a copy where it is in C order.
    ///
    /// # Errors
    /// If there are not as many blocks as axes.
    pub fn from_array<T: Element, D: Dimension>(
        array: Array<T, D>,
        blocks: impl AsRef<[Option<usize>]>,
    ) -> Result<Self, Error> {
        Self::from_tensor(Tensor::from_array(array), blocks)
    }

    /// A tensor in memory.
    ///
    /// # Errors
    /// If there are not as many blocks as axes.
    pub fn from_tensor(tensor: Tensor, blocks: impl AsRef<[Option<usize>]>) -> Result<Self, Error> {
        let ty = rules::literal(tensor.shape(), blocks.as_ref(), tensor.dtype().into(), None)?;
        Ok(Self::whole(Block::Numbers(tensor), ty))
    }

    /// Zeros, of which no block is stored.
    ///
    /// # Errors
    /// If there are not as many blocks as dimensions.
    pub fn zeros(
        dtype: DType,
        dims: impl AsRef<[usize]>,
        blocks: impl AsRef<[Option<usize>]>,
    ) -> Result<Self, Error> {
        let ty = rules::literal(dims.as_ref(), blocks.as_ref(), dtype.into(), None)?;
        Self::from_source(MemoryStore::new(ty))
    }

    /// Blocks from wherever they come.
    ///
    /// # Errors
    /// If the source's type is none: as many blocks as there are not dimensions.
    pub fn from_source(source: impl Source + 'static) -> Result<Self, Error> {
        let Type { dims, blocks, element } = source.ty().clone();
        let ty = rules::literal(&dims, &blocks, element, None)?;
        Ok(Self::new(Kind::Source(Arc::new(source)), Vec::new(), ty))
    }

    fn whole(block: Block, ty: Type) -> Self {
        Self::new(Kind::Source(Arc::new(Literal::new(block))), Vec::new(), ty)
    }
}

/// Tensors computed from others. Operators `+ - * /` on references give a `Result`, too.
impl BigTensor {
    /// `u op v`, element by element.
    ///
    /// # Errors
    /// If dimensions or element types differ, or blocks are not compatible.
    ///
    /// ```
    /// use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit(0..6, [6], [Some(2)])?;
    /// let v = BigTensor::lit(0..6, [6], [Some(3)])?;
    /// let error = (&u + &v).unwrap_err().to_string();
    /// assert_eq!(error, "\
    /// u + v: axis 0 of u has blocks of 2 but axis 0 of v has blocks of 3
    ///   u: ([6], [2], i32)
    ///   v: ([6], [3], i32)
    ///   hint: reblock(v, [2]) has blocks that fit");
    /// assert_eq!((&u + &v.reblock([Some(2)])?)?.ty(), u.ty());
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn zip(&self, op: Zip, v: &BigTensor) -> Result<Self, Error> {
        let op = op.operator();
        let ty = rules::zip(op, self.ty(), v.ty())?;
        Ok(Self::new(Kind::Zip(op), vec![self.clone(), v.clone()], ty))
    }

    /// `max(u, v)`.
    ///
    /// # Errors
    /// As for [`zip`](Self::zip).
    pub fn max(&self, v: &BigTensor) -> Result<Self, Error> {
        self.zip(Zip::Max, v)
    }

    /// `min(u, v)`.
    ///
    /// # Errors
    /// As for [`zip`](Self::zip).
    pub fn min(&self, v: &BigTensor) -> Result<Self, Error> {
        self.zip(Zip::Min, v)
    }

    /// `bc(u, d', b')`: repeated to dimensions that are whole multiples, with new ones on the left.
    ///
    /// # Errors
    /// If a dimension is no whole multiple, or blocks are not compatible.
    ///
    /// ```
    /// use ijk_blocks::BigTensor;
    /// let row = BigTensor::lit([1, 2], [2], [None])?;
    /// let rows = row.bc([2, 4], [Some(1), None])?.collect()?;
    /// assert_eq!(rows.as_numbers().unwrap().as_slice::<i32>(), Some(&[1, 2, 1, 2, 1, 2, 1, 2][..]));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn bc(
        &self,
        dims: impl AsRef<[usize]>,
        blocks: impl AsRef<[Option<usize>]>,
    ) -> Result<Self, Error> {
        let ty = rules::broadcast(self.ty(), dims.as_ref(), blocks.as_ref())?;
        Ok(Self::new(Kind::Broadcast, vec![self.clone()], ty))
    }

    /// `select(u, {e_i})`: some positions of each axis.
    ///
    /// # Errors
    /// If there are not as many sets as axes, or a position is not on its axis, or they do not ascend.
    pub fn select(&self, positions: impl IntoIterator<Item = Positions>) -> Result<Self, Error> {
        let positions: Vec<Positions> = positions.into_iter().collect();
        let ty = rules::select(self.ty(), &positions)?;
        Ok(Self::new(Kind::Select(positions), vec![self.clone()], ty))
    }

    /// `map(f, u)`: a function of each element: see [`Function`](crate::Function).
    ///
    /// # Errors
    /// If the text is no function, or the function does not take the elements.
    ///
    /// ```
    /// # use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit([1, 2], [2], [None])?;
    /// assert_eq!(u.map("f64(x) / 2")?.ty().to_string(), "([2], [⊥], f64)");
    /// assert!(u.map("sqrt(x)").unwrap_err().to_string().contains("`sqrt` does not take i32"));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn map(&self, function: impl IntoFunction) -> Result<Self, Error> {
        let function = function.into_function()?;
        let ty = rules::map(&function, self.ty())?;
        let function = function.of(self.element_type());
        Ok(Self::new(Kind::Map(function), vec![self.clone()], ty))
    }

    /// `contract(u, v, i, j)`: the sum of products along axis `i` of this and axis `j` of the other.
    ///
    /// # Errors
    /// As for [`contract_by`](Self::contract_by).
    pub fn contract(&self, v: &BigTensor, i: usize, j: usize) -> Result<Self, Error> {
        self.contract_by(v, i, j, Aggregation::sum_of_products())
    }

    /// `contract(u, v, i, j, +, *)`: pairs of elements along axis `i` of this and axis `j` of the other,
    /// folded: see [`Aggregation`]. The result has the other axes of this, then those of the other.
    ///
    /// # Errors
    /// If there is no such axis, the axes have different extents, their blocks are not compatible, or the
    /// aggregation does not take the elements.
    ///
    /// ```
    /// # use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit([0.0, 3.0, 1.0, 0.0], [2, 2], [Some(1), Some(1)])?;
    /// let v = BigTensor::lit([1.0, 2.0], [2], [None])?;
    /// let longest = u.contract_by(&v, 1, 0, "max(l + r)")?;
    /// assert_eq!(longest.collect()?.as_numbers().unwrap().as_slice::<f64>(), Some(&[5.0, 2.0][..]));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn contract_by(
        &self,
        v: &BigTensor,
        i: usize,
        j: usize,
        aggregation: impl IntoAggregation,
    ) -> Result<Self, Error> {
        let aggregation = aggregation.into_aggregation()?;
        let ty = rules::contract(self.ty(), v.ty(), i, j, &aggregation)?;
        let aggregation = aggregation.of_elements(self.element_type(), v.element_type());
        let kind = Kind::Contract { i, j, aggregation };
        Ok(Self::new(kind, vec![self.clone(), v.clone()], ty))
    }

    /// `u @ v`: the last axis of this with the first of the other.
    ///
    /// # Errors
    /// As for [`contract`](Self::contract).
    pub fn matmul(&self, v: &BigTensor) -> Result<Self, Error> {
        self.contract(v, self.ty().rank().saturating_sub(1), 0)
    }

    /// `reblock(u, b')`: the same elements in other blocks.
    ///
    /// # Errors
    /// If there are not as many blocks as axes, or one is 0.
    pub fn reblock(&self, blocks: impl AsRef<[Option<usize>]>) -> Result<Self, Error> {
        let ty = rules::reblock(self.ty(), blocks.as_ref())?;
        let keep = self.term.recuts.unwrap_or(KEPT);
        Ok(Self::new(Kind::Reblock { keep }, vec![self.clone()], ty))
    }

    /// The same tensor, with permission to re-cut it, and what is computed from it, where its blocks do not fit: where
    /// an index has other blocks in another operand of [`einsum`](Self::einsum) or a program, and where an axis has to
    /// be whole. `keep` limits the bytes of stored blocks that are cached while they are cut apart, so that they are
    /// not read again and again.
    ///
    /// ```
    /// use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit((0..36).map(f64::from), [6, 6], [Some(2), Some(2)])?.recut_to_fit(1 << 20);
    /// let v = BigTensor::lit((0..36).map(f64::from), [6, 6], [Some(3), Some(3)])?;
    /// let product = BigTensor::einsum("ij,jk->ik", &[&u, &v])?;
    /// assert_eq!(product.ty().to_string(), "([6, 6], [2, 3], f64)");
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    #[must_use]
    pub fn recut_to_fit(&self, keep: u64) -> Self {
        let Term { kind, operands, ty, .. } = &*self.term;
        let (kind, operands, ty) = (kind.clone(), operands.clone(), ty.clone());
        Self { term: Arc::new(Term { kind, operands, ty, recuts: Some(keep) }) }
    }

    /// In other blocks; what is computed of each element is computed after that.
    pub(crate) fn recut(&self, blocks: &[Option<usize>]) -> Result<Self, Error> {
        match &self.term.kind {
            Kind::Map(function) => {
                let operand = self.term.operands[0].recut(blocks)?;
                let ty = Type { blocks: blocks.into(), ..self.ty().clone() };
                Ok(Self::new(Kind::Map(function.clone()), vec![operand], ty))
            }
            _ => self.reblock(blocks),
        }
    }

    /// The stored arrays that are read in other blocks, and what that costs: each once for each cut.
    pub fn recuts(&self) -> Vec<RecutCost> {
        let mut all: Vec<RecutCost> = Vec::new();
        for tensor in self.terms() {
            let (Kind::Reblock { keep }, [of]) = (&tensor.term.kind, &tensor.term.operands[..])
            else {
                continue;
            };
            let Kind::Source(source) = &of.term.kind else { continue };
            if source.path().is_none() || source.ty().blocks == tensor.ty().blocks {
                continue;
            }
            let cost = RecutCost::new(source, &tensor.ty().blocks, *keep);
            if !all.contains(&cost) {
                all.push(cost);
            }
        }
        all
    }

    /// The tensor as a re-cut, if it reads stored blocks in parts.
    pub(crate) fn as_recut(&self) -> Option<Recut> {
        let (Kind::Reblock { keep }, [of]) = (&self.term.kind, &self.term.operands[..]) else {
            return None;
        };
        let Kind::Source(source) = &of.term.kind else { return None };
        Recut::new(source, self.ty(), *keep)
    }

    /// Element of its missing blocks. A sink with this fill value omits blocks to which nothing was added. None where
    /// the element has to be computed.
    ///
    /// ```
    /// # use ijk_blocks::{BigTensor, Value};
    /// let u = BigTensor::zeros(ijk_types::DType::I32, [4], [Some(2)])?;
    /// assert_eq!(u.map("x + 1")?.fill(), Some(Value::number(1)));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn fill(&self) -> Option<Value> {
        crate::BlockPlan::new(self).stages.last()?.identity.clone()
    }

    /// Type of its elements.
    pub fn element_type(&self) -> &ElementType {
        &self.ty().element
    }
}

/// The operators that combine tensors element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Zip {
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
}

impl Zip {
    /// Every one.
    pub const ALL: [Self; 6] = [Self::Add, Self::Sub, Self::Mul, Self::Div, Self::Max, Self::Min];

    /// As a function of two numbers.
    pub const fn operator(self) -> BinaryOp {
        match self {
            Self::Add => BinaryOp::Add,
            Self::Sub => BinaryOp::Sub,
            Self::Mul => BinaryOp::Mul,
            Self::Div => BinaryOp::Div,
            Self::Max => BinaryOp::Max,
            Self::Min => BinaryOp::Min,
        }
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident;)*) => {$(
        impl std::ops::$Trait<&BigTensor> for &BigTensor {
            type Output = Result<BigTensor, Error>;

            fn $method(self, v: &BigTensor) -> Self::Output {
                self.zip(Zip::$Trait, v)
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}
