//! Functions that `map` applies to each element.

use crate::component;
use crate::{Block, ElementType, Error, Formula, Problem, TextError, Value};
use ijk_ir::core::Program;
use ijk_tensor::Tensor;
use ijk_types::{Element, UnaryOp};
use std::fmt;
use std::sync::Arc;

/// A function of one element, for [`BigTensor::map`](crate::BigTensor::map); cheap to clone.
///
/// Text is a formula of `x`, or an i expression of one array of rank 0; a [`Formula`] or a
/// [`UnaryOp`] stands for itself. Closures are for one process. Of elements that are lists, `len(x)`, `sum(x)`
/// and the like fold each, and `x + 1` is of each element of each.
///
/// ```
/// use ijk_blocks::{BigTensor, Formula, Function};
/// # let lists = [ijk_blocks::Value::list([1, 2]), ijk_blocks::Value::list([3])];
/// # let lists = BigTensor::lit_values(lists, [2], [None])?;
/// assert_eq!(lists.map("sum(x) > 2")?.ty().to_string(), "([2], [⊥], bool)");
/// let u = BigTensor::lit([1.0, 4.0], [2], [None])?;
/// let text = u.map("sqrt(x) + 1")?;
/// let i = u.map("@sqrt .~. . .+1~.")?;
/// let traced = u.map(Formula::trace(|x| x * 2.0))?;
/// let closure = u.map(Function::closure(|x: f64| x as i64))?;
/// assert_eq!(text.ty(), i.ty());
/// assert_eq!(closure.ty().to_string(), "([2], [⊥], i64)");
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Clone)]
pub struct Function {
    pub(crate) kind: Kind,
}

#[derive(Clone)]
pub(crate) enum Kind {
    /// A formula, computed by the engine.
    Formula(Arc<Formula>),
    /// A closure of whole blocks, or of elements one by one.
    Closure(Arc<dyn Elementwise>),
}

/// A function of the elements of a block.
pub(crate) trait Elementwise: Send + Sync {
    /// Name in messages.
    fn name(&self) -> String;
    /// The result type for elements of a type, if it accepts them.
    fn result(&self, of: &ElementType) -> Result<ElementType, Problem>;
    /// Applies it to each element.
    fn apply(&self, block: &Block) -> Result<Block, Error>;
}

impl Function {
    /// Reads a formula of `x`, or an i expression of one array of rank 0.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        // Every index expression has a `~`, and no formula has one.
        match text.contains('~') {
            true => component::function(text),
            false => Ok(Formula::parse(text, &["x"])?.into()),
        }
    }

    /// The function of a lowered program in i of one array of rank 0.
    ///
    /// # Errors
    /// If it is none.
    pub fn of_program(program: &Program) -> Result<Self, TextError> {
        component::function_of(program)
    }

    /// A closure of numbers.
    pub fn closure<T: Element, U: Element>(f: impl Fn(T) -> U + Send + Sync + 'static) -> Self {
        Self { kind: Kind::Closure(Arc::new(NumberClosure { f, types: std::marker::PhantomData })) }
    }

    /// A closure of elements of one type, lists included, whose results have another.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, ElementType, Function, Value};
    /// use ijk_types::DType;
    /// let lists = BigTensor::lit_values([Value::list([1, 2]), Value::list::<i32>([])], [2], [None])?;
    /// let length = |list: &Value| Value::number(list.as_list().map_or(0, |l| l.items().len()) as i64);
    /// let lengths = lists.map(Function::of_values(
    ///     ElementType::array(DType::I32.into()), DType::I64.into(), length,
    /// ))?;
    /// assert_eq!(lengths.collect()?.values(), [Value::number(2i64), Value::number(0i64)]);
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn of_values(
        from: ElementType,
        to: ElementType,
        f: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self { kind: Kind::Closure(Arc::new(ValueClosure { from, to, f })) }
    }

    /// The result type for elements of a type.
    pub(crate) fn result(&self, of: &ElementType) -> Result<ElementType, Problem> {
        match &self.kind {
            Kind::Closure(closure) => closure.result(of),
            Kind::Formula(formula) => {
                formula.result_of(std::slice::from_ref(of)).map_err(Problem::Formula)
            }
        }
    }

    /// The same for elements of an accepted type: the engine computes with numbers only.
    pub(crate) fn of(self, element: &ElementType) -> Self {
        match (&self.kind, element) {
            (Kind::Formula(formula), ElementType::Array(_)) => {
                let (formula, from) = (Arc::clone(formula), element.clone());
                Self { kind: Kind::Closure(Arc::new(ListFormula { formula, from })) }
            }
            _ => self,
        }
    }
}

fn takes(what: &impl fmt::Display, expected: impl Into<String>, of: &ElementType) -> Problem {
    let (what, expected) = (what.to_string(), expected.into());
    Problem::Takes { what, expected, found: of.to_string() }
}

impl From<Formula> for Function {
    fn from(formula: Formula) -> Self {
        Self { kind: Kind::Formula(Arc::new(formula)) }
    }
}

impl From<UnaryOp> for Function {
    fn from(op: UnaryOp) -> Self {
        Formula::unary(op, Formula::variable(0)).into()
    }
}

impl std::str::FromStr for Function {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::parse(text)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Formula(formula) => formula.display(&["x"]).fmt(f),
            Kind::Closure(closure) => f.write_str(&closure.name()),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({self})")
    }
}

/// Argument of [`BigTensor::map`](crate::BigTensor::map): a function or its text.
pub trait IntoFunction {
    /// The function.
    ///
    /// # Errors
    /// If a text is none.
    fn into_function(self) -> Result<Function, TextError>;
}

macro_rules! into_function {
    ($($T:ty)*) => {$(
        impl IntoFunction for $T {
            fn into_function(self) -> Result<Function, TextError> {
                Ok(self.into())
            }
        }
    )*};
}

into_function! { Function Formula UnaryOp }

impl IntoFunction for &str {
    fn into_function(self) -> Result<Function, TextError> {
        Function::parse(self)
    }
}

impl IntoFunction for &Function {
    fn into_function(self) -> Result<Function, TextError> {
        Ok(self.clone())
    }
}

struct NumberClosure<T, U, F> {
    f: F,
    types: std::marker::PhantomData<fn(T) -> U>,
}

impl<T: Element, U: Element, F: Fn(T) -> U + Send + Sync> Elementwise for NumberClosure<T, U, F> {
    fn name(&self) -> String {
        format!("|x: {}| …", T::DTYPE)
    }

    fn result(&self, of: &ElementType) -> Result<ElementType, Problem> {
        match *of == ElementType::Number(T::DTYPE) {
            true => Ok(U::DTYPE.into()),
            false => Err(takes(&self.name(), T::DTYPE.name(), of)),
        }
    }

    fn apply(&self, block: &Block) -> Result<Block, Error> {
        let numbers = block.as_numbers().and_then(|tensor| tensor.as_slice::<T>());
        let results = numbers.unwrap_or_default().iter().map(|&x| (self.f)(x)).collect();
        Ok(Block::Numbers(Tensor::from_vec::<U>(results, block.shape())?))
    }
}

struct ValueClosure<F> {
    from: ElementType,
    to: ElementType,
    f: F,
}

impl<F: Fn(&Value) -> Value + Send + Sync> Elementwise for ValueClosure<F> {
    fn name(&self) -> String {
        format!("|x: {}| …", self.from)
    }

    fn result(&self, of: &ElementType) -> Result<ElementType, Problem> {
        match *of == self.from {
            true => Ok(self.to.clone()),
            false => Err(takes(&self.name(), self.from.to_string(), of)),
        }
    }

    fn apply(&self, block: &Block) -> Result<Block, Error> {
        let results: Vec<Value> = block.values().iter().map(|value| (self.f)(value)).collect();
        promised(&self.name(), &self.to, &results)?;
        Ok(Block::from_values(&self.to, block.shape(), results)?)
    }
}

/// A formula of lists.
struct ListFormula {
    formula: Arc<Formula>,
    from: ElementType,
}

impl Elementwise for ListFormula {
    fn name(&self) -> String {
        self.formula.display(&["x"]).to_string()
    }

    fn result(&self, of: &ElementType) -> Result<ElementType, Problem> {
        self.formula.result_of(std::slice::from_ref(of)).map_err(Problem::Formula)
    }

    fn apply(&self, block: &Block) -> Result<Block, Error> {
        let from = std::slice::from_ref(&self.from);
        let to = self.formula.result_of(from).unwrap_or_else(|_| self.from.clone());
        let apply = |value: &Value| self.formula.evaluate_lists(&[value], from);
        let results = block.values().iter().map(apply).collect::<Result<Vec<_>, _>>()?;
        Ok(Block::from_values(&to, block.shape(), results)?)
    }
}

/// Checks that a closure returned values of the type that it declares.
pub(crate) fn promised(what: &str, expected: &ElementType, values: &[Value]) -> Result<(), Error> {
    match values.iter().find(|value| !value.is_of(expected)) {
        None => Ok(()),
        Some(value) => {
            let (found, expected) = (value.element_type(), expected.clone());
            Err(Error::Closure { what: what.into(), found, expected })
        }
    }
}
