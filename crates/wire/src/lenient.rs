//! Fields that take whatever comes: a number as text, text as a number, null, or something absurd (which is "not told").

use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Whatever stood there.
enum Any {
    Nothing,
    Bool(bool),
    Whole(i128),
    Real(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyVisitor;
        impl<'de> Visitor<'de> for AnyVisitor {
            type Value = Any;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Any, E> {
                Ok(Any::Nothing)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Any, E> {
                Ok(Any::Bool(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Any, E> {
                Ok(Any::Whole(value.into()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Any, E> {
                Ok(Any::Whole(value.into()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Any, E> {
                Ok(Any::Real(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Any, E> {
                Ok(Any::Text(value.to_owned()))
            }
            fn visit_string<E>(self, value: String) -> Result<Any, E> {
                Ok(Any::Text(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Any, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Any::Nothing)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Any::Nothing)
            }
        }
        deserializer.deserialize_any(AnyVisitor)
    }
}

impl Any {
    fn real(self) -> Option<f64> {
        let value = match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
            Self::Text(text) => text.trim().parse().ok()?,
            Self::Nothing | Self::Bool(_) => return None,
        };
        value.is_finite().then_some(value)
    }
}

pub(crate) fn real<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Any::deserialize(deserializer).map(Any::real)
}

pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Any::deserialize(deserializer).map(|any| match any {
        Any::Whole(value) => u64::try_from(value).ok(),
        // Ids beyond 2^53 have lost digits in a float: better not told than another machine's.
        Any::Real(value) => ((0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0).then_some(value as u64),
        Any::Text(text) => text.trim().parse().ok(),
        Any::Nothing | Any::Bool(_) => None,
    })
}

pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Any::deserialize(deserializer).map(|any| match any {
        Any::Text(text) => Some(text),
        Any::Whole(value) => Some(value.to_string()),
        Any::Real(value) => Some(value.to_string()),
        Any::Bool(value) => Some(value.to_string()),
        Any::Nothing => None,
    })
}

pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Any::deserialize(deserializer).map(|any| match any {
        Any::Bool(value) => Some(value),
        Any::Whole(value) => Some(value != 0),
        Any::Real(value) => Some(value != 0.0),
        Any::Text(text) => text.trim().parse().ok(),
        Any::Nothing => None,
    })
}

/// RFC 3339 text, or seconds since the epoch as a number or as text.
pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    Any::deserialize(deserializer).map(|any| match any {
        Any::Text(text) => text.trim().parse().ok().or_else(|| seconds(text.trim().parse().ok()?)),
        other => seconds(other.real()?),
    })
}

/// 2100-01-01: nothing that answers now is dated later, seconds since the epoch.
const LATEST_S: f64 = 4_102_444_800.0;

/// A time from seconds since the epoch; none beyond this century, which no clock that was ever set shows.
pub(crate) fn seconds(seconds: f64) -> Option<Timestamp> {
    (seconds > 0.0 && seconds < LATEST_S).then(|| Timestamp::from_millisecond((seconds * 1000.0) as i64).ok())?
}

/// As Go writes a float: whole numbers without a fraction.
#[derive(Clone, Copy)]
pub(crate) struct GoFloat(pub(crate) f64);

impl Serialize for GoFloat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9.0e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

pub(crate) fn write_real<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    GoFloat(value.unwrap_or(0.0)).serialize(serializer)
}

pub(crate) fn write_whole<S: Serializer>(value: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(value.unwrap_or(0))
}

pub(crate) fn write_text<S: Serializer>(value: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(value.as_deref().unwrap_or(""))
}

pub(crate) fn write_flag<S: Serializer>(value: &Option<bool>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(value.unwrap_or(false))
}

/// As the manager writes its times: whole seconds, UTC; empty when there is none.
pub(crate) fn write_time<S: Serializer>(value: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(at) => serializer.collect_str(&at.strftime("%Y-%m-%dT%H:%M:%SZ")),
        None => serializer.serialize_str(""),
    }
}
