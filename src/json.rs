//! JSON as lameduck writes it: log lines, the state, the report.
//!
//! A value is built first and written at once, so that what is too long can be shortened while it is
//! still a value. Keys stay in the order given: people read these files too.

use std::fmt::{self, Write as _};
use std::time::Duration;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known, or not there.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Number(i64),
    /// Seconds, written with three decimals: `1.500`.
    Seconds(Duration),
    /// Text; what is special in JSON is escaped.
    Text(String),
    /// `[..]`.
    List(Vec<Value>),
    /// `{..}`, with its keys in this order.
    Object(Vec<(&'static str, Value)>),
}

// === impl Value ===

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(yes) => write!(f, "{yes}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Seconds(seconds) => write!(f, "{}.{:03}", seconds.as_secs(), seconds.subsec_millis()),
            Self::Text(text) => write_text(f, text),
            Self::List(values) => {
                f.write_char('[')?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at == 0 { "" } else { "," })?;
                }
                f.write_char(']')
            }
            Self::Object(pairs) => {
                f.write_char('{')?;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}\"{key}\":{value}", if at == 0 { "" } else { "," })?;
                }
                f.write_char('}')
            }
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Bool(yes)
    }
}

impl From<Duration> for Value {
    fn from(seconds: Duration) -> Self {
        Self::Seconds(seconds)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Writes `text` as a JSON string, quotes included.
///
/// # Errors
///
/// Those of `out`.
pub fn write_text(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_another_program_reads_it() {
        let value = Value::Object(vec![
            ("nothing", Value::from(None::<bool>)),
            ("yes", true.into()),
            ("number", Value::Number(-7)),
            ("seconds", Duration::from_micros(8_200_900).into()),
            ("text", "a \"b\"\\\n\u{1}é".into()),
            ("list", Value::List(vec![1.into(), "x".into(), Value::Object(vec![])])),
        ]);
        let text = value.to_string();
        assert_eq!(
            text,
            "{\"nothing\":null,\"yes\":true,\"number\":-7,\"seconds\":8.200,\
             \"text\":\"a \\\"b\\\"\\\\\\n\\u0001é\",\"list\":[1,\"x\",{}]}"
        );
        let read: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
        assert_eq!(read["text"], "a \"b\"\\\n\u{1}é");
    }
}
