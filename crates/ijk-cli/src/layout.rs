//! Arrays as text: nested brackets, large ones summarised, the way NumPy prints them.

use crate::numbers;
use ijk::Scalar;
use ijk::TensorView;

/// Arrays with more elements are summarised.
const THRESHOLD: usize = 1000;
/// Elements shown at each end of an axis that is summarised.
const EDGE: usize = 3;
/// Arrays of more axes are printed as if they had one, and their number of axes.
const MAX_RANK: usize = 32;
/// Width of a line.
const WIDTH: usize = 75;

/// The array as text of one or more lines.
pub fn array(view: &TensorView<'_>) -> String {
    if view.rank() == 0 {
        return numbers::plain(view.get(&[]));
    }
    if view.is_empty() {
        return format!("[] (shape {})", shape(view.shape()));
    }
    if view.rank() > MAX_RANK {
        return flat(view);
    }
    let summarise = view.len() > THRESHOLD;
    let shown: Vec<_> = view.shape().iter().map(|&extent| positions(extent, summarise)).collect();
    let mut elements = Vec::new();
    collect(view, &shown, &mut Vec::new(), &mut elements);
    let mut texts = numbers::align(&elements).into_iter();
    let mut out = String::new();
    write_axis(&shown, 0, &mut texts, &mut out);
    out
}

fn flat(view: &TensorView<'_>) -> String {
    let flat = view.to_tensor().and_then(|copy| copy.into_shape(&[view.len()]));
    match flat {
        Ok(flat) => format!("{} (of rank {})", array(&flat.view()), view.rank()),
        Err(error) => error.to_string(),
    }
}

/// `(2, 3)`, as NumPy writes shapes.
pub fn shape(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => {
            let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
            format!("({})", extents.join(", "))
        }
    }
}

/// The positions shown along an axis; `None` marks omitted ones.
fn positions(extent: usize, summarise: bool) -> Vec<Option<usize>> {
    if summarise && extent > 2 * EDGE {
        let ends = (0..EDGE).map(Some).chain([None]);
        ends.chain((extent - EDGE..extent).map(Some)).collect()
    } else {
        (0..extent).map(Some).collect()
    }
}

fn collect(
    view: &TensorView<'_>,
    shown: &[Vec<Option<usize>>],
    index: &mut Vec<usize>,
    elements: &mut Vec<Scalar>,
) {
    if index.len() == shown.len() {
        elements.push(view.get(index));
        return;
    }
    for &position in shown[index.len()].iter().flatten() {
        index.push(position);
        collect(view, shown, index, elements);
        index.pop();
    }
}

fn write_axis(
    shown: &[Vec<Option<usize>>],
    axis: usize,
    texts: &mut impl Iterator<Item = String>,
    out: &mut String,
) {
    if axis + 1 == shown.len() {
        return write_row(&shown[axis], axis, texts, out);
    }
    out.push('[');
    for (n, position) in shown[axis].iter().enumerate() {
        if n > 0 {
            out.extend(std::iter::repeat_n('\n', shown.len() - 1 - axis));
            out.extend(std::iter::repeat_n(' ', axis + 1));
        }
        match position {
            Some(_) => write_axis(shown, axis + 1, texts, out),
            None => out.push_str("..."),
        }
    }
    out.push(']');
}

/// The last axis: one line, or several where it is long.
fn write_row(
    shown: &[Option<usize>],
    axis: usize,
    texts: &mut impl Iterator<Item = String>,
    out: &mut String,
) {
    let closing = axis + 1;
    let mut column = axis + 1;
    out.push('[');
    for (n, position) in shown.iter().enumerate() {
        let text = match position {
            Some(_) => texts.next().unwrap_or_default(),
            None => "...".into(),
        };
        if n > 0 && column + 1 + text.len() + closing > WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', axis + 1));
            column = axis + 1;
        } else if n > 0 {
            out.push(' ');
            column += 1;
        }
        column += text.len();
        out.push_str(&text);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk::Tensor;

    fn text(count: usize, shape: &[usize]) -> String {
        let tensor = Tensor::from_vec((0..count as i64).collect(), shape).unwrap();
        array(&tensor.view())
    }

    #[test]
    fn nested() {
        assert_eq!(text(1, &[]), "0");
        assert_eq!(text(3, &[3]), "[0 1 2]");
        assert_eq!(text(4, &[2, 2]), "[[0 1]\n [2 3]]");
        assert_eq!(text(4, &[2, 2, 1]), "[[[0]\n  [1]]\n\n [[2]\n  [3]]]");
        assert_eq!(text(2, &[&[2][..], &[1; 10_000]].concat()), "[0 1] (of rank 10001)");
        assert_eq!(text(0, &[2, 0]), "[] (shape (2, 0))");
    }

    #[test]
    fn large() {
        assert_eq!(text(2000, &[2000]), "[   0    1    2 ... 1997 1998 1999]");
        let square = text(10_000, &[100, 100]);
        assert_eq!(square.lines().count(), 7);
        assert!(square.contains("\n ...\n [9700 9701 9702 ... 9797 9798 9799]"), "{square}");
        assert!(text(100, &[100]).lines().all(|line| line.len() <= WIDTH));
    }
}
