//! A row of a statement, read by `serde` cell by cell: as if its cells were a JSON array, which is neither written nor parsed.
//!
//! Ids are bytes, lists are JSON texts within their cell. For the rows that every call reads; what is read now and then
//! comes as JSON altogether.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::de::value::Error;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// The first so many cells of a row, in the order of the fields that they are read into.
pub(crate) fn read<'de, T: Deserialize<'de>>(row: &'de Row<'_>, cells: usize) -> Result<T, Error> {
    T::deserialize(Cells { row, place: 0, end: cells })
}

/// The cells of a row from a place on.
struct Cells<'de, 's> {
    row: &'de Row<'s>,
    place: usize,
    end: usize,
}

impl<'de> Deserializer<'de> for Cells<'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> SeqAccess<'de> for Cells<'de, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.place == self.end {
            return Ok(None);
        }
        let cell = self.row.get_ref(self.place).map_err(Error::custom)?;
        self.place += 1;
        seed.deserialize(Cell(cell)).map(Some)
    }
}

/// One cell.
struct Cell<'de>(ValueRef<'de>);

impl<'de> Cell<'de> {
    /// A list or a row within the cell, as JSON.
    fn inner(&self) -> Result<serde_json::Deserializer<serde_json::de::SliceRead<'de>>, Error> {
        match self.0 {
            ValueRef::Text(text) => Ok(serde_json::Deserializer::from_slice(text)),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
                Err(Error::custom("a cell that should hold JSON holds none"))
            }
        }
    }
}

impl<'de> Deserializer<'de> for Cell<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            ValueRef::Null => visitor.visit_unit(),
            ValueRef::Integer(number) => visitor.visit_i64(number),
            ValueRef::Real(number) => visitor.visit_f64(number),
            ValueRef::Text(text) => visitor.visit_borrowed_str(std::str::from_utf8(text).map_err(Error::custom)?),
            ValueRef::Blob(bytes) => visitor.visit_borrowed_bytes(bytes),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            ValueRef::Null => visitor.visit_none(),
            ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => {
                visitor.visit_some(self)
            }
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.inner()?.deserialize_seq(visitor).map_err(Error::custom)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.inner()?.deserialize_struct(name, fields, visitor).map_err(Error::custom)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde::Deserialize;
    use uuid::Uuid;

    use super::read;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        name: String,
        count: u32,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        id: Uuid,
        none: Option<Uuid>,
        number: u8,
        text: Option<String>,
        list: Option<Vec<String>>,
        inner: Option<Inner>,
    }

    fn sample(values: &str) -> Result<Sample, String> {
        let database = Connection::open_in_memory().expect("a database");
        let mut asked = database.prepare(&format!("SELECT {values}")).expect("a statement");
        let mut rows = asked.query(()).expect("an answer");
        let row = rows.next().expect("a row").expect("one");
        read(row, 6).map_err(|error| error.to_string())
    }

    #[test]
    fn cells_are_read_as_the_fields_that_they_stand_for() {
        let id = "x'00000000000070008000000000000001'";
        let whole = sample(&format!("{id}, NULL, 7, 'é', '[\"a\",\"b\"]', '[\"n\",3]', 'beyond'")).expect("a row");
        assert_eq!(
            whole,
            Sample {
                id: Uuid::from_u128(0x7000_8000_0000_0000_0001),
                none: None,
                number: 7,
                text: Some("é".to_owned()),
                list: Some(vec!["a".to_owned(), "b".to_owned()]),
                inner: Some(Inner { name: "n".to_owned(), count: 3 }),
            }
        );
        let bare = sample(&format!("{id}, {id}, 0, NULL, NULL, NULL")).expect("a row");
        assert_eq!((bare.none, bare.list, bare.inner), (Some(whole.id), None, None));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let id = "x'00000000000070008000000000000001'";
        for values in [
            format!("{id}, NULL, 256, NULL, NULL, NULL"),
            format!("{id}, NULL, 'seven', NULL, NULL, NULL"),
            "x'00', NULL, 7, NULL, NULL, NULL".to_owned(),
            format!("{id}, NULL, 7, NULL, 'no list', NULL"),
            format!("{id}, NULL, 7, NULL, 5, NULL"),
            format!("{id}, NULL, 7, CAST(x'ff' AS TEXT), NULL, NULL"),
        ] {
            assert!(sample(&values).is_err(), "{values}");
        }
    }
}
