//! `get_next_status`: what the next move of one item would be, without making it.

use docket_core::Error;
use docket_core::model::{Role, Trigger};
use docket_core::query::Prospect;
use rmcp::model::{JsonObject, Tool};
use serde::Serialize;
use serde_json::json;

use super::args::item_ref;
use super::render::{BlockerRow, blockers};
use super::schema::{self, Effect, object, rows, text, word_out};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["itemId"];

/// What this dialect says of an item that was put aside.
const SUGGESTION: &str = "Use 'resume' trigger to return to previous role";
/// What this dialect says of an item that is closed.
const REASON: &str = "Item is terminal. Use 'reopen' trigger to move back to queue, or 'cancel' if already cancelled.";

pub(super) fn tool() -> Tool {
    let input = object(json!({ "itemId": text("") }), &["itemId"]);
    let output = json!({
        "recommendation": schema::word(&["Ready", "Blocked", "Terminal"], ""), "currentRole": word_out(), "nextRole": word_out(),
        "trigger": word_out(), "progressionPosition": word_out(), "blockers": rows(), "suggestion": word_out(), "reason": word_out(),
    });
    let about =
        "Say whether an item is Ready to move on, Blocked or Terminal. Changes nothing; notes are not looked at.";
    schema::tool("get_next_status", about, Effect::Reads, input, output)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusAnswer {
    recommendation: &'static str,
    current_role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<Trigger>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progression_position: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blockers: Option<Vec<BlockerRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let item = fields.need("itemId", item_ref)?;
    let standing = session.engine().standing(session.project(), &item).await?;
    let plain = StatusAnswer {
        recommendation: "Blocked",
        current_role: standing.item.role,
        next_role: None,
        trigger: None,
        progression_position: None,
        blockers: None,
        suggestion: None,
        reason: None,
    };
    Ok(Answer::of(&match standing.prospect() {
        Prospect::Ready(trigger, next) => StatusAnswer {
            recommendation: "Ready",
            next_role: Some(next),
            trigger: Some(trigger),
            progression_position: Some(format!("{}/{}", standing.position, standing.phases)),
            ..plain
        },
        Prospect::Waiting => StatusAnswer { blockers: Some(blockers(&standing.blockers)), ..plain },
        Prospect::Aside => StatusAnswer { suggestion: Some(SUGGESTION), ..plain },
        Prospect::Closed => StatusAnswer { recommendation: "Terminal", reason: Some(REASON), ..plain },
    }))
}
