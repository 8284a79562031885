//! Items as lists show them. Who holds an item is not among it: only the item's own full context shows the holder.

use docket_core::model::{Item, Timestamp};
use docket_core::query::ItemPage;
use serde::Serialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::output::json::Keyed;
use crate::output::table::{Rows, Text};
use crate::output::{Paint, seconds};
use crate::session::{Session, Shell};

/// A page of items.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'p> {
    items: Vec<Value>,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'p str>,
}

/// Prints a page of items.
pub(super) fn print(shell: &Shell, session: &Session, page: &ItemPage) -> Result<(), Failure> {
    let next = page.next.as_deref();
    let listed = Listed { items: all_listed(session, &page.items)?, total: page.total, next_cursor: next };
    shell.out.answer(&listed, |paint| {
        let mut lines = table(session, &page.items, page.now, paint);
        lines.extend(more(page.items.len(), Some(page.total), next, paint));
        lines
    })
}

/// An item of a list, for programs.
pub(super) fn listed(session: &Session, item: &Item) -> Result<Value, Failure> {
    super::to_value(&Keyed { key: session.key(item), item })
}

/// The items of a list, for programs.
pub(super) fn all_listed<'i>(
    session: &Session,
    items: impl IntoIterator<Item = &'i Item>,
) -> Result<Vec<Value>, Failure> {
    items.into_iter().map(|item| listed(session, item)).collect()
}

/// A table of items.
pub(super) fn table<'i>(
    session: &Session,
    items: impl IntoIterator<Item = &'i Item>,
    now: Timestamp,
    paint: Paint,
) -> Vec<String> {
    rows(session, items.into_iter().map(|item| (item, remarks(item, now))), paint)
}

/// A table of items with a remark on each.
pub(super) fn rows<'i>(
    session: &Session,
    items: impl IntoIterator<Item = (&'i Item, String)>,
    paint: Paint,
) -> Vec<String> {
    let mut rows = Rows::new(paint, &["KEY", "STATUS", "PRIORITY", "TITLE", ""]);
    for (item, remark) in items {
        rows.add(vec![
            Text::key(session.key(item).to_string()),
            Text::status(item.status.as_str(), item.role),
            Text::priority(item.priority),
            Text::plain(item.title.as_str()),
            Text::dim(remark),
        ]);
    }
    if rows.is_empty() { vec![paint.dim("nothing")] } else { rows.lines() }
}

/// What else is worth knowing of an item in a list.
pub(super) fn remarks(item: &Item, now: Timestamp) -> String {
    let mut remarks = Vec::new();
    if let Some(claim) = item.live_claim(now) {
        remarks.push(
            claim
                .remaining_ms(now)
                .map_or_else(|| "claimed".to_owned(), |left| format!("claimed for {}", seconds(left))),
        );
    }
    if item.role.is_open() && item.derived.blockers > 0 {
        remarks.push(format!("waits for {}", item.derived.blockers));
    }
    if item.role.is_open() && item.derived.moot > 0 {
        remarks.push("superseded or duplicate".to_owned());
    }
    remarks.join(", ")
}

/// A moment, to the minute.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..16).map_or_else(|| text.clone(), |short| format!("{}Z", short.replace('T', " ")))
}

/// What was left out of a list, and how to get it.
pub(super) fn more(shown: usize, total: Option<u64>, next: Option<&str>, paint: Paint) -> Option<String> {
    let total = total.map_or_else(String::new, |total| format!(" of {total}"));
    next.map(|next| paint.dim(&format!("{shown}{total} shown; --cursor {next} shows what follows")))
}
