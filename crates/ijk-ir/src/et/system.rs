//! Dependencies between the ranks and extents of a program.

use super::ShapeId;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Access, IndexOp, Quantity};

/// Something that has a rank: a shape, a place of an array, or the number 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RankNode(pub u32);

/// Nodes whose ranks are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Group(pub u32);

/// A sum of ranks and a constant: the rank of `DIMS(a, b)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub nodes: Vec<RankNode>,
    pub constant: u32,
}

/// Why two ranks are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tie {
    pub left: Total,
    pub right: Total,
    /// Where that is seen.
    pub span: Span,
    /// The sentence's end: "indexes place 0 of `x`".
    pub why: String,
}

/// The extent of an axis that counts the components of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Quantity whose extent the link counts.
    pub counts: CountedQuantity,
    /// The rank that it is.
    pub rank: Total,
    /// Any other extent is an error: so it is for `:`, not for `pos[coord]`.
    pub strict: bool,
    /// Where.
    pub span: Span,
}

/// Quantity whose extent a [`Link`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedQuantity {
    /// An eintup's shape, of rank 1.
    Shape(ShapeId),
    /// A place of an array where no plain eintup stands.
    Place { array: usize, place: usize },
}

/// A constraint with its names looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub quantity: Quantity,
    pub shape: ShapeId,
    pub relation: Limit,
    /// Position among the program's constraints.
    pub constraint: usize,
}

/// The right side of a [`Rule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    In(i64, i64),
    Equals(Expr),
}

/// The value of a constraint with its names looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    Integer(i64),
    Of(Quantity, ShapeId),
    Min(Box<Expr>, Box<Expr>),
    Max(Box<Expr>, Box<Expr>),
    Sum(Vec<(bool, Expr)>),
    Product(Box<Expr>, Vec<(IndexOp, Expr)>),
}

/// Dependencies between ranks and extents; made by checking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    /// The group of every node.
    pub(super) groups: Vec<Group>,
    /// Number of groups.
    pub(super) group_count: u32,
    /// The first node of every array's places.
    pub(super) places: Vec<u32>,
    /// The group of rank 1.
    pub(super) one: Group,
    /// Equations between sums of ranks.
    pub(super) sums: Vec<Tie>,
    /// Why nodes of one group are equal.
    pub(super) ties: Vec<Tie>,
    pub(super) links: Vec<Link>,
    pub(super) rules: Vec<Rule>,
    /// The rule on each shape's rank.
    pub(super) rank_rules: Vec<Option<usize>>,
    /// The rule on each shape's extents.
    pub(super) dims_rules: Vec<Option<usize>>,
    /// The plain eintup that first stood at each place of each array, as a position in `tuples`.
    pub(super) standing: Vec<Vec<Option<usize>>>,
    /// The shapes of all plain eintups that stand at each place of each array.
    pub(super) plain: Vec<Vec<Vec<ShapeId>>>,
    /// The access that sizes each array.
    pub(super) sizing: Vec<Access>,
}

impl Total {
    /// The rank of one node.
    pub fn of(node: RankNode) -> Self {
        Self { nodes: vec![node], constant: 0 }
    }

    /// Adds another sum.
    pub fn add(&mut self, other: &Self) {
        self.nodes.extend(&other.nodes);
        self.constant = self.constant.saturating_add(other.constant);
    }

    /// The same with the constant 1 as its node and, in a sum, the node 1 as a constant.
    pub fn simplified(mut self, one: RankNode) -> Self {
        let ones = self.nodes.iter().filter(|n| **n == one).count();
        self.nodes.retain(|n| *n != one);
        self.constant = self.constant.saturating_add(ones as u32);
        if self.nodes.is_empty() && self.constant == 1 {
            return Self::of(one);
        }
        self.nodes.sort();
        self
    }

    /// The node, where nothing is added to it.
    pub fn single(&self) -> Option<RankNode> {
        match (&self.nodes[..], self.constant) {
            ([node], 0) => Some(*node),
            _ => None,
        }
    }
}
