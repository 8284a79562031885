//! What a message must be beyond JSON: no object with the same name twice, and not more names than any call needs.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

/// Most names of one message, in all its objects together.
pub const NAMES: usize = 20_000;

/// Why a message is refused.
#[derive(Debug)]
pub enum Fault {
    /// It is not JSON.
    NotJson,
    /// This name stands twice in one object.
    Twice(String),
    /// It holds more names than any call needs.
    TooMany,
}

/// Looks a message over without keeping anything of it.
pub fn look_over(line: &[u8]) -> Result<(), Fault> {
    let mut names = 0;
    let mut refused = None;
    let mut reader = serde_json::Deserializer::from_slice(line);
    let walked = Walk { names: &mut names, refused: &mut refused }.deserialize(&mut reader).and_then(|()| reader.end());
    match (refused, walked) {
        (Some(fault), _) => Err(fault),
        (None, Err(_)) => Err(Fault::NotJson),
        (None, Ok(())) => Ok(()),
    }
}

struct Walk<'w> {
    names: &'w mut usize,
    refused: &'w mut Option<Fault>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut few: Vec<std::borrow::Cow<'de, str>> = Vec::new();
        let mut many: HashSet<std::borrow::Cow<'de, str>> = HashSet::new();
        while let Some(Key(name)) = map.next_key()? {
            *self.names += 1;
            // Nearly all objects are small: a short list beats hashing.
            let again =
                if few.len() < 16 { few.contains(&name) } else { few.contains(&name) || !many.insert(name.clone()) };
            let fault = if again {
                Some(Fault::Twice(name.clone().into_owned()))
            } else {
                (*self.names > NAMES).then_some(Fault::TooMany)
            };
            if let Some(fault) = fault {
                *self.refused = Some(fault);
                return Err(A::Error::custom("refused"));
            }
            if few.len() < 16 {
                few.push(name);
            }
            map.next_value_seed(Walk { names: &mut *self.names, refused: &mut *self.refused })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Walk { names: &mut *self.names, refused: &mut *self.refused })?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// A name, borrowed where it holds no escapes.
struct Key<'de>(std::borrow::Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_same_name_is_refused_at_any_depth() {
        assert!(look_over(br#"{"a":1,"b":[{"c":null,"d":"x"}],"\u0061b":2.5}"#).is_ok());
        assert!(matches!(look_over(br#"{"a":1,"b":[{"c":1,"c":2}]}"#), Err(Fault::Twice(_))));
        assert!(matches!(look_over(br#"{"a":1,"\u0061":2}"#), Err(Fault::Twice(_))));
        let wide: Vec<String> = (0..40).map(|n| format!("\"k{n}\":0")).collect();
        assert!(look_over(format!("{{{}}}", wide.join(",")).as_bytes()).is_ok());
        assert!(matches!(look_over(format!("{{{},\"k39\":0}}", wide.join(",")).as_bytes()), Err(Fault::Twice(_))));
        assert!(matches!(look_over(format!("{{{},\"k3\":0}}", wide.join(",")).as_bytes()), Err(Fault::Twice(_))));
    }

    #[test]
    fn what_is_not_json_is_told_apart() {
        assert!(matches!(look_over(b"{"), Err(Fault::NotJson)));
        assert!(matches!(look_over(b"{} {}"), Err(Fault::NotJson)));
        assert!(matches!(look_over(br#""\ud800""#), Err(Fault::NotJson)));
        assert!(matches!(look_over(b"\"\xff\""), Err(Fault::NotJson)));
        assert!(matches!(look_over("[".repeat(100_000).as_bytes()), Err(Fault::NotJson)));
        let many: Vec<String> = (0..=NAMES).map(|n| format!("\"{n}\":0")).collect();
        assert!(matches!(look_over(format!("{{{}}}", many.join(",")).as_bytes()), Err(Fault::TooMany)));
    }
}
