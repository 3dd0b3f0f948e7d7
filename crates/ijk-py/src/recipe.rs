//! Texts and calls that a component or a block tensor was made of, which are pickled.

use std::collections::HashMap;
use std::sync::Arc;

/// A step of a component: a text, or a combinator of earlier steps.
pub type Step = (String, Vec<usize>);

/// The words of a thing and of the parts that it was put together from. Cheap to clone: clones and compositions share
/// parts. The words of a component are texts and operators.
pub struct Recipe<W = String> {
    node: Arc<Node<W>>,
}

struct Node<W> {
    word: W,
    parts: Vec<Arc<Node<W>>>,
}

impl<W> Clone for Recipe<W> {
    fn clone(&self) -> Self {
        Self { node: Arc::clone(&self.node) }
    }
}

impl Recipe {
    /// A program's text.
    pub fn text(source: &str) -> Self {
        Self::new(source.into(), [])
    }

    /// Recipes put together by one of Python's operators, by its name.
    pub fn combined<'a>(operator: &str, parts: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::new(operator.into(), parts)
    }

    /// The text, if it is no composition.
    pub fn source(&self) -> Option<&str> {
        self.node.parts.is_empty().then_some(&self.node.word)
    }

    /// Its steps with their words.
    pub fn texts(&self) -> Vec<Step> {
        let steps = self.steps().into_iter();
        steps.map(|(word, parts)| (word.clone(), parts)).collect()
    }
}

impl<W> Recipe<W> {
    /// Recipes put together.
    pub fn new<'a>(word: W, parts: impl IntoIterator<Item = &'a Self>) -> Self
    where
        W: 'a,
    {
        let parts = parts.into_iter().map(|part| Arc::clone(&part.node)).collect();
        Self { node: Arc::new(Node { word, parts }) }
    }

    /// Parts before what is made of them, each once, by the numbers of those before: a list does not nest as deep as
    /// compositions may.
    pub fn steps(&self) -> Vec<(&W, Vec<usize>)> {
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
                    let step = (&node.word, parts.collect());
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
impl<W> Drop for Node<W> {
    fn drop(&mut self) {
        let mut parts = std::mem::take(&mut self.parts);
        while let Some(part) = parts.pop() {
            if let Some(mut node) = Arc::into_inner(part) {
                parts.append(&mut node.parts);
            }
        }
    }
}
