//! Dependencies between elements of arguments and elements of results.

use crate::prepared::{extents, instantiate};
use crate::{Error, Program};
use ijk_ir::PointSet;
use ijk_ir::core::Instance;
use ijk_types::DType;

impl Program {
    /// For each argument, the elements that the element at `point` of a result is computed from;
    /// results are numbered from 0. A point outside of the result depends on nothing.
    ///
    /// # Errors
    /// [`Error::Program`] where the arguments do not fit, [`Error::Position`] if there is no such
    /// result.
    ///
    /// ```
    /// use ijk::DType;
    /// let product = ijk::i("ik*kj~ijk . +ijk~ij")?;
    /// let shapes: [(DType, &[usize]); 2] = [(DType::F32, &[3, 4]), (DType::F32, &[4, 5])];
    /// let sets = product.dependencies(&shapes, 0, &[1, 2])?;
    /// assert_eq!(sets[0].to_string(), "{(1, k) : k in 0..4}");
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn dependencies(
        &self,
        arguments: &[(DType, &[usize])],
        result: usize,
        point: &[usize],
    ) -> Result<Vec<PointSet>, Error> {
        let count = self.lowered().outputs.len();
        let instance = self.instance(arguments, result, count, "result")?;
        Ok(ijk_ir::dependencies(self.lowered(), &instance, result, &extents(point)))
    }

    /// For each result, the elements that the element at `point` of an argument is used for;
    /// arguments are numbered from 0.
    ///
    /// # Errors
    /// [`Error::Program`] where the arguments do not fit, [`Error::Position`] if there is no such
    /// argument.
    ///
    /// ```
    /// use ijk::DType;
    /// let product = ijk::i("ik*kj~ijk . +ijk~ij")?;
    /// let shapes: [(DType, &[usize]); 2] = [(DType::F32, &[3, 4]), (DType::F32, &[4, 5])];
    /// let sets = product.reaches(&shapes, 0, &[1, 2])?;
    /// assert_eq!(sets[0].to_string(), "{(1, j) : j in 0..5}");
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn reaches(
        &self,
        arguments: &[(DType, &[usize])],
        argument: usize,
        point: &[usize],
    ) -> Result<Vec<PointSet>, Error> {
        let instance = self.instance(arguments, argument, self.arity(), "argument")?;
        Ok(ijk_ir::reaches(self.lowered(), &instance, argument, &extents(point)))
    }

    fn instance(
        &self,
        arguments: &[(DType, &[usize])],
        position: usize,
        count: usize,
        side: &'static str,
    ) -> Result<Instance, Error> {
        if position >= count {
            return Err(Error::Position { side, position, count });
        }
        let arguments: Vec<_> = arguments.iter().map(|(t, s)| (*t, extents(s))).collect();
        instantiate(self.lowered(), &arguments)
    }
}
