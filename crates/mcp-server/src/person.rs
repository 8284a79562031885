//! The person at the other end of a call, and the two ways to reach one.
//!
//! A client that shook hands is sent a form as a request of the server's own, and the call waits for it. Clients of the stateless
//! revision are sent no requests: there the call itself is answered with the form, and comes again with what the person said
//! (`rounds.rs`). Either way a form is filled in or it is not, and whoever wanted it goes on from there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use docket_core::model::RequestId;
use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema,
    JsonObject, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long a form stays open: many clients give up a call after a minute, and the answer to the call must be there before.
const PATIENCE: Duration = Duration::from_secs(50);
/// Forms that are open at once; what is asked beyond them waits in the inbox like any other question.
const FORMS: usize = 4;

/// What a form is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Topic {
    /// An open question.
    Question,
    /// Criteria to sign off.
    SignOff,
    /// Checks to approve.
    Approval,
    /// A check to make.
    Attestation,
}

/// A form for a person.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) topic: Topic,
    /// Says of two forms on a topic whether they show the same.
    pub(crate) mark: String,
    pub(crate) message: String,
    pub(crate) schema: ElicitationSchema,
}

impl Form {
    /// The form as the protocol has it.
    pub(crate) fn request(self) -> ElicitRequest {
        let (message, requested_schema) = (self.message, self.schema);
        ElicitRequest::new(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }
}

/// The person at the other end.
#[derive(Clone, Debug)]
pub(crate) enum Person {
    /// On a connection that stays.
    Connected(Connected),
    /// Behind a call that comes again.
    Returning(Returning),
}

/// Reached by requests of the server's own.
#[derive(Clone, Debug)]
pub(crate) struct Connected {
    peer: Peer<RoleServer>,
    forms: Arc<Semaphore>,
    gone: CancellationToken,
}

/// Reached by what a call is answered with.
#[derive(Clone, Debug)]
pub(crate) struct Returning {
    /// The name of the call, the same in each of its rounds: what an earlier one did is found again by it.
    pub(crate) name: RequestId,
    /// What came back, where this is not the first round.
    pub(crate) back: Option<Arc<Back>>,
    /// Whether the client says that it can show a form.
    pub(crate) shows_forms: bool,
    posted: Arc<Mutex<Option<Form>>>,
}

/// What a call brings back from an earlier round.
#[derive(Clone, Debug)]
pub(crate) struct Back {
    pub(crate) topic: Topic,
    pub(crate) mark: String,
    pub(crate) said: Said,
}

/// What a person did with a form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// Nothing is known of it: it is shown again.
    Nothing,
    /// The form was declined, closed, or sent empty.
    No,
    /// It was filled in.
    Filled(JsonObject),
}

impl Said {
    /// What a form was answered with.
    pub(crate) fn read(response: Option<&Value>) -> Self {
        let Some(response) = response else { return Self::Nothing };
        match (response["action"].as_str(), &response["content"]) {
            (Some("accept"), Value::Object(filled)) => Self::Filled(filled.clone()),
            _ => Self::No,
        }
    }
}

/// Forms of one connection, and its end.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    forms: Arc<Semaphore>,
    gone: CancellationToken,
}

impl Desk {
    /// The desk of a connection that ends with this token.
    pub(crate) fn new(gone: CancellationToken) -> Self {
        Self { forms: Arc::new(Semaphore::new(FORMS)), gone }
    }

    /// The person there, where the client can show a form.
    pub(crate) fn person(&self, peer: &Peer<RoleServer>) -> Option<Person> {
        let client = peer.peer_info()?;
        let (peer, forms, gone) = (peer.clone(), Arc::clone(&self.forms), self.gone.clone());
        shows_forms(&client.capabilities).then(|| Person::Connected(Connected { peer, forms, gone }))
    }
}

/// Whether a client can show a form. Before there were kinds of elicitation, there was nothing but forms.
pub(crate) fn shows_forms(can: &ClientCapabilities) -> bool {
    can.elicitation.as_ref().is_some_and(|can| can.form.is_some() || can.url.is_none())
}

impl Person {
    /// Shows a form and returns what the person filled in.
    pub(crate) async fn fill(&self, form: Form) -> Option<JsonObject> {
        match self {
            Self::Connected(person) => person.fill(form).await,
            Self::Returning(person) => person.fill(form),
        }
    }

    /// The mark of the form on this topic that was shown in an earlier round.
    pub(crate) fn marked(&self, topic: Topic) -> Option<&str> {
        let Self::Returning(Returning { back: Some(back), .. }) = self else { return None };
        (back.topic == topic).then_some(back.mark.as_str())
    }
}

impl Returning {
    /// A call under this name, with what it brings back.
    pub(crate) fn new(name: RequestId, back: Option<Back>, shows_forms: bool) -> Self {
        Self { name, back: back.map(Arc::new), shows_forms, posted: Arc::default() }
    }

    /// The form that the call is to be answered with.
    pub(crate) fn posted(&self) -> Option<Form> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What was filled in, if it was this form; otherwise the form is what the call is answered with.
    fn fill(&self, form: Form) -> Option<JsonObject> {
        let back = self.back.as_ref().filter(|back| back.topic == form.topic && back.mark == form.mark);
        match back.map(|back| &back.said) {
            Some(Said::Filled(filled)) => return Some(filled.clone()),
            Some(Said::No) => return None,
            Some(Said::Nothing) | None => {}
        }
        if self.shows_forms {
            *self.posted.lock().unwrap_or_else(PoisonError::into_inner) = Some(form);
        }
        None
    }
}

impl Connected {
    async fn fill(&self, form: Form) -> Option<JsonObject> {
        let _place = self.forms.try_acquire().ok()?;
        let request = ServerRequest::ElicitRequest(form.request());
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
            let message = "Which?".to_owned();
            let form = Form { topic: Topic::Question, mark: String::new(), message, schema: form };
            let filled = person.fill(form).await;
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
}
