//! Requests from threads that wait: a runtime of each process, and connections that survive `fork`.

use super::super::error::ZarrError;
use super::error::{RemoteError, Server, is_no_object};
use ijk_tensor::fork::PerProcess;
use object_store::ObjectStore;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Interval at which a thread that waits for a request checks whether its run has been stopped.
const ASK: Duration = Duration::from_millis(50);

/// Threads that serve connections: at least as many as hide the copying of bytes, at most as many as one network needs.
const THREADS: (usize, usize) = (2, 8);

/// Objects of a store that are on their way in the background at a time: as many as hide the time to the first byte, and
/// no more than servers like.
const TURNS: usize = 32;

/// An object store, and the flag that ends the waiting for it.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) server: Server,
    connection: Arc<Connected>,
    stop: Option<Arc<AtomicBool>>,
}

/// An object store as a process sees it: a forked child has none of its parent's connections.
struct Connected {
    own: PerProcess<ConnectedStore>,
    connect: Box<Connect>,
}

/// An object store, and turns at it of what runs in the background.
struct ConnectedStore {
    store: Arc<dyn ObjectStore>,
    turns: Arc<Semaphore>,
}

impl ConnectedStore {
    fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, turns: Arc::new(Semaphore::new(TURNS)) }
    }
}

/// Makes an object store with connections of its own.
type Connect = dyn Fn() -> object_store::Result<Arc<dyn ObjectStore>> + Send + Sync;

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(
        server: Server,
        connect: impl Fn() -> object_store::Result<Arc<dyn ObjectStore>> + Send + Sync + 'static,
    ) -> Result<Self, ZarrError> {
        use_cryptography();
        let store = connect().map_err(|error| RemoteError::new(server, &error))?;
        let own = PerProcess::new(ConnectedStore::new(store));
        let connection = Connected { own, connect: Box::new(connect) };
        Ok(Self { server, connection: Arc::new(connection), stop: None })
    }

    /// The same, where a flag ends the waiting, or nothing does.
    pub(super) fn until(&self, flag: Option<&Arc<AtomicBool>>) -> Self {
        Self { stop: flag.cloned(), ..self.clone() }
    }

    /// The object store, with connections of this process.
    pub(super) fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.connected().store)
    }

    fn connected(&self) -> &ConnectedStore {
        let renew = |parents: &ConnectedStore| {
            let store = (self.connection.connect)();
            ConnectedStore::new(store.unwrap_or_else(|_| Arc::clone(&parents.store)))
        };
        self.connection.own.get(renew)
    }

    /// The result of a request.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T, ZarrError> {
        self.run(request)?.map_err(|error| self.error(&error))
    }

    /// The result of a request for an object that may not be there.
    pub(super) fn find<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<Option<T>, ZarrError> {
        match self.run(request)? {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_no_object(&error) => Ok(None),
            Err(error) => Err(self.error(&error)),
        }
    }

    /// The value of a future, which runs on the process's runtime: the calling thread may be one of another runtime.
    pub(super) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ZarrError> {
        self.spawn(future)?.wait()
    }

    /// A future that runs meanwhile.
    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<Background<T>, ZarrError> {
        let (sender, receiver) = channel();
        let task = runtime()?.spawn(async move {
            // Whoever waited may have been stopped.
            sender.send(future.await).unwrap_or_default();
        });
        Ok(Background { receiver, task, stop: self.stop.clone() })
    }

    /// Spawns a request that waits for a permit: at most [`TURNS`] of them are in flight.
    pub(super) fn queue<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<Background<T>, ZarrError> {
        let turns = Arc::clone(&self.connected().turns);
        self.spawn(async move {
            // Nobody closes it.
            let _turn = turns.acquire_owned().await;
            future.await
        })
    }

    pub(super) fn error(&self, error: &object_store::Error) -> ZarrError {
        RemoteError::new(self.server, error).into()
    }
}

/// The value of a future that runs on the process's runtime.
pub(super) struct Background<T> {
    receiver: Receiver<T>,
    task: JoinHandle<()>,
    stop: Option<Arc<AtomicBool>>,
}

impl<T> Background<T> {
    /// Returns true if nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Ends the future; what it has begun may still happen.
    pub(super) fn abort(&self) {
        self.task.abort();
    }

    /// Waits for the value.
    pub(super) fn wait(&self) -> Result<T, ZarrError> {
        loop {
            match self.receiver.recv_timeout(ASK) {
                Ok(value) => return Ok(value),
                Err(RecvTimeoutError::Timeout) if self.is_stopped() => {
                    self.abort();
                    // Until it is dropped, or has ended meanwhile.
                    self.receiver.recv().map(drop).unwrap_or_default();
                    return Err(ZarrError::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("a request ended without an answer").into());
                }
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

fn runtime() -> Result<&'static Runtime, ZarrError> {
    static RUNTIME: OnceLock<PerProcess<Option<Runtime>>> = OnceLock::new();
    let make = || {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.clamp(THREADS.0, THREADS.1);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("ijk:net").enable_all().build().ok()
    };
    let runtime = RUNTIME.get_or_init(|| PerProcess::new(make())).get(|_| make());
    let refused = || io::Error::other("the system refuses the threads that requests need");
    runtime.as_ref().ok_or_else(|| refused().into())
}

/// Chooses the implementation of TLS's cryptography, unless this process has chosen one.
fn use_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been first.
        rustls::crypto::ring::default_provider().install_default().unwrap_or_default();
    }
}
