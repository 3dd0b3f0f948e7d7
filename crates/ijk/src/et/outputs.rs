//! What a program gives.

use ijk_tensor::Tensor;
use std::ops::Index;

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
    pub(super) arrays: Vec<(String, Tensor)>,
}

impl Outputs {
    /// The array of a name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.arrays.iter().find(|(own, _)| own == name).map(|(_, array)| array)
    }

    /// Takes out the array of a name.
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        let at = self.arrays.iter().position(|(own, _)| own == name)?;
        Some(self.arrays.remove(at).1)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.iter().map(|(name, _)| &name[..])
    }

    /// Names with their arrays, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.arrays.iter().map(|(name, array)| (&name[..], array))
    }

    /// How many arrays there are.
    pub fn len(&self) -> usize {
        self.arrays.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
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
        self.arrays.into_iter()
    }
}
