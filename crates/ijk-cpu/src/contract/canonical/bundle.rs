//! Bundles of axes, and the offsets of their points.

/// A tensor of a contraction, as an index into strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum TensorId {
    /// The operand whose elements fill vector lanes.
    Left = 0,
    /// The operand whose elements are broadcast to all lanes.
    Right = 1,
    /// The output.
    Out = 2,
}

/// One axis: its extent and its strides in [`TensorId`] order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BundleAxis {
    /// Number of values.
    pub(crate) extent: usize,
    /// Stride in each tensor.
    pub(crate) strides: [isize; 3],
}

impl BundleAxis {
    /// Splits an axis whose extent is a multiple of `length`: the axis of pieces, and the axis within a piece.
    pub(crate) fn split(self, length: usize) -> (Self, Self) {
        let strides = self.strides.map(|s| s.saturating_mul(length as isize));
        let outer = Self { extent: self.extent / length.max(1), strides };
        (outer, Self { extent: length, ..self })
    }
}

/// Axes that play one role, outermost first; their points are numbered lexicographically.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bundle {
    axes: Vec<BundleAxis>,
}

impl Bundle {
    /// A bundle of those axes. Axes of extent 1 are dropped, and axes that are nested contiguously in all three tensors
    /// are merged.
    pub(crate) fn new(axes: impl IntoIterator<Item = BundleAxis>) -> Self {
        let mut axes: Vec<BundleAxis> = axes.into_iter().filter(|a| a.extent != 1).collect();
        while let Some((outer, inner)) = mergeable(&axes) {
            axes[inner].extent = axes[inner].extent.saturating_mul(axes[outer].extent);
            axes.remove(outer);
        }
        Self { axes }
    }

    /// A bundle of those axes without merging.
    pub(crate) fn apart(axes: impl IntoIterator<Item = BundleAxis>) -> Self {
        Self { axes: axes.into_iter().collect() }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        match self.axes.iter().any(|a| a.extent == 0) {
            true => 0,
            false => self.axes.iter().fold(1, |n, a| n.saturating_mul(a.extent)),
        }
    }

    /// Sorts axes by their strides in `operand`, the smallest innermost.
    pub(crate) fn follow(&mut self, operand: TensorId) {
        let stride = |a: &BundleAxis| a.strides[operand as usize].unsigned_abs();
        // Axes with stride 0 do not affect the order of accesses.
        self.axes.sort_by_key(|a| match stride(a) {
            0 => (0, 0),
            n => (1, usize::MAX - n),
        });
    }

    /// Length of the contiguous runs in `operand`: the product of the extents of the innermost axes that are nested
    /// contiguously.
    pub(crate) fn run(&self, operand: TensorId) -> usize {
        let dense = |run: usize, a: &BundleAxis| {
            let next = a.strides[operand as usize] == isize::try_from(run).ok()?;
            next.then(|| run.saturating_mul(a.extent))
        };
        let mut run = 1;
        self.axes.iter().rev().map_while(|a| dense(run, a).inspect(|&all| run = all)).last();
        run
    }

    /// Extent of the innermost axis and its stride in `operand`.
    pub(crate) fn inner(&self, operand: TensorId) -> (usize, isize) {
        self.axes.last().map_or((1, 0), |axis| (axis.extent, axis.strides[operand as usize]))
    }

    /// Stride between consecutive points in `operand`, if it is uniform.
    pub(crate) fn step(&self, operand: TensorId) -> Option<isize> {
        match &self.axes[..] {
            [] => Some(0),
            [axis] => Some(axis.strides[operand as usize]),
            _ => None,
        }
    }

    /// Returns true if some axis has stride 1 in `operand`.
    pub(crate) fn touches_unit(&self, operand: TensorId) -> bool {
        self.unit(operand).is_some()
    }

    /// Index of the axis of stride 1 in `operand`.
    pub(crate) fn unit(&self, operand: TensorId) -> Option<usize> {
        self.axes.iter().position(|a| a.strides[operand as usize] == 1)
    }

    /// Its axes, outermost first.
    pub(crate) fn axes(&self) -> &[BundleAxis] {
        &self.axes
    }

    /// Moves an axis directly outside the innermost one.
    pub(crate) fn around_last(&mut self, axis: usize) {
        let axis = self.axes.remove(axis);
        self.axes.insert(self.axes.len().saturating_sub(1), axis);
    }

    /// Splits the innermost axis into pieces of `length` values, of which its extent is a multiple.
    pub(crate) fn split_last(&mut self, length: usize) {
        let Some(axis) = self.axes.pop() else { return };
        let (outer, inner) = axis.split(length);
        self.axes.extend((length < axis.extent).then_some(outer));
        self.axes.push(inner);
    }

    /// The same points with `operand` contiguous in their order, `step` elements apart.
    pub(crate) fn dense(&self, operand: TensorId, step: usize) -> Self {
        let mut dense = self.clone();
        let mut stride = step;
        for axis in dense.axes.iter_mut().rev() {
            axis.strides[operand as usize] = stride as isize;
            stride = stride.saturating_mul(axis.extent);
        }
        dense
    }

    /// Exchanges lhs and rhs.
    pub(crate) fn swap(&mut self) {
        self.axes.iter_mut().for_each(|a| a.strides.swap(0, 1));
    }

    /// Returns true if the points `start..start + len` are contiguous in `operand`.
    pub(crate) fn is_run(&self, operand: TensorId, start: usize, len: usize) -> bool {
        let run = self.run(operand);
        len <= 1 || start % run + len <= run
    }

    /// Writes the offsets of the points from `start` on.
    pub(crate) fn offsets(&self, operand: TensorId, start: usize, out: &mut [isize]) {
        let Some((inner, outer)) = self.axes.split_last() else {
            return out.fill(0);
        };
        let stride = inner.strides[operand as usize];
        let (mut row, mut first) = (start / inner.extent.max(1), start % inner.extent.max(1));
        let mut rest = out;
        while !rest.is_empty() {
            let (now, later) = rest.split_at_mut(rest.len().min(inner.extent - first));
            let base = offset(outer, operand, row) + first as isize * stride;
            (now.iter_mut().zip(0..)).for_each(|(o, n)| *o = base + n * stride);
            (rest, row, first) = (later, row + 1, 0);
        }
    }

    /// The offset of one point.
    pub(crate) fn offset(&self, operand: TensorId, point: usize) -> isize {
        offset(&self.axes, operand, point)
    }
}

fn offset(axes: &[BundleAxis], operand: TensorId, mut point: usize) -> isize {
    let mut sum = 0;
    for axis in axes.iter().rev() {
        sum += (point % axis.extent) as isize * axis.strides[operand as usize];
        point /= axis.extent;
    }
    sum
}

/// Indices of an outer and an inner axis that can be merged into one with the strides of the inner.
fn mergeable(axes: &[BundleAxis]) -> Option<(usize, usize)> {
    let pairs = (0..axes.len()).flat_map(|o| (0..axes.len()).map(move |i| (o, i)));
    pairs.into_iter().find(|&(outer, inner)| outer != inner && nests(axes[outer], axes[inner]))
}

fn nests(outer: BundleAxis, inner: BundleAxis) -> bool {
    let extent = isize::try_from(inner.extent).unwrap_or(isize::MAX);
    (0..3).all(|t| inner.strides[t].checked_mul(extent) == Some(outer.strides[t]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(extent: usize, stride: isize) -> BundleAxis {
        BundleAxis { extent, strides: [stride; 3] }
    }

    fn all(bundle: &Bundle) -> Vec<isize> {
        let mut out = vec![0; bundle.len()];
        bundle.offsets(TensorId::Left, 0, &mut out);
        out
    }

    #[test]
    fn nested_axes_merge() {
        let bundle = Bundle::new([axis(3, 20), axis(1, 7), axis(4, 5), axis(5, 1)]);
        assert_eq!(bundle.axes, [axis(60, 1)]);
        assert_eq!(all(&bundle), (0..60).collect::<Vec<_>>());
    }

    #[test]
    fn offsets_start_anywhere() {
        let bundle = Bundle::new([axis(3, 100), axis(4, -7), axis(5, 0)]);
        let expected = all(&bundle);
        assert_eq!(expected.len(), 60);
        for start in 0..60 {
            let mut out = vec![0; 60 - start];
            bundle.offsets(TensorId::Left, start, &mut out);
            assert_eq!(out, expected[start..]);
            assert_eq!(bundle.offset(TensorId::Left, start), expected[start]);
        }
    }

    #[test]
    fn a_bundle_of_no_axes_is_one_point() {
        assert_eq!(all(&Bundle::new([])), [0]);
        assert_eq!(Bundle::new([axis(0, 1), axis(9, 3)]).len(), 0);
    }

    #[test]
    fn runs_end_with_their_axis() {
        let bundle = Bundle::new([axis(3, 100), axis(4, 1)]);
        assert!(bundle.is_run(TensorId::Left, 4, 4));
        assert!(!bundle.is_run(TensorId::Left, 3, 2));
    }
}
