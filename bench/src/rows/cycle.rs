//! How long it takes to refuse an edge that would close a cycle through very many items.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use docket_core::command::{Create, EdgeSpec, End, Link, NewEdge, NewItem};
use docket_core::model::{EdgeKind, ItemId, Title};
use docket_core::{Code, limits};
use docket_store_sqlite::Durability;

use crate::base::{Base, call, runtime};
use crate::report::{Bound, Row, Unit};
use crate::stage::Stage;
use crate::stats::Samples;

/// Items that wait for each other in a row.
const LENGTH: usize = 10_000;
/// In seconds.
const MOST: Bound = Bound::AtMost(0.2);

pub(crate) fn run(stage: &Stage) -> Result<Vec<Row>> {
    runtime()?.block_on(async {
        let base = Base::open(&stage.folder("cycle")?.join("ours.db"), Durability::Normal).await?;
        let chain = chain(&base).await?;
        let (first, last) = (chain.first().context("no items")?, chain.last().context("no items")?);
        let mut refused = Samples::default();
        for round in 0..=stage.pick(20, 5) {
            let link = Link { project: base.project(), edges: vec![blocks(*last, *first)], holding: None };
            let begun = Instant::now();
            let answer = base.engine.run(call()?, link).await;
            let took = begun.elapsed();
            let error = answer.err().context("a cycle was made")?;
            ensure!(error.code == Code::Validation, "refused for something else: {error}");
            if round > 0 {
                refused.time(took);
            }
        }
        base.close().await;
        let name = format!("a cycle through {LENGTH} items refused, p50");
        Ok(vec![Row::alone(name, Unit::Seconds, refused.median(), MOST)])
    })
}

/// Items each of which waits for the one before it.
async fn chain(base: &Base) -> Result<Vec<ItemId>> {
    let mut made: Vec<ItemId> = Vec::with_capacity(LENGTH);
    while made.len() < LENGTH {
        let many = (LENGTH - made.len()).min(limits::BATCH);
        let item = |local: usize| -> Result<NewItem> {
            let title = Title::parse(&format!("link {}", made.len() + local)).map_err(docket_core::Error::from)?;
            Ok(NewItem { local: Some(local.to_string()), ..NewItem::titled(title) })
        };
        let edge = |local: usize| {
            let from = match local.checked_sub(1) {
                Some(before) => End::Local(before.to_string()),
                None => End::Existing((*made.last()?).into()),
            };
            let to = End::Local(local.to_string());
            Some(NewEdge { from, to, kind: EdgeKind::Blocks, unblock_at: None, inverse: false })
        };
        let create = Create {
            items: (0..many).map(item).collect::<Result<_>>()?,
            edges: (0..many).filter_map(edge).collect(),
            project: base.project(),
            notes: Vec::new(),
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        let created = base.engine.run(call()?, create).await?;
        made.extend(
            created.items.into_iter().map(|item| item.map(|made| made.item.id)).collect::<Result<Vec<_>, _>>()?,
        );
    }
    Ok(made)
}

fn blocks(from: ItemId, to: ItemId) -> EdgeSpec {
    EdgeSpec { from: from.into(), to: to.into(), kind: EdgeKind::Blocks, unblock_at: None, inverse: false }
}
