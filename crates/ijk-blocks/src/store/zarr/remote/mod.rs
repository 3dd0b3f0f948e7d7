//! Arrays behind URLs: on object stores that speak S3, which are read and written, and on web servers, which are read.
//!
//! Object stores have no files that are renamed, appended to or locked. A chunk is there as a whole after one request,
//! lines of a journal go there with each batch, and a [lease](lease) keeps other runs out.

mod body;
mod client;
mod error;
mod lease;
mod log;
mod profile;
mod settings;
mod transfer;

pub(super) use error::RemoteError;

use super::directory::is_of_chunks;
use super::error::ZarrError;
use super::payload::Payload;
use super::place::StoreOptions;
use super::storage::{
    ByteRange, Files, Hold, Lengths, Log, METADATA, OWN, Object, Recording, Requested, Storage,
    Upload, Writer,
};
use crate::store::{Digest, together};
use body::Body;
use bytes::Bytes;
use client::Client;
use error::{Server, is_no_object};
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use object_store::path::Path as Location;
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStoreExt, PutMode, UpdateVersion,
};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Objects that one answer of a listing has, and that are looked at together.
const PAGE: usize = 1000;

/// A prefix of objects.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    client: Client,
    /// The URL without the prefix and the slash before it.
    base: String,
    /// Without slashes at its ends; empty for all objects.
    prefix: String,
    url: PathBuf,
}

/// The place at a URL.
pub(super) fn open(path: &Path, scheme: &str, options: &StoreOptions) -> Result<Files, ZarrError> {
    let text = path.to_str().unwrap_or_default();
    let (before, rest) = text.split_once(":/").unwrap_or((text, ""));
    let rest = rest.trim_start_matches('/');
    let scheme_name = scheme.to_ascii_lowercase();
    if before.len() != scheme.len() || !["s3", "http", "https"].contains(&&*scheme_name) {
        return Err(ZarrError::Scheme { scheme: before.into() });
    }
    let (host, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        return Err(RemoteError::setting("the URL names no bucket and no host").into());
    }
    let prefix = prefix.trim_matches('/').to_owned();
    let base = format!("{scheme_name}://{host}");
    let (client, prefix) = match &scheme_name[..] {
        "s3" => (settings::s3(host, options)?, prefix),
        _ if prefix.contains(['?', '#']) => {
            let why = "a URL with a query or a fragment is no prefix of others";
            return Err(RemoteError::setting(why).into());
        }
        _ => (settings::web(&base, options)?, decoded(&prefix)?),
    };
    Ok(Files::at(Remote::new(client.until(options.stop()), base, prefix)))
}

/// A path of a URL without escapes.
fn decoded(prefix: &str) -> Result<String, ZarrError> {
    let path = Location::from_url_path(prefix);
    Ok(path.map_err(|error| RemoteError::setting(error.to_string()))?.to_string())
}

impl Remote {
    fn new(client: Client, base: String, prefix: String) -> Self {
        let url = if prefix.is_empty() { base.clone() } else { format!("{base}/{prefix}") };
        Self { client, base, prefix, url: url.into() }
    }

    /// Another prefix of the same objects.
    fn at(&self, prefix: String) -> Files {
        Files::at(Self::new(self.client.clone(), self.base.clone(), prefix))
    }

    /// The location of a key.
    fn location(&self, key: &str) -> Result<Location, ZarrError> {
        let text = match (&self.prefix[..], key) {
            ("", key) => key.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, key) => format!("{prefix}/{key}"),
        };
        let location = Location::parse(text);
        Ok(location.map_err(|error| RemoteError::setting(error.to_string()))?)
    }

    /// The key of a location.
    fn key<'a>(&self, location: &'a Location) -> Option<&'a str> {
        let rest = location.as_ref().strip_prefix(&*self.prefix)?;
        if self.prefix.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }

    /// Visits all objects below a prefix, with their keys, until `visit` has enough.
    fn list(
        &self,
        under: &str,
        visit: &mut dyn FnMut(&str, &ObjectMeta) -> ControlFlow<()>,
    ) -> Result<(), ZarrError> {
        let location = self.location(under)?;
        let prefix = (!location.as_ref().is_empty()).then_some(location);
        let mut stream = self.client.store().list(prefix.as_ref());
        loop {
            let (page, rest) = self.client.run(page(stream))?;
            let page = page.map_err(|error| self.client.error(&error))?;
            let is_last = page.len() < PAGE;
            for meta in &page {
                let key = self.key(&meta.location);
                if key.is_some_and(|key| visit(key, meta).is_break()) {
                    return Ok(());
                }
            }
            match is_last {
                true => return Ok(()),
                false => stream = rest,
            }
        }
    }

    /// An object's bytes and version.
    fn versioned(
        &self,
        key: &str,
    ) -> Result<Option<(Bytes, UpdateVersion, ObjectMeta)>, ZarrError> {
        let (store, location) = (self.client.store(), self.location(key)?);
        self.client.find(async move {
            let found = store.get(&location).await?;
            let meta = found.meta.clone();
            let version =
                UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() };
            Ok((found.bytes().await?, version, meta))
        })
    }

    /// Writes an object under a condition; false if that does not hold.
    fn put_if(
        &self,
        key: &str,
        bytes: Bytes,
        mode: PutMode,
    ) -> Result<Option<UpdateVersion>, ZarrError> {
        let (store, location) = (self.client.store(), self.location(key)?);
        let put = self.client.run(async move {
            let put = store.put_opts(&location, bytes.clone().into(), mode.into()).await;
            match put {
                // Some stores know no conditions.
                Err(Error::NotImplemented { .. }) => store.put(&location, bytes.into()).await,
                put => put,
            }
        })?;
        match put {
            Ok(put) => Ok(Some(put.into())),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(None),
            Err(error) if is_no_object(&error) => Ok(None),
            Err(error) => Err(self.client.error(&error)),
        }
    }

    fn put(&self, key: &str, bytes: Bytes) -> Result<(), ZarrError> {
        self.client.wait(transfer::put(self.client.store(), self.location(key)?, bytes))
    }
}

/// A stream of objects, and as many of them as a page has.
type Listing = BoxStream<'static, object_store::Result<ObjectMeta>>;

async fn page(mut stream: Listing) -> (object_store::Result<Vec<ObjectMeta>>, Listing) {
    let page = stream.by_ref().take(PAGE).try_collect().await;
    (page, stream)
}

impl Storage for Remote {
    fn path(&self) -> &Path {
        &self.url
    }

    fn open(&self, key: &str) -> Result<Option<Object>, ZarrError> {
        let (store, location) = (self.client.store(), self.location(key)?);
        let found = self.client.find(async move { store.get(&location).await })?;
        Ok(found.map(|found| {
            let length = found.meta.size;
            (Box::new(Body::new(self.client.clone(), found)) as _, length)
        }))
    }

    fn request(&self, key: &str, most: u64) -> Result<Option<Box<dyn Requested>>, ZarrError> {
        Ok(Some(Box::new(transfer::Download::start(&self.client, self.location(key)?, most)?)))
    }

    fn is_far(&self) -> bool {
        true
    }

    fn part(&self, key: &str, part: ByteRange) -> Result<Option<Vec<u8>>, ZarrError> {
        let (store, location) = (self.client.store(), self.location(key)?);
        let range = match part {
            ByteRange::At(_, 0) | ByteRange::Last(0) => {
                return Ok(self.length(key)?.map(|_| Vec::new()));
            }
            ByteRange::At(start, length) => {
                GetRange::Bounded(start..start.saturating_add(length as u64))
            }
            ByteRange::Last(length) => GetRange::Suffix(length as u64),
        };
        let options = GetOptions { range: Some(range), ..GetOptions::default() };
        let found = self.client.find(async move {
            Ok(Vec::from(store.get_opts(&location, options).await?.bytes().await?))
        });
        match found {
            // Web servers need not know ranges.
            Err(ZarrError::Remote(_)) if self.client.server == Server::Web => self.cut(key, part),
            found => found,
        }
    }

    fn length(&self, key: &str) -> Result<Option<u64>, ZarrError> {
        let (store, location) = (self.client.store(), self.location(key)?);
        self.client.find(async move { Ok(store.head(&location).await?.size) })
    }

    fn visit(
        &self,
        under: &str,
        depth: usize,
        visit: &mut dyn FnMut(&str),
    ) -> Result<bool, ZarrError> {
        if depth == 0 {
            if self.length(under)?.is_some() {
                visit(under);
            }
            return Ok(true);
        }
        if self.client.server == Server::Web {
            return Ok(false);
        }
        self.list(under, &mut |key, _| {
            if is_at_depth(key, under, depth) {
                visit(key);
            }
            ControlFlow::Continue(())
        })?;
        Ok(true)
    }

    fn lengths(&self, under: &str, depth: usize) -> Result<Option<Lengths>, ZarrError> {
        if depth == 0 || self.client.server == Server::Web {
            return Ok(None);
        }
        let mut all = Lengths::new();
        self.list(under, &mut |key, meta| {
            all.insert(key.to_owned(), meta.size);
            ControlFlow::Continue(())
        })?;
        Ok(Some(all))
    }

    fn members(&self) -> Vec<String> {
        if self.client.server == Server::Web {
            return Vec::new();
        }
        let Ok(location) = self.location("") else { return Vec::new() };
        let store = self.client.store();
        let listed = self.client.wait(async move {
            let prefix = (!location.as_ref().is_empty()).then_some(location);
            store.list_with_delimiter(prefix.as_ref()).await
        });
        let prefixes = listed.map(|listed| listed.common_prefixes).unwrap_or_default();
        prefixes.iter().filter_map(|prefix| Some(prefix.filename()?.to_owned())).collect()
    }

    fn member(&self, name: &str) -> Files {
        let prefix =
            if self.prefix.is_empty() { String::new() } else { format!("{}/", self.prefix) };
        self.at(prefix + name)
    }

    fn above(&self) -> Option<(Files, String)> {
        let (above, name) = match self.prefix.rsplit_once('/') {
            Some((above, name)) => (above, name),
            None if self.prefix.is_empty() => return None,
            None => ("", &self.prefix[..]),
        };
        Some((self.at(above.to_owned()), name.to_owned()))
    }

    fn absence(&self) -> ZarrError {
        ZarrError::NoRoot { arrays: Vec::new() }
    }

    /// On object stores of all objects, with their sizes and entity tags; on web servers of the metadata alone.
    fn identity(&self) -> Result<String, ZarrError> {
        let mut digest = Digest::new();
        let describe = || Files::at(self.clone()).description();
        if self.client.server == Server::Web {
            digest.add(&describe()?);
            return Ok(format!("metadata on a web server, {}", digest.finish()));
        }
        let mut objects = Vec::new();
        let list = || {
            self.list("", &mut |key, meta| {
                if key != METADATA && !key.starts_with(OWN) {
                    objects.push((key.to_owned(), meta.clone()));
                }
                ControlFlow::Continue(())
            })
        };
        let (description, listed) = together::both(true, describe, list);
        digest.add(&description?);
        listed?;
        // Listings are in order.
        for (key, meta) in &objects {
            digest.add(key.as_bytes());
            digest.add(&meta.size.to_le_bytes());
            let changed = meta.last_modified.timestamp_millis().to_string();
            digest.add(meta.e_tag.as_deref().unwrap_or(&changed).as_bytes());
        }
        let (count, bytes) =
            (objects.len(), objects.iter().map(|(_, meta)| meta.size).sum::<u64>());
        Ok(format!("{count} objects of {bytes} bytes, {}", digest.finish()))
    }

    fn until(&self, flag: Option<&Arc<AtomicBool>>) -> Option<Files> {
        let client = self.client.until(flag);
        Some(Files::at(Self { client, ..self.clone() }))
    }

    fn writer(&self) -> Result<&dyn Writer, ZarrError> {
        match self.client.server {
            Server::S3 => Ok(self),
            Server::Web => Err(ZarrError::ReadOnly("web servers")),
        }
    }
}

impl Remote {
    /// A part of an object that is read as a whole.
    fn cut(&self, key: &str, part: ByteRange) -> Result<Option<Vec<u8>>, ZarrError> {
        let (store, location) = (self.client.store(), self.location(key)?);
        let found = self.client.find(async move { store.get(&location).await?.bytes().await })?;
        Ok(found.map(|bytes| {
            let (start, length) = part.within(bytes.len() as u64);
            let start = (start as usize).min(bytes.len());
            bytes[start..start + length as usize].to_vec()
        }))
    }
}

/// Returns true if a key has that many names after a prefix.
fn is_at_depth(key: &str, under: &str, depth: usize) -> bool {
    let rest = if under.is_empty() { Some(key) } else { key.strip_prefix(under) };
    let rest = rest.map(|rest| if under.is_empty() { rest } else { rest.trim_start_matches('/') });
    rest.is_some_and(|rest| rest.split('/').count() == depth)
}

impl Writer for Remote {
    fn prepare(&self) -> Result<(), ZarrError> {
        Ok(())
    }

    fn write(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        self.put(key, Bytes::copy_from_slice(bytes))
    }

    /// An object that is written is there.
    fn write_through(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        self.write(key, bytes)
    }

    fn write_new(&self, key: &str, bytes: &[u8]) -> Result<(), ZarrError> {
        match self.put_if(key, Bytes::copy_from_slice(bytes), PutMode::Create)? {
            Some(_) => Ok(()),
            None => Err(ZarrError::Exists),
        }
    }

    fn replace(&self, key: &str, old: &[u8], new: &[u8]) -> Result<bool, ZarrError> {
        match self.versioned(key)? {
            Some((found, version, _)) if found == old => {
                let put = self.put_if(key, Bytes::copy_from_slice(new), PutMode::Update(version));
                Ok(put?.is_some())
            }
            _ => Ok(false),
        }
    }

    fn write_chunk(
        &self,
        key: &str,
        chunk: Payload,
        record: &mut dyn FnMut() -> Result<(), ZarrError>,
    ) -> Result<(), ZarrError> {
        self.put(key, Bytes::from_owner(chunk))?;
        record()
    }

    fn send_chunk(
        &self,
        key: &str,
        chunk: Payload,
        record: Recording,
    ) -> Result<Option<Box<dyn Upload>>, ZarrError> {
        let (location, bytes) = (self.location(key)?, Bytes::from_owner(chunk));
        Ok(Some(Box::new(transfer::BackgroundPut::start(&self.client, location, bytes, record)?)))
    }

    fn sync(&self, _: &[String]) -> Result<(), ZarrError> {
        Ok(())
    }

    fn remove(&self, keys: &[String]) -> Result<(), ZarrError> {
        let locations: Vec<Location> =
            keys.iter().map(|key| self.location(key)).collect::<Result<_, _>>()?;
        let store = self.client.store();
        let removed = self.client.run(async move {
            let locations = futures_util::stream::iter(locations.into_iter().map(Ok)).boxed();
            store.delete_stream(locations).collect::<Vec<_>>().await
        })?;
        for error in removed.into_iter().filter_map(Result::err) {
            if !is_no_object(&error) {
                return Err(self.client.error(&error));
            }
        }
        Ok(())
    }

    fn clear(&self) -> Result<(), ZarrError> {
        // Without metadata, the remaining objects are no array to any reader.
        self.remove(&[METADATA.to_owned()])?;
        let mut chunks = Vec::new();
        self.list("", &mut |key, _| {
            if is_of_chunks(key.split('/').next().unwrap_or(key)) {
                chunks.push(key.to_owned());
            }
            ControlFlow::Continue(())
        })?;
        if chunks.is_empty() { Ok(()) } else { self.remove(&chunks) }
    }

    fn is_free(&self) -> Result<bool, ZarrError> {
        let mut is_free = true;
        self.list("", &mut |key, _| {
            is_free &= key.split('/').next() == Some(OWN);
            if is_free { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(is_free)
    }

    fn has_own(&self) -> Result<bool, ZarrError> {
        let mut has_own = false;
        self.list(OWN, &mut |key, _| {
            has_own |= key != lease::KEY;
            if has_own { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(has_own)
    }

    /// Nothing is temporary: objects are there as a whole.
    fn sweep(&self) -> Result<(), ZarrError> {
        Ok(())
    }

    fn abandon(&self) -> Result<(), ZarrError> {
        Ok(())
    }

    fn log(&self, _: u64) -> Result<Box<dyn Log>, ZarrError> {
        Ok(Box::new(log::ObjectLog::new(self.clone())?))
    }

    fn lock(&self) -> Result<Box<dyn Hold>, ZarrError> {
        Ok(Box::new(lease::Lease::acquire(self)?))
    }

    fn join(&self) -> Result<Box<dyn Hold>, ZarrError> {
        Ok(Box::new(lease::Joined::new(self)?))
    }
}
