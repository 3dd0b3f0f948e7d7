//! Addresses of the processes of a cluster.

use super::{ClusterError, text_of};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// The addresses of the processes of a cluster, in their order.
///
/// ```
/// use ijk_blocks::cluster::Hosts;
/// let hosts = Hosts::parse("\
/// ## our two machines
/// blue.example.org:7000
/// red.example.org:7000   # the one with the disks
/// ")?;
/// assert_eq!(hosts.len(), 2);
/// let error = Hosts::parse("blue.example.org").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 1 of the host list is `blue.example.org`, but addresses are written host:port, such as 10.0.0.7:7000"
/// );
/// # Ok::<(), ijk_blocks::cluster::ClusterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Reads a list: one `host:port` a line; `#` begins a comment.
    ///
    /// # Errors
    /// If a line is no address or two are the same, naming the line; if there is none.
    pub fn parse(text: &str) -> Result<Self, ClusterError> {
        let mut hosts: Vec<String> = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let address = line.split('#').next().unwrap_or_default().trim();
            if address.is_empty() {
                continue;
            }
            let wrong = |why: &str| ClusterError::Hosts {
                line: n + 1,
                text: address.into(),
                why: why.into(),
            };
            if !is_address(address) {
                return Err(wrong("addresses are written host:port, such as 10.0.0.7:7000"));
            }
            if let Some(first) = hosts.iter().position(|other| other == address) {
                return Err(wrong(&format!("that is the address of process {first} already")));
            }
            hosts.push(address.into());
        }
        if hosts.is_empty() {
            return Err(ClusterError::NoHosts);
        }
        Ok(Self(hosts))
    }

    /// Reads a list from a file: see [`parse`](Self::parse).
    ///
    /// # Errors
    /// As for [`parse`](Self::parse); if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ClusterError> {
        let text = text_of("host list", path)?;
        Self::parse(&text)
    }

    /// Number of processes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// One value for each process.
    pub(super) fn each<T>(&self, make: impl FnMut(usize) -> T) -> Vec<T> {
        (0..self.0.len()).map(make).collect()
    }

    /// The address of a process.
    pub(super) fn address(&self, process: usize) -> &str {
        &self.0[process]
    }

    /// Name in messages: `process 1 (blue.example.org:7000)`.
    pub(super) fn name(&self, process: usize) -> String {
        format!("process {process} ({})", self.address(process))
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let plain = |c: char| !c.is_whitespace() && c != '/';
    // Only IPv6 addresses have colons, and stand in brackets.
    let bare = !host.contains(':') || (host.starts_with('[') && host.ends_with(']'));
    !host.is_empty() && host.chars().all(plain) && bare && port.parse::<u16>().is_ok()
}

/// The socket addresses of a host.
pub(super) fn resolve(address: &str) -> std::io::Result<Vec<SocketAddr>> {
    Ok(address.to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_comments_and_blank_lines() {
        let hosts = Hosts::parse("\n# two\na:1\n\n  [::1]:65535 # here\r\n").unwrap();
        assert_eq!(hosts.to_string(), "a:1 [::1]:65535");
        assert_eq!(hosts.name(1), "process 1 ([::1]:65535)");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["a", "a:", ":1", "a:65536", "a b:1", "http://a:1", "::1:7", "a:-1"] {
            assert!(Hosts::parse(text).is_err(), "{text}");
        }
        assert!(matches!(Hosts::parse("# nobody"), Err(ClusterError::NoHosts)));
        let twice = Hosts::parse("a:1\nb:1\na:1").unwrap_err().to_string();
        assert!(twice.ends_with(
            "line 3 of the host list is `a:1`, but that is the address of process 0 already"
        ));
    }
}
