//! The encoding of the chunks of a result.

use super::error::ZarrError;
use crate::Type;
use ijk_types::DType;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Codecs after the bytes of elements, and the extents of smaller chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Encoding {
    /// As metadata have them.
    pub(super) compression: Vec<Value>,
    pub(super) shards: Option<Vec<usize>>,
}

/// Codecs that are written; those of numcodecs by the names that format 3 has for them.
const WRITTEN: [(&str, &str); 7] = [
    ("zstd", "zstd"),
    ("gzip", "gzip"),
    ("blosc", "blosc"),
    ("crc32c", "crc32c"),
    ("numcodecs.zstd", "zstd"),
    ("numcodecs.gzip", "gzip"),
    ("numcodecs.zlib", "gzip"),
];

impl Encoding {
    /// The encoding of an array with some codecs: what is written is read by everybody, so a codec that format 3 has no
    /// name for is replaced by zstd, at the level where that is as fast.
    pub(super) fn of(codecs: &[Value]) -> Self {
        let shards = codecs.iter().find(|codec| codec["name"] == "sharding_indexed");
        let inner = shards.and_then(|shards| {
            let options = &shards["configuration"];
            let extents = options["chunk_shape"].as_array()?.iter();
            let extents: Option<Vec<usize>> =
                extents.map(|n| n.as_u64().and_then(|n| usize::try_from(n).ok())).collect();
            Some((extents?, options["codecs"].as_array()?))
        });
        match inner {
            Some((extents, inner)) => {
                // Smaller chunks of smaller ones are one level here.
                let Self { compression, .. } = Self::of(inner);
                Self { compression, shards: Some(extents) }
            }
            None => {
                let after = codecs.iter().filter(|codec| !is_of_elements(codec));
                Self { compression: after.filter_map(written).collect(), shards: None }
            }
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn is_plain(&self) -> bool {
        self.compression.is_empty() && self.shards.is_none()
    }

    /// The codecs of the metadata of an array of a type.
    pub(super) fn codecs(&self, ty: &Type, dtype: DType) -> Result<Vec<Value>, ZarrError> {
        let mut codecs = vec![match dtype.size() {
            1 => json!({ "name": "bytes" }),
            _ => json!({ "name": "bytes", "configuration": { "endian": "little" } }),
        }];
        codecs.extend(self.compression.iter().map(|codec| fitted(codec, dtype)));
        let Some(inner) = &self.shards else { return Ok(codecs) };
        check_division(inner, ty)?;
        Ok(vec![json!({
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": inner,
                "codecs": codecs,
                "index_codecs": [
                    { "name": "bytes", "configuration": { "endian": "little" } },
                    { "name": "crc32c" },
                ],
                "index_location": "end",
            },
        })])
    }
}

fn is_of_elements(codec: &Value) -> bool {
    codec["name"] == "bytes" || codec["name"] == "transpose"
}

/// A codec as it is written; none of a shuffle, which is part of compressing.
fn written(codec: &Value) -> Option<Value> {
    let name = codec["name"].as_str()?;
    if name == "numcodecs.shuffle" {
        return None;
    }
    let Some((_, name)) = WRITTEN.iter().find(|(theirs, _)| *theirs == name) else {
        return super::Compression::Zstd(1).codec();
    };
    let level = codec["configuration"]["level"].as_i64();
    Some(match *name {
        "zstd" => {
            let checksum = codec["configuration"]["checksum"].as_bool().unwrap_or(false);
            let options = json!({ "level": level.unwrap_or(0), "checksum": checksum });
            json!({ "name": name, "configuration": options })
        }
        "gzip" => {
            let level = level.unwrap_or(5).clamp(0, 9);
            json!({ "name": name, "configuration": { "level": level } })
        }
        _ => codec.clone(),
    })
}

/// A codec for elements of a type: blosc shuffles bytes of elements of a size.
fn fitted(codec: &Value, dtype: DType) -> Value {
    let mut codec = codec.clone();
    if codec["name"] == "blosc" && !codec["configuration"]["typesize"].is_null() {
        codec["configuration"]["typesize"] = dtype.size().into();
    }
    codec
}

/// Checks that chunks in shards divide the blocks of a type.
fn check_division(inner: &[usize], ty: &Type) -> Result<(), ZarrError> {
    let wrong = |why: String| ZarrError::Metadata(format!("shards: {why}"));
    if inner.len() != ty.rank() {
        let (axes, rank) = (inner.len(), ty.rank());
        return Err(wrong(format!("the array has {rank} axes, but chunks in shards have {axes}")));
    }
    for (axis, &chunk) in inner.iter().enumerate() {
        let block = ty.blocks[axis].unwrap_or(ty.dims[axis]).min(ty.dims[axis]).max(1);
        if chunk == 0 || !block.is_multiple_of(chunk) {
            return Err(wrong(format!(
                "chunks of {chunk} do not divide blocks of {block} on axis {axis}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_those_of_others_as_far_as_everybody_reads_them() {
        let of = |codecs: Value| Encoding::of(codecs.as_array().unwrap());
        let bytes = json!({ "name": "bytes" });
        let plain = of(json!([bytes]));
        assert!(plain.is_plain());
        let zlib = json!({ "name": "numcodecs.zlib", "configuration": { "level": 1 } });
        let shuffle = json!({ "name": "numcodecs.shuffle", "configuration": { "elementsize": 8 } });
        let found = of(json!([bytes, shuffle, zlib]));
        assert_eq!(found.compression, [json!({ "name": "gzip", "configuration": { "level": 1 } })]);
        let lz4 = of(json!([bytes, { "name": "numcodecs.lz4" }]));
        assert_eq!(lz4.compression[0]["name"], "zstd");
        let sharded = of(json!([{ "name": "sharding_indexed", "configuration": {
            "chunk_shape": [2, 3], "codecs": [bytes, { "name": "crc32c" }], "index_codecs": [] } }]));
        assert_eq!((sharded.shards.as_deref(), sharded.compression.len()), (Some(&[2, 3][..]), 1));
        assert_eq!(Encoding::parse(&sharded.text().unwrap()), Some(sharded.clone()));
        let ty = |blocks: [usize; 2]| Type::new([8, 9], blocks.map(Some), DType::F64);
        assert!(sharded.codecs(&ty([4, 9]), DType::F64).is_ok());
        let error = sharded.codecs(&ty([4, 5]), DType::F64).unwrap_err().to_string();
        assert!(error.contains("chunks of 3 do not divide blocks of 5 on axis 1"), "{error}");
    }
}
