//! Answers of servers that are no success, and settings that may help.

use object_store::Error;
use std::fmt;

/// A request that failed.
#[derive(Debug)]
pub(in crate::store::zarr) struct RemoteError {
    /// The request, and the status or the cause.
    what: String,
    /// Settings that may help.
    hint: Option<&'static str>,
}

/// Kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    S3,
    Web,
}

const CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to what may do that; AWS_SKIP_SIGNATURE=true reads public data without";
const BUCKET: &str =
    "AWS_ENDPOINT_URL and AWS_REGION say where buckets are; without them it is Amazon's us-east-1";
const REGION: &str = "set AWS_REGION to the bucket's, and AWS_ENDPOINT_URL if it is not Amazon's";
const ENDPOINT: &str = "set AWS_ENDPOINT_URL to the address of the object store";
const NO_CREDENTIALS: &str = "no credentials were found, and this machine is not told any by its cloud: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or AWS_SKIP_SIGNATURE=true for public data";
const PUBLIC: &str = "only what a web server gives to everybody is read";

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.hint.map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for RemoteError {}

impl RemoteError {
    /// Something that is wrong before a request is made.
    pub(super) fn setting(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    pub(super) fn new(server: Server, error: &Error) -> Self {
        let answer = Answer::of(error);
        Self { hint: answer.hint(server), what: answer.to_string() }
    }
}

/// Returns true if an object is not there, though its bucket is.
pub(super) fn is_no_object(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. }) && Answer::of(error).code != "NoSuchBucket"
}

/// An answer that is no success, or the reason why there is none.
///
/// The library says it as text alone: `Error performing GET http://… in 1ms - Server returned non-2xx status code: 403
/// Forbidden: <Error><Code>…`.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    /// The method and the URL.
    request: String,
    status: String,
    /// S3's name for what is wrong, and its text.
    code: String,
    message: String,
    /// The innermost cause.
    cause: String,
}

impl Answer {
    fn of(error: &Error) -> Self {
        let (text, mut cause) = (error.to_string(), error as &dyn std::error::Error);
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Self { cause: cause.to_string(), ..Self::parse(&text) }
    }

    fn parse(text: &str) -> Self {
        let after = |mark: &str| text.split_once(mark).map_or("", |(_, rest)| rest);
        let until = |text: &str, mark: &str| {
            text.split_once(mark).map_or(text, |(before, _)| before).trim().to_owned()
        };
        let tag = |name: &str| {
            let inner = text.split_once(&format!("<{name}>")).map_or("", |(_, rest)| rest);
            until(inner, &format!("</{name}>"))
        };
        Self {
            request: until(after("Error performing "), " in "),
            status: until(after("status code: "), ":"),
            code: tag("Code"),
            message: tag("Message"),
            cause: String::new(),
        }
    }

    fn hint(&self, server: Server) -> Option<&'static str> {
        let has = |of: &str, any: &[&str]| any.iter().any(|part| of.contains(part));
        match server {
            Server::S3 if has(&self.request, &["169.254."]) => Some(NO_CREDENTIALS),
            Server::S3 if self.code == "NoSuchBucket" => Some(BUCKET),
            Server::S3 if has(&self.code, &["AuthorizationHeaderMalformed", "Redirect"]) => {
                Some(REGION)
            }
            Server::S3 if has(&self.status, &["301", "307"]) => Some(REGION),
            Server::S3 if has(&self.status, &["401", "403"]) => Some(CREDENTIALS),
            Server::S3 if self.status.is_empty() && self.code.is_empty() => Some(ENDPOINT),
            Server::Web if has(&self.status, &["401", "403"]) => Some(PUBLIC),
            _ => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, status, code, message, cause } = self;
        match (&request[..], &status[..]) {
            ("", "") => return f.write_str(cause),
            (_, "") => return write!(f, "{request} failed: {cause}"),
            ("", _) => f.write_str(status)?,
            _ => write!(f, "{request} is answered by {status}")?,
        }
        match (&code[..], &message[..]) {
            ("", _) => Ok(()),
            (_, "") => write!(f, " ({code})"),
            _ => write!(f, " ({code}: {message})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_from_texts() {
        let text = "The operation lacked the necessary privileges to complete for path a: Error performing GET \
            http://h/b/a in 1.2ms - Server returned non-2xx status code: 403 Forbidden: <?xml?><Error><Code>AccessDenied\
            </Code><Message>Access: denied.</Message></Error>";
        let answer = Answer::parse(text);
        assert_eq!(
            answer.to_string(),
            "GET http://h/b/a is answered by 403 Forbidden (AccessDenied: Access: denied.)"
        );
        assert_eq!(answer.hint(Server::S3), Some(CREDENTIALS));
        assert_eq!(answer.hint(Server::Web), Some(PUBLIC));
        let text = "Generic S3 error: Error performing GET http://h:1/b in 7s, after 5 retries, max_retries: 5, \
            retry_timeout: 60s  - HTTP error: error sending request";
        let answer = Answer { cause: "refused".into(), ..Answer::parse(text) };
        assert_eq!(answer.to_string(), "GET http://h:1/b failed: refused");
        assert_eq!((answer.hint(Server::S3), answer.hint(Server::Web)), (Some(ENDPOINT), None));
        assert_eq!(Answer { cause: "no".into(), ..Answer::default() }.to_string(), "no");
    }
}
