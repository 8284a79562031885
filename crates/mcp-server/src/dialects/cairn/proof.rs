//! What the checks of a task came to, with the end of what a failed one said: enough to mend it without another tool.

use docket_core::Error;
use docket_core::model::{Check, CheckStanding, Item, ItemRef, RunId};
use docket_core::store::Slice;
use serde_json::{Map, Value, json};

use super::task::{around, check};
use crate::session::Session;

/// The most that is shown of what a check said, in bytes: its end.
const TAIL_BYTES: usize = 2048;
/// Most checks of a task whose words are shown; the run of each is named.
const TAILS: usize = 5;

/// The checks of a task, each with the run that it was last made by. What a program or a person said stands under `untrusted`.
pub(super) async fn checks(session: &Session, seen: &Slice, item: &Item) -> Vec<Value> {
    let known = seen.briefs.get(&item.id).map_or(&[][..], |brief| brief.checks.as_slice());
    let mut tails = TAILS;
    let mut shown = Vec::with_capacity(known.len());
    for one in known {
        let mut row = check(one);
        if let Some(run) = under_way(seen, item, one) {
            row.insert("under_way".to_owned(), json!(run));
        }
        add_result(session, one, &mut row, &mut tails).await;
        shown.push(Value::Object(row));
    }
    shown
}

/// The checks of a task that have failed, with their places: for whoever was refused for them.
pub(super) async fn failed(session: &Session, item: &ItemRef) -> Result<Vec<Value>, Error> {
    let seen = session.engine().show(session.project(), std::slice::from_ref(item), around()).await?;
    let item = seen.resolve(item)?;
    let rows = checks(session, &seen, item).await.into_iter().enumerate();
    let failed = rows.filter(|(_, row)| row["result"] == "fail").map(|(index, mut row)| {
        row["index"] = json!(index);
        row
    });
    Ok(failed.collect())
}

/// The run of a check that waits or is being made: what is shown of the check is not about it yet.
fn under_way(seen: &Slice, item: &Item, check: &Check) -> Option<RunId> {
    let definition = check.definition();
    let mut open = seen.runs.values().filter(|run| run.item == item.id && run.state_at(seen.now).is_open());
    open.find(|run| run.definition == definition).map(|run| run.id)
}

async fn add_result(session: &Session, check: &Check, row: &mut Map<String, Value>, tails: &mut usize) {
    let Some(result) = check.current() else { return };
    let mut said = Map::new();
    if let Some(note) = &result.note {
        said.insert("note".to_owned(), json!(note));
    }
    if let Some(run) = result.run {
        row.insert("run".to_owned(), json!(run));
        if check.standing() == CheckStanding::Fail && *tails > 0 {
            *tails -= 1;
            // A courtesy: without it the answer is as good.
            if let Ok(page) = session.engine().log_tail(run, TAIL_BYTES).await {
                said.insert("output".to_owned(), json!(page.text));
                if page.offset > 0 || page.truncated {
                    said.insert("output_truncated".to_owned(), json!(true));
                }
            }
        }
    }
    if !said.is_empty() {
        row.insert("untrusted".to_owned(), Value::Object(said));
    }
}
