//! Ranks and extents by the shortest reading of the rules, for tests of what comes after solving.

use super::Shapes;
use super::random::EtCase;
use super::satisfy::demanded;
use ijk_ir::et::{Checked, Ranks, Solution, rank_combinations};
use ijk_syntax::et::ast::{Access, Index, Relation, Value};

/// Ranks and extents that fit a case's arrays and constraints, if they are simple to find.
pub fn guess(case: &EtCase, checked: &Checked) -> Option<Solution> {
    let ranks = rank_combinations(checked, false).take(200).find(|ranks| fits(case, checked, ranks))?;
    let dims = vec![None; ranks.shapes.len()];
    let mut guess = Guess { case, checked, ranks, dims };
    guess.read_arrays();
    for _ in 0..=checked.program.constraints.len() {
        guess.read_constraints();
    }
    guess.read_coordinates();
    let dims = guess.dims.iter().zip(&guess.ranks.shapes);
    let dims = dims.map(|(dims, &rank)| dims.clone().unwrap_or(vec![2; rank as usize]));
    Some(Solution { dims: dims.collect(), places: guess.ranks.places })
}

fn fits(case: &EtCase, checked: &Checked, ranks: &Ranks) -> bool {
    checked.arrays.iter().zip(&ranks.places).all(|(array, places)| {
        let bound = case.bound.get(&array.name);
        bound.is_none_or(|input| input.value.shape.len() == places.iter().sum::<u32>() as usize)
    })
}

struct Guess<'a> {
    case: &'a EtCase,
    checked: &'a Checked,
    ranks: Ranks,
    dims: Vec<Option<Vec<u64>>>,
}

impl Guess<'_> {
    fn set(&mut self, tuple: &str, dims: Vec<u64>) {
        let Some(tuple) = self.checked.tuple(tuple) else { return };
        let shape = tuple.shape.0 as usize;
        if self.dims[shape].is_none() && self.ranks.shapes[shape] as usize == dims.len() {
            self.dims[shape] = Some(dims);
        }
    }

    fn places(&self, array: &str) -> Option<&[u32]> {
        self.checked.array(array).map(|at| &self.ranks.places[at][..])
    }

    fn accesses(&self) -> Vec<Access> {
        let mut all = Vec::new();
        for statement in &self.checked.program.statements {
            add_access(&statement.left, &mut all);
            add_value(&statement.value, &mut all);
        }
        all
    }

    /// Plain eintups at places of bound arrays.
    fn read_arrays(&mut self) {
        for access in self.accesses() {
            let Some(input) = self.case.bound.get(&access.array.text) else { continue };
            let Some(places) = self.places(&access.array.text).map(<[u32]>::to_vec) else {
                continue;
            };
            let mut first = 0;
            for (e, rank) in access.indices.iter().zip(places) {
                let next = first + rank as usize;
                if let (Index::Tuple(name), true) = (e, next <= input.value.shape.len()) {
                    let dims = input.value.shape[first..next].iter().map(|&n| n as u64).collect();
                    self.set(&name.text, dims);
                }
                first = next;
            }
        }
    }

    fn read_constraints(&mut self) {
        let known = Shapes {
            tuples: self
                .checked
                .tuples
                .iter()
                .filter_map(|t| Some((t.name.clone(), self.dims[t.shape.0 as usize].clone()?)))
                .collect(),
            ..Shapes::default()
        };
        for constraint in &self.checked.program.constraints {
            let Some(tuple) = self.checked.tuple(&constraint.tuple.text) else { continue };
            let rank = self.ranks.shapes[tuple.shape.0 as usize] as usize;
            let component = |c: usize| match &constraint.relation {
                Relation::In((lo, _), (hi, _)) => {
                    let span = (hi - lo + 1).max(1) as u64;
                    Some(*lo as u64 + (self.case.seed + c as u64) % span)
                }
                Relation::Equals(bound) => {
                    let rank = |name: &str| {
                        let tuple = self.checked.tuple(name)?;
                        Some(self.ranks.shapes[tuple.shape.0 as usize] as usize)
                    };
                    demanded(bound, c, &known, &rank)?.try_into().ok()
                }
            };
            if constraint.quantity == ijk_syntax::et::ast::Quantity::Dims {
                let dims: Option<Vec<u64>> = (0..rank).map(component).collect();
                dims.into_iter().for_each(|dims| self.set(&constraint.tuple.text, dims));
            }
        }
    }

    /// Eintups at the place of a `:`, and those that count ranks.
    fn read_coordinates(&mut self) {
        let accesses = self.accesses();
        for outer in &accesses {
            let Some(places) = self.places(&outer.array.text).map(<[u32]>::to_vec) else {
                continue;
            };
            for (e, rank) in outer.indices.iter().zip(places) {
                let mut nested = Vec::new();
                add_indices(std::slice::from_ref(e), &mut nested);
                for nested in nested {
                    let star = nested.indices.iter().position(|e| matches!(e, Index::Star(_)));
                    let same = |a: &&Access| a.array.text == nested.array.text;
                    for other in accesses.iter().filter(same) {
                        if let Some(Index::Tuple(name)) = star.and_then(|at| other.indices.get(at))
                        {
                            self.set(&name.text, vec![rank.into()]);
                        }
                    }
                }
            }
        }
        for statement in self.checked.program.statements.clone() {
            self.coordinates(&statement.value);
        }
    }

    fn rank_of(&self, list: &[Index]) -> Option<u64> {
        let rank = |e: &Index| match e {
            Index::Tuple(name) => {
                let tuple = self.checked.tuple(&name.text)?;
                Some(u64::from(self.ranks.shapes[tuple.shape.0 as usize]))
            }
            Index::Sum(terms, _) => {
                terms.iter().find_map(|(_, term)| self.rank_of(std::slice::from_ref(term)))
            }
            _ => None,
        };
        list.iter().map(rank).sum()
    }

    fn coordinates(&mut self, value: &Value) {
        match value {
            Value::Dims { of, coord: Some(coord), .. } => {
                if let (Index::Tuple(name), Some(rank)) = (&**coord, self.rank_of(of)) {
                    self.set(&name.text, vec![rank]);
                }
            }
            Value::Element(access) => {
                let tuple = Index::Tuple(access.array.clone());
                if let ([Index::Tuple(name)], Some(rank)) =
                    (&access.indices[..], self.rank_of(&[tuple]))
                {
                    self.set(&name.text, vec![rank]);
                }
            }
            Value::Random { lo, hi, .. } => {
                self.coordinates(lo);
                self.coordinates(hi);
            }
            Value::Call { args, .. } => args.iter().for_each(|arg| self.coordinates(arg)),
            Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| self.coordinates(term)),
            Value::Product(first, rest, _) => {
                self.coordinates(first);
                rest.iter().for_each(|(_, factor)| self.coordinates(factor));
            }
            _ => {}
        }
    }
}

fn add_access(access: &Access, all: &mut Vec<Access>) {
    all.push(access.clone());
    add_indices(&access.indices, all);
}

fn add_indices(indices: &[Index], all: &mut Vec<Access>) {
    for e in indices {
        match e {
            Index::Array(access) => add_access(access, all),
            Index::Sum(terms, _) => {
                terms.iter().for_each(|(_, e)| add_indices(std::slice::from_ref(e), all));
            }
            Index::Product(first, rest, _) => {
                add_indices(std::slice::from_ref(first), all);
                rest.iter().for_each(|(_, e)| add_indices(std::slice::from_ref(e), all));
            }
            _ => {}
        }
    }
}

fn add_value(value: &Value, all: &mut Vec<Access>) {
    match value {
        Value::Element(access) => add_access(access, all),
        Value::Random { lo, hi, .. } => {
            add_value(lo, all);
            add_value(hi, all);
        }
        Value::Call { args, .. } => args.iter().for_each(|arg| add_value(arg, all)),
        Value::Sum(terms, _) => terms.iter().for_each(|(_, term)| add_value(term, all)),
        Value::Product(first, rest, _) => {
            add_value(first, all);
            rest.iter().for_each(|(_, factor)| add_value(factor, all));
        }
        _ => {}
    }
}
