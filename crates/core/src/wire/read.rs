//! Reads a request into its type, and says precisely what is wrong where it does not fit.
//!
//! The types say what is right; what serde would tell of a mismatch is turned into our one error, with the whole path of
//! the field. Text of the caller's is never repeated at length.

use std::fmt::{self, Display};

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde_json::{Map, Value};

use super::nearest;
use crate::error::{Error, Invalid, Reason, echo};

/// Reads a JSON value.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    T::deserialize(Reader { value, plain: false }).map_err(Mismatch::into_error)
}

/// Reads names with plain texts, as they stand in an address: a list is separated by commas, a number is in digits.
pub fn from_pairs<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    let mut map = Map::new();
    for (name, text) in pairs {
        if map.contains_key(&name) {
            let name = echo(&name);
            return Err(Error::validation(Reason::Duplicate, format!("{name} is there twice")).at(name));
        }
        map.insert(name, Value::String(text));
    }
    T::deserialize(Reader { value: Value::Object(map), plain: true }).map_err(Mismatch::into_error)
}

/// What does not fit, and where.
#[derive(Debug)]
struct Mismatch {
    reason: Reason,
    message: String,
    /// Names from the outside inwards, in the reverse order.
    path: Vec<String>,
}

impl Mismatch {
    fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), path: Vec::new() }
    }

    fn inside(mut self, name: impl Into<String>) -> Self {
        self.path.push(name.into());
        self
    }

    fn into_error(self) -> Error {
        let mut field = String::new();
        for name in self.path.iter().rev() {
            if !field.is_empty() && !name.starts_with('[') {
                field.push('.');
            }
            field.push_str(name);
        }
        if field.is_empty() {
            return Error::validation(self.reason, format!("the request {}", self.message));
        }
        // A lease of a wrong type is a wrong lease.
        let reason = match self.reason {
            Reason::BadValue if field.ends_with("ttlSeconds") => Reason::BadTtl,
            reason => reason,
        };
        Error::validation(reason, format!("{field} {}", self.message)).at(field)
    }
}

impl Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

impl serde::de::Error for Mismatch {
    fn custom<T: Display>(message: T) -> Self {
        let text = format!("{message:#}");
        match Invalid::from_alternate(&text) {
            Some(Invalid { reason, message, field: None }) => Self::new(reason, message),
            // The whole path is put before the message in the end.
            Some(Invalid { reason, message, field: Some(field) }) => {
                let message = message.strip_prefix(&format!("{field} ")).map(str::to_owned).unwrap_or(message);
                Self::new(reason, message).inside(field)
            }
            None => Self::new(Reason::BadValue, echo(&text)),
        }
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(Reason::BadValue, format!("must be {}, not {}", plain(&wanted.to_string()), kind(&found)))
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::new(Reason::BadValue, format!("must be {}, not {}", plain(&wanted.to_string()), kind(&found)))
    }

    fn invalid_length(length: usize, wanted: &dyn Expected) -> Self {
        Self::new(Reason::BadValue, format!("must be {}, not {length} values", plain(&wanted.to_string())))
    }

    fn unknown_variant(found: &str, wanted: &'static [&'static str]) -> Self {
        Self::new(Reason::UnknownValue, format!("must be one of {}, not \"{}\"", wanted.join(", "), echo(found)))
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        let hint = match nearest(found, known) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None if known.is_empty() => "nothing is known here".to_owned(),
            None => format!("known here: {}", known.join(", ")),
        };
        Self::new(Reason::UnknownField, format!("is not known: {hint}")).inside(echo(found))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(Reason::MissingField, "is required").inside(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::new(Reason::Duplicate, "is there twice").inside(name)
    }
}

/// What serde says it wants, in words.
fn plain(wanted: &str) -> String {
    match wanted {
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number".to_owned(),
        "a sequence" => "a list".to_owned(),
        _ if wanted.starts_with("struct ") => "an object".to_owned(),
        _ => wanted.to_owned(),
    }
}

fn kind(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "this number",
        Unexpected::Float(_) => "a number with a fraction",
        Unexpected::Str(_) | Unexpected::Char(_) => "a string",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map => "an object",
        _ => "this",
    }
}

/// A value on its way into a type.
struct Reader {
    value: Value,
    /// Whether numbers, booleans and lists are written as text.
    plain: bool,
}

impl Reader {
    fn inner(&self, value: Value) -> Self {
        Self { value, plain: self.plain }
    }
}

/// Numbers, which may be written as text where all is text.
macro_rules! numbers {
    ($($method:ident => $visit:ident: $type:ty),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            match &self.value {
                Value::String(text) if self.plain => match text.parse::<$type>() {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => Err(Mismatch::new(
                        Reason::BadValue,
                        format!("must be a whole number, not \"{}\"", echo(text)),
                    )),
                },
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Mismatch;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (None, Some(number), _) => visitor.visit_i64(number),
                (None, None, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(Mismatch::new(Reason::BadValue, "is a number out of range")),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(values) => visitor.visit_seq(List { values: values.into_iter(), at: 0, plain: self.plain }),
            Value::Object(fields) => {
                visitor.visit_map(Fields { rest: fields.into_iter(), next: None, plain: self.plain })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::String(text) if self.plain => match text.as_str() {
                "true" | "" => visitor.visit_bool(true),
                "false" => visitor.visit_bool(false),
                other => {
                    Err(Mismatch::new(Reason::BadValue, format!("must be true or false, not \"{}\"", echo(other))))
                }
            },
            _ => self.deserialize_any(visitor),
        }
    }

    numbers! {
        deserialize_i8 => visit_i64: i64,
        deserialize_i16 => visit_i64: i64,
        deserialize_i32 => visit_i64: i64,
        deserialize_i64 => visit_i64: i64,
        deserialize_u8 => visit_u64: u64,
        deserialize_u16 => visit_u64: u64,
        deserialize_u32 => visit_u64: u64,
        deserialize_u64 => visit_u64: u64,
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match &self.value {
            Value::String(text) if self.plain => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                let values: Vec<Value> = parts.map(|part| Value::String(part.to_owned())).collect();
                if values.is_empty() {
                    return Err(Mismatch::new(Reason::Blank, "must not be blank"));
                }
                self.inner(Value::Array(values)).deserialize_any(visitor)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        let plain = self.plain;
        match self.value {
            Value::String(name) => visitor.visit_enum(Variant { name, value: None, plain }),
            Value::Object(fields) if fields.len() == 1 => {
                let (name, value) = fields.into_iter().next().unwrap_or_default();
                visitor.visit_enum(Variant { name, value: Some(value), plain })
            }
            other => Err(serde::de::Error::invalid_type(
                match &other {
                    Value::Null => Unexpected::Unit,
                    Value::Bool(flag) => Unexpected::Bool(*flag),
                    Value::Number(_) => Unexpected::Signed(0),
                    Value::Array(_) => Unexpected::Seq,
                    Value::String(_) | Value::Object(_) => Unexpected::Map,
                },
                &"a string",
            )),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.value {
            // Serde would take a list for the fields in their order.
            Value::Array(_) => Err(Mismatch::new(Reason::BadValue, "must be an object, not a list")),
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple tuple_struct map identifier ignored_any
    }
}

struct List {
    values: std::vec::IntoIter<Value>,
    at: usize,
    plain: bool,
}

impl<'de> SeqAccess<'de> for List {
    type Error = Mismatch;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Mismatch> {
        let Some(value) = self.values.next() else { return Ok(None) };
        let at = self.at;
        self.at += 1;
        seed.deserialize(Reader { value, plain: self.plain })
            .map(Some)
            .map_err(|mismatch| mismatch.inside(format!("[{at}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

struct Fields {
    rest: serde_json::map::IntoIter,
    next: Option<(String, Value)>,
    plain: bool,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Mismatch;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mismatch> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        let key: StringDeserializer<Mismatch> = name.clone().into_deserializer();
        self.next = Some((name, value));
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mismatch> {
        let (name, value) = self.next.take().unwrap_or_default();
        seed.deserialize(Reader { value, plain: self.plain }).map_err(|mismatch| mismatch.inside(echo(&name)))
    }
}

struct Variant {
    name: String,
    value: Option<Value>,
    plain: bool,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Mismatch;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Mismatch> {
        let name: StringDeserializer<Mismatch> = self.name.clone().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Mismatch;

    fn unit_variant(self) -> Result<(), Mismatch> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(Mismatch::new(Reason::BadValue, "must be a string, not an object")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Mismatch> {
        seed.deserialize(Reader { value: self.value.unwrap_or_default(), plain: self.plain })
            .map_err(|mismatch| mismatch.inside(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Mismatch> {
        Reader { value: self.value.unwrap_or_default(), plain: self.plain }.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        Reader { value: self.value.unwrap_or_default(), plain: self.plain }
            .deserialize_any(visitor)
            .map_err(|mismatch| mismatch.inside(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Priority, Title, Ttl};
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    struct Wanted {
        title: Option<Title>,
        priority: Option<Priority>,
        ttl_seconds: Option<Ttl>,
        parts: Vec<Wanted>,
        count: u8,
        flag: bool,
        words: Vec<String>,
    }

    fn refused(value: Value) -> (Reason, String, Option<String>) {
        let error = from_value::<Wanted>(value).expect_err("refused");
        (error.reason, error.message, error.field)
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place_and_reason() {
        for (value, reason, message) in [
            (json!({"titel": "a"}), Reason::UnknownField, "titel is not known: did you mean \"title\"?"),
            (json!({"parts": [{}, {"title": " "}]}), Reason::Blank, "parts[1].title must not be blank"),
            (json!({"title": 5}), Reason::BadValue, "title must be a string, not this number"),
            (json!({"count": 0.5}), Reason::BadValue, "count must be a whole number, not a number with a fraction"),
            (json!({"count": -1}), Reason::BadValue, "count must be a whole number, not this number"),
            (json!({"flag": "true"}), Reason::BadValue, "flag must be a boolean, not a string"),
            (
                json!({"priority": "top"}),
                Reason::UnknownValue,
                "priority must be one of high, medium, low, not \"top\"",
            ),
            (json!({"ttlSeconds": "900"}), Reason::BadTtl, "ttlSeconds must be a whole number, not a string"),
            (json!({"ttlSeconds": 0}), Reason::BadTtl, "ttlSeconds must be from 1 to 86400 seconds, not 0"),
            (json!({"words": "a"}), Reason::BadValue, "words must be a list, not a string"),
            (json!([]), Reason::BadValue, "the request must be an object, not a list"),
        ] {
            let (found, said, _) = refused(value.clone());
            assert_eq!((found, said.as_str()), (reason, message), "{value}");
        }
        assert_eq!(refused(json!({"parts": [{"x": 1}]})).2.as_deref(), Some("parts[0].x"));
        assert!(refused(json!({"priority": "x".repeat(10_000)})).1.len() < 400);
        assert_eq!(from_value::<Wanted>(json!({"title": null})).expect("null is absent"), Wanted::default());
    }

    #[test]
    fn an_address_says_all_in_text() {
        let pairs = |list: &[(&str, &str)]| {
            let pairs = list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
            from_pairs::<Wanted>(pairs)
        };
        let read = pairs(&[("count", "7"), ("flag", "true"), ("words", "a, b,"), ("priority", "low")]).expect("fits");
        assert_eq!((read.count, read.flag, read.words), (7, true, vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(pairs(&[("count", "+")]).expect_err("no number").reason, Reason::BadValue);
        assert_eq!(pairs(&[("words", ",")]).expect_err("empty").reason, Reason::Blank);
        assert_eq!(pairs(&[("flag", "yes")]).expect_err("no flag").reason, Reason::BadValue);
        assert_eq!(pairs(&[("count", "1"), ("count", "1")]).expect_err("twice").reason, Reason::Duplicate);
        assert_eq!(pairs(&[("cuont", "1")]).expect_err("a slip").field.as_deref(), Some("cuont"));
    }
}
