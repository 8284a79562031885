//! `find` with `why`: what keeps items from being ready.

use docket_core::Error;
use docket_core::model::{ItemRef, Timestamp};
use docket_core::query::Why;

use super::budget::{Page, Row};
use super::find::Ask;
use super::names::Names;
use super::sections;
use crate::answer::Answer;
use crate::input::Fields;

pub(super) async fn why(ask: &Ask<'_>, fields: &mut Fields) -> Result<Answer, Error> {
    let item = fields.parsed("id", str::parse::<ItemRef>)?;
    fields.end()?;
    if let Some(item) = item {
        let reasons = ask.session.engine().why(&ask.project, &item).await?;
        return ask.answer_whole(rows_of(ask, &reasons).await, None).await;
    }
    ask.answer(|limit| async move {
        let page = ask.session.engine().why_open(&ask.project, limit, ask.cursor.as_deref()).await?;
        Ok(Page { rows: rows_of(ask, &page.items).await, next: page.next, total: None })
    })
    .await
}

async fn rows_of(ask: &Ask<'_>, reasons: &[Why]) -> Vec<Row> {
    let keys = ask.keys(reasons.iter().map(|why| &why.item).collect()).await;
    let mentioned = reasons.iter().flat_map(|why| sections::items_of(&why.obstacles));
    let names = Names::of(ask.session, mentioned.collect()).await;
    let rows = reasons.iter().map(|why| {
        let mut row = ask.row(&keys, &why.item, Timestamp::MAX);
        // Both are among what stands in the way.
        row.said.trusted.remove("blockers");
        row.said.trusted.remove("claimed");
        row.said.say("obstacles", sections::obstacles(&why.obstacles, &names));
        row.said.say("missingNotes", &why.missing_notes);
        row.said.say("ready", why.obstacles.is_empty().then_some(true));
        row.said.quote("capabilities", &why.item.required_capabilities);
        row
    });
    rows.collect()
}
