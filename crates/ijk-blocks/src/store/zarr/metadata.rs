//! `zarr.json`: parsing and writing the metadata of an array.

use super::ZarrOptions;
use super::codecs::{Codecs, Elements};
use super::document::{self, Document};
use super::encoding::Encoding;
use super::error::ZarrError;
use super::fill;
use crate::{Annotations, Type};
use ijk_tensor::Tensor;
use ijk_types::{DType, Scalar};
use serde::Deserialize;
use serde_json::{Value, json};
use std::num::NonZeroU64;
use zarrs::array::{ArrayMetadataV3, ChunkKeyEncoding, DataType, FillValue};
use zarrs::metadata::v3::MetadataV3;

/// An array as its metadata describe it.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) ty: Type,
    pub(super) dtype: DType,
    /// Extents of every chunk, those at the ends of axes included.
    pub(super) chunk: Vec<NonZeroU64>,
    pub(super) fill: Scalar,
    pub(super) elements: Elements,
    pub(super) codecs: Codecs,
    /// Names of the axes, and attributes.
    pub(super) annotations: Annotations,
    keys: ChunkKeyEncoding,
    /// Names and configurations of the codecs.
    stored: Vec<(String, Value)>,
    /// The encoding of results that are stored alike.
    pub(super) encoding: Encoding,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegularGrid {
    chunk_shape: Vec<NonZeroU64>,
}

/// Name of an element type in Zarr.
pub(super) fn zarr_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
        DType::I8 => "int8",
        DType::I16 => "int16",
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::C64 => "complex64",
        DType::C128 => "complex128",
    }
}

impl Layout {
    /// Reads the text of `zarr.json`.
    pub(super) fn parse(text: &[u8]) -> Result<Self, ZarrError> {
        let Document { mut json, attributes } = Document::parse(text)?;
        if let Some(format) = json.get("zarr_format").filter(|format| **format != json!(3)) {
            return Err(ZarrError::Format(format.to_string()));
        }
        if json.get("node_type") == Some(&json!("group")) {
            return Err(ZarrError::Group { arrays: Vec::new() });
        }
        // The library is stricter about fill values.
        let fill = json.get_mut("fill_value").map(Value::take);
        let metadata: ArrayMetadataV3 =
            serde_json::from_value(json).map_err(|error| ZarrError::Metadata(error.to_string()))?;
        let missing = || ZarrError::Metadata("missing field `fill_value`".into());
        let mut layout = Self::new(&metadata, &fill.ok_or_else(missing)?)?;
        layout.annotations.attributes = attributes.map(Into::into);
        Ok(layout)
    }

    fn new(metadata: &ArrayMetadataV3, fill: &Value) -> Result<Self, ZarrError> {
        check_extensions(metadata)?;
        let dtype = element_type(&metadata.data_type)?;
        let dims = extents(&metadata.shape)?;
        let chunk = chunk_shape(metadata)?;
        let overflow =
            || ZarrError::ChunkSize { shape: chunk.iter().map(|n| n.get()).collect(), of: dtype };
        let count = chunk.iter().try_fold(dtype.size() as u64, |n, c| n.checked_mul(c.get()));
        if count.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(overflow());
        }
        let (fill, elements) = filled(metadata, fill, dtype)?;
        let block = |(&extent, chunk): (&usize, &NonZeroU64)| {
            usize::try_from(chunk.get()).ok().filter(|&chunk| chunk < extent)
        };
        let blocks: Vec<Option<usize>> = dims.iter().zip(&chunk).map(block).collect();
        let codecs = Codecs::new(&metadata.codecs, &chunk, &elements)?;
        let keys = ChunkKeyEncoding::from_metadata(&metadata.chunk_key_encoding);
        let keys = keys.map_err(|error| ZarrError::Metadata(error.to_string()))?;
        let names = metadata.dimension_names.clone().unwrap_or_default();
        let annotations = Annotations { names, attributes: None };
        let stored = metadata.codecs.iter().map(|codec| spelled(codec, dtype)).collect();
        let ty = Type::new(dims, blocks, dtype);
        let plain = |codec: &MetadataV3| match codec.configuration() {
            Some(options) => json!({ "name": codec.name(), "configuration": options }),
            None => json!({ "name": codec.name() }),
        };
        let encoding = Encoding::of(&metadata.codecs.iter().map(plain).collect::<Vec<_>>());
        Ok(Self { ty, dtype, chunk, fill, elements, codecs, annotations, keys, stored, encoding })
    }

    /// Returns true if chunks are the same files with the same meaning: names, attributes and spellings may differ.
    fn is_stored_as(&self, other: &Self) -> bool {
        let ones = vec![1; self.ty.rank()];
        self.ty == other.ty
            && self.chunk == other.chunk
            && self.fill.same_bits(other.fill)
            && self.stored == other.stored
            && self.key(&ones) == other.key(&ones)
    }

    /// The path of a chunk from the array's directory.
    pub(super) fn key(&self, at: &[usize]) -> String {
        let at: Vec<u64> = at.iter().map(|&n| n as u64).collect();
        self.keys.encode(&at).as_str().to_owned()
    }

    /// Bytes of the elements of a chunk.
    pub(super) fn bytes(&self) -> u64 {
        self.chunk.iter().fold(self.dtype.size() as u64, |n, extent| n.saturating_mul(extent.get()))
    }

    /// Returns true if some chunks extend beyond the end of an axis.
    pub(super) fn is_ragged(&self) -> bool {
        let mut axes = self.chunk.iter().zip(&self.ty.dims);
        axes.any(|(chunk, &extent)| !(extent as u64).is_multiple_of(chunk.get()))
    }

    /// The extents of a chunk.
    pub(super) fn chunk_shape(&self) -> Vec<usize> {
        // They fit, since the bytes of a chunk do.
        self.chunk.iter().map(|n| n.get() as usize).collect()
    }
}

/// Checks that no extension which must be understood is unknown.
fn check_extensions(metadata: &ArrayMetadataV3) -> Result<(), ZarrError> {
    let known = String::from("there is none that is");
    if let Some(transformer) = metadata.storage_transformers.first() {
        let (what, name) = ("storage transformer", transformer.name().to_owned());
        return Err(ZarrError::Unknown { what, name, known });
    }
    match metadata.additional_fields.iter().find(|(_, field)| field.must_understand()) {
        Some((name, _)) => Err(ZarrError::Unknown { what: "field", name: name.clone(), known }),
        None => Ok(()),
    }
}

fn element_type(metadata: &MetadataV3) -> Result<DType, ZarrError> {
    let named = DType::ALL.into_iter().find(|&dtype| zarr_name(dtype) == metadata.name());
    named.ok_or_else(|| ZarrError::ElementType { found: metadata.name().to_owned() })
}

fn extents(shape: &[u64]) -> Result<Vec<usize>, ZarrError> {
    let extent = |(axis, &extent): (usize, &u64)| match isize::try_from(extent) {
        Ok(extent) => Ok(extent as usize),
        Err(_) => Err(ZarrError::Extent { axis, extent }),
    };
    shape.iter().enumerate().map(extent).collect()
}

fn chunk_shape(metadata: &ArrayMetadataV3) -> Result<Vec<NonZeroU64>, ZarrError> {
    let grid = &metadata.chunk_grid;
    if grid.name() != "regular" {
        let known = String::from("only `regular` is");
        return Err(ZarrError::Unknown { what: "chunk grid", name: grid.name().into(), known });
    }
    let keys = metadata.chunk_key_encoding.name();
    if !["default", "v2"].contains(&keys) {
        let known = String::from("only `default` and `v2` are");
        return Err(ZarrError::Unknown { what: "chunk key encoding", name: keys.into(), known });
    }
    let grid: RegularGrid = grid
        .to_typed_configuration()
        .map_err(|error| ZarrError::Metadata(format!("chunk grid: {error}")))?;
    let (axes, rank) = (grid.chunk_shape.len(), metadata.shape.len());
    match axes == rank {
        true => Ok(grid.chunk_shape),
        false => {
            Err(ZarrError::Metadata(format!("the array has {rank} axes, but chunks have {axes}")))
        }
    }
}

fn filled(
    metadata: &ArrayMetadataV3,
    value: &Value,
    dtype: DType,
) -> Result<(Scalar, Elements), ZarrError> {
    let of = DataType::from_metadata(&metadata.data_type);
    let of = of.map_err(|error| ZarrError::Metadata(error.to_string()))?;
    let value = fill::parse(value, dtype)?;
    let bytes = Tensor::full(value, &[])?.as_bytes().to_vec();
    Ok((value, Elements { of, fill: FillValue::new(bytes), size: dtype.size() }))
}

/// A codec's name, and its configuration without entries that have no effect.
fn spelled(codec: &MetadataV3, dtype: DType) -> (String, Value) {
    let is_moot = |name: &str| codec.name() == "bytes" && dtype.size() == 1 && name == "endian";
    let options = codec.configuration().into_iter().flat_map(|options| options.iter());
    let options: serde_json::Map<String, Value> = options
        .filter(|(name, _)| !is_moot(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (codec.name().into(), Value::Object(options))
}

/// The text of `zarr.json` of an array that is written.
pub(super) fn text(ty: &Type, options: &ZarrOptions) -> Result<String, ZarrError> {
    let Some(dtype) = ty.element.number() else {
        return Err(ZarrError::Lists(ty.element.to_string()));
    };
    let name = zarr_name(dtype);
    let fill = options.fill_of(dtype)?;
    let bytes = Tensor::full(fill, &[])?;
    let of = DataType::from_metadata(&MetadataV3::new(name));
    let of = of.map_err(|error| ZarrError::Metadata(error.to_string()))?;
    let fill = of.metadata_fill_value(&FillValue::new(bytes.as_bytes().to_vec()));
    let fill = fill.map_err(|error| ZarrError::Metadata(format!("fill value: {error}")))?;
    let chunk = |(&extent, block): (&usize, &Option<usize>)| {
        block.map_or(extent, |block| block.min(extent)).max(1)
    };
    let chunks: Vec<usize> = ty.dims.iter().zip(&ty.blocks).map(chunk).collect();
    let codecs = options.codecs(ty, dtype)?;
    let metadata = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": ty.dims,
        "data_type": name,
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunks } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": fill,
        "codecs": codecs,
    });
    let mut metadata = format!("{metadata:#}");
    // The closing brace comes back at the end.
    metadata.truncate(metadata.trim_end_matches(['}', '\n']).len());
    if let Some(names) = options.axis_names(ty.rank())? {
        metadata += &format!(",\n  \"dimension_names\": {}", json!(names));
    }
    let attributes = options.attributes_text();
    document::check_object(attributes)?;
    Ok(format!("{metadata},\n  \"attributes\": {attributes}\n}}\n"))
}

/// Returns true if two texts of `zarr.json` describe the same chunks: names, attributes and entries without meaning may
/// be added to a result.
pub(super) fn are_same(left: &[u8], right: &[u8]) -> bool {
    match (Layout::parse(left), Layout::parse(right)) {
        (Ok(left), Ok(right)) => left.is_stored_as(&right),
        _ => false,
    }
}
