//! `contract`: the brief of an item, evidence for its criteria, and how far it is shown.

use docket_core::command::{BriefText, SetBrief, Verify};
use docket_core::model::Authority;
use docket_core::query::Includes;
use docket_core::{Error, Reason};
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::checks::{ACTS, About};
use super::common::{Writer, must_allow, need_item, project_of_item, say_one};
use super::item_args::{brief, of_proofs, own_fence, proofs, version};
use super::schema::{self, Effect, flag, object, objects, text, text_of, whole};
use super::split::Split;
use super::view;
use crate::answer::Answer;
use crate::input::{Fields, Given};
use crate::session::Session;

const KNOWN: &[&str] = &[
    "id",
    "brief",
    "replace",
    "version",
    "verify",
    "checks",
    "run",
    "approve",
    "attest",
    "cancel",
    "fence",
    "project",
    "actor",
    "requestId",
];

pub(super) fn tool() -> Tool {
    let properties = json!({
        "id": text(),
        "brief": object("{objective,context,acceptanceCriteria:[text|{id,text,verifier:agent|check|human,hard,instructions}],constraints:[],verification,handoffExpectations}"),
        "replace": flag(), "version": whole(),
        "verify": objects("{id:criterion,passed,note}"),
        "checks": objects("{desc,cmd,cwd,timeout,type:command|manual|pull_request,repository,number,branch,proves:criterion}"),
        "run": object("{only:[index],again}"),
        "approve": { "type": "array", "items": whole() },
        "attest": whole(),
        "cancel": text_of("run"),
        "fence": whole(),
    });
    let about = "The brief: merged (null deletes) or replaced; or evidence for criteria, all or none; or checks: \
                 added or replaced, run, approved or attested by index (a person is asked); none: how it stands.";
    schema::tool("contract", about, Effect::Writes, properties, &["id"])
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    must_allow::<SetBrief>(session)?;
    let writer = Writer::read(session, &mut fields)?;
    let item = need_item(&mut fields)?;
    let acts: Vec<&str> = ACTS.into_iter().filter(|act| fields.has(act)).collect();
    // Runs, and what people say of checks, take nobody's claim: a fence that nobody would look at is refused with what is left.
    let takes_fence = acts.contains(&"checks") || fields.has("brief") || fields.has("verify");
    let fence = if takes_fence { own_fence(&mut fields)? } else { None };
    let project = project_of_item(session, &mut fields).await?;
    let engine = session.engine();
    if let Some(act) = acts.first() {
        if acts.len() > 1 || fields.has("brief") || fields.has("verify") {
            return Err(say_one(act, "brief, verify, checks, run, approve, attest and cancel"));
        }
        return About { session, writer, project, item, fence }.act(act, fields).await;
    }
    let mut split = Split::default();
    match (fields.given("brief"), fields.has("verify")) {
        (Given::Value(_) | Given::Null, true) => return Err(say_one("verify", "brief and verify")),
        (given @ (Given::Value(_) | Given::Null), false) => {
            let replace = fields.flag("replace")?.unwrap_or(false);
            let brief = match given {
                Given::Value(value) => brief("brief", value)?,
                // Nothing in the place of what is there: it is cleared.
                Given::Null | Given::Absent if replace => BriefText::default(),
                Given::Null | Given::Absent => {
                    let message = "brief is null: that clears it, and only goes with replace";
                    return Err(Error::validation(Reason::BadValue, message).at("brief"));
                }
            };
            let expected_version = version(&mut fields)?;
            fields.end()?;
            let set = SetBrief { project, item, brief, replace, expected_version, fence, authority: Authority::Agent };
            let set = engine.run(writer.call(session), set).await?;
            split.say("version", set.version);
            split.say("score", set.score);
            // Its author needs the names that the criteria were given.
            let verdict = view::verdict(&set.verdict);
            split.say("verdict", verdict.trusted);
            split.quote("criteria", verdict.untrusted);
        }
        (Given::Absent, true) => {
            // Whoever calls a tool is an agent. A person signs off by other ways, or is asked by the client.
            let authority = Authority::Agent;
            let verify = Verify { project, item, proofs: proofs(&mut fields)?, authority, fence };
            fields.end()?;
            let verified = engine.run(writer.call(session), verify).await.map_err(of_proofs)?;
            split.say("version", verified.version);
            split.say("verdict", view::standing(&verified.verdict));
        }
        (Given::Absent, false) => {
            fields.end()?;
            let dossier = engine.dossier(&project, &item, Includes::default()).await?;
            split.say("version", dossier.item.version);
            split.say("score", dossier.score);
            split.quote("brief", dossier.brief.as_ref().map(view::brief));
            if let Some(brief) = &dossier.brief {
                split.add("checks", super::checks::of(&brief.checks));
            }
            let verdict = view::verdict(&dossier.verdict);
            split.say("verdict", verdict.trusted);
            split.quote("criteria", verdict.untrusted);
        }
    }
    Ok(split.answer())
}
