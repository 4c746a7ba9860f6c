//! The lines of a script, and how bytes are printed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wq::ErrorCode;

use crate::runner::Fail;

/// One operation or part: a word, and values by key.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub number: usize,
    pub op: String,
    pub values: Vec<(String, Vec<u8>)>,
    pub parts: Vec<Line>,
}

fn quoted_value(text: &[u8], at: &mut usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    loop {
        match text.get(*at) {
            None => return Err("a quote that does not end".to_string()),
            Some(b'"') => {
                *at += 1;
                return Ok(bytes);
            }
            Some(b'\\') => match text.get(*at + 1) {
                Some(byte @ (b'"' | b'\\')) => {
                    bytes.push(*byte);
                    *at += 2;
                }
                Some(b'x') => {
                    let digits = text.get(*at + 2..*at + 4).unwrap_or_default();
                    let digits = std::str::from_utf8(digits).map_err(|error| error.to_string())?;
                    bytes.push(u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?);
                    *at += 4;
                }
                _ => return Err("an escape that is none".to_string()),
            },
            Some(byte) => {
                bytes.push(*byte);
                *at += 1;
            }
        }
    }
}

fn word(text: &[u8], at: &mut usize, ends: impl Fn(u8) -> bool) -> Vec<u8> {
    let begin = *at;
    while *at < text.len() && !ends(text[*at]) {
        *at += 1;
    }
    text[begin..*at].to_vec()
}

fn value(text: &[u8], at: &mut usize) -> Result<Vec<u8>, String> {
    if text.get(*at) != Some(&b'"') {
        return Ok(word(text, at, |byte| byte == b' '));
    }
    *at += 1;
    let once = quoted_value(text, at)?;
    if text.get(*at) != Some(&b'*') {
        return Ok(once);
    }
    *at += 1;
    let times = String::from_utf8_lossy(&word(text, at, |byte| byte == b' ')).into_owned();
    Ok(once.repeat(times.parse::<usize>().map_err(|error| error.to_string())?))
}

fn line(text: &str, number: usize) -> Result<Line, String> {
    let text = text.as_bytes();
    let mut at = 0;
    let op = String::from_utf8_lossy(&word(text, &mut at, |byte| byte == b' ')).into_owned();
    let mut line = Line { number, op, ..Line::default() };
    loop {
        while text.get(at) == Some(&b' ') {
            at += 1;
        }
        if at >= text.len() {
            return Ok(line);
        }
        let key = String::from_utf8_lossy(&word(text, &mut at, |byte| byte == b'=')).into_owned();
        if text.get(at) != Some(&b'=') {
            return Err("key=value is missing".to_string());
        }
        at += 1;
        let value = value(text, &mut at)?;
        line.values.push((key, value));
    }
}

/// The operations of a script, each with its parts.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let mut script = Vec::new();
    let mut parts = Vec::new();
    for (i, row) in text.split('\n').enumerate() {
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        let mut line = line(row, i + 1).map_err(|what| format!("line {}: {}", i + 1, what))?;
        if line.op == "+" {
            parts.push(line);
        } else {
            line.parts = std::mem::take(&mut parts);
            script.push(line);
        }
    }
    if parts.is_empty() {
        Ok(script)
    } else {
        Err("parts without an operation".to_string())
    }
}

impl Line {
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.values.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_slice())
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The bytes of a key, none if it is not there.
    pub fn bytes(&self, key: &str) -> &[u8] {
        self.get(key).unwrap_or_default()
    }

    pub fn must(&self, key: &str) -> Result<&[u8], Fail> {
        self.get(key).ok_or_else(|| Fail::Script(format!("{}: {}= is missing", self.op, key)))
    }

    /// A text: what is no UTF-8 is nothing that the crate has a type for.
    pub fn text(&self, key: &str) -> Result<&str, Fail> {
        std::str::from_utf8(self.bytes(key)).map_err(|_| Fail::Refused(ErrorCode::Invalid))
    }

    pub fn must_text(&self, key: &str) -> Result<&str, Fail> {
        self.must(key)?;
        self.text(key)
    }

    pub fn number(&self, key: &str) -> Result<Option<i64>, Fail> {
        if !self.has(key) {
            return Ok(None);
        }
        let text = self.text(key)?;
        let number = text.parse().map_err(|_| Fail::Script(format!("{}: no number", key)))?;
        Ok(Some(number))
    }

    /// A number of a narrower type: what it can not hold is refused as the library would.
    pub fn narrow<T: TryFrom<i64>>(&self, key: &str) -> Result<Option<T>, Fail> {
        match self.number(key)? {
            None => Ok(None),
            Some(number) => {
                T::try_from(number).map(Some).map_err(|_| Fail::Refused(ErrorCode::Invalid))
            }
        }
    }

    pub fn duration(&self, key: &str) -> Result<Option<Duration>, Fail> {
        Ok(self.narrow::<u64>(key)?.map(Duration::from_millis))
    }

    pub fn time(&self, key: &str) -> Result<Option<SystemTime>, Fail> {
        let ms = match self.number(key)? {
            None => return Ok(None),
            Some(ms) => ms,
        };
        let relative = matches!(self.bytes(key).first(), Some(b'+' | b'-'));
        if !relative && ms == 0 {
            return Ok(None);
        }
        let from = if relative { SystemTime::now() } else { UNIX_EPOCH };
        let distance = Duration::from_millis(ms.unsigned_abs());
        let time = if ms < 0 { from.checked_sub(distance) } else { from.checked_add(distance) };
        time.map(Some).ok_or(Fail::Refused(ErrorCode::Invalid))
    }

    pub fn list(&self, key: &str) -> Result<Vec<&str>, Fail> {
        Ok(self.text(key)?.split(',').filter(|word| !word.is_empty()).collect())
    }

    pub fn flag(&self, word: &str) -> bool {
        self.list("flags").map_or(false, |flags| flags.contains(&word))
    }
}

/// Bytes as results have them.
pub fn quoted(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    if bytes.len() > 64 {
        let hash = bytes.iter().fold(2_166_136_261u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(16_777_619)
        });
        return format!("bytes({},{:08x})", bytes.len(), hash);
    }
    let mut out = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            0x20..=0x7e => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{:02x}", byte)),
        }
    }
    out.push('"');
    out
}

/// The name of a queue as results have it.
pub fn queue_word(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !name.is_empty() && name.bytes().all(plain) {
        return name.to_string();
    }
    quoted(name)
}
