//! `get_task`: one task, whole or only what changed since an earlier read.

use docket_core::Error;
use docket_core::query::{Delta, Section};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::args::{DETAILS, INCLUDE_WORDS, PROFILES, Profile, includes, need_task, one_of};
use super::schema::{self, Effect, list, object, text, word};
use super::sections::{COMMENTS, asked, contents, cut, read};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

const KNOWN: &[&str] = &["id", "profile", "detail", "include", "since"];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "id": text(""),
            "profile": word(&["compact", "work", "full"], "default work"),
            "detail": word(&["concise", "full"], "full: the same as profile full"),
            "include": list(&word(INCLUDE_WORDS, ""), "more sections"),
            "since": text("readToken of an earlier read: only what changed"),
        }),
        &["id"],
    );
    let about = "Read one task: guard (always), sections and readToken. Profile compact is the guard alone; work adds intent, \
                 description, parent in short, brief, verdict and latest question; full adds everything, raw rows included.";
    schema::plain_tool("get_task", about, Effect::Reads, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let mut fields = Fields::open(arguments, KNOWN)?;
    let task = need_task(&mut fields, "id")?;
    let legacy = fields.parsed("detail", one_of(DETAILS))?.unwrap_or(false).then_some(Profile::Full);
    let profile = fields.parsed("profile", one_of(PROFILES))?.or(legacy).unwrap_or(Profile::Work);
    let sections = asked(profile, &includes(&mut fields)?);
    let since = fields.parsed("since", |token| Ok(token.to_owned()))?;
    let dossier = read(session, session.project(), &task, &sections).await?;
    let contents = contents(&dossier, &sections);
    let guard = contents.get(&Section::Guard).cloned().unwrap_or_default();
    let delta = Delta::new(&dossier.item.id.to_string(), &sections, contents, since.as_deref())?;
    let cut = cut(&dossier, &delta.sections.keys().copied().collect::<Vec<_>>(), COMMENTS);
    Ok(Answer::of(&told(&delta, guard, cut)))
}

/// The answer: everything, what changed, or that nothing did.
fn told(delta: &Delta, guard: Value, cut: Value) -> Value {
    let mut answer = Map::new();
    if delta.is_unchanged() {
        answer.insert("unchanged".to_owned(), json!(true));
    } else if delta.since {
        let changed: Vec<&str> = delta.changed.iter().map(|section| section.as_str()).collect();
        answer.insert("changed".to_owned(), json!(changed));
    }
    answer.insert("guard".to_owned(), guard);
    if !delta.is_unchanged() {
        let sections = delta.sections.iter().filter(|(section, _)| **section != Section::Guard);
        let sections: Map<String, Value> =
            sections.map(|(section, value)| (section.as_str().to_owned(), value.clone())).collect();
        answer.insert("sections".to_owned(), Value::Object(sections));
        if !cut.is_null() {
            answer.insert("cut".to_owned(), cut);
        }
    }
    answer.insert("readToken".to_owned(), json!(delta.token));
    Value::Object(answer)
}
