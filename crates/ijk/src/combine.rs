//! Composition of programs.

use crate::{Error, Program};
use ijk_ir::compose::Composed;
use ijk_syntax::Diagnostic;

impl Program {
    /// `x ↦ g(f(x))`: the results of this program are the first arguments of `next`; the remaining
    /// arguments of `next` follow those of this program. In i, `f . g`.
    ///
    /// # Errors
    /// [`Error::Program`] if there are more results than `next` takes, or ranks or types do not fit.
    ///
    /// ```
    /// let product = ijk::i("ik*kj~ijk")?.chain(&ijk::i("+ijk~ij")?)?;
    /// let affine = product.chain(&ijk::i("ij+j~ij")?)?;
    /// assert_eq!(affine.arity(), 3);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn chain(&self, next: &Self) -> Result<Self, Error> {
        self.combined(next, self.composed().chain(next.composed()))
    }

    /// `x ↦ f(g(x))`, the same as `g.chain(&f)`. In i, `f << g`.
    ///
    /// # Errors
    /// As for [`chain`](Self::chain).
    ///
    /// ```
    /// let product = ijk::i("+ijk~ij")?.compose(&ijk::i("ik*kj~ijk")?)?;
    /// assert_eq!(product.arity(), 2);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn compose(&self, first: &Self) -> Result<Self, Error> {
        first.chain(self)
    }

    /// `x ↦ (f(x), g(x))`: both take the same first arguments. In i, `f & g`.
    ///
    /// # Errors
    /// [`Error::Program`] if ranks or types of shared arguments do not fit each other.
    ///
    /// ```
    /// let moments = ijk::i("+i~.")?.fanout(&ijk::i("i*i~i . +i~.")?)?;
    /// assert_eq!((moments.arity(), moments.signature().outputs.len()), (2, 2));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn fanout(&self, other: &Self) -> Result<Self, Error> {
        self.combined(other, self.composed().fanout(other.composed()))
    }

    /// `(x, y) ↦ (f(x), g(y))`. In i, `f | g`.
    ///
    /// # Errors
    /// [`Error::Program`] if the whole would be too large.
    ///
    /// ```
    /// let both = ijk::i("+i~.")?.pair(&ijk::i("-ij~ij")?)?;
    /// assert_eq!(both.arity(), 2);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn pair(&self, other: &Self) -> Result<Self, Error> {
        self.combined(other, self.composed().pair(other.composed()))
    }

    /// The same with the first two arguments swapped. In i, `~f`.
    ///
    /// # Errors
    /// [`Error::Program`] if there are fewer than two.
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let minus = ijk::i("i-i~i")?.swap()?;
    /// let difference = minus.apply((&array![1, 2], &array![10, 20]))?;
    /// assert_eq!(difference[0].as_slice::<i32>(), Some(&[9, 18][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn swap(&self) -> Result<Self, Error> {
        let swapped = self.composed().swap();
        let composed = swapped.map_err(|d| Error::program(self.source(), d))?;
        Ok(Self::from_composed(composed))
    }

    fn combined(
        &self,
        other: &Self,
        result: Result<Composed, Vec<Diagnostic>>,
    ) -> Result<Self, Error> {
        let source = || self.composed().joined_source(other.composed());
        let composed = result.map_err(|d| Error::program(source(), d))?;
        Ok(Self::from_composed(composed))
    }
}
