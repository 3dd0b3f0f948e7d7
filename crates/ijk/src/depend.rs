//! Dependencies between elements of arguments and elements of results.

use crate::prepared::{extents, instantiate};
use crate::{Error, Program};
use ijk_ir::PointSet;
use ijk_ir::core::{self as ir, Instance};
use ijk_ir::staged::{Unrolled, unrolled};
use ijk_syntax::Diagnostic;
use ijk_types::DType;
use std::borrow::Cow;

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
        let (program, instance) = self.instance(arguments, result, count, "result")?;
        Ok(ijk_ir::dependencies(&program, &instance, result, &extents(point)))
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
        let (program, instance) = self.instance(arguments, argument, self.arity(), "argument")?;
        Ok(ijk_ir::reaches(&program, &instance, argument, &extents(point)))
    }

    fn instance(
        &self,
        arguments: &[(DType, &[usize])],
        position: usize,
        count: usize,
        side: &'static str,
    ) -> Result<(Cow<'_, ir::Program>, Instance), Error> {
        if position >= count {
            return Err(Error::Position { side, position, count });
        }
        self.written_out(arguments).map(|all| (all.program, all.instance))
    }

    /// The program without loops.
    pub(crate) fn written_out(
        &self,
        arguments: &[(DType, &[usize])],
    ) -> Result<WrittenOut<'_>, Error> {
        let program = self.lowered();
        let arguments: Vec<_> = arguments.iter().map(|(t, s)| (*t, extents(s))).collect();
        let instance = instantiate(program, &arguments)?;
        if program.loops.is_empty() {
            let origins = (0..program.statements.len()).map(Some).collect();
            return Ok(WrittenOut { program: Cow::Borrowed(program), instance, origins });
        }
        if let Some(own) = program.loops.iter().find(|own| own.until.is_some()) {
            let message =
                "what elements depend on is not known of `@until`: elements decide its passes";
            let error = Diagnostic::error(own.span.into(), message);
            let error = error.with_hint("`@repeat` has a number of passes");
            return Err(Error::program(&program.source, vec![error]));
        }
        match unrolled(program, &instance, WRITTEN_OUT) {
            Some(Unrolled { program, instance, origins }) => {
                Ok(WrittenOut { program: Cow::Owned(program), instance, origins })
            }
            None => {
                let message = format!(
                    "what elements depend on is known of loops of at most {WRITTEN_OUT} index \
                     expressions in all passes"
                );
                let span = program.loops[0].span.into();
                let error = Diagnostic::error(span, message).with_label("this loop has more");
                Err(Error::program(&program.source, vec![error]))
            }
        }
    }
}

/// A program whose loops are written out.
pub(crate) struct WrittenOut<'a> {
    pub program: Cow<'a, ir::Program>,
    /// Its extents.
    pub instance: Instance,
    /// For each statement the one that it is a copy of.
    pub origins: Vec<Option<usize>>,
}

/// Most statements of all passes of loops that are written out.
const WRITTEN_OUT: usize = 1000;
