//! Cycles of a graph.

/// One cycle for each edge that closes one in a depth-first walk, as its nodes in order.
pub fn cycles(count: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    // 0 is new, 1 is on the path, 2 is done.
    let mut states = vec![0u8; count];
    for start in 0..count {
        if states[start] != 0 {
            continue;
        }
        states[start] = 1;
        let mut path = vec![(start, next(start))];
        while let Some((node, ahead)) = path.last_mut() {
            let node = *node;
            match ahead.pop() {
                None => {
                    states[node] = 2;
                    path.pop();
                }
                Some(to) if states[to] == 0 => {
                    states[to] = 1;
                    let after = next(to);
                    path.push((to, after));
                }
                Some(to) if states[to] == 1 => {
                    let from = path.iter().position(|(n, _)| *n == to).unwrap_or(0);
                    found.push(path[from..].iter().map(|(n, _)| *n).collect());
                }
                Some(_) => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_once() {
        let edges = [vec![1], vec![2], vec![1, 3], vec![3], vec![0]];
        let mut found = cycles(5, |n| edges[n].clone());
        found.sort();
        assert_eq!(found, [vec![1, 2], vec![3]]);
    }
}
