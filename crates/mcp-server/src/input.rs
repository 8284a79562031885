//! Reads JSON arguments field by field: strict about names and types, and every refusal names the field.

use docket_core::command::Change;
use docket_core::wire::nearest;
use docket_core::{Error, Invalid, Reason, echo};
use serde_json::{Map, Value};

/// A JSON object whose fields are taken out one by one.
#[derive(Debug)]
pub(crate) struct Fields {
    path: String,
    map: Map<String, Value>,
}

/// A field that may be absent, `null`, or there.
#[derive(Debug)]
pub(crate) enum Given {
    Absent,
    Null,
    Value(Value),
}

impl Fields {
    /// The arguments of a call. A name that is not `known` is refused with the nearest one that is.
    pub(crate) fn open(map: Map<String, Value>, known: &[&str]) -> Result<Self, Error> {
        Self { path: String::new(), map }.checked(known)
    }

    /// An object inside the arguments, at `path`.
    pub(crate) fn inside(path: &str, value: Value, known: &[&str]) -> Result<Self, Error> {
        match value {
            Value::Object(map) => Self { path: path.to_owned(), map }.checked(known),
            other => Err(wrong_type(path, "a JSON object", &other)),
        }
    }

    fn checked(self, known: &[&str]) -> Result<Self, Error> {
        let Some(name) = self.map.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(self) };
        let hint = match nearest(name, known) {
            Some(meant) => format!("did you mean \"{meant}\"?"),
            None => format!("known here: {}", known.join(", ")),
        };
        let field = self.at(&echo(name));
        Err(Error::validation(Reason::UnknownField, format!("{field} is not known: {hint}")).at(field))
    }

    /// The full name of a field, for messages.
    pub(crate) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Refuses what was given and not read: whoever sends it takes it to mean something.
    pub(crate) fn end(&self) -> Result<(), Error> {
        let Some(name) = self.map.keys().next() else { return Ok(()) };
        let field = self.at(&echo(name));
        let message = format!("{field} does not go with the rest of this call: leave it out");
        Err(Error::validation(Reason::BadValue, message).at(field))
    }

    /// Takes out every `null`, where that is to count as absent.
    pub(crate) fn forget_nulls(&mut self) {
        self.map.retain(|_, value| !value.is_null());
    }

    /// Whether a field is there at all, `null` included.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// A field, with `null` told from absence.
    pub(crate) fn given(&mut self, name: &str) -> Given {
        match self.map.remove(name) {
            None => Given::Absent,
            Some(Value::Null) => Given::Null,
            Some(value) => Given::Value(value),
        }
    }

    /// Puts a value back that was only looked at.
    pub(crate) fn put(&mut self, name: &str, value: Value) {
        self.map.insert(name.to_owned(), value);
    }

    /// A field; `null` counts as absent.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        match self.given(name) {
            Given::Absent | Given::Null => None,
            Given::Value(value) => Some(value),
        }
    }

    /// A text as it came, blank or not.
    pub(crate) fn raw_text(&mut self, name: &str) -> Result<Option<String>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(&self.at(name), "a string", &other)),
        }
    }

    /// A text; a blank one counts as absent.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.raw_text(name)?.filter(|text| !text.trim().is_empty()))
    }

    /// A text that must be there.
    pub(crate) fn need_text(&mut self, name: &str) -> Result<String, Error> {
        let text = self.raw_text(name)?.ok_or_else(|| self.missing(name))?;
        self.check_blank(name, &text)?;
        Ok(text)
    }

    /// A word parsed into a type: an id, a key, a name, one of a closed set. A blank one is refused: whoever sends one
    /// meant something, and to take it for nothing would widen what the call is about.
    pub(crate) fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.raw_text(name)? else { return Ok(None) };
        self.check_blank(name, &text)?;
        self.parse(name, &text, parse).map(Some)
    }

    /// Free text parsed into a type; a blank one counts as absent.
    pub(crate) fn free<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        self.parse(name, &text, parse).map(Some)
    }

    /// A text that must be there, parsed into a type.
    pub(crate) fn need<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, Invalid>) -> Result<T, Error> {
        let text = self.need_text(name)?;
        self.parse(name, &text, parse)
    }

    /// What happens to a word: `null` clears it, a blank one is refused.
    pub(crate) fn change<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Result<Change<T>, Error> {
        match self.given(name) {
            Given::Absent => Ok(Change::Keep),
            Given::Null => Ok(Change::Clear),
            Given::Value(Value::String(text)) => {
                self.check_blank(name, &text)?;
                self.parse(name, &text, parse).map(Change::Set)
            }
            Given::Value(other) => Err(wrong_type(&self.at(name), "a string or null", &other)),
        }
    }

    /// What happens to free text: `null` clears it, a blank one leaves it as it is.
    pub(crate) fn change_free<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Result<Change<T>, Error> {
        match self.given(name) {
            Given::Value(Value::String(text)) if text.trim().is_empty() => Ok(Change::Keep),
            Given::Value(value) => {
                self.put(name, value);
                self.change(name, parse)
            }
            Given::Absent => Ok(Change::Keep),
            Given::Null => Ok(Change::Clear),
        }
    }

    /// The same where a blank text clears it, as `null` does.
    pub(crate) fn change_text<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Invalid>,
    ) -> Result<Change<T>, Error> {
        let is_given = self.map.get(name).is_some_and(|value| !value.is_null());
        match self.change_free(name, parse)? {
            Change::Keep if is_given => Ok(Change::Clear),
            change @ (Change::Keep | Change::Clear | Change::Set(_)) => Ok(change),
        }
    }

    /// A boolean; the words "true" and "false" will do, because many clients send those.
    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(other) => Err(wrong_type(&self.at(name), "a boolean", &other)),
        }
    }

    /// A whole number, however it is written: to JSON Schema `5.0` is an integer.
    pub(crate) fn whole(&mut self, name: &str) -> Result<Option<i64>, Error> {
        let Some(value) = self.value(name) else { return Ok(None) };
        whole_of(&value).map(Some).ok_or_else(|| wrong_type(&self.at(name), "an integer", &value))
    }

    /// A list.
    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Error> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(wrong_type(&self.at(name), "a native JSON array", &other)),
        }
    }

    /// A list of places, counted from 0; empty where nothing is said.
    pub(crate) fn indices(&mut self, name: &str) -> Result<Vec<usize>, Error> {
        let list = self.list(name)?.unwrap_or_default();
        let read = |(index, value): (usize, &Value)| {
            let place = value.as_u64().and_then(|place| usize::try_from(place).ok());
            place.ok_or_else(|| wrong_type(&format!("{}[{index}]", self.at(name)), "an index, counted from 0", value))
        };
        list.iter().enumerate().map(read).collect()
    }

    /// A list of texts, each parsed into a type.
    pub(crate) fn texts<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<Vec<T>>, Error> {
        let Some(list) = self.list(name)? else { return Ok(None) };
        let read = |(index, value): (usize, &Value)| {
            let field = format!("{}[{index}]", self.at(name));
            match value {
                Value::String(text) => parse(text).map_err(|invalid| invalid.at(&field).into()),
                other => Err(wrong_type(&field, "a string", other)),
            }
        };
        list.iter().enumerate().map(read).collect::<Result<_, Error>>().map(Some)
    }

    /// A comma-separated text, each part parsed into a type; repeated parts count once.
    pub(crate) fn split<T: PartialEq>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<Vec<T>>, Error> {
        let Some(text) = self.raw_text(name)? else { return Ok(None) };
        let mut parts: Vec<T> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let part = self.parse(name, part, &parse)?;
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        Ok(Some(parts))
    }

    /// The same where an empty list would mean nothing, or everything: it is refused.
    pub(crate) fn split_some<T: PartialEq>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, Invalid>,
    ) -> Result<Option<Vec<T>>, Error> {
        let parts = self.split(name, parse)?;
        if parts.as_ref().is_some_and(Vec::is_empty) {
            return Err(self.blank(name));
        }
        Ok(parts)
    }

    /// The refusal of a field that must be there and is not.
    pub(crate) fn missing(&self, name: &str) -> Error {
        let field = self.at(name);
        Error::validation(Reason::MissingField, format!("{field} is required")).at(field)
    }

    fn check_blank(&self, name: &str, text: &str) -> Result<(), Error> {
        if text.trim().is_empty() { Err(self.blank(name)) } else { Ok(()) }
    }

    fn blank(&self, name: &str) -> Error {
        let field = self.at(name);
        Error::validation(Reason::Blank, format!("{field} must not be blank")).at(field)
    }

    fn parse<T>(&self, name: &str, text: &str, parse: impl FnOnce(&str) -> Result<T, Invalid>) -> Result<T, Error> {
        parse(text).map_err(|invalid| invalid.at(&self.at(name)).into())
    }
}

/// A number without a fraction that is not too large.
fn whole_of(value: &Value) -> Option<i64> {
    // Beyond this a number with a point no longer tells itself from its neighbours.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let with_point = || value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT);
    value.as_i64().or_else(|| format!("{:.0}", with_point()?).parse().ok())
}

/// The refusal of a value of the wrong type.
pub(crate) fn wrong_type(field: &str, wanted: &str, found: &Value) -> Error {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            "a number with a fraction"
        }
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Error::validation(Reason::BadValue, format!("{field} must be {wanted}, not {found}")).at(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        let Value::Object(map) = value else { panic!("an object") };
        Fields { path: "items[2]".to_owned(), map }
    }

    #[test]
    fn refusals_name_the_field_and_what_would_be_right() {
        let error = fields(json!({"ttlSecond": 1})).checked(&["itemId", "ttlSeconds"]).expect_err("unknown");
        assert_eq!(error.message, "items[2].ttlSecond is not known: did you mean \"ttlSeconds\"?");
        assert_eq!(error.field.as_deref(), Some("items[2].ttlSecond"));
        assert_eq!(error.reason, Reason::UnknownField);

        let mut read = fields(json!({"n": "5", "half": 0.5, "list": "[1]", "flag": "TRUE", "no": "yes", "blank": " "}));
        assert_eq!(read.whole("n").expect_err("text").message, "items[2].n must be an integer, not a string");
        assert!(read.whole("half").expect_err("fraction").message.ends_with("not a number with a fraction"));
        let mut whole = fields(json!({ "point": 5.0, "less": -0.0, "power": 2e2, "vast": 1e30, "large": u64::MAX }));
        for (name, number) in [("point", 5), ("less", 0), ("power", 200)] {
            assert_eq!(whole.whole(name), Ok(Some(number)), "{name}");
        }
        for name in ["vast", "large"] {
            assert!(whole.whole(name).expect_err("too large").message.ends_with("an integer, not a number"), "{name}");
        }
        assert!(read.list("list").expect_err("text").message.contains("native JSON array"));
        assert_eq!(read.flag("flag"), Ok(Some(true)));
        assert!(read.flag("no").is_err());
        assert_eq!(read.need_text("blank").expect_err("blank").reason, Reason::Blank);
        assert_eq!(read.need_text("gone").expect_err("missing").message, "items[2].gone is required");
    }

    #[test]
    fn a_blank_word_is_refused_and_a_blank_text_counts_as_absent() {
        let word = |text: &str| Ok::<_, Invalid>(text.to_owned());
        for blank in ["", " \n"] {
            let read = || fields(json!({ "x": blank }));
            let refused = [
                read().parsed("x", word).expect_err("a word"),
                read().change("x", word).expect_err("a word"),
                read().split_some("x", word).expect_err("a list"),
            ];
            for error in refused {
                assert_eq!((error.reason, error.message.as_str()), (Reason::Blank, "items[2].x must not be blank"));
            }
            assert_eq!(read().free("x", word), Ok(None));
            assert_eq!(read().change_free("x", word), Ok(Change::Keep));
            assert_eq!(read().change_text("x", word), Ok(Change::Clear));
            assert_eq!(read().split("x", word), Ok(Some(Vec::new())));
        }
        assert_eq!(fields(json!({ "x": null })).change_free("x", word), Ok(Change::Clear));
        assert_eq!(fields(json!({ "x": "y" })).change_free("x", word), Ok(Change::Set("y".to_owned())));
        assert_eq!(fields(json!({})).change_text("x", word), Ok(Change::Keep));
        assert_eq!(fields(json!({ "x": null })).change_text("x", word), Ok(Change::Clear));
        assert_eq!(fields(json!({ "x": "y" })).change_text("x", word), Ok(Change::Set("y".to_owned())));
        assert!(fields(json!({ "x": 5 })).change_text("x", word).is_err());
        assert_eq!(fields(json!({})).parsed("x", word), Ok(None));
    }
}
