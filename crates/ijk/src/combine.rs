//! Composition of programs.

use crate::{Error, Program};
use ijk_ir::compose::{Composed, LoopChoice};
use ijk_syntax::Diagnostic;
use ijk_syntax::ast::LoopForm;

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

    /// This program a number of times: its results are the next values of its first arguments, and its other arguments
    /// are the same in every pass. In i, `@repeat{10} f`.
    ///
    /// # Errors
    /// [`Error::Program`] if there are more results than arguments, or a rank or element type changes.
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let steps = ijk::i("+(j*ij)~i")?.repeat(3)?;
    /// let walked = steps.apply((&array![1, 0], &array![[0, 1], [1, 1]]))?;
    /// assert_eq!(walked[0].as_slice::<i32>(), Some(&[1, 2][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn repeat(&self, passes: u64) -> Result<Self, Error> {
        self.looped(LoopForm::Repeat, Some(passes), None)
    }

    /// This program once for each row along the first axis of its further arguments, those after the first ones that
    /// its results are the next values of; returns the last values. In i, `@fold f`.
    ///
    /// # Errors
    /// As for [`repeat`](Self::repeat); [`Error::Program`] if there are no further arguments.
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let sum = ijk::i("i+i~i")?.fold()?;
    /// let total = sum.apply((&array![0, 0], &array![[1, 2], [3, 4], [5, 6]]))?;
    /// assert_eq!(total[0].as_slice::<i32>(), Some(&[9, 12][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn fold(&self) -> Result<Self, Error> {
        self.looped(LoopForm::Fold, None, None)
    }

    /// As [`fold`](Self::fold), but returns the values after every pass, along a new first axis. In i, `@scan f`.
    ///
    /// # Errors
    /// As for [`fold`](Self::fold).
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let recurrence = ijk::i("i*i~i . i+i~i")?.scan()?;
    /// let (decay, x) = (array![[0.5], [0.5], [0.5]], array![[8.0], [0.0], [2.0]]);
    /// let states = recurrence.apply((&array![0.0], &decay, &x))?;
    /// assert_eq!(states[0].as_slice::<f64>(), Some(&[8.0, 4.0, 4.0][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn scan(&self) -> Result<Self, Error> {
        self.looped(LoopForm::Scan, None, None)
    }

    /// As [`fold`](Self::fold), but the last row comes first. In i, `@foldback f`.
    ///
    /// # Errors
    /// As for [`fold`](Self::fold).
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let horner = ijk::i("(2*i+i)~i")?.foldback()?;
    /// let value = horner.apply((&array![0], &array![[1], [2], [3]]))?;
    /// assert_eq!(value[0].as_slice::<i32>(), Some(&[17][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn foldback(&self) -> Result<Self, Error> {
        self.looped(LoopForm::FoldBack, None, None)
    }

    /// As [`scan`](Self::scan), but the last row comes first: row k of a result is the state after row k of the
    /// arguments, and those behind it. In i, `@scanback f`.
    ///
    /// # Errors
    /// As for [`fold`](Self::fold).
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let rest = ijk::i("i+i~i")?.scanback()?;
    /// let sums = rest.apply((&array![0], &array![[1], [2], [3]]))?;
    /// assert_eq!(sums[0].as_slice::<i32>(), Some(&[6, 5, 3][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn scanback(&self) -> Result<Self, Error> {
        self.looped(LoopForm::ScanBack, None, None)
    }

    /// As [`repeat`](Self::repeat), but the last result is a bool of rank 0, which ends the loop after the first pass in
    /// which it is true; `passes` is the greatest number of passes. In i, `@until{100} f`.
    ///
    /// # Errors
    /// As for [`repeat`](Self::repeat); [`Error::Program`] if the last result is no bool of rank 0, or the only one.
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let halve = ijk::i("i/2~i . (I & (>i~. . .@lt 1~.))")?.until(100)?;
    /// let small = halve.apply((&array![6.0, 5.0],))?;
    /// assert_eq!(small[0].as_slice::<f64>(), Some(&[0.75, 0.625][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn until(&self, passes: u64) -> Result<Self, Error> {
        self.looped(LoopForm::Until, Some(passes), None)
    }

    /// Any of these loops: with a number of passes, if arguments should not determine it, and with the number of
    /// further arguments of which each pass takes a row; the others are the same in every pass. In i,
    /// `@scan{100}(f, 0)`.
    ///
    /// # Errors
    /// As for [`fold`](Self::fold); [`Error::Program`] if nothing determines the number of passes.
    ///
    /// ```
    /// use ijk::{LoopForm, ndarray::array};
    /// let powers = ijk::i("i*i~i")?.looped(LoopForm::Scan, Some(3), Some(0))?;
    /// let found = powers.apply((&array![1], &array![2]))?;
    /// assert_eq!(found[0].as_slice::<i32>(), Some(&[2, 4, 8][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn looped(
        &self,
        form: LoopForm,
        passes: Option<u64>,
        rows: Option<usize>,
    ) -> Result<Self, Error> {
        let looped = self.composed().looped(LoopChoice { form, passes, rows });
        let composed = looped.map_err(|d| Error::program(self.source(), d))?;
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
