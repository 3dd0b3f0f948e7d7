//! Components put together.

use crate::{Component, Error};
use ijk_ir::compose;
use ijk_ir::core::Program;
use ijk_syntax::Diagnostic;

impl Component {
    /// `x ↦ g(f(x))`: the results of this component are the first arguments of `next`; arguments
    /// of `next` that are left over come after this component's. In i, `f . g`.
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
        self.combined(next, compose::chain(self.program(), next.program()))
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
        self.combined(other, compose::fanout(self.program(), other.program()))
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
        self.combined(other, compose::pair(self.program(), other.program()))
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
        let swapped = compose::swap(self.program());
        let program = swapped.map_err(|d| Error::program(self.source(), d))?;
        Ok(Self::from_program(program, self.warnings().to_vec()))
    }

    fn combined(
        &self,
        other: &Self,
        result: Result<Program, Vec<Diagnostic>>,
    ) -> Result<Self, Error> {
        let source = || compose::joined_source(self.program(), other.program());
        let program = result.map_err(|d| Error::program(source(), d))?;
        let warnings = self.warnings().iter().chain(other.warnings()).cloned().collect();
        Ok(Self::from_program(program, warnings))
    }
}
