//! Results of a run by name.

use ijk_syntax::Diagnostic;
use ijk_tensor::Tensor;
use smallvec::SmallVec;
use std::ops::Index;
use std::sync::Arc;

/// The results of a run by name, in the order in which the program lists them; after them the
/// arrays that [`Bindings::keep`](super::Bindings::keep) named.
///
/// ```
/// use ijk::et::Bindings;
/// let program = ijk::et("a[i] = i\nb[i] = a[i] + 1\n\nb\n\nDIMS(i) = 3")?;
/// let outputs = program.run(Bindings::new().keep("a"))?;
/// assert_eq!(outputs["b"].as_slice::<i64>(), Some(&[1, 2, 3][..]));
/// assert_eq!(outputs.names().collect::<Vec<_>>(), ["b", "a"]);
/// assert!(outputs.get("c").is_none());
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Debug)]
pub struct Outputs {
    /// Shared by all runs of the same kind.
    pub(super) names: Arc<[String]>,
    /// The arrays that were not taken out.
    pub(super) arrays: SmallVec<[Option<Tensor>; 1]>,
    /// Warnings about the shapes of bound arrays.
    pub(super) warnings: Arc<[Diagnostic]>,
}

impl Outputs {
    /// Warnings that follow from the shapes of bound arrays, as of [`Shapes::warnings`](super::Shapes::warnings): of the
    /// first run for these shapes, not of those that repeat it.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The array of a name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.iter().find(|(own, _)| *own == name).map(|(_, array)| array)
    }

    /// Takes out the array of a name.
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        let at = self.names.iter().position(|own| own == name)?;
        self.arrays[at].take()
    }

    /// Takes out all arrays, with their names, in order.
    pub fn take_all(&mut self) -> impl Iterator<Item = (&str, Tensor)> {
        let pairs = self.names.iter().zip(&mut self.arrays);
        pairs.filter_map(|(name, array)| Some((&name[..], array.take()?)))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Names with their arrays, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        let pairs = self.names.iter().zip(&self.arrays);
        pairs.filter_map(|(name, array)| Some((&name[..], array.as_ref()?)))
    }

    /// Number of arrays.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The array of a name.
///
/// # Panics
/// If there is none of that name.
impl Index<&str> for Outputs {
    type Output = Tensor;

    fn index(&self, name: &str) -> &Tensor {
        self.get(name).unwrap_or_else(|| panic!("no output is named `{name}`"))
    }
}

impl IntoIterator for Outputs {
    type Item = (String, Tensor);
    type IntoIter = std::vec::IntoIter<(String, Tensor)>;

    fn into_iter(self) -> Self::IntoIter {
        let pairs = self.names.iter().cloned().zip(self.arrays);
        let left: Vec<_> = pairs.filter_map(|(name, array)| Some((name, array?))).collect();
        left.into_iter()
    }
}
