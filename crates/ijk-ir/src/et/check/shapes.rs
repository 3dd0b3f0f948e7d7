//! Eintups that share a shape.

use super::super::walk::{self, Event};
use super::super::{Origin, ShapeId, Tuple};
use super::arrays::Arrays;
use super::names::{Kind, Names, Uses};
use ijk_syntax::et::ast::{Access, Index, Program};
use std::collections::HashMap;

/// Eintups with their shapes, and the plain eintup that first stood at each place.
pub struct Shapes {
    pub tuples: Vec<Tuple>,
    pub by_name: HashMap<String, usize>,
    pub shapes: u32,
    /// For each array and place.
    pub standing: Vec<Vec<Option<usize>>>,
    /// Every plain eintup that stands there.
    pub plain: Vec<Vec<Vec<usize>>>,
    /// Eintups that index an input, which is bound, without arithmetic.
    input: Vec<bool>,
    /// Union-find forest of eintups that share a shape.
    parents: Vec<usize>,
    /// The first statement that mentions each.
    first: Vec<Option<usize>>,
    /// Eintups with a constraint.
    constrained: Vec<bool>,
}

impl Shapes {
    /// An eintup whose first statement puts it plainly where another stood before, and which has
    /// no constraint of its own, has that one's shape; one that an input determines only that of another which
    /// stands in an input.
    pub fn find(program: &Program, names: &Names, arrays: &Arrays) -> Self {
        let uses: Vec<&Uses> = names.uses.iter().filter(|u| u.kind() == Kind::Tuple).collect();
        let tuple = |u: &&Uses| Tuple { name: u.name.clone(), span: u.first, shape: ShapeId(0) };
        let mut shapes = Self {
            tuples: uses.iter().map(tuple).collect(),
            by_name: uses.iter().enumerate().map(|(n, u)| (u.name.clone(), n)).collect(),
            shapes: 0,
            standing: arrays.infos.iter().map(|a| vec![None; a.places]).collect(),
            plain: arrays.infos.iter().map(|a| vec![Vec::new(); a.places]).collect(),
            input: vec![false; uses.len()],
            parents: (0..uses.len()).collect(),
            first: vec![None; uses.len()],
            constrained: uses.iter().map(|u| u.constrained.is_some()).collect(),
        };
        for statement in &program.statements {
            walk::statement(statement, &mut |event| {
                if let Event::Access(access, _) = event
                    && let Some(array) = arrays.get(&access.array.text)
                {
                    shapes.take(access, array, arrays.infos[array].origin == Origin::Input);
                }
            });
        }
        for (n, statement) in program.statements.iter().enumerate() {
            walk::statement(statement, &mut |event| shapes.note(event, n));
            walk::statement(statement, &mut |event| {
                if let Event::Access(access, _) = event
                    && let Some(array) = arrays.get(&access.array.text)
                {
                    let input = arrays.infos[array].origin == Origin::Input;
                    shapes.stand(access, array, n, input);
                }
            });
        }
        shapes.number();
        shapes
    }

    fn note(&mut self, event: Event<'_>, statement: usize) {
        let name = match event {
            Event::Name(name, _) => &name.text,
            Event::Access(access, _) => &access.array.text,
        };
        if let Some(n) = self.by_name.get(name) {
            self.first[*n].get_or_insert(statement);
        }
    }

    /// Notes the plain eintups of an access.
    fn take(&mut self, access: &Access, array: usize, input: bool) {
        for (place, index) in access.indices.iter().enumerate() {
            let Index::Tuple(name) = index else { continue };
            let Some(&tuple) = self.by_name.get(&name.text) else { continue };
            let Some(plain) = self.plain[array].get_mut(place) else { continue };
            if !plain.contains(&tuple) {
                plain.push(tuple);
            }
            self.input[tuple] |= input;
        }
    }

    fn stand(&mut self, access: &Access, array: usize, statement: usize, input: bool) {
        for (place, index) in access.indices.iter().enumerate() {
            let Index::Tuple(name) = index else { continue };
            let Some(&tuple) = self.by_name.get(&name.text) else { continue };
            match self.standing[array].get(place).copied() {
                None => {}
                Some(None) => self.standing[array][place] = Some(tuple),
                Some(Some(other)) => {
                    let own = self.parents[tuple] == tuple && !self.constrained[tuple];
                    let determined = self.input[tuple] && !input;
                    if own && !determined && self.first[tuple] == Some(statement) {
                        self.parents[tuple] = self.root(other);
                    }
                }
            }
        }
    }

    /// The shapes of the plain eintups at each place.
    pub fn plain(&self) -> Vec<Vec<Vec<ShapeId>>> {
        let shapes = |tuples: &Vec<usize>| tuples.iter().map(|t| self.tuples[*t].shape).collect();
        self.plain.iter().map(|places| places.iter().map(shapes).collect()).collect()
    }

    fn root(&self, tuple: usize) -> usize {
        let mut at = tuple;
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    fn number(&mut self) {
        let roots: Vec<usize> = (0..self.tuples.len()).map(|n| self.root(n)).collect();
        let mut ids: Vec<Option<ShapeId>> = vec![None; roots.len()];
        for (tuple, root) in roots.into_iter().enumerate() {
            let id = *ids[root].get_or_insert_with(|| {
                self.shapes += 1;
                ShapeId(self.shapes - 1)
            });
            self.tuples[tuple].shape = id;
        }
    }
}
