//! What the programs beside this file compute, as the plain loops one would write without them.
//! Tests compare the two.

/// An array in C order.
#[derive(Clone, Debug)]
pub struct Array {
    /// Extent of each axis.
    pub shape: Vec<usize>,
    /// The elements, the last axis fastest.
    pub data: Vec<f64>,
}

/// A program's file name, the shapes of its inputs, and the same function written by hand.
pub type Example = (&'static str, &'static [&'static [usize]], fn(&[Array]) -> Array);

/// All of them.
pub const EXAMPLES: [Example; 11] = [
    ("matmul", &[&[5, 7], &[7, 6]], matmul),
    ("transpose", &[&[4, 9]], transpose),
    ("trace", &[&[6, 6]], trace),
    ("normalise", &[&[33]], normalise),
    ("softmax", &[&[5, 19]], softmax),
    ("mlp", &[&[4, 6], &[6, 8], &[8], &[8, 3], &[3]], mlp),
    ("distances", &[&[5, 3], &[7, 3]], distances),
    ("moving_average", &[&[40]], moving_average),
    ("shortest_paths", &[&[9, 9]], shortest_paths),
    ("attention", &[&[5, 64], &[7, 64], &[7, 4]], attention),
    ("photo", &[&[6, 5, 3], &[3, 3]], photo),
];

/// Inputs for an example, from numbers drawn in [0, 1).
pub fn inputs((name, shapes, _): Example, mut draw: impl FnMut() -> f64) -> Vec<Array> {
    let mut inputs: Vec<_> = shapes.iter().map(|s| Array::new(s, |_| 4.0 * draw())).collect();
    if name == "shortest_paths" {
        let nodes = inputs[0].rows();
        inputs[0].data.iter_mut().step_by(nodes + 1).for_each(|d| *d = 0.0);
    }
    inputs
}

impl Array {
    /// An array whose elements are given by their position.
    pub fn new(shape: &[usize], element: impl FnMut(usize) -> f64) -> Self {
        Self { shape: shape.to_vec(), data: (0..shape.iter().product()).map(element).collect() }
    }

    /// A matrix whose elements are given by row and column.
    fn matrix(rows: usize, columns: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        Self::new(&[rows, columns], |n| element(n / columns, n % columns))
    }

    fn rows(&self) -> usize {
        self.shape[0]
    }

    fn columns(&self) -> usize {
        self.shape[1]
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.columns() + column]
    }
}

fn matmul(args: &[Array]) -> Array {
    let (x, y) = (&args[0], &args[1]);
    Array::matrix(x.rows(), y.columns(), |i, j| {
        (0..y.rows()).map(|k| x.at(i, k) * y.at(k, j)).sum()
    })
}

fn transpose(args: &[Array]) -> Array {
    let x = &args[0];
    Array::matrix(x.columns(), x.rows(), |i, j| x.at(j, i))
}

fn trace(args: &[Array]) -> Array {
    let x = &args[0];
    let sum = (0..x.rows()).map(|i| x.at(i, i)).sum();
    Array { shape: vec![], data: vec![sum] }
}

fn normalise(args: &[Array]) -> Array {
    let x = &args[0];
    let sum: f64 = x.data.iter().sum();
    Array::new(&x.shape, |i| x.data[i] / sum)
}

fn softmax(args: &[Array]) -> Array {
    let x = &args[0];
    let sum_of = |i| (0..x.columns()).map(|j| x.at(i, j).exp()).sum::<f64>();
    Array::matrix(x.rows(), x.columns(), |i, j| x.at(i, j).exp() / sum_of(i))
}

fn mlp(args: &[Array]) -> Array {
    let layer = |x: &Array, weights: &Array, biases: &Array| {
        let product = matmul(&[x.clone(), weights.clone()]);
        Array::matrix(x.rows(), weights.columns(), |b, o| product.at(b, o) + biases.data[o])
    };
    let hidden = layer(&args[0], &args[1], &args[2]);
    let active = Array::new(&hidden.shape, |n| hidden.data[n].max(0.0));
    layer(&active, &args[3], &args[4])
}

fn distances(args: &[Array]) -> Array {
    let (x, y) = (&args[0], &args[1]);
    Array::matrix(x.rows(), y.rows(), |i, j| {
        (0..x.columns()).map(|k| (x.at(i, k) - y.at(j, k)).powi(2)).sum::<f64>().sqrt()
    })
}

fn moving_average(args: &[Array]) -> Array {
    let x = &args[0];
    Array::new(&[x.rows() - 7], |i| x.data[i..i + 8].iter().sum::<f64>() / 8.0)
}

/// Floyd's and Warshall's algorithm, which finds paths of any number of edges.
fn shortest_paths(args: &[Array]) -> Array {
    let mut d = args[0].clone();
    for k in 0..d.rows() {
        let last = d.clone();
        d = Array::matrix(d.rows(), d.rows(), |i, j| {
            last.at(i, j).min(last.at(i, k) + last.at(k, j))
        });
    }
    d
}

fn attention(args: &[Array]) -> Array {
    let (q, k, v) = (&args[0], &args[1], &args[2]);
    let fit = |i, j| (0..64).map(|d| q.at(i, d) * k.at(j, d)).sum::<f64>() / 8.0;
    let scores = Array::matrix(q.rows(), k.rows(), fit);
    matmul(&[softmax(&[scores]), v.clone()])
}

fn photo(args: &[Array]) -> Array {
    let (photo, mix) = (&args[0], &args[1]);
    let pixels = Array { shape: vec![photo.data.len() / 3, 3], data: photo.data.clone() };
    let mixed = matmul(&[pixels, mix.clone()]);
    let channel = |d| (0..mixed.rows()).map(move |p| (p, d));
    let fold =
        |d, f: fn(f64, f64) -> f64, start| channel(d).map(|(p, d)| mixed.at(p, d)).fold(start, f);
    Array::new(&photo.shape, |n| {
        let (least, greatest) =
            (fold(n % 3, f64::min, f64::INFINITY), fold(n % 3, f64::max, f64::NEG_INFINITY));
        (mixed.data[n] - least) / (greatest - least)
    })
}
