//! Options of stored arrays: of object stores, by AWS's names or by those of s3fs, and of compression.

use crate::numbers;
use ijk::BigTensor;
use ijk::blocks::{Compression, StoreOptions, ZarrOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

/// Names of s3fs, and ours.
const NAMES: [(&str, &str); 5] = [
    ("key", "access_key_id"),
    ("secret", "secret_access_key"),
    ("anon", "skip_signature"),
    ("region_name", "region"),
    ("client_kwargs", ""),
];

/// Names of ours, and values.
pub type Entries = Vec<(String, String)>;

/// The options of a dict.
pub fn options(given: Option<&Bound<'_, PyDict>>) -> PyResult<StoreOptions> {
    Ok(with_entries(&entries(given)?))
}

/// Options with these entries.
pub fn with_entries(entries: &Entries) -> StoreOptions {
    let set = |options: StoreOptions, (name, value): &(String, String)| options.set(name, value);
    entries.iter().fold(StoreOptions::new(), set)
}

/// The entries of a dict, by our names.
pub fn entries(given: Option<&Bound<'_, PyDict>>) -> PyResult<Entries> {
    let mut entries = Vec::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let known = NAMES.iter().find(|(theirs, _)| *theirs == name);
        match known.map_or(&name[..], |(_, ours)| *ours) {
            _ if value.is_none() => {}
            "" => {
                let inner = value.cast::<PyDict>().map_err(|_| wrong(&name, &value))?;
                for (name, value) in inner {
                    entries.push(entry(&name.extract::<String>()?, &value)?);
                }
            }
            ours => entries.push(entry(ours, &value)?),
        }
    }
    Ok(entries)
}

fn entry(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let name = NAMES.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| *ours);
    if name.is_empty() {
        return Err(PyValueError::new_err("client_kwargs are not nested"));
    }
    let text = match value.cast::<PyBool>() {
        Ok(truth) => truth.is_true().to_string(),
        Err(_) if value.is_instance_of::<PyDict>() => return Err(wrong(name, value)),
        Err(_) => value.str()?.to_string(),
    };
    Ok((name.into(), text))
}

fn wrong(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type();
    PyTypeError::new_err(format!("storage_options[{name:?}] is of {kind}"))
}

/// Options with a compression of a tensor's chunks: a level of zstd, or that of inputs.
pub fn compressed(
    options: ZarrOptions,
    compression: &Bound<'_, PyAny>,
    tensor: &BigTensor,
) -> PyResult<ZarrOptions> {
    let wrong = |given: String| {
        PyValueError::new_err(format!(
            "compression is a level of zstd from 1 to 22, or \"same\", not {given}"
        ))
    };
    if let Ok(text) = compression.cast::<PyString>() {
        return match text.to_cow()?.as_ref() {
            "same" => Ok(options.like_inputs(tensor)),
            other => Err(wrong(format!("{other:?}"))),
        };
    }
    match numbers::signed(compression, "compression")? {
        level @ 1..=22 => Ok(options.compression(Compression::Zstd(level as u8))),
        level => Err(wrong(level.to_string())),
    }
}
