//! `properties` as their author wrote them: fields are taken out of the text and put into it, and what is left alone keeps
//! every digit, which a number that is read and written again may not.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The fields of a JSON object in their order, each with the text of its value.
#[derive(Debug, Default)]
pub(super) struct Properties(Vec<(String, Box<RawValue>)>);

impl Properties {
    /// Takes a field out.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// Puts a field in, over one of the same name.
    pub(super) fn put(&mut self, name: String, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Properties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
                let mut read = Properties::default();
                while let Some((name, value)) = map.next_entry()? {
                    read.put(name, value);
                }
                Ok(read)
            }
        }

        from.deserialize_map(Fields)
    }
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
