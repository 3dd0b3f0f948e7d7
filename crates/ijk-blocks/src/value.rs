//! Elements and blocks of them.

use crate::ElementType;
use ijk_tensor::{Tensor, TensorError};
use ijk_types::{DType, Element, Scalar};
use std::fmt;
use std::sync::Arc;

/// An element of a block tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number or bool.
    Number(Scalar),
    /// A list.
    List(List),
}

/// A list of elements of one type; cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    of: ElementType,
    items: Arc<[Value]>,
}

impl Value {
    /// A number.
    ///
    /// ```
    /// use ijk_blocks::{ElementType, Value};
    /// use ijk_types::DType;
    /// assert_eq!(Value::number(2.5).element_type(), ElementType::Number(DType::F64));
    /// ```
    pub fn number<T: Element>(value: T) -> Self {
        Self::Number(value.into_scalar())
    }

    /// A list of numbers.
    ///
    /// ```
    /// use ijk_blocks::Value;
    /// assert_eq!(Value::list([1, 2]).to_string(), "[1, 2]");
    /// assert_eq!(Value::list::<f32>([]).element_type().to_string(), "array(f32)");
    /// ```
    pub fn list<T: Element>(values: impl IntoIterator<Item = T>) -> Self {
        let items = values.into_iter().map(Value::number).collect();
        Self::List(List { of: ElementType::Number(T::DTYPE), items })
    }

    /// A list of values, if all are of that type.
    pub fn list_of(of: ElementType, items: impl IntoIterator<Item = Value>) -> Option<Self> {
        let items: Arc<[Value]> = items.into_iter().collect();
        let fits = items.iter().all(|item| item.is_of(&of));
        fits.then_some(Self::List(List { of, items }))
    }

    /// Its type.
    pub fn element_type(&self) -> ElementType {
        match self {
            Self::Number(scalar) => ElementType::Number(scalar.dtype()),
            Self::List(list) => ElementType::array(list.of.clone()),
        }
    }

    /// Returns true if the value has that type.
    pub fn is_of(&self, element: &ElementType) -> bool {
        match (self, element) {
            (Self::Number(scalar), ElementType::Number(dtype)) => scalar.dtype() == *dtype,
            (Self::List(list), ElementType::Array(of)) => list.of == **of,
            _ => false,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Scalar> {
        match self {
            Self::Number(scalar) => Some(*scalar),
            Self::List(_) => None,
        }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Self::Number(_) => None,
            Self::List(list) => Some(list),
        }
    }

    /// The zero of a type: 0, false, or the empty list.
    pub(crate) fn zero(element: &ElementType) -> Self {
        match element {
            ElementType::Number(dtype) => Self::Number(Scalar::zero(*dtype)),
            ElementType::Array(of) => Self::List(List { of: (**of).clone(), items: Arc::from([]) }),
        }
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        Self::Number(scalar)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(scalar) => scalar.fmt(f),
            Self::List(list) => {
                let items: Vec<String> = list.items.iter().map(Value::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

impl List {
    /// The type of its items.
    pub fn of(&self) -> &ElementType {
        &self.of
    }

    /// Items of the list.
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

/// A block: a dense array of numbers or of lists.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Numbers.
    Numbers(Tensor),
    /// Lists.
    Lists(Lists),
}

/// A dense array of lists in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Lists {
    /// Type of the items of each list.
    pub of: ElementType,
    /// The extent of each axis.
    pub shape: Vec<usize>,
    /// The elements, the last axis fastest.
    pub items: Vec<Value>,
}

impl Block {
    /// A block that holds one value everywhere.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn full(value: &Value, shape: &[usize]) -> Result<Self, TensorError> {
        match value {
            Value::Number(scalar) => Ok(Self::Numbers(Tensor::full(*scalar, shape)?)),
            Value::List(list) => {
                let items = vec![value.clone(); shape.iter().product()];
                Ok(Self::Lists(Lists { of: list.of.clone(), shape: shape.to_vec(), items }))
            }
        }
    }

    /// A block of values that are all of one type, as many as the shape has.
    pub(crate) fn from_values(
        element: &ElementType,
        shape: &[usize],
        values: Vec<Value>,
    ) -> Result<Self, TensorError> {
        match element {
            ElementType::Number(dtype) => {
                let zero = Scalar::zero(*dtype);
                let numbers = values.iter().map(|value| value.as_number().unwrap_or(zero));
                Ok(Self::Numbers(Tensor::from_scalars(*dtype, shape, numbers)?))
            }
            ElementType::Array(of) => {
                let of = (**of).clone();
                Ok(Self::Lists(Lists { of, shape: shape.to_vec(), items: values }))
            }
        }
    }

    /// The extent of each axis.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Numbers(tensor) => tensor.shape(),
            Self::Lists(lists) => &lists.shape,
        }
    }

    /// Type of the elements.
    pub fn element_type(&self) -> ElementType {
        match self {
            Self::Numbers(tensor) => ElementType::Number(tensor.dtype()),
            Self::Lists(lists) => ElementType::array(lists.of.clone()),
        }
    }

    /// The numbers, if they are such.
    pub fn as_numbers(&self) -> Option<&Tensor> {
        match self {
            Self::Numbers(tensor) => Some(tensor),
            Self::Lists(_) => None,
        }
    }

    /// The elements in C order.
    pub fn values(&self) -> Vec<Value> {
        match self {
            Self::Numbers(tensor) => tensor.view().iter_scalars().map(Value::Number).collect(),
            Self::Lists(lists) => lists.items.clone(),
        }
    }

    /// Bytes of memory; an estimate for lists.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Numbers(tensor) => tensor.byte_len(),
            Self::Lists(lists) => lists.items.iter().map(value_bytes).sum(),
        }
    }

    /// The type of its numbers.
    pub fn dtype(&self) -> Option<DType> {
        self.as_numbers().map(Tensor::dtype)
    }
}

fn value_bytes(value: &Value) -> usize {
    let inner = value.as_list().map_or(0, |list| list.items().iter().map(value_bytes).sum());
    size_of::<Value>() + inner
}
