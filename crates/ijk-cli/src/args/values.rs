//! Values of options and arguments, and their parsers.

use ijk::DType;
use std::num::IntErrorKind;

/// A program may start with `-`, but none starts with two: that is an option misspelt.
pub(super) fn program(text: &str) -> Result<String, String> {
    match text.strip_prefix("--") {
        Some(name) => Err(format!("there is no option --{name}")),
        None => Ok(text.into()),
    }
}

/// A shape or a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents(pub Vec<usize>);

pub(super) fn shape(text: &str) -> Result<Extents, String> {
    extents(text, 'x', "a shape is written 8x8, or . for a single number")
}

/// Blocks of an argument: one number for all axes, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks(pub Vec<Option<usize>>);

pub(super) fn blocks(text: &str) -> Result<Blocks, String> {
    let form = "blocks are written 1024x1024, 1024x. where the last axis is not cut, or 1024";
    let block = |text: &str| match text.trim() {
        "." => Ok(None),
        text => match text.parse::<usize>() {
            Ok(block @ 1..) => Ok(Some(block)),
            Ok(0) => Err("a block has 1 element or more".into()),
            Err(_) => Err(form.to_owned()),
        },
    };
    text.split('x').map(block).collect::<Result<_, _>>().map(Blocks)
}

/// Compression of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compress {
    /// Not at all.
    None,
    /// By zstd, at a level.
    Zstd(u8),
    /// As the first stored argument, shards included.
    Same,
}

pub(super) fn compress(text: &str) -> Result<Compress, String> {
    let level = |text: &str| text.parse().ok().filter(|level| (1..=22).contains(level));
    match text.split_once(':') {
        None if text == "none" => Ok(Compress::None),
        None if text == "same" => Ok(Compress::Same),
        None if text == "zstd" => Ok(Compress::Zstd(3)),
        Some(("zstd", text)) if level(text).is_some() => {
            Ok(level(text).map_or(Compress::None, Compress::Zstd))
        }
        _ => Err("none, same, zstd, or zstd:LEVEL with a level from 1 to 22".into()),
    }
}

impl Blocks {
    /// The blocks of an array of rank `rank`.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn of(&self, rank: usize) -> Result<Vec<Option<usize>>, String> {
        match &self.0[..] {
            [one] => Ok(vec![*one; rank]),
            all if all.len() == rank => Ok(all.to_vec()),
            all => Err(format!("--block names {} axes, but the argument has {rank}", all.len())),
        }
    }
}

/// A speed.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("a number greater than 0".into()),
    }
}

pub(super) fn point(text: &str) -> Result<Extents, String> {
    extents(text, ',', "a point is written 1,2, or . where there is no index")
}

/// Numbers between separators; `form` says how they are written.
fn extents(text: &str, separator: char, form: &str) -> Result<Extents, String> {
    if matches!(text, "." | "") {
        return Ok(Extents(Vec::new()));
    }
    let number = |n: &str| match n.trim().parse::<usize>() {
        Ok(n) => Ok(n),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => {
            Err(format!("{} is too large", n.trim()))
        }
        Err(_) => Err(form.into()),
    };
    text.split(separator).map(number).collect::<Result<_, _>>().map(Extents)
}

pub(super) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=4096) => Ok(n),
        _ => Err("a number from 1 to 4096".into()),
    }
}

pub(super) fn dtype(text: &str) -> Result<DType, String> {
    DType::from_name(text).ok_or_else(|| {
        let names: Vec<_> = DType::ALL.iter().map(|t| t.name()).collect();
        format!("element types are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_and_points() {
        assert_eq!(shape("8x16"), Ok(Extents(vec![8, 16])));
        assert_eq!(shape("."), Ok(Extents(vec![])));
        assert_eq!(point("1, 2"), Ok(Extents(vec![1, 2])));
        assert_eq!(
            shape("99999999999999999999x1").unwrap_err(),
            "99999999999999999999 is too large"
        );
        assert!(shape("8x").is_err() && shape("-1").is_err() && point("a").is_err());
    }

    #[test]
    fn compressions() {
        assert_eq!(compress("none"), Ok(Compress::None));
        assert_eq!(compress("same"), Ok(Compress::Same));
        assert_eq!(compress("zstd"), Ok(Compress::Zstd(3)));
        assert_eq!(compress("zstd:22"), Ok(Compress::Zstd(22)));
        assert!(["zstd:0", "zstd:23", "gzip", "zstd:", ""].iter().all(|t| compress(t).is_err()));
    }

    #[test]
    fn blocks_of_axes() {
        assert_eq!(blocks("16").unwrap().of(2), Ok(vec![Some(16); 2]));
        assert_eq!(blocks("16x.").unwrap().of(2), Ok(vec![Some(16), None]));
        assert_eq!(blocks(".").unwrap().of(3), Ok(vec![None; 3]));
        let error = blocks("4x4").unwrap().of(3).unwrap_err();
        assert_eq!(error, "--block names 2 axes, but the argument has 3");
        assert_eq!(blocks("0").unwrap_err(), "a block has 1 element or more");
        assert!(blocks("4x").is_err() && blocks("-1").is_err() && rate("0").is_err());
    }
}
