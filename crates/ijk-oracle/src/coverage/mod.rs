//! Coverage of random programs: productions, operators, semantic rules, diagnostics, kernels.

pub mod et;
pub mod i;

use std::collections::BTreeMap;
use std::fmt;

/// Number of occurrences of each feature.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

impl Coverage {
    /// Counts a feature.
    pub fn count(&mut self, feature: impl Into<String>) {
        *self.counts.entry(feature.into()).or_default() += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: Self) {
        for (feature, count) in other.counts {
            *self.counts.entry(feature).or_default() += count;
        }
    }

    /// Number of occurrences of a feature.
    pub fn of(&self, feature: &str) -> u64 {
        self.counts.get(feature).copied().unwrap_or(0)
    }

    /// Those of `features` that occurred less often than `least`.
    pub fn below<'a>(
        &self,
        least: u64,
        features: impl IntoIterator<Item = &'a str>,
    ) -> Vec<String> {
        let rare = features.into_iter().filter(|feature| self.of(feature) < least);
        rare.map(|feature| format!("{feature}: {}", self.of(feature))).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.iter().try_for_each(|(feature, count)| writeln!(f, "{count:>8}  {feature}"))
    }
}
