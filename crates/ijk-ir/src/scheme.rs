//! Signatures of bindings, instantiated anew at each use.

use crate::infer::{Infer, KnownRank, RankVar, TypeVar};
use crate::leaf::Why;
use crate::sig::{PortVars, Sig};
use crate::signature::{self, Rank, Signature};
use crate::terms::TypeTerms;
use ijk_syntax::Span;
use ijk_types::TypeSet;

/// A closed signature: variables count within it.
#[derive(Clone, Debug, Default)]
pub struct Scheme {
    inputs: Vec<(u32, u32)>,
    outputs: Vec<(u32, u32)>,
    ranks: Vec<Option<KnownRank>>,
    types: Vec<(TypeSet, Why, Option<u32>)>,
    statements: u64,
    visits: u64,
    loops: u32,
}

impl Scheme {
    /// Closes over what is known of a signature.
    pub fn close(infer: &mut Infer, sig: &Sig) -> Self {
        let Sig { statements, visits, loops, .. } = *sig;
        let mut scheme = Self { statements, visits, loops, ..Self::default() };
        let mut ids = Ids::default();
        scheme.inputs = sig.inputs.iter().map(|p| scheme.port(infer, &mut ids, *p)).collect();
        scheme.outputs = sig.outputs.iter().map(|p| scheme.port(infer, &mut ids, *p)).collect();
        scheme
    }

    fn port(&mut self, infer: &mut Infer, ids: &mut Ids, port: PortVars) -> (u32, u32) {
        let root = infer.rank_root(port.rank);
        let rank = ids.ranks.of(root.0).unwrap_or_else(|| {
            self.ranks.push(infer.known_rank(root));
            ids.ranks.set(root.0, self.ranks.len() as u32 - 1)
        });
        (rank, self.element(infer, ids, port.element))
    }

    fn element(&mut self, infer: &mut Infer, ids: &mut Ids, v: TypeVar) -> u32 {
        let root = infer.type_root(v);
        if let Some(id) = ids.types.of(root.0) {
            return id;
        }
        let id = self.types.len() as u32;
        let (set, why) = infer.types_of(root);
        self.types.push((set, why, None));
        ids.types.set(root.0, id);
        if let Some(real) = infer.known_real(root) {
            let real = self.element(infer, ids, real);
            self.types[id as usize].2 = Some(real);
        }
        id
    }

    /// Inputs, outputs and variables to be looked at in one use.
    pub fn weight(&self) -> u64 {
        (self.inputs.len() + self.outputs.len() + self.types.len()) as u64
    }

    /// Number of inputs.
    pub fn arity(&self) -> usize {
        self.inputs.len()
    }

    /// A use of it.
    pub fn instantiate(&self, infer: &mut Infer) -> Sig {
        self.instantiate_at(infer, 0)
    }

    /// A use of it in a text that has `offset` more bytes before its own.
    pub fn instantiate_at(&self, infer: &mut Infer, offset: u32) -> Sig {
        let rank = |known: &Option<KnownRank>| known.map(|(rank, at)| (rank, shifted(at, offset)));
        let ranks: Vec<RankVar> = self.ranks.iter().map(|known| infer.rank(rank(known))).collect();
        let why = |why: &Why| Why { span: shifted(why.span, offset), ..*why };
        let types: Vec<TypeVar> =
            self.types.iter().map(|(set, own, _)| infer.element(*set, why(own))).collect();
        for (v, (_, _, real)) in types.iter().zip(&self.types) {
            if let Some(real) = real {
                let own = infer.real_of(*v);
                // The sets have been made to agree when they were closed over.
                let _ = infer.unify_types(types[*real as usize], own);
            }
        }
        let port = |(rank, element): &(u32, u32)| PortVars {
            rank: ranks[*rank as usize],
            element: types[*element as usize],
        };
        Sig {
            inputs: self.inputs.iter().map(port).collect(),
            outputs: self.outputs.iter().map(port).collect(),
            statements: self.statements,
            visits: self.visits,
            loops: self.loops,
        }
    }

    /// As the user sees it.
    pub fn signature(&self) -> Signature {
        let mut infer = Infer::default();
        let sig = self.instantiate(&mut infer);
        let inputs: Vec<TypeVar> = sig.inputs.iter().map(|port| port.element).collect();
        let mut terms = TypeTerms::new(&mut infer, inputs.into_iter());
        let mut port = |(id, port): (&(u32, u32), &PortVars)| signature::Port {
            rank: self.ranks[id.0 as usize].map_or(Rank::Var(id.0), |(rank, _)| Rank::Fixed(rank)),
            dtype: terms.of(&mut infer, port.element),
        };
        let inputs = self.inputs.iter().zip(&sig.inputs).map(&mut port).collect();
        let outputs = self.outputs.iter().zip(&sig.outputs).map(&mut port).collect();
        Signature { inputs, outputs, types: terms.types, same_real: terms.same_real }
    }
}

/// A place after `offset` more bytes; what has no place still has none.
fn shifted(span: Span, offset: u32) -> Span {
    match span.start == span.end {
        true => span,
        false => crate::core::Span::from(span).shifted(offset).into(),
    }
}

#[derive(Default)]
struct Ids {
    ranks: Numbers,
    types: Numbers,
}

/// New numbers of variables by their old ones, which are few and small.
#[derive(Default)]
struct Numbers(Vec<Option<u32>>);

impl Numbers {
    fn of(&self, old: u32) -> Option<u32> {
        self.0.get(old as usize).copied().flatten()
    }

    fn set(&mut self, old: u32, new: u32) -> u32 {
        let at = old as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(new);
        new
    }
}
