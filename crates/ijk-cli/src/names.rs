//! Names of inputs and outputs, and `NAME=FILE` options.
//!
//! Names are positions from 0, as `--bind` and `--out` take them. Messages about a program count its
//! arguments and results from 1, as prose does. Where a name is printed the other stands beside it.

use crate::failure::Failure;
use crate::files::Place;
use crate::standard;

/// `input 0 (argument 1)`: the name of an argument on the command line and in messages.
pub fn input(n: usize) -> String {
    format!("input {n} (argument {})", n + 1)
}

/// `output 0 (result 1)`, likewise.
pub fn output(n: usize) -> String {
    format!("output {n} (result {})", n + 1)
}

/// The places of arguments, from `--bind NAME=FILE`: one for each.
///
/// # Errors
/// If a name is not that of an argument, an argument has none or two, or two are the standard input.
pub fn inputs(binds: &[String], arity: usize) -> Result<Vec<Place>, Failure> {
    let mut places = vec![None; arity];
    for (position, place) in named(binds, "--bind", "input", &numbers(arity))? {
        if places[position].replace(place).is_some() {
            return Err(Failure::wrong(format!("{} is bound twice", input(position))));
        }
    }
    let missing = |position| {
        Failure::wrong(format!(
            "{} of the program is not bound: add --bind {position}=FILE",
            input(position)
        ))
    };
    let places = places.into_iter().enumerate().map(|(n, place)| place.ok_or_else(|| missing(n)));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    standard::check_inputs(places.iter())?;
    Ok(places)
}

/// The places of results, from `--out NAME=FILE`, each with the result's number.
///
/// # Errors
/// If a name is not that of a result.
pub fn outputs(outs: &[String], count: usize) -> Result<Vec<(usize, Place)>, Failure> {
    named(outs, "--out", "output", &numbers(count))
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|n| n.to_string()).collect()
}

/// The files of `NAME=FILE` options, each with the position of its name.
///
/// # Errors
/// If an option is not of that form, or a name is not one of those.
pub fn named(
    options: &[String],
    flag: &str,
    what: &str,
    names: &[String],
) -> Result<Vec<(usize, Place)>, Failure> {
    let example = names.first().map_or("NAME", |name| name);
    options
        .iter()
        .map(|option| {
            let (name, file) = option.split_once('=').ok_or_else(|| {
                let message = format!("expected NAME=FILE, such as {example}={option}");
                Failure::wrong(format!("{flag} {option}: {message}"))
            })?;
            if file.is_empty() {
                return Err(Failure::wrong(format!("{flag} {option}: no file after `=`")));
            }
            match names.iter().position(|known| known == name) {
                Some(position) => Ok((position, Place::parse(file)?)),
                None => Err(unknown(flag, option, name, what, names)),
            }
        })
        .collect()
}

#[cold]
fn unknown(flag: &str, option: &str, name: &str, what: &str, names: &[String]) -> Failure {
    let known = &names[..names.len().min(8)];
    let more = if names.len() > known.len() { ", …" } else { "" };
    let known = match names {
        [] => format!("the program has no {what}s"),
        [only] => format!("the one {what} is named {only}"),
        _ => format!("its {what}s are named {}{more}", known.join(", ")),
    };
    Failure::wrong(format!("{flag} {option}: the program has no {what} `{name}`; {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: Result<impl std::fmt::Debug, Failure>) -> String {
        match result.unwrap_err() {
            Failure::Wrong(message) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn by_position() {
        let places = inputs(&["1=b.npy".into(), "0=a.npy".into()], 2).unwrap();
        assert_eq!(places, ["a.npy", "b.npy"].map(|text| Place::parse(text).unwrap()));
        assert_eq!(
            outputs(&["0=a=b.npy".into()], 1).unwrap()[0].1,
            Place::parse("a=b.npy").unwrap()
        );
        assert!(message(inputs(&[], 1)).contains("add --bind 0=FILE"));
        assert!(message(inputs(&["0=a".into(), "0=b".into()], 1)).contains("bound twice"));
        assert!(message(inputs(&["a.npy".into()], 1)).contains("such as 0=a.npy"));
        assert!(message(inputs(&["0=".into()], 1)).contains("no file after"));
        assert!(message(inputs(&["2=a".into()], 2)).ends_with("`2`; its inputs are named 0, 1"));
        assert!(message(outputs(&["x=a".into()], 1)).ends_with("`x`; the one output is named 0"));
        assert!(message(outputs(&["0=a".into()], 0)).ends_with("the program has no outputs"));
    }
}
