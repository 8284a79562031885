//! Calls in several rounds: how a client that is sent no requests is asked something, and how what it was asked is remembered.
//!
//! A call that wants a person's word is answered with a form and a state, and comes again with both the state and what the person
//! said. The server keeps nothing of it: the state says which form was shown, and it is sealed, so that it counts for the caller,
//! the actor, the project, the tool and the arguments that it was made for, and not for long. The key it is sealed with lies in the database, so
//! that the next round may reach another process, or the same after a restart.

use std::time::{Duration, SystemTime};

use docket_core::Error;
use docket_core::command::{Sealing, SealingKey};
use docket_core::engine::Call;
use docket_core::model::RequestId;
use rmcp::model::{
    CallToolRequestParams, ErrorData, InputRequest, InputRequests, InputRequiredResult, JsonObject, RequestStateCodec,
    SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::person::{Back, Form, Person, Returning, Said, Topic};
use crate::session::Session;

/// The name of the one form that an answer holds.
const FORM: &str = "form";
/// How long a form may stay open. A question waits in the inbox for longer than that.
const OPEN: Duration = Duration::from_hours(1);
/// How long states are sealed with the same key: with the time that a form may stay open, less than answers are kept.
const SLOT_SECONDS: u64 = 6 * 60 * 60;

/// What is remembered from one round to the next.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct State {
    name: RequestId,
    topic: Topic,
    mark: String,
}

/// What a state counts for.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    surface: &'static str,
    tool: String,
    /// As they are compared, whatever the order of names.
    arguments: String,
}

impl Bound {
    /// This tool of this surface, with these arguments.
    pub(crate) fn to(surface: &'static str, request: &CallToolRequestParams) -> Self {
        let mut arguments = String::new();
        write_object(request.arguments.as_ref().unwrap_or(&JsonObject::new()), &mut arguments);
        Self { surface, tool: request.name.to_string(), arguments }
    }

    fn bytes(&self, session: &Session, slot: u64) -> Vec<u8> {
        let call = session.call(None, None);
        // What the actor shows for it may be another by the next round.
        let actor = call.by.as_ref().map(|by| (by.actor.kind, &by.actor.id));
        let whose = (&call.principal, actor, session.project());
        // As a list, so that no two of them look alike.
        serde_json::to_vec(&(whose, slot, self.surface, &self.tool, &self.arguments)).unwrap_or_default()
    }
}

impl Session {
    /// The same for a call of a client that is sent no requests, with what the call brings back from an earlier round.
    pub(crate) async fn in_rounds(
        self,
        bound: &Bound,
        request: &CallToolRequestParams,
        shows_forms: bool,
    ) -> Result<Self, ErrorData> {
        let returning = match &request.request_state {
            Some(sealed) => {
                let state = self.open(bound, sealed).await.ok_or_else(stale)?;
                let responses = request.input_responses.as_ref();
                let said = Said::read(responses.and_then(|responses| responses.get(FORM)));
                Returning::new(state.name, Some(Back { topic: state.topic, mark: state.mark, said }), shows_forms)
            }
            None if !shows_forms => return Ok(self),
            None => {
                let name = RequestId::parse(&Uuid::new_v4().to_string()).map_err(|_| stale())?;
                Returning::new(name, None, shows_forms)
            }
        };
        Ok(self.with_person(Some(Person::Returning(returning))))
    }

    /// The form that the call is answered with, where one is wanted, instead of what its tool said.
    pub(crate) async fn asks_back(&self, bound: &Bound) -> Option<InputRequiredResult> {
        let returning = self.returning()?;
        let form = returning.posted()?;
        match self.seal(bound, returning, &form).await {
            Ok(sealed) => {
                let forms = InputRequests::from([(FORM.to_owned(), InputRequest::Elicitation(form.request()))]);
                Some(InputRequiredResult::new(Some(forms), Some(sealed)))
            }
            Err(error) => {
                // Nothing is lost by it: what was asked stands, and what was refused is told.
                tracing::warn!(error = &error as &dyn std::error::Error, "a form could not be sealed");
                None
            }
        }
    }

    async fn seal(&self, bound: &Bound, returning: &Returning, form: &Form) -> Result<String, Error> {
        let state = State { name: returning.name.clone(), topic: form.topic, mark: form.mark.clone() };
        let slot = slot();
        let key = self.sealing_key(slot).await?;
        Ok(seal(&key, slot, &state, &bound.bytes(self, slot), OPEN))
    }

    async fn open(&self, bound: &Bound, sealed: &str) -> Option<State> {
        let (made_in, sealed) = sealed.split_once('.')?;
        let made_in: u64 = made_in.parse().ok()?;
        // Whoever makes one up has no key made for it.
        if slot().abs_diff(made_in) > 1 {
            return None;
        }
        let key = self.sealing_key(made_in).await.ok()?;
        open(&key, sealed, &bound.bytes(self, made_in))
    }

    async fn sealing_key(&self, slot: u64) -> Result<Sealing, Error> {
        let name = RequestId::parse(&format!("forms of {slot}"))?;
        // Whoever is said to act, and whatever was called, it is the caller's own.
        let call = Call { by: None, called: None, request: Some(name), ..self.call(None, None) };
        self.engine().run(call, SealingKey { slot }).await
    }
}

fn seal(key: &Sealing, slot: u64, state: &State, bound: &[u8], open: Duration) -> String {
    let payload = serde_json::to_vec(state).unwrap_or_default();
    let options = SealOptions::new().associated_data(bound).ttl(open);
    format!("{slot}.{}", codec(key).seal_with(&payload, &options))
}

/// What a state says, if it was sealed here, for this, and not too long ago.
fn open(key: &Sealing, sealed: &str, bound: &[u8]) -> Option<State> {
    match codec(key).open_json_with(sealed, bound) {
        Ok(state) => Some(state),
        Err(error) => {
            tracing::info!(%error, "a state that was brought back does not hold");
            None
        }
    }
}

fn codec(key: &Sealing) -> RequestStateCodec {
    // The key has the length that is asked for.
    RequestStateCodec::new_unchecked(key.bytes())
}

/// What is told of a state that does not hold, whatever is wrong with it.
fn stale() -> ErrorData {
    ErrorData::invalid_params("requestState does not hold (any more) for this call: send the call without it", None)
}

fn slot() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / SLOT_SECONDS
}

fn write_object(object: &JsonObject, out: &mut String) {
    let mut names: Vec<&String> = object.keys().collect();
    names.sort_unstable();
    out.push('{');
    for name in names {
        out.push_str(&Value::String(name.clone()).to_string());
        out.push(':');
        write_sorted(&object[name], out);
        out.push(',');
    }
    out.push('}');
}

/// A value as text that is the same whatever the order of names.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => write_object(object, out),
        Value::Array(values) => {
            out.push('[');
            for value in values {
                write_sorted(value, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(byte: u8) -> Sealing {
        serde_json::from_value(json!(vec![byte; 32])).expect("a key")
    }

    fn state() -> State {
        let name = RequestId::parse("one").expect("a name");
        State { name, topic: Topic::Question, mark: "01J".to_owned() }
    }

    #[test]
    fn a_state_is_opened_with_its_key_for_what_it_was_made_for_and_not_for_long() {
        let sealed = seal(&key(1), 5, &state(), b"this", OPEN);
        let inner = sealed.strip_prefix("5.").expect("its slot");
        assert_eq!(open(&key(1), inner, b"this"), Some(state()));
        assert_eq!(open(&key(2), inner, b"this"), None, "another key");
        assert_eq!(open(&key(1), inner, b"that"), None, "for something else");
        let over = seal(&key(1), 5, &state(), b"this", Duration::ZERO);
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(open(&key(1), over.strip_prefix("5.").expect("its slot"), b"this"), None, "over");
    }

    #[test]
    fn a_key_outlives_what_is_sealed_with_it() {
        let kept = Duration::from_millis(docket_core::limits::ANSWER_KEPT_MS.unsigned_abs());
        assert!(Duration::from_secs(SLOT_SECONDS) + OPEN < kept);
    }

    #[test]
    fn arguments_are_compared_whatever_their_order() {
        let of = |text: &str| {
            let mut out = String::new();
            write_sorted(&serde_json::from_str(text).expect("JSON"), &mut out);
            out
        };
        assert_eq!(of(r#"{"a":[{"b":1,"c":"x"}],"d":null}"#), of(r#"{"d":null,"a":[{"c":"x","b":1}]}"#));
        assert_ne!(of(r#"{"a":[1,2]}"#), of(r#"{"a":[2,1]}"#));
        assert_ne!(of(r#"{"a":"b","c":"d"}"#), of(r#"{"a":"b\",\"c\":\"d"}"#));
    }
}
