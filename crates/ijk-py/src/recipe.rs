//! Texts and combinators that a component was made of: what is pickled.

use std::collections::HashMap;
use std::sync::Arc;

/// A step of a recipe: a text, or a combinator of earlier steps.
pub type Step = (String, Vec<usize>);

/// A component's text, or the parts that were put together. Cheap to clone: clones and compositions share parts.
#[derive(Clone)]
pub struct Recipe {
    node: Arc<Node>,
}

struct Node {
    /// The text, or the operator.
    word: String,
    parts: Vec<Arc<Node>>,
}

impl Recipe {
    /// A program's text.
    pub fn text(source: &str) -> Self {
        Self { node: Arc::new(Node { word: source.into(), parts: Vec::new() }) }
    }

    /// Recipes put together by one of Python's operators, by its name.
    pub fn combined(operator: &str, parts: &[&Self]) -> Self {
        let parts = parts.iter().map(|part| Arc::clone(&part.node)).collect();
        Self { node: Arc::new(Node { word: operator.into(), parts }) }
    }

    /// The text, if it is no composition.
    pub fn source(&self) -> Option<&str> {
        self.node.parts.is_empty().then_some(&self.node.word)
    }

    /// Parts before what is made of them, each once: a list does not nest as deep as compositions may.
    pub fn steps(&self) -> Vec<Step> {
        let (mut steps, mut numbers) = (Vec::new(), HashMap::new());
        let mut waiting = vec![&self.node];
        while let Some(node) = waiting.last() {
            let key = Arc::as_ptr(node);
            let missing =
                node.parts.iter().filter(|part| !numbers.contains_key(&Arc::as_ptr(part)));
            let missing: Vec<_> = missing.collect();
            if missing.is_empty() {
                if !numbers.contains_key(&key) {
                    let parts = node.parts.iter().map(|part| numbers[&Arc::as_ptr(part)]);
                    let step = (node.word.clone(), parts.collect());
                    numbers.insert(key, steps.len());
                    steps.push(step);
                }
                waiting.pop();
            } else {
                waiting.extend(missing);
            }
        }
        steps
    }
}

/// Parts are dropped one after another, since compositions may nest deeper than the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        while let Some(part) = parts.pop() {
            if let Some(mut node) = Arc::into_inner(part) {
                parts.append(&mut node.parts);
            }
        }
    }
}
