//! URLs, which are no paths.

use std::path::Path;

/// The scheme of a URL, which is no path: `s3` of `s3://bucket/a.zarr`, and of `simplecache::s3://bucket/a.zarr`.
///
/// Paths join two slashes to one. So `s3:/bucket` is one, too, unless there is a directory `s3:`.
///
/// ```
/// use ijk_blocks::url_scheme;
/// use std::path::Path;
/// assert_eq!(url_scheme(Path::new("https://host/a.npy")), Some("https"));
/// assert_eq!(url_scheme(Path::new("data/a.npy")), None);
/// assert_eq!(url_scheme(Path::new("./s3://a.npy")), None);
/// ```
pub fn url_scheme(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (before, after) = text.split_once(":/")?;
    let scheme = before.rsplit("::").next()?;
    let is_other = |c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c);
    // One letter is a drive.
    let is_name = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && !scheme.contains(is_other);
    let is_there = || !after.starts_with('/') && Path::new(&text[..before.len() + 1]).is_dir();
    (is_name && !is_there()).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_told_from_paths() {
        let scheme = |text: &'static str| url_scheme(Path::new(text));
        for (text, expected) in [
            ("s3://b/o.zarr", "s3"),
            ("gs:/b/o", "gs"),
            ("simplecache::s3://b/o", "s3"),
            ("zip://o::gs://b/z.zip", "zip"),
            ("git+ssh://host", "git+ssh"),
            ("FILE:///tmp/a.npy", "FILE"),
        ] {
            assert_eq!(scheme(text), Some(expected), "{text}");
        }
        for text in
            ["a.npy", "/a/b", "a:b", "c:/a", "dir/s3://b", "://b", "1a://b", "a b://c", "a.npz:x/y"]
        {
            assert_eq!(scheme(text), None, "{text}");
        }
    }
}
