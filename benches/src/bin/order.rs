//! Orders of contraction for `networks/compare.py`: a request of JSON per line, an answer per line.
//!
//! A request has `operands`, `output` and `extents`, and either a `path`, whose cost is the answer, or an
//! `effort`, for which the answer has the path that is found and the seconds of the search.

use ijk_plan::order::{Effort, Network, Options, Order, OrderError, Path, cost, order};
use serde_json::{Value, json};
use std::io::{self, BufRead};
use std::time::Instant;

/// A search is repeated until all repetitions take this long; the shortest time counts.
const LONG_ENOUGH: f64 = 0.05;

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let request = serde_json::from_str(&line?)?;
        println!(
            "{}",
            answer(&request).unwrap_or_else(|error| json!({"error": error.to_string()}))
        );
    }
    Ok(())
}

fn answer(request: &Value) -> Result<Value, OrderError> {
    let network = Network {
        operands: lists(&request["operands"]),
        output: numbers(&request["output"]),
        extents: numbers(&request["extents"]),
    };
    if request["path"].is_array() {
        let path = Path(lists(&request["path"]));
        let cost = cost(&network, &path, &[])?;
        return Ok(json!({"multiplications": cost.multiplications, "largest": cost.largest}));
    }
    let options = Options {
        effort: match request["effort"].as_str() {
            Some("greedy") => Effort::Greedy,
            Some("normal") => Effort::Normal,
            Some("high") => Effort::High,
            _ => Effort::Steps(request["effort"].as_u64().unwrap_or(0)),
        },
        most_elements: request["most_elements"].as_u64(),
        seed: request["seed"].as_u64().unwrap_or(0),
        ..Options::default()
    };
    let (found, seconds) = timed(&network, &options)?;
    Ok(json!({
        "path": found.path.0,
        "sliced": found.sliced,
        "multiplications": found.cost.multiplications,
        "largest": found.cost.largest,
        "written": found.cost.written,
        "seconds": seconds,
    }))
}

fn timed(network: &Network, options: &Options) -> Result<(Order, f64), OrderError> {
    let (mut all, mut least) = (0.0, f64::INFINITY);
    loop {
        let start = Instant::now();
        let found = order(network, options)?;
        let seconds = start.elapsed().as_secs_f64();
        (all, least) = (all + seconds, seconds.min(least));
        if all > LONG_ENOUGH {
            return Ok((found, least));
        }
    }
}

fn numbers<T: TryFrom<u64>>(list: &Value) -> Vec<T> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|number| T::try_from(number.as_u64()?).ok()).collect()
}

fn lists<T: TryFrom<u64>>(list: &Value) -> Vec<Vec<T>> {
    list.as_array().into_iter().flatten().map(numbers).collect()
}
