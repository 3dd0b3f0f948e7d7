//! Leases: one run writes an array on an object store at a time.
//!
//! The object `.ijk/lock` says who writes. It is made under the condition that it is not there, and its holder replaces
//! it again and again, under the condition that it is still its own. One that has not been replaced for some time, by
//! the server's clock, is that of a run that ended without removing it, and so is one of a process of this machine that
//! is gone. A run that finds that its lease is another's stops before its next chunk.

use super::super::error::ZarrError;
use super::super::storage::{Hold, OWN};
use super::Remote;
use bytes::Bytes;
use object_store::{ObjectMeta, ObjectStoreExt, PutMode, UpdateVersion};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The object.
pub(super) const KEY: &str = ".ijk/lock";

/// A lease that was not renewed for so long is over.
const LEASE: Duration = Duration::from_secs(60);

/// Interval at which it is renewed.
const RENEWED: Duration = Duration::from_secs(15);

/// A process that writes, as the object names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Holder {
    /// Distinguishes runs.
    run: String,
    process: u32,
    /// The machine since it was started, if that is known.
    machine: Option<String>,
    /// Renewals, so that each version of the object is another one.
    renewals: u64,
}

impl Holder {
    fn new() -> Result<Self, ZarrError> {
        let (process, machine) = (std::process::id(), machine());
        Ok(Self { run: random_name()?, process, machine, renewals: 0 })
    }

    fn bytes(&self) -> Result<Bytes, ZarrError> {
        let text = serde_json::to_vec(self);
        Ok(text.map_err(|error| ZarrError::Manifest(error.to_string()))?.into())
    }

    /// Returns true if it was a process of this machine that is not there any more.
    fn is_gone(&self) -> bool {
        self.machine.is_some()
            && self.machine == machine()
            && !std::path::Path::new(&format!("/proc/{}", self.process)).exists()
    }
}

/// Text that is unique to this machine since it was started; a container is another machine where it has its own
/// processes.
fn machine() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let processes = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), processes.display()))
}

/// A name that no other run has.
pub(super) fn random_name() -> Result<String, ZarrError> {
    let number = getrandom::u64().map_err(io::Error::other)?;
    Ok(format!("{number:016x}"))
}

/// A lease that is held, and renewed by a thread.
#[derive(Debug)]
pub(super) struct Lease {
    shared: Arc<LeaseShared>,
    renewer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LeaseShared {
    place: Remote,
    state: Mutex<LeaseState>,
    changed: Condvar,
}

#[derive(Debug)]
struct LeaseState {
    holder: Holder,
    version: UpdateVersion,
    /// When it was renewed last.
    since: Instant,
    is_lost: bool,
    is_closing: bool,
}

impl Lease {
    pub(super) fn acquire(place: &Remote) -> Result<Self, ZarrError> {
        let holder = Holder::new()?;
        let since = Instant::now();
        let mut made = place.put_if(KEY, holder.bytes()?, PutMode::Create)?;
        if made.is_none() {
            made = take_over(place, &holder)?;
        }
        let Some(version) = made else { return Err(ZarrError::Locked { holder: process(place)? }) };
        let state = LeaseState { holder, version, since, is_lost: false, is_closing: false };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        // It is given back also where the run is stopped.
        let place = Remote { client: place.client.until(None), ..place.clone() };
        let shared = Arc::new(LeaseShared { place, state, changed });
        let own = Arc::clone(&shared);
        let thread = Builder::new().name("ijk:lease".into()).spawn(move || own.run())?;
        Ok(Self { shared, renewer: Some(thread) })
    }
}

/// The process that holds it, if that is known.
fn process(place: &Remote) -> Result<Option<u32>, ZarrError> {
    let found = place.versioned(KEY)?;
    Ok(found.and_then(|(text, ..)| Some(serde_json::from_slice::<Holder>(&text).ok()?.process)))
}

/// Replaces a lease that is over.
fn take_over(place: &Remote, holder: &Holder) -> Result<Option<UpdateVersion>, ZarrError> {
    let Some((text, version, meta)) = place.versioned(KEY)? else {
        // Its holder has just ended.
        return place.put_if(KEY, holder.bytes()?, PutMode::Create);
    };
    let there = serde_json::from_slice::<Holder>(&text).ok();
    if there.as_ref() == Some(holder) {
        // The request was repeated, and had been done the first time.
        return Ok(Some(version));
    }
    if there.is_some_and(|there| there.is_gone()) || age(place, &meta)? > LEASE {
        return place.put_if(KEY, holder.bytes()?, PutMode::Update(version));
    }
    Ok(None)
}

/// Time since an object was written, by the server's clock: that of another object, which is written for this.
fn age(place: &Remote, of: &ObjectMeta) -> Result<Duration, ZarrError> {
    let key = format!("{OWN}/clock-{}", random_name()?);
    place.put(&key, Bytes::new())?;
    let (store, location) = (place.client.store(), place.location(&key)?);
    let now = place.client.wait(async move {
        let found = store.head(&location).await;
        store.delete(&location).await?;
        Ok(found?.last_modified)
    })?;
    Ok((now - of.last_modified).to_std().unwrap_or_default())
}

impl LeaseShared {
    fn lock(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews until the lease is given back or lost.
    fn run(&self) {
        let mut state = self.lock();
        while !state.is_closing && !state.is_lost {
            let waited = self.changed.wait_timeout(state, RENEWED);
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && !state.is_closing {
                drop(state);
                // A server that does not answer may do so next time.
                self.renew().unwrap_or(true);
                state = self.lock();
            }
        }
    }

    /// Writes the object again; false if it is another's.
    fn renew(&self) -> Result<bool, ZarrError> {
        let (mut holder, version) = {
            let state = self.lock();
            (state.holder.clone(), state.version.clone())
        };
        holder.renewals += 1;
        let since = Instant::now();
        let put = self.place.put_if(KEY, holder.bytes()?, PutMode::Update(version))?;
        let put = match put {
            // A request that was repeated may have been done the first time.
            None => self.own(&holder)?,
            put => put,
        };
        let mut state = self.lock();
        match put {
            Some(version) => (state.holder, state.version, state.since) = (holder, version, since),
            None => state.is_lost = true,
        }
        Ok(!state.is_lost)
    }

    /// The version of the object, if it is the one of a holder.
    fn own(&self, holder: &Holder) -> Result<Option<UpdateVersion>, ZarrError> {
        let found = self.place.versioned(KEY)?;
        Ok(found.and_then(|(text, version, _)| {
            let there: Holder = serde_json::from_slice(&text).ok()?;
            (there == *holder).then_some(version)
        }))
    }
}

impl Hold for Lease {
    /// All of the place is held from the beginning.
    fn enter(&mut self) -> Result<bool, ZarrError> {
        Ok(false)
    }

    /// The other processes end with the first one, which holds it.
    fn share(&mut self) -> Result<(), ZarrError> {
        Ok(())
    }

    fn is_in_place(&self) -> bool {
        self.shared.renew().unwrap_or(false)
    }

    fn is_held(&self) -> bool {
        let state = self.shared.lock();
        !state.is_lost && state.since.elapsed() < LEASE
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.renewer.take() {
            // It does not panic.
            thread.join().unwrap_or_default();
        }
        if self.is_held() {
            // One that cannot be removed is over after a while.
            super::Writer::remove(&self.shared.place, &[KEY.to_owned()]).unwrap_or_default();
        }
    }
}

/// Participation in a run whose first process holds the lease.
#[derive(Debug)]
pub(super) struct Joined;

impl Joined {
    pub(super) fn new(place: &Remote) -> Result<Self, ZarrError> {
        match place.versioned(KEY)? {
            Some(_) => Ok(Self),
            None => Err(ZarrError::Removed),
        }
    }
}

impl Hold for Joined {
    fn enter(&mut self) -> Result<bool, ZarrError> {
        Ok(false)
    }

    fn share(&mut self) -> Result<(), ZarrError> {
        Ok(())
    }

    fn is_in_place(&self) -> bool {
        true
    }
}
