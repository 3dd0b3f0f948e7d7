//! The crates that are published, in the order of their dependencies.

use crate::workspace::{list, text};
use serde_json::Value;

/// Those without `publish = false`; each stands behind the others that it uses, in tests, too.
pub fn published(metadata: &Value) -> Vec<Value> {
    let mut waiting: Vec<&Value> =
        list(&metadata["packages"]).iter().filter(|p| p["publish"].is_null()).collect();
    let mut ordered: Vec<Value> = Vec::new();
    while !waiting.is_empty() {
        let is_ready = |package: &&Value| {
            let uses = list(&package["dependencies"]).iter().map(|d| &d["name"]);
            uses.clone().all(|name| waiting.iter().all(|other| other["name"] != *name))
        };
        let Some(at) = waiting.iter().position(is_ready) else { break };
        ordered.push(waiting.remove(at).clone());
    }
    // Those of a circle, which `cargo publish` refuses.
    ordered.extend(waiting.into_iter().cloned());
    ordered
}

/// The names of packages.
pub fn names(packages: &[Value]) -> Vec<String> {
    packages.iter().map(|package| text(&package["name"])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_used_comes_first() {
        let package = |name: &str, uses: &[&str], publish: Value| {
            let uses: Vec<_> = uses.iter().map(|name| json!({ "name": name })).collect();
            json!({ "name": name, "dependencies": uses, "publish": publish })
        };
        let metadata = json!({ "packages": [
            package("top", &["middle", "serde"], Value::Null),
            package("middle", &["bottom"], Value::Null),
            package("xtask", &[], json!([])),
            package("bottom", &["libc"], Value::Null),
        ] });
        assert_eq!(names(&published(&metadata)), ["bottom", "middle", "top"]);
    }
}
