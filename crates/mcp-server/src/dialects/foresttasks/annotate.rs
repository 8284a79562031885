//! `annotate`: comments on a task, links from it to things outside, and relations between tasks.

use docket_core::Error;
use docket_core::command::{EdgeSpec, Link, Remark};
use docket_core::model::EdgeKind;
use rmcp::model::{JsonObject, Tool};
use serde_json::json;

use super::args::{Act, choose, long_text, need_task, request_id as named_request};
use super::finish::link;
use super::schema::{self, Effect, object, request_id, text};
use crate::answer::Answer;
use crate::input::Fields;
use crate::session::Session;

#[derive(Clone, Copy)]
enum What {
    Comment,
    Link,
    Relation,
}

const ACTS: &[Act<What>] = &[
    Act { word: "comment", means: What::Comment, fields: &["taskId", "body", "requestId"] },
    Act { word: "link", means: What::Link, fields: &["taskId", "kind", "ref", "url", "title", "requestId"] },
    Act { word: "relation", means: What::Relation, fields: &["fromTaskId", "toTaskId", "kind", "requestId"] },
];

pub(super) fn tool() -> Tool {
    let input = object(
        json!({
            "type": schema::word(&["comment", "link", "relation"], ""),
            "taskId": text("comment, link"),
            "body": text("comment"),
            "kind": text("link: such as pr, commit, doc; relation: blocks, relates-to, supersedes, duplicate-of"),
            "ref": text("link: its name there"),
            "url": text("link: http or https"),
            "title": text("link"),
            "fromTaskId": text("relation: the blocker, the replacement, the duplicate"),
            "toTaskId": text("relation"),
            "requestId": request_id(),
        }),
        &["type"],
    );
    let about = "Add to a task: a comment, a link to something outside, or a relation to another task.";
    schema::plain_tool("annotate", about, Effect::Writes, input)
}

pub(super) async fn call(session: &Session, arguments: JsonObject) -> Result<Answer, Error> {
    let (what, mut fields) = choose(arguments, "type", ACTS, None)?;
    let request = named_request(&mut fields)?;
    let call = session.call(None, request);
    match what {
        What::Comment | What::Link => {
            let remark = remark(session, &mut fields, what)?;
            let added = session.engine().run(call, remark).await?;
            Ok(Answer::of(&match what {
                What::Comment => json!({ "taskId": added.item, "commentId": added.comment }),
                What::Link | What::Relation => json!({ "taskId": added.item, "linkId": added.links.first() }),
            }))
        }
        What::Relation => {
            let edge = EdgeSpec {
                from: need_task(&mut fields, "fromTaskId")?,
                to: need_task(&mut fields, "toTaskId")?,
                kind: fields.need("kind", str::parse::<EdgeKind>)?,
                unblock_at: None,
                inverse: false,
            };
            let link = Link { project: session.project().clone(), edges: vec![edge], holding: None };
            let made = session.engine().run(call, link).await;
            let made = made.map_err(|error| error.called("dependencies[0]", "toTaskId"))?.edges;
            let told = made
                .first()
                .map(|edge| json!({ "id": edge.id, "kind": edge.kind, "fromTaskId": edge.from, "toTaskId": edge.to }));
            Ok(Answer::of(&json!({ "relation": told })))
        }
    }
}

fn remark(session: &Session, fields: &mut Fields, what: What) -> Result<Remark, Error> {
    let item = need_task(fields, "taskId")?;
    let (comment, links) = match what {
        What::Comment => (Some(fields.need("body", long_text)?), Vec::new()),
        What::Link | What::Relation => (None, vec![link(fields)?]),
    };
    Ok(Remark { project: session.project().clone(), item, comment, links, fence: None })
}
