//! `ask`: puts a question to a person, answers one, or takes one back.

use docket_core::command::{Ask, EndQuestion};
use docket_core::model::{ItemRef, QuestionId};
use docket_core::query::Includes;
use docket_core::store::ProjectRef;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::common::{Writer, must_allow, need_item, project_of_item, say_one};
use super::item_args::own_fence;
use super::schema::{self, Effect, flag, text, texts, whole};
use super::split::Split;
use crate::answer::Answer;
use crate::args::long_text;
use crate::elicit::Elicited;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] =
    &["id", "question", "options", "fence", "questionId", "answer", "withdraw", "project", "actor", "requestId"];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "id": text(), "question": text(), "options": texts(), "fence": whole(),
        "questionId": text(), "answer": text(), "withdraw": flag(),
    });
    let about = "Ask a person about id: it is parked and your claim ends until the answer. Or answer, or withdraw, \
                 its open question or questionId.";
    schema::tool("ask", about, Effect::Writes, properties, &[])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    must_allow::<Ask>(session)?;
    let writer = Writer::read(session, &mut fields)?;
    let project = project_of_item(session, &mut fields).await?;
    let question = fields.parsed("question", long_text)?;
    let answer = fields.parsed("answer", long_text)?;
    let withdraw = fields.flag("withdraw")?.unwrap_or(false);
    let asks = question.is_some();
    let asked = match (question, answer, withdraw) {
        (Some(text), None, false) => {
            let command = Ask {
                project,
                item: need_item(&mut fields)?,
                text,
                options: fields.texts("options", long_text)?.unwrap_or_default(),
                fence: own_fence(&mut fields)?,
            };
            let call = session.call_before_asking(writer.call(session));
            let asked = session.engine().run(call, command).await?;
            // Where a person sits at the other end, the question is theirs at once; whatever becomes of it, it was asked.
            match session.elicit_answer(&asked).await {
                Elicited::Answered(answered) => answered,
                Elicited::Nobody | Elicited::Unanswered | Elicited::Refused(_) => asked,
            }
        }
        (None, answer @ Some(_), false) | (None, answer @ None, true) => {
            if fields.has("fence") {
                let message = "fence does not go with answer and withdraw: whoever asked holds the item no more";
                return Err(Error::validation(Reason::BadValue, message).at("fence"));
            }
            let question = which(session, project, &mut fields).await?;
            session.engine().run(writer.call(session), EndQuestion { question, answer }).await?
        }
        (Some(_), _, _) | (None, Some(_), true) | (None, None, false) => {
            return Err(say_one("question", "question, answer, withdraw"));
        }
    };
    let mut split = Split::default();
    split.say("questionId", asked.question.id);
    split.say("state", asked.question.state);
    split.say("status", &asked.status);
    split.say("version", asked.version);
    if asks {
        split.quote("answer", &asked.question.answer);
    }
    Ok(split.answer())
}

/// The question that is meant: the one named, else the open one of the item.
async fn which(session: &Session, project: ProjectRef, fields: &mut Fields) -> Result<QuestionId, Error> {
    if let Some(question) = fields.parsed("questionId", str::parse::<QuestionId>)? {
        return Ok(question);
    }
    let item: ItemRef = need_item(fields)?;
    let dossier = session.engine().dossier(&project, &item, Includes::default()).await?;
    // The engine says of a question that is over that it is.
    let question = dossier.question.ok_or_else(|| Error::not_found("the item has no question").at("id"))?;
    Ok(question.id)
}
