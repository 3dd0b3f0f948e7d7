//! Arrays of format 2: their metadata as those of format 3.
//!
//! The formats differ in spelling. An order of memory is a transposition, an element type carries the order of bytes, filters
//! and a compressor are codecs of numcodecs, and keys have no prefix. So an array of format 2 is read as the array of
//! format 3 that has the same chunks.

use super::document::{self, Document};
use super::error::ZarrError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The metadata of an array.
pub(super) const ARRAY: &str = ".zarray";
/// Its attributes.
pub(super) const ATTRIBUTES: &str = ".zattrs";
/// The metadata of a group.
pub(super) const GROUP: &str = ".zgroup";

/// The attribute that holds names of axes, as xarray writes it.
const NAMES: &str = "_ARRAY_DIMENSIONS";

/// Codecs that are read.
const CODECS: [&str; 6] = ["blosc", "gzip", "lz4", "shuffle", "zlib", "zstd"];

#[derive(Deserialize)]
struct OldArray {
    zarr_format: u64,
    shape: Vec<u64>,
    chunks: Vec<u64>,
    dtype: Value,
    compressor: Option<OldCodec>,
    #[serde(default)]
    fill_value: Value,
    #[serde(default)]
    order: MemoryOrder,
    filters: Option<Vec<OldCodec>>,
    dimension_separator: Option<Separator>,
}

#[derive(Deserialize)]
struct OldCodec {
    id: String,
    #[serde(flatten)]
    options: Map<String, Value>,
}

#[derive(Deserialize, Default, PartialEq)]
enum MemoryOrder {
    #[default]
    C,
    F,
}

#[derive(Deserialize)]
enum Separator {
    #[serde(rename = ".")]
    Dot,
    #[serde(rename = "/")]
    Slash,
}

/// The text of a `zarr.json` with the meaning of a `.zarray` and a `.zattrs`.
pub(super) fn as_v3(array: &[u8], attributes: Option<&[u8]>) -> Result<Vec<u8>, ZarrError> {
    let wrong = |key, why: String| ZarrError::Old { key, why };
    let document = Document::parse(array).map_err(|error| wrong(ARRAY, reason(error)))?;
    let array: OldArray =
        serde_json::from_value(document.json).map_err(|error| wrong(ARRAY, error.to_string()))?;
    if array.zarr_format != 2 {
        return Err(wrong(ARRAY, format!("zarr_format is {}, not 2", array.zarr_format)));
    }
    let (attributes, names) = match attributes {
        Some(text) => annotations(text, array.shape.len())?,
        None => ("{}".into(), None),
    };
    let mut metadata = array.as_v3()?;
    metadata["dimension_names"] = names.map_or(Value::Null, Value::from);
    let mut text = metadata.to_string();
    // The closing brace comes back at the end.
    text.pop();
    Ok(format!("{text}, \"attributes\": {attributes}}}").into_bytes())
}

/// Why a document is not valid, without its name.
fn reason(error: ZarrError) -> String {
    match error {
        ZarrError::Metadata(why) => why,
        error => error.to_string(),
    }
}

/// The text of attributes without names of axes, and these.
fn annotations(text: &[u8], rank: usize) -> Result<(String, Option<Vec<Value>>), ZarrError> {
    let wrong = |why: String| ZarrError::Old { key: ATTRIBUTES, why };
    let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
    let json = Document::parse(text.as_bytes()).map_err(|error| wrong(reason(error)))?.json;
    let Some(all) = json.as_object() else { return Err(wrong("it is no JSON object".into())) };
    let names = all.get(NAMES).and_then(Value::as_array);
    let are_names = |names: &&Vec<Value>| {
        names.len() == rank && names.iter().all(|name| name.is_string() || name.is_null())
    };
    match names.filter(are_names) {
        Some(names) => Ok((document::without(text, NAMES), Some(names.clone()))),
        // Names of another number of axes are an attribute like others.
        None => Ok((text.to_owned(), None)),
    }
}

impl OldArray {
    fn as_v3(&self) -> Result<Value, ZarrError> {
        let (data_type, endian) = element_type(&self.dtype)?;
        let mut codecs = Vec::new();
        if self.order == MemoryOrder::F && self.shape.len() > 1 {
            codecs.push(json!({ "name": "transpose", "configuration": { "order": "F" } }));
        }
        codecs.push(match endian {
            Some(endian) => json!({ "name": "bytes", "configuration": { "endian": endian } }),
            None => json!({ "name": "bytes" }),
        });
        let filters = self.filters.iter().flatten();
        for codec in filters.chain(&self.compressor) {
            codecs.push(codec.as_v3()?);
        }
        let separator = match self.dimension_separator {
            Some(Separator::Slash) => "/",
            _ => ".",
        };
        Ok(json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": data_type,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": self.chunks } },
            "chunk_key_encoding": { "name": "v2", "configuration": { "separator": separator } },
            "fill_value": self.fill_value,
            "codecs": codecs,
        }))
    }
}

impl OldCodec {
    fn as_v3(&self) -> Result<Value, ZarrError> {
        if !CODECS.contains(&&*self.id) {
            let known = format!("those that are: {}", CODECS.join(", "));
            let (what, name) = ("codec of format 2", self.id.clone());
            return Err(ZarrError::Unknown { what, name, known });
        }
        let name = format!("numcodecs.{}", self.id);
        Ok(json!({ "name": name, "configuration": self.options }))
    }
}

/// The name of an element type in format 3, and the order of its bytes.
fn element_type(dtype: &Value) -> Result<(String, Option<&'static str>), ZarrError> {
    let unknown = || {
        let found = dtype.as_str().map_or_else(|| dtype.to_string(), str::to_owned);
        ZarrError::ElementType { found }
    };
    let text = dtype.as_str().filter(|text| text.is_ascii()).ok_or_else(unknown)?;
    let (order, rest) = text.split_at_checked(1).ok_or_else(unknown)?;
    let (kind, size) = rest.split_at_checked(1).ok_or_else(unknown)?;
    let size: u64 = size.parse().ok().filter(|size| (1..=32).contains(size)).ok_or_else(unknown)?;
    let name = match kind {
        "b" if size == 1 => "bool".into(),
        "i" => format!("int{}", 8 * size),
        "u" => format!("uint{}", 8 * size),
        "f" => format!("float{}", 8 * size),
        "c" => format!("complex{}", 8 * size),
        _ => return Err(unknown()),
    };
    match order {
        "<" => Ok((name, Some("little"))),
        ">" => Ok((name, Some("big"))),
        "|" => Ok((name, None)),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Layout;
    use super::*;

    const SIMPLE: &str = r#"{"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": ">f8",
        "compressor": {"id": "zlib", "level": 1}, "fill_value": NaN, "order": "F", "filters": null}"#;

    fn layout(array: &str, attributes: Option<&str>) -> Result<Layout, ZarrError> {
        Layout::parse(&as_v3(array.as_bytes(), attributes.map(str::as_bytes))?)
    }

    #[test]
    fn metadata_have_the_meaning_that_they_had() {
        let attributes = r#"{"_ARRAY_DIMENSIONS": ["y", "x"], "units": NaN, "n": 1.50}"#;
        let found = layout(SIMPLE, Some(attributes)).unwrap();
        assert_eq!(found.ty.to_string(), "([4, 6], [2, 3], f64)");
        assert_eq!(found.key(&[1, 0]), "1.0");
        assert_eq!(found.annotations.names, [Some("y".to_owned()), Some("x".to_owned())]);
        assert_eq!(found.annotations.attributes.as_deref(), Some(r#"{"units": NaN, "n": 1.50}"#));
        let slashes = SIMPLE.replace("\"F\"", "\"C\", \"dimension_separator\": \"/\"");
        let found = layout(&slashes, Some(r#"{"_ARRAY_DIMENSIONS": ["y"]}"#)).unwrap();
        assert_eq!(found.key(&[1, 0]), "1/0");
        assert!(found.annotations.names.is_empty() && found.annotations.attributes.is_some());
    }

    #[test]
    fn what_is_not_read_is_named() {
        for (from, to, said) in [
            ("zlib", "bz2", "codec of format 2 `bz2` is not supported; those that are: blosc"),
            (
                "\"filters\": null",
                "\"filters\": [{\"id\": \"delta\"}]",
                "codec of format 2 `delta`",
            ),
            (">f8", "<M8[ns]", "elements of `<M8[ns]` are not supported"),
            (">f8", "|O", "elements of `|O` are not supported"),
            ("\">f8\"", "[[\"a\", \"<f8\"]]", "elements of `[[\"a\",\"<f8\"]]` are not supported"),
            (">f8", "ä", "elements of `ä` are not supported"),
            ("[2, 3]", "[2]", "the array has 2 axes, but chunks have 1"),
            ("\"F\"", "\"A\"", ".zarray is not valid: unknown variant `A`"),
            ("\"shape\": [4, 6],", "", ".zarray is not valid: missing field `shape`"),
            ("\"zarr_format\": 2", "\"zarr_format\": 1", "zarr_format is 1, not 2"),
            ("{\"zarr", "{{\"zarr", ".zarray is not valid: "),
        ] {
            let changed = SIMPLE.replacen(from, to, 1);
            assert_ne!(changed, SIMPLE);
            let error = layout(&changed, None).unwrap_err().to_string();
            assert!(error.contains(said), "{from} {to}: {error}");
        }
        let error = layout(SIMPLE, Some("[1]")).unwrap_err().to_string();
        assert_eq!(error, ".zattrs is not valid: it is no JSON object");
    }
}
