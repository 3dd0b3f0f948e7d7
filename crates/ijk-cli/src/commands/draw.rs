//! Sets of elements as grids of characters.

/// Greatest side of a grid.
const SIDE: usize = 64;
/// Greatest number of elements.
const ELEMENTS: usize = 4096;

/// Returns true if an array is small enough to be drawn.
pub fn is_small(shape: &[usize]) -> bool {
    let count = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
    shape.iter().all(|&extent| (1..=SIDE).contains(&extent))
        && count.is_some_and(|n| n <= ELEMENTS)
        && shape.len() <= 6
}

/// An array of small shape: `#` for elements in the set, `.` for others. The last axis runs to the right, the one
/// before down; each index of the axes before these has a grid of its own.
pub fn grid(shape: &[usize], contains: impl Fn(&[usize]) -> bool) -> String {
    let outer = shape.len().saturating_sub(2);
    let rows = if shape.len() > 1 { shape[outer] } else { 1 };
    let columns = shape.last().copied().unwrap_or(1);
    let mut text = String::new();
    for page in indices(&shape[..outer]) {
        if outer > 0 {
            let index: Vec<_> = page.iter().map(usize::to_string).collect();
            text += &format!("  [{}, ...]\n", index.join(", "));
        }
        for row in 0..rows {
            let cells = (0..columns).map(|column| {
                let inner = [row, column];
                let index: Vec<_> = page
                    .iter()
                    .copied()
                    .chain(inner[2 - (shape.len() - outer)..].iter().copied())
                    .collect();
                if contains(&index) { "#" } else { "." }
            });
            text += &format!("  {}\n", cells.collect::<Vec<_>>().join(" "));
        }
    }
    text
}

/// Every index of a shape, in C order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |prefixes, &extent| {
        let longer = |prefix: Vec<usize>| (0..extent).map(move |n| [&prefix[..], &[n]].concat());
        prefixes.into_iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids() {
        assert_eq!(grid(&[], |_| true), "  #\n");
        assert_eq!(grid(&[3], |i| i[0] == 1), "  . # .\n");
        assert_eq!(grid(&[2, 2], |i| i[0] == i[1]), "  # .\n  . #\n");
        let pages = grid(&[2, 1, 2], |i| i == [1, 0, 1]);
        assert_eq!(pages, "  [0, ...]\n  . .\n  [1, ...]\n  . #\n");
    }

    #[test]
    fn limits() {
        assert!(is_small(&[64, 64]) && is_small(&[]));
        assert!(!is_small(&[65]) && !is_small(&[64, 64, 2]) && !is_small(&[0, 2]));
        assert!(!is_small(&[usize::MAX, usize::MAX]) && !is_small(&[1; 1000]));
    }
}
