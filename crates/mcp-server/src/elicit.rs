//! Puts what only a person can decide to the person at the other end of a connection, there and then.
//!
//! A client that can show a form says so when it shakes hands. What it brings back is committed with that person as the
//! actor; whatever else happens (the form is declined, closed, or nobody sits there) changes nothing, and the question stays
//! open where everybody finds it. Clients that shake no hands are asked nothing: requests to them are not in their revision.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use docket_core::Error;
use docket_core::command::{Asked, EndQuestion, Proof, Verified, Verify};
use docket_core::engine::Call;
use docket_core::model::{
    ActorClaim, ActorKind, Attribution, Authority, Criterion, CriterionId, ItemId, ItemRef, Question, QuestionState,
    Standing, Text, Verification, VerificationStatus,
};
use docket_core::store::{Around, ProjectRef};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, EnumSchema, JsonObject,
    PrimitiveSchemaDefinition, ServerRequest, StringSchema,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleServer};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::session::Session;

/// How long a form stays open: many clients give up a call after a minute, and the answer to the call must be there before.
const PATIENCE: Duration = Duration::from_secs(50);
/// Forms that are open at once; what is asked beyond them waits in the inbox like any other question.
const FORMS: usize = 4;
/// Most characters of a text that a form shows.
const SHOWN: usize = 4_000;
/// Most criteria in one form.
const CRITERIA: usize = 10;

/// The person at the other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    peer: Peer<RoleServer>,
    forms: Arc<Semaphore>,
    gone: CancellationToken,
}

/// Forms of one connection, and its end.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    forms: Arc<Semaphore>,
    gone: CancellationToken,
}

/// What became of something that was put to a person.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited<T> {
    /// Nobody can be asked here.
    Nobody,
    /// The person was asked and did not say: declined, closed the form, or was not there.
    Unanswered,
    /// The person said, and it is committed.
    Answered(T),
    /// The person said, and it could not be committed.
    Refused(Error),
}

impl Desk {
    /// The desk of a connection that ends with this token.
    pub(crate) fn new(gone: CancellationToken) -> Self {
        Self { forms: Arc::new(Semaphore::new(FORMS)), gone }
    }

    /// The person there, where the client can show a form.
    pub(crate) fn person(&self, peer: &Peer<RoleServer>) -> Option<Person> {
        let client = peer.peer_info()?;
        let can = client.capabilities.elicitation.as_ref()?;
        // Before there were kinds of it, there was nothing but forms.
        let shows_forms = can.form.is_some() || can.url.is_none();
        shows_forms.then(|| Person { peer: peer.clone(), forms: Arc::clone(&self.forms), gone: self.gone.clone() })
    }
}

/// What a form is about, as it stands now.
struct About {
    item: ItemId,
    /// What a person calls it.
    title: String,
    /// Its criteria that wait for a person.
    unsigned: Vec<Criterion>,
    /// The newest question on it.
    question: Option<Question>,
}

impl Session {
    /// Puts an open question to the person at the other end. Call this after the question is committed: whatever happens
    /// here, it stands. Takes less than a minute.
    pub async fn elicit_answer(&self, asked: &Asked) -> Elicited<Asked> {
        let Some(person) = self.person() else { return Elicited::Nobody };
        self.put_question(person, &asked.question).await.unwrap_or_else(Elicited::Refused)
    }

    /// Puts criteria of an item that a person must sign off to the person at the other end: these, or all that are not
    /// signed off where none is named. Takes less than a minute.
    pub async fn elicit_sign_off(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        criteria: &[CriterionId],
    ) -> Elicited<Verified> {
        let Some(person) = self.person() else { return Elicited::Nobody };
        self.put_sign_off(person, project, item, criteria).await.unwrap_or_else(Elicited::Refused)
    }

    /// Does something to an item. Where nothing but a person's signature keeps it from being done, that is put to the person
    /// at the other end, and it is tried once more.
    pub async fn with_sign_off<T, F: Future<Output = Result<T, Error>> + Send>(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        act: impl Fn() -> F + Send + Sync,
    ) -> Result<T, Error> {
        let refused = match act().await {
            Err(error) if self.person().is_some() => error,
            done => return done,
        };
        let Some(unsigned) = unsigned(&refused) else { return Err(refused) };
        match self.elicit_sign_off(project, item, &unsigned).await {
            Elicited::Answered(_) => act().await,
            Elicited::Nobody | Elicited::Unanswered | Elicited::Refused(_) => Err(refused),
        }
    }

    async fn put_question(&self, person: &Person, question: &Question) -> Result<Elicited<Asked>, Error> {
        let about = self.look(&ProjectRef::Any, &ItemRef::Id(question.item)).await?;
        // A call that is sent again finds what it asked the first time, and that may be over.
        let is_open = |newest: &Question| newest.id == question.id && newest.state == QuestionState::Open;
        if !about.question.as_ref().is_some_and(is_open) {
            return Ok(Elicited::Unanswered);
        }
        let Some(form) = question_form(question) else { return Ok(Elicited::Nobody) };
        let by = plain(question.asked_by.as_str());
        let message = format!("{by} asks about {}:\n\n{}", about.title, shown(&question.text));
        let filled = person.fill(message, form).await;
        let Some(answer) = filled.and_then(|filled| chosen(question, &filled)) else { return Ok(Elicited::Unanswered) };
        let answer = Text::parse(&answer).map_err(|invalid| invalid.at("answer"))?;
        let command = EndQuestion { question: question.id, answer: Some(answer) };
        self.engine().run(self.call_of_person(), command).await.map(Elicited::Answered)
    }

    async fn put_sign_off(
        &self,
        person: &Person,
        project: &ProjectRef,
        item: &ItemRef,
        criteria: &[CriterionId],
    ) -> Result<Elicited<Verified>, Error> {
        let about = self.look(project, item).await?;
        let wanted = |criterion: &&Criterion| criteria.is_empty() || criteria.contains(&criterion.id);
        let wanted: Vec<&Criterion> = about.unsigned.iter().filter(wanted).take(CRITERIA).collect();
        let Some(form) = sign_off_form(&wanted) else { return Ok(Elicited::Nobody) };
        let mut message = format!("{} waits for your sign-off:\n", about.title);
        for criterion in &wanted {
            // Writing into a text cannot fail.
            _ = write!(message, "\n{}: {}", criterion.id, shown(&criterion.text));
            if let Some(how) = &criterion.instructions {
                _ = write!(message, "\n    {}", shown(how));
            }
        }
        let Some(filled) = person.fill(message, form).await else { return Ok(Elicited::Unanswered) };
        let mut proofs = proofs(&wanted, &filled)?;
        // What says something else by now is not what the person has signed.
        let item = ItemRef::Id(about.item);
        let now = self.look(&ProjectRef::Any, &item).await?.unsigned;
        let same = |was: &&Criterion| now.iter().any(|now| now.id == was.id && now.text == was.text);
        let unchanged: Vec<CriterionId> = wanted.into_iter().filter(same).map(|criterion| criterion.id).collect();
        proofs.retain(|proof| unchanged.contains(&proof.criterion));
        if proofs.is_empty() {
            return Ok(Elicited::Unanswered);
        }
        let command = Verify { project: ProjectRef::Any, item, proofs, authority: Authority::Human, fence: None };
        self.engine().run(self.call_of_person(), command).await.map(Elicited::Answered)
    }

    async fn look(&self, project: &ProjectRef, item: &ItemRef) -> Result<About, Error> {
        let around = Around { briefs: true, questions: true, ..Around::default() };
        let seen = self.engine().show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?;
        let key = seen.project_of(item)?.key(item.number);
        let waits =
            |criterion: &&Criterion| criterion.verifier == Authority::Human && criterion.standing() != Standing::Pass;
        let criteria = seen.briefs.get(&item.id).map_or(&[][..], |brief| &brief.acceptance_criteria);
        Ok(About {
            item: item.id,
            title: format!("{key} \"{}\"", plain(item.title.as_str())),
            unsigned: criteria.iter().filter(waits).cloned().collect(),
            question: seen.question_of(item.id).cloned(),
        })
    }

    /// A call that the person at the other end makes. Nothing was shown for it but that the client brought it back.
    pub(crate) fn call_of_person(&self) -> Call {
        let call = self.call(None, None);
        let actor = ActorClaim { id: call.principal.clone(), kind: ActorKind::User, parent: None, proof: None };
        let verification = Verification {
            status: VerificationStatus::Absent,
            verifier: "elicitation".to_owned(),
            reason: None,
            metadata: BTreeMap::new(),
        };
        Call { by: Some(Attribution { actor, verification }), ..call }
    }
}

impl Person {
    /// Shows a form and returns what the person filled in.
    pub(crate) async fn fill(&self, message: String, form: ElicitationSchema) -> Option<JsonObject> {
        let _place = self.forms.try_acquire().ok()?;
        let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: form };
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let mut open = match sent {
            Ok(handle) => Open(Some(handle)),
            Err(error) => {
                tracing::info!(%error, "a form could not be shown");
                return None;
            }
        };
        let handle = open.0.as_mut()?;
        let answered = tokio::select! {
            answered = &mut handle.rx => answered,
            () = tokio::time::sleep(PATIENCE) => return None,
            () = self.gone.cancelled() => {
                // Nobody is left to tell that the form is not wanted any more.
                open.0 = None;
                return None;
            }
        };
        open.0 = None;
        match answered {
            Ok(Ok(ClientResult::ElicitResult(result))) if result.action == ElicitationAction::Accept => {
                match result.content {
                    Some(Value::Object(filled)) => Some(filled),
                    Some(_) | None => None,
                }
            }
            Ok(_) | Err(_) => None,
        }
    }
}

/// A form that is shown. Whoever stops waiting for it takes it back.
struct Open(Option<RequestHandle<RoleServer>>);

impl Drop for Open {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(handle.cancel(Some("nobody waits for the answer any more".to_owned())));
        }
    }
}

/// The criteria that a refusal is about, where signatures of a person are all that is missing.
fn unsigned(refused: &Error) -> Option<Vec<CriterionId>> {
    let mut unsigned = Vec::new();
    for refusal in &refused.refusals {
        // What else is missing is mended first: nobody is bothered for what would be refused all the same.
        let for_a_person = refusal.unproved.iter().all(|criterion| criterion.verifier == Authority::Human);
        if refusal.unproved.is_empty() || !for_a_person {
            return None;
        }
        unsigned.extend(refusal.unproved.iter().map(|criterion| criterion.id));
    }
    Some(unsigned).filter(|unsigned| !unsigned.is_empty())
}

/// The form of a question: its options to choose from, or room for words.
fn question_form(question: &Question) -> Option<ElicitationSchema> {
    let words = |title: &'static str| PrimitiveSchemaDefinition::String(StringSchema::new().title(title));
    let form = ElicitationSchema::builder().title("A question for you");
    let form = if question.options.is_empty() {
        form.required_property("answer", words("Your answer"))
    } else {
        let mut choices: Vec<String> = Vec::with_capacity(question.options.len());
        for option in &question.options {
            // As it will be sent, without what would show it as something else.
            let shown = plain(option.as_str());
            if !choices.contains(&shown) {
                choices.push(shown);
            }
        }
        let other = words("Another answer, in your own words");
        form.property("answer", choice("Your answer".to_owned(), choices)).property("other", other)
    };
    form.build().ok()
}

/// The answer in a form that was filled in: the person's own words go before a choice.
fn chosen(question: &Question, filled: &JsonObject) -> Option<String> {
    let said = |field: &str| filled.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    if question.options.is_empty() {
        return said("answer").map(ToOwned::to_owned);
    }
    // What was shown is sent back; what it stands for is taken.
    let meant = |shown: &str| question.options.iter().find(|option| plain(option.as_str()) == shown);
    let choice = said("answer").and_then(meant).map(|option| option.as_str().to_owned());
    said("other").map(ToOwned::to_owned).or(choice)
}

/// The form of a sign-off: a choice for each criterion, and room for a note. None where there is nothing to sign.
fn sign_off_form(criteria: &[&Criterion]) -> Option<ElicitationSchema> {
    if criteria.is_empty() {
        return None;
    }
    let mut form = ElicitationSchema::builder().title("Your sign-off");
    for criterion in criteria {
        let choices = ["pass", "fail"].map(ToOwned::to_owned).to_vec();
        form = form.property(criterion.id.to_string(), choice(format!("Does {} hold?", criterion.id), choices));
    }
    let note = PrimitiveSchemaDefinition::String(StringSchema::new().title("What you saw"));
    form.property("note", note).build().ok()
}

/// What a person signed; criteria that were left out stay as they are.
fn proofs(criteria: &[&Criterion], filled: &JsonObject) -> Result<Vec<Proof>, Error> {
    let note = filled.get("note").and_then(Value::as_str).filter(|note| !note.trim().is_empty());
    let note = note.map(Text::parse).transpose().map_err(|invalid| invalid.at("note"))?;
    let signed = |criterion: &&Criterion| {
        let passed = match filled.get(&criterion.id.to_string()).and_then(Value::as_str)? {
            "pass" => true,
            "fail" => false,
            _ => return None,
        };
        Some(Proof { criterion: criterion.id, passed, note: note.clone() })
    };
    Ok(criteria.iter().filter_map(signed).collect())
}

/// One of these, written in the way that every revision with forms knows.
pub(crate) fn choice(title: String, choices: Vec<String>) -> PrimitiveSchemaDefinition {
    PrimitiveSchemaDefinition::Enum(EnumSchema::builder(choices).title(title).untitled().build())
}

fn shown(text: &Text) -> String {
    plain(text.as_str())
}

/// A text as a form shows it: no longer than a person reads, and without characters that change how others look.
pub(crate) fn plain(text: &str) -> String {
    let steers = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let kept = |c: &char| !steers(*c) && (!c.is_control() || matches!(c, '\n' | '\t'));
    let mut kept = text.chars().filter(kept);
    let mut plain: String = kept.by_ref().take(SHOWN).collect();
    if kept.next().is_some() {
        plain.push('…');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::ServerHandler;
    use rmcp::ServiceExt;
    use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData};
    use rmcp::service::RequestContext;
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
    use tokio::time::Instant;

    /// Its only tool shows a form.
    struct Asks(Desk);

    impl ServerHandler for Asks {
        async fn call_tool(
            &self,
            _request: CallToolRequestParams,
            context: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            let form = ElicitationSchema::builder().required_string("answer").build().expect("a form");
            let person = self.0.person(&context.peer).expect("a person");
            let filled = person.fill("Which?".to_owned(), form).await;
            Ok(CallToolResult::structured(json!({ "filled": filled })).into())
        }
    }

    /// The client's side.
    struct Client {
        read: BufReader<ReadHalf<DuplexStream>>,
        write: WriteHalf<DuplexStream>,
    }

    impl Client {
        async fn say(&mut self, message: Value) {
            self.write.write_all(format!("{message}\n").as_bytes()).await.expect("sent");
        }

        async fn hear(&mut self) -> Value {
            let mut line = String::new();
            self.read.read_line(&mut line).await.expect("a line");
            serde_json::from_str(&line).expect("JSON")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_that_nobody_fills_in_is_given_up_and_taken_back() {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(near);
        let mut client = Client { read: BufReader::new(read), write };
        tokio::spawn(async move {
            let serving = Asks(Desk::new(CancellationToken::new())).serve(tokio::io::split(far)).await.expect("served");
            serving.waiting().await
        });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } });
        client.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello })).await;
        client.hear().await;
        client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        let call = json!({ "name": "ask", "arguments": {} });
        client.say(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call })).await;
        let form = client.hear().await;
        assert_eq!(form["method"], json!("elicitation/create"), "{form}");
        let shown = Instant::now();
        let (one, other) = (client.hear().await, client.hear().await);
        let (taken_back, answer) = if one["method"].is_string() { (one, other) } else { (other, one) };
        assert_eq!(taken_back["method"], json!("notifications/cancelled"), "{taken_back}");
        assert_eq!(taken_back["params"]["requestId"], form["id"], "{taken_back}");
        assert_eq!(answer["result"]["structuredContent"], json!({ "filled": null }), "{answer}");
        let waited = shown.elapsed();
        assert!(waited >= PATIENCE && waited < Duration::from_mins(1), "{waited:?}");
        // An answer that comes too late harms nobody.
        let late = json!({ "action": "accept", "content": { "answer": "x" } });
        client.say(json!({ "jsonrpc": "2.0", "id": form["id"], "result": late })).await;
        client.say(json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" })).await;
        assert_eq!(client.hear().await["id"], json!(3));
    }

    #[test]
    fn what_is_shown_is_short_and_cannot_steer() {
        assert_eq!(plain("a\u{202e}b\u{1b}[2Jc\nd"), "ab[2Jc\nd");
        let long = plain(&"x".repeat(SHOWN + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (SHOWN + 1, true));
        assert_eq!(plain(&"x".repeat(SHOWN)).chars().count(), SHOWN);
    }
}
