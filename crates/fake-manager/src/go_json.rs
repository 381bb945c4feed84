//! JSON as Go's `encoding/json` reads and writes it: what it refuses, with which words, what it takes as something else.
//!
//! Source: the behaviour of Go 1.22 (`Decoder.Decode`, `Unmarshal`, `Encoder.Encode`), tried with the real manager.

/// Arrays and objects within each other at most. Go allows 10,000; the words of the refusal are the same.
const DEPTH_MAX: usize = 1_000;

/// A JSON value as it stood in the text: numbers keep their spelling, objects their order and their repetitions.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was spelt.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Vec<(String, Value)>),
}

/// A Go type that JSON is decoded into.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `int`, 64 bits.
    Int,
    /// `float64`.
    Float,
    /// `string`.
    String,
    /// A struct.
    Struct(&'static Struct),
    /// A slice, with the name of its type.
    Slice(&'static Kind, &'static str),
    /// A map from strings, with the name of its type.
    Map(&'static Kind, &'static str),
}

/// A Go struct: its type's whole name, the name in messages, and its JSON fields in order.
#[derive(Debug)]
pub struct Struct {
    /// As `reflect` prints it: `main.RegisterReq`.
    pub type_name: &'static str,
    /// Without its package; empty for a type without a name.
    pub name: &'static str,
    /// JSON names with their types.
    pub fields: &'static [(&'static str, Kind)],
}

impl Kind {
    fn type_name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float64",
            Self::String => "string",
            Self::Struct(of) => of.type_name,
            Self::Slice(_, name) | Self::Map(_, name) => name,
        }
    }
}

/// What was decoded: Go's zero value where nothing was given.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed {
    /// An `int`.
    Int(i64),
    /// A `float64`.
    Float(f64),
    /// A `string`.
    String(String),
    /// A struct: one value a field, in the order of its fields.
    Struct(&'static [(&'static str, Kind)], Vec<Typed>),
    /// A slice; `None` is nil.
    Slice(Option<Vec<Typed>>),
    /// A map; nil and empty are the same here.
    Map(Vec<(String, Typed)>),
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.type_name() == other.type_name()
    }
}

impl Typed {
    fn zero(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Int(0),
            Kind::Float => Self::Float(0.0),
            Kind::String => Self::String(String::new()),
            Kind::Struct(of) => Self::Struct(of.fields, of.fields.iter().map(|(_, kind)| Self::zero(*kind)).collect()),
            Kind::Slice(..) => Self::Slice(None),
            Kind::Map(..) => Self::Map(Vec::new()),
        }
    }

    fn field(&self, name: &str) -> &Self {
        let Self::Struct(fields, values) = self else { panic!("{name} is asked of what is no struct") };
        let at = fields.iter().position(|(field, _)| *field == name).unwrap_or_else(|| panic!("no field {name}"));
        &values[at]
    }

    /// A field of type `int`.
    pub fn int(&self, name: &str) -> i64 {
        match self.field(name) {
            Self::Int(value) => *value,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A field of type `float64`.
    pub fn float(&self, name: &str) -> f64 {
        match self.field(name) {
            Self::Float(value) => *value,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A field of type `string`.
    pub fn string(&self, name: &str) -> &str {
        match self.field(name) {
            Self::String(value) => value,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The elements of a slice; none where it is nil.
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::Slice(values) => values.as_deref().unwrap_or_default(),
            other => panic!("no slice: {other:?}"),
        }
    }

    /// An entry of a field that is a map.
    pub fn entry(&self, name: &str, key: &str) -> Option<&Self> {
        match self.field(name) {
            Self::Map(entries) => entries.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value),
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Writes a struct's fields in their order, as Go encodes them.
    pub fn write_fields(&self, to: &mut Writer) {
        let Self::Struct(fields, values) = self else { return };
        for ((name, _), value) in fields.iter().zip(values) {
            match value {
                Self::Int(value) => to.int(name, *value),
                Self::Float(value) => to.float(name, *value),
                Self::String(value) => to.string(name, value),
                other => panic!("{name} is not written: {other:?}"),
            }
        }
    }
}

/// `json.NewDecoder(body).Decode(&into)`: the first value of the text; what follows it is not read.
pub fn decode(text: &[u8], kind: Kind) -> Result<Typed, String> {
    if text.iter().all(|byte| is_space(*byte)) {
        return Err("EOF".to_owned());
    }
    let mut scanner = Scanner { text, at: 0 };
    let value = scanner.value(0).map_err(|fault| fault.unwrap_or_else(|| "unexpected EOF".to_owned()))?;
    typed(&value, kind)
}

/// `json.Unmarshal(text, &into)`: the whole text is one value.
pub fn unmarshal(text: &[u8], kind: Kind) -> Result<Typed, String> {
    let mut scanner = Scanner { text, at: 0 };
    let value = scanner.value(0).map_err(|fault| fault.unwrap_or_else(|| "unexpected end of JSON input".to_owned()))?;
    scanner.skip_space();
    if let Some(byte) = scanner.peek() {
        return Err(unexpected(byte, "after top-level value"));
    }
    typed(&value, kind)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn unexpected(byte: u8, context: &str) -> String {
    format!("invalid character {} {context}", quoted(byte))
}

/// A byte as Go names it in a message: taken for a character of its own.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0..=0x1f | 0x7f => format!(r"'\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!(r"'\u{:04x}'", byte),
        _ => format!("'{}'", char::from(byte)),
    }
}

/// Reads values. An error without words is the end of the text.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

type Fault = Option<String>;

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Fault> {
        let byte = self.peek().ok_or(None)?;
        self.at += 1;
        Ok(byte)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        self.skip_space();
        match self.next()? {
            b'{' => self.object(depth + 1),
            b'[' => self.array(depth + 1),
            b'"' => Ok(Value::String(self.string()?)),
            first @ (b'-' | b'0'..=b'9') => self.number(first),
            b't' => self.literal("true").map(|()| Value::Bool(true)),
            b'f' => self.literal("false").map(|()| Value::Bool(false)),
            b'n' => self.literal("null").map(|()| Value::Null),
            byte => Err(Some(unexpected(byte, "looking for beginning of value"))),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), Fault> {
        for expected in word.bytes().skip(1) {
            let byte = self.next()?;
            if byte != expected {
                return Err(Some(unexpected(byte, &format!("in literal {word} (expecting {})", quoted(expected)))));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<Value, Fault> {
        let start = self.at - 1;
        let mut first = first;
        if first == b'-' {
            first = self.next()?;
            if !first.is_ascii_digit() {
                return Err(Some(unexpected(first, "in numeric literal")));
            }
        }
        if first != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(Value::Number(String::from_utf8_lossy(&self.text[start..self.at]).into_owned()))
    }

    fn digit(&mut self, context: &str) -> Result<(), Fault> {
        let byte = self.next()?;
        if byte.is_ascii_digit() { Ok(()) } else { Err(Some(unexpected(byte, context))) }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => match self.next()? {
                    b'b' => bytes.push(0x08),
                    b'f' => bytes.push(0x0c),
                    b'n' => bytes.push(b'\n'),
                    b'r' => bytes.push(b'\r'),
                    b't' => bytes.push(b'\t'),
                    byte @ (b'\\' | b'/' | b'"') => bytes.push(byte),
                    b'u' => {
                        let unit = self.four_digits()?;
                        let character = char::from_u32(unit).unwrap_or_else(|| self.second_half(unit));
                        bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
                    }
                    byte => return Err(Some(unexpected(byte, "in string escape code"))),
                },
                byte if byte < 0x20 => return Err(Some(unexpected(byte, "in string literal"))),
                byte => bytes.push(byte),
            }
        }
        let mut text = String::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            // Every byte that is none of UTF-8 becomes a character of its own.
            text.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
        }
        Ok(text)
    }

    fn four_digits(&mut self) -> Result<u32, Fault> {
        let mut unit = 0;
        for _ in 0..4 {
            let byte = self.next()?;
            let digit = char::from(byte).to_digit(16);
            unit = unit * 16 + digit.ok_or_else(|| Some(unexpected(byte, "in \\u hexadecimal character escape")))?;
        }
        Ok(unit)
    }

    /// The character of two surrogates; where the second is missing, nothing is read and the first is the replacement.
    fn second_half(&mut self, first: u32) -> char {
        let start = self.at;
        let replacement = '\u{fffd}';
        if !(0xd800..0xdc00).contains(&first) || self.text.get(start..start + 2) != Some(b"\\u") {
            return replacement;
        }
        self.at += 2;
        match self.four_digits() {
            Ok(second) if (0xdc00..0xe000).contains(&second) => {
                char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).unwrap_or(replacement)
            }
            _ => {
                self.at = start;
                replacement
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Fault> {
        deep_enough(depth)?;
        let mut values = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(values));
        }
        loop {
            values.push(self.value(depth)?);
            self.skip_space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Value::Array(values)),
                byte => return Err(Some(unexpected(byte, "after array element"))),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Fault> {
        deep_enough(depth)?;
        let mut entries = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(entries));
        }
        loop {
            self.skip_space();
            let byte = self.next()?;
            if byte != b'"' {
                return Err(Some(unexpected(byte, "looking for beginning of object key string")));
            }
            let key = self.string()?;
            self.skip_space();
            let byte = self.next()?;
            if byte != b':' {
                return Err(Some(unexpected(byte, "after object key")));
            }
            entries.push((key, self.value(depth)?));
            self.skip_space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Value::Object(entries)),
                byte => return Err(Some(unexpected(byte, "after object key:value pair"))),
            }
        }
    }
}

fn deep_enough(depth: usize) -> Result<(), Fault> {
    if depth > DEPTH_MAX { Err(Some("exceeded max depth".to_owned())) } else { Ok(()) }
}

/// Go goes on after a value of the wrong type and gives the first such error at the end.
fn typed(value: &Value, kind: Kind) -> Result<Typed, String> {
    let mut typing = Typing::default();
    let mut into = Typed::zero(kind);
    typing.put(value, kind, &mut into);
    typing.first_error.map_or(Ok(into), Err)
}

#[derive(Default)]
struct Typing {
    /// The innermost struct and the path of fields from the outermost.
    within: Option<&'static str>,
    path: Vec<&'static str>,
    first_error: Option<String>,
}

impl Typing {
    fn refuse(&mut self, what: &str, kind: Kind) {
        let of = kind.type_name();
        let message = match self.within {
            Some(name) => {
                format!("json: cannot unmarshal {what} into Go struct field {name}.{} of type {of}", self.path.join("."))
            }
            None => format!("json: cannot unmarshal {what} into Go value of type {of}"),
        };
        self.first_error.get_or_insert(message);
    }

    fn put(&mut self, value: &Value, kind: Kind, into: &mut Typed) {
        match (value, kind) {
            (Value::Null, Kind::Slice(..) | Kind::Map(..)) => *into = Typed::zero(kind),
            (Value::Null, _) => {}
            (Value::Bool(_), _) => self.refuse("bool", kind),
            (Value::String(text), Kind::String) => *into = Typed::String(text.clone()),
            (Value::String(_), _) => self.refuse("string", kind),
            (Value::Number(spelt), Kind::Int) => match spelt.parse() {
                Ok(number) => *into = Typed::Int(number),
                Err(_) => self.refuse(&format!("number {spelt}"), kind),
            },
            (Value::Number(spelt), Kind::Float) => match spelt.parse::<f64>() {
                Ok(number) if number.is_finite() => *into = Typed::Float(number),
                _ => self.refuse(&format!("number {spelt}"), kind),
            },
            (Value::Number(_), _) => self.refuse("number", kind),
            (Value::Array(values), Kind::Slice(element, _)) => {
                let mut elements = Vec::with_capacity(values.len());
                for value in values {
                    let mut element_into = Typed::zero(*element);
                    self.put(value, *element, &mut element_into);
                    elements.push(element_into);
                }
                *into = Typed::Slice(Some(elements));
            }
            (Value::Array(_), _) => self.refuse("array", kind),
            (Value::Object(entries), Kind::Map(element, _)) => {
                for (key, value) in entries {
                    let mut element_into = Typed::zero(*element);
                    self.put(value, *element, &mut element_into);
                    if let Typed::Map(known) = into {
                        known.retain(|(name, _)| name != key);
                        known.push((key.clone(), element_into));
                    }
                }
            }
            (Value::Object(entries), Kind::Struct(of)) => self.put_fields(entries, of, into),
            (Value::Object(_), _) => self.refuse("object", kind),
        }
    }

    fn put_fields(&mut self, entries: &[(String, Value)], of: &'static Struct, into: &mut Typed) {
        let Typed::Struct(_, values) = into else { return };
        let outer = self.within;
        for (key, value) in entries {
            // Its own spelling first, then any spelling that differs in case alone; what is not known is passed over.
            let exact = of.fields.iter().position(|(name, _)| name == key);
            let Some(at) = exact.or_else(|| of.fields.iter().position(|(name, _)| folded(name) == folded(key))) else { continue };
            let (name, kind) = of.fields[at];
            self.within = Some(of.name);
            self.path.push(name);
            self.put(value, kind, &mut values[at]);
            self.path.pop();
            self.within = outer;
        }
    }
}

/// The name without its case. Two letters outside ASCII fold to letters inside it.
fn folded(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

/// Writes one object's fields as `json.Encoder` writes them.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
    /// A number that JSON cannot say: Go then writes nothing at all.
    failed: bool,
}

impl Writer {
    /// An object.
    pub fn object(fields: impl FnOnce(&mut Self)) -> Self {
        let mut writer = Self::default();
        writer.text.push('{');
        fields(&mut writer);
        writer.text.push('}');
        writer
    }

    /// An array of what was written before.
    pub fn array(elements: impl IntoIterator<Item = Self>) -> Self {
        let mut writer = Self::default();
        writer.text.push('[');
        for element in elements {
            writer.comma();
            writer.take(&element);
        }
        writer.text.push(']');
        writer
    }

    fn take(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.failed |= other.failed;
    }

    fn comma(&mut self) {
        if !self.text.ends_with(['{', '[']) {
            self.text.push(',');
        }
    }

    fn name(&mut self, name: &str) {
        self.comma();
        self.text.push_str(&string(name.as_bytes()));
        self.text.push(':');
    }

    /// An `int` field.
    pub fn int(&mut self, name: &str, value: i64) {
        self.name(name);
        self.text.push_str(&value.to_string());
    }

    /// A `float64` field.
    pub fn float(&mut self, name: &str, value: f64) {
        self.name(name);
        match float(value) {
            Some(text) => self.text.push_str(&text),
            None => self.failed = true,
        }
    }

    /// A `bool` field.
    pub fn bool(&mut self, name: &str, value: bool) {
        self.name(name);
        self.text.push_str(if value { "true" } else { "false" });
    }

    /// A `string` field.
    pub fn string(&mut self, name: &str, value: &str) {
        self.bytes(name, value.as_bytes());
    }

    /// A `string` field whose bytes need not be UTF-8.
    pub fn bytes(&mut self, name: &str, value: &[u8]) {
        self.name(name);
        self.text.push_str(&string(value));
    }

    /// A field written before.
    pub fn value(&mut self, name: &str, value: &Self) {
        self.name(name);
        self.take(value);
    }

    /// The text with the line end that `Encoder` adds; empty where it could not be written.
    pub fn encoded(self) -> Vec<u8> {
        if self.failed {
            return Vec::new();
        }
        let mut text = self.text;
        text.push('\n');
        text.into_bytes()
    }
}

/// A number as Go writes it: as short as it can be, with an exponent only where it is very small or very large. `None` for
/// what JSON cannot say.
fn float(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return Some(match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
            _ => text,
        });
    }
    Some(if value == 0.0 && value.is_sign_negative() { "-0".to_owned() } else { value.to_string() })
}

fn string(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    text.push_str(&format!("\\u{:04x}", u32::from(character)));
                }
                other => text.push(other),
            }
        }
        chunk.invalid().iter().for_each(|_| text.push_str("\\ufffd"));
    }
    text.push('"');
    text
}
