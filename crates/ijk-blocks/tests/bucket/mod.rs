//! A server on this machine that speaks as much of S3 as arrays need, and fails as tests want it to.

use ijk_blocks::StoreOptions;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The only bucket.
pub const BUCKET: &str = "bucket";
/// The only key that is accepted.
const KEY: &str = "open-sesame";
/// Objects in an answer of a listing.
const PAGE: usize = 5;

/// A failure instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Status and code.
    Answer(u16, &'static str),
    /// The connection is closed after that many bytes of the body.
    Cut(usize),
    /// No answer.
    Silence,
    /// The answer, after a delay in milliseconds.
    Late(u64),
}

#[derive(Clone, Debug)]
pub struct Object {
    pub bytes: Arc<Vec<u8>>,
    version: u64,
    changed: SystemTime,
}

/// A request, as tests see it.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// The key in the bucket; empty for the bucket.
    pub key: String,
    pub query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

type Plan = Box<dyn FnMut(&Request) -> Option<Fault> + Send>;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    versions: u64,
    requests: Vec<Request>,
    plan: Option<Plan>,
    late: LateAnswers,
}

/// Late answers.
#[derive(Default)]
struct LateAnswers {
    /// Those that are awaited.
    now: usize,
    /// The most that were at a time.
    most: usize,
    /// Rounds: how often one was asked for while none was awaited.
    rounds: usize,
}

/// The server; it ends with the process.
#[derive(Clone)]
pub struct Bucket {
    state: Arc<Mutex<State>>,
    pub port: u16,
}

impl Bucket {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let bucket = Self { state: Arc::default(), port };
        let own = bucket.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        bucket
    }

    /// Credentials and the address.
    pub fn options(&self) -> StoreOptions {
        StoreOptions::new()
            .set("endpoint_url", format!("http://127.0.0.1:{}", self.port))
            .set("access_key_id", KEY)
            .set("secret_access_key", "secret")
            .set("region", "us-east-1")
    }

    /// Faults for requests from now on.
    pub fn plan(&self, plan: impl FnMut(&Request) -> Option<Fault> + Send + 'static) {
        self.lock().plan = Some(Box::new(plan));
    }

    pub fn put(&self, key: &str, bytes: &[u8]) {
        self.lock().put(key, bytes.to_vec());
    }

    pub fn get(&self, key: &str) -> Option<Object> {
        self.lock().objects.get(key).cloned()
    }

    pub fn keys(&self) -> Vec<String> {
        self.lock().objects.keys().cloned().collect()
    }

    /// Requests since this was asked last.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.lock().requests)
    }

    /// Most late answers that were awaited at a time since this was asked last.
    pub fn most_late(&self) -> usize {
        std::mem::take(&mut self.lock().late.most)
    }

    /// Late answers that were awaited one after another since this was asked last.
    pub fn rounds(&self) -> usize {
        std::mem::take(&mut self.lock().late.rounds)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(request) = Request::read(&mut reader) {
            let mut state = self.lock();
            state.requests.push(request.clone());
            let fault = state.plan.as_mut().and_then(|plan| plan(&request));
            let (status, headers, body) = match fault {
                Some(Fault::Answer(status, code)) => error(status, code),
                Some(Fault::Silence) => {
                    drop(state);
                    std::thread::sleep(Duration::from_secs(600));
                    return;
                }
                Some(Fault::Late(time)) => {
                    let late = &mut state.late;
                    late.rounds += usize::from(late.now == 0);
                    late.now += 1;
                    late.most = late.most.max(late.now);
                    drop(state);
                    std::thread::sleep(Duration::from_millis(time));
                    state = self.lock();
                    state.late.now -= 1;
                    state.answer(&request)
                }
                _ => state.answer(&request),
            };
            drop(state);
            let cut = if let Some(Fault::Cut(length)) = fault { Some(length) } else { None };
            if respond(&stream, &request, status, &headers, &body, cut).is_err() || cut.is_some() {
                return;
            }
        }
    }
}

fn respond(
    mut stream: &TcpStream,
    request: &Request,
    status: u16,
    headers: &[(&str, String)],
    body: &[u8],
    cut: Option<usize>,
) -> std::io::Result<()> {
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    let is_given = headers.iter().any(|(name, _)| *name == "Content-Length");
    if !is_given {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    stream.write_all((text + "\r\n").as_bytes())?;
    let body = if request.method == "HEAD" { &[] } else { body };
    stream.write_all(&body[..cut.unwrap_or(body.len()).min(body.len())])
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        403 => "Forbidden",
        404 => "Not Found",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

fn error(status: u16, code: &str) -> Answer {
    let text =
        format!("<Error><Code>{code}</Code><Message>As the test wants it.</Message></Error>");
    (status, Vec::new(), text.into_bytes())
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        (reader.read_line(&mut line).ok()? > 0).then_some(())?;
        let mut parts = line.split_whitespace();
        let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        let path = decoded(path);
        let path = path.trim_start_matches('/');
        let key = path.strip_prefix(BUCKET).unwrap_or("?").trim_start_matches('/').to_owned();
        Some(Self { method, key, query: query.collect(), headers, body })
    }
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => (bytes, rest) = ([bytes, vec![byte]].concat(), &tail[2..]),
            (&byte, _) => (bytes, rest) = ([bytes, vec![byte]].concat(), tail),
        }
    }
    String::from_utf8(bytes).unwrap()
}

impl State {
    fn put(&mut self, key: &str, bytes: Vec<u8>) -> String {
        self.versions += 1;
        let object =
            Object { bytes: Arc::new(bytes), version: self.versions, changed: SystemTime::now() };
        let tag = object.tag();
        self.objects.insert(key.to_owned(), object);
        tag
    }

    fn answer(&mut self, request: &Request) -> Answer {
        let authorization = request.headers.get("authorization").cloned().unwrap_or_default();
        if !authorization.contains(KEY) {
            return error(403, "InvalidAccessKeyId");
        }
        match &request.method[..] {
            _ if request.key == "?" => error(404, "NoSuchBucket"),
            "GET" if request.key.is_empty() => self.list(request),
            "GET" | "HEAD" => self.read(request),
            "PUT" => self.write(request),
            "POST" if request.query.contains_key("delete") => self.delete(request),
            "DELETE" => {
                self.objects.remove(&request.key);
                (204, Vec::new(), Vec::new())
            }
            _ => error(501, "NotImplemented"),
        }
    }

    fn read(&self, request: &Request) -> Answer {
        let Some(object) = self.objects.get(&request.key) else { return error(404, "NoSuchKey") };
        let whole = object.bytes.len();
        let mut headers = vec![("ETag", object.tag()), ("Last-Modified", object.date())];
        let Some(range) = request.headers.get("range") else {
            headers.push(("Content-Length", whole.to_string()));
            return (200, headers, object.bytes.to_vec());
        };
        let (first, last) = range.trim_start_matches("bytes=").split_once('-').unwrap();
        let (start, end) = match first {
            "" => (whole.saturating_sub(last.parse().unwrap()), whole),
            first => {
                let end = last.parse::<usize>().map_or(whole, |last| (last + 1).min(whole));
                (first.parse().unwrap(), end)
            }
        };
        if start >= whole {
            return error(416, "InvalidRange");
        }
        headers.push(("Content-Range", format!("bytes {start}-{}/{whole}", end - 1)));
        (206, headers, object.bytes[start..end].to_vec())
    }

    fn write(&mut self, request: &Request) -> Answer {
        let there = self.objects.get(&request.key).map(Object::tag);
        let is_refused =
            match (request.headers.get("if-none-match"), request.headers.get("if-match")) {
                (Some(_), _) => there.is_some(),
                (_, Some(tag)) => there.as_ref() != Some(tag),
                _ => false,
            };
        if is_refused {
            return error(412, "PreconditionFailed");
        }
        let tag = self.put(&request.key, request.body.clone());
        (200, vec![("ETag", tag)], Vec::new())
    }

    fn delete(&mut self, request: &Request) -> Answer {
        let text = String::from_utf8_lossy(&request.body);
        let keys = text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let mut deleted = String::new();
        for key in keys {
            self.objects.remove(key);
            deleted += &format!("<Deleted><Key>{key}</Key></Deleted>");
        }
        (200, Vec::new(), format!("<DeleteResult>{deleted}</DeleteResult>").into_bytes())
    }

    fn list(&self, request: &Request) -> Answer {
        let of = |name: &str| request.query.get(name).cloned().unwrap_or_default();
        let (prefix, delimiter, after) = (of("prefix"), of("delimiter"), of("continuation-token"));
        let mut entries: BTreeMap<String, Option<&Object>> = BTreeMap::new();
        for (key, object) in self.objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            let end = key[prefix.len()..].find(&delimiter).filter(|_| !delimiter.is_empty());
            match end {
                Some(end) => entries.insert(key[..prefix.len() + end + 1].into(), None),
                None => entries.insert(key.clone(), Some(object)),
            };
        }
        let mut left = entries.into_iter().filter(|(key, _)| *key > after);
        let page: Vec<_> = left.by_ref().take(PAGE).collect();
        let mut text = String::from("<ListBucketResult>");
        for (key, object) in &page {
            text += &match object {
                Some(object) => format!(
                    "<Contents><Key>{key}</Key><Size>{}</Size><ETag>{}</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>",
                    object.bytes.len(),
                    object.tag()
                ),
                None => format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"),
            };
        }
        if left.next().is_some() {
            let last = &page.last().unwrap().0;
            text += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        (200, Vec::new(), (text + "</ListBucketResult>").into_bytes())
    }
}

impl Object {
    fn tag(&self) -> String {
        format!("\"{}\"", self.version)
    }

    /// The time of the last change as HTTP has it.
    fn date(&self) -> String {
        let seconds = self.changed.duration_since(UNIX_EPOCH).unwrap().as_secs();
        let (days, rest) = (seconds / 86400, seconds % 86400);
        // Days since 0000-03-01, in years that begin in March.
        let shifted = days + 719_468;
        let (era, day) = (shifted / 146_097, shifted % 146_097);
        let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let date = day - (153 * month + 2) / 5 + 1;
        let names =
            ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];
        let year = year + era * 400 + u64::from(month >= 10);
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(days % 7) as usize];
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        let month = names[month as usize];
        format!("{weekday}, {date:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
    }
}
