//! A panel to pack: addresses of its rows and steps.

pub(crate) struct PackJob<'a, W> {
    pub(crate) base: *const W,
    pub(crate) rows: &'a [isize],
    pub(crate) steps: &'a [isize],
    pub(crate) panel: *mut W,
    pub(crate) width: usize,
}
