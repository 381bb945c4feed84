//! Requests and answers without a socket.

use crate::go_json::Writer;

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// In capitals.
    pub method: String,
    /// Without percent signs.
    pub path: String,
    /// As it stood behind the question mark.
    pub query: String,
    /// Names in small letters.
    pub headers: Vec<(String, Vec<u8>)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl Request {
    /// A request for a path with its query.
    pub fn new(method: &str, target: &str, body: impl Into<Vec<u8>>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = String::from_utf8_lossy(&unescaped(path.as_bytes(), false).unwrap_or_default()).into_owned();
        Self { method: method.to_owned(), path, query: query.to_owned(), headers: Vec::new(), body: body.into() }
    }

    /// With one more header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.as_bytes().to_vec()));
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// A parameter of the query: its first value. A pair that cannot be read is passed over.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').filter(|pair| !pair.contains(';'));
        let mut read = pairs.filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescaped(key.as_bytes(), true)?, unescaped(value.as_bytes(), true)?))
        });
        read.find(|(key, _)| key == name.as_bytes()).map(|(_, value)| String::from_utf8_lossy(&value).into_owned())
    }
}

/// `%41` as `A`, in a query also `+` as a space. `None` for a percent sign without two digits.
fn unescaped(text: &[u8], plus: bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' if plus => b' ',
            other => other,
        });
    }
    Some(bytes)
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Name and value of each header that means something here.
    pub headers: Vec<(&'static str, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(written: Writer) -> Self {
        Self::raw_json(written.encoded())
    }

    pub(crate) fn raw_json(body: Vec<u8>) -> Self {
        Self { status: 200, headers: vec![("content-type", "application/json".to_owned())], body }
    }

    pub(crate) fn error(status: u16, why: &str) -> Self {
        Self { status, ..Self::json(Writer::object(|to| to.string("error", why))) }
    }

    pub(crate) fn plain(status: u16, text: &str) -> Self {
        let headers =
            vec![("content-type", "text/plain; charset=utf-8".to_owned()), ("x-content-type-options", "nosniff".to_owned())];
        Self { status, headers, body: text.as_bytes().to_vec() }
    }

    pub(crate) fn moved(path: &str, query: &str) -> Self {
        let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let body = format!("<a href=\"{target}\">Moved Permanently</a>.\n\n").into_bytes();
        let headers = vec![("content-type", "text/html; charset=utf-8".to_owned()), ("location", target)];
        Self { status: 301, headers, body }
    }

    /// Stands for the real one's page, which is not repeated here.
    pub(crate) fn page() -> Self {
        let body = b"<!DOCTYPE html>\n<title>Vast Worker Manager</title>\n".to_vec();
        Self { status: 200, headers: vec![("content-type", "text/html; charset=utf-8".to_owned())], body }
    }

    pub(crate) fn nothing(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn open_to_all(mut self) -> Self {
        self.headers.push(("access-control-allow-origin", "*".to_owned()));
        self
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null where it is none.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}
