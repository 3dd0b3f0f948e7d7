//! Other processes that compute the same program.

use crate::args::Processes;
use crate::failure::Failure;
use crate::output;
use ijk::blocks::cluster::{Cluster, ClusterError, Hosts, Secret};
use std::sync::Arc;
use std::time::Duration;

/// The processes of this computation, if there are others.
///
/// # Errors
/// If they cannot be started, or this one cannot be one of them.
pub fn cluster(args: &Processes) -> Result<Option<Arc<Cluster>>, Failure> {
    let cluster = match (args.processes, &args.hosts) {
        (Some(processes), _) => Cluster::launch(processes)?,
        (None, Some(hosts)) => {
            let secret = match &args.secret_file {
                Some(file) => {
                    if let Some(exposure) = Secret::exposure(file) {
                        output::message(&format!("warning: {exposure}"));
                    }
                    Some(Secret::read(file)?)
                }
                None => Secret::from_env()?,
            };
            Cluster::join(Hosts::read(hosts)?, args.process.unwrap_or_default(), secret)?
        }
        (None, None) => return Ok(None),
    };
    let cluster = match args.wait {
        Some(seconds) => cluster.wait(Duration::from_secs(seconds)),
        None => cluster,
    };
    Ok(Some(Arc::new(cluster)))
}

/// Result of the preparation, if it succeeded in all processes.
///
/// # Errors
/// Fails if the preparation failed in this process or in another one.
pub fn all_prepared<T>(
    cluster: Option<&Arc<Cluster>>,
    prepared: Result<T, Failure>,
) -> Result<T, Failure> {
    match cluster {
        Some(cluster) => cluster.agree(prepared, Failure::text),
        None => prepared,
    }
}

impl From<ClusterError> for Failure {
    /// An error in another process may be one of its program or data; the rest is the machine, or the options of
    /// processes.
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Failed { .. }
            | ClusterError::Left { .. }
            | ClusterError::Closure { .. } => Self::wrong(error.to_string()),
            _ => Self::environment(error.to_string()),
        }
    }
}
