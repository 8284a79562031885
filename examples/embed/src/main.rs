//! Docket inside a program of one's own: a store in a temporary folder, and one item from its creation to its end.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use anyhow::Context as _;
use docket_core::Engine;
use docket_core::command::{Advance, ClaimNext, Create, MoveRequest, NewItem, SetProject, Wanted};
use docket_core::engine::Call;
use docket_core::model::{Name, Slug, Title, Trigger};
use docket_core::store::{Around, ProjectRef};
use docket_core::workflow::Target;
use docket_store_sqlite::{SqliteOptions, SqliteStore};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = SqliteStore::open(SqliteOptions::new(folder.path().join("docket.db")).create(true)).await?;
    let engine = Engine::new(Arc::new(store));

    // Who calls. Each call brings randomness of its own, because the engine has none.
    let me = Name::parse("example")?;
    let call = || Call::new(me.clone(), uuid::Uuid::new_v4().as_u128());

    let slug = Slug::parse("garden")?;
    let rules =
        SetProject { slug, name: None, prefix: None, workflow: None, schemas: None, archived: None, must_be_new: true };
    let project = ProjectRef::Id(engine.run(call(), rules).await?.project.id);

    let items = vec![NewItem::titled(Title::parse("Water the tomatoes")?)];
    let (edges, notes) = (Vec::new(), Vec::new());
    let create =
        Create { project: project.clone(), items, edges, notes, blank_notes: false, room_below: false, atomic: true };
    for made in engine.run(call(), create).await?.items {
        let made = made?;
        println!("made {}: {}, {}", made.key, made.item.title, made.item.status);
    }

    let next = ClaimNext { project: project.clone(), wanted: Wanted::default(), ttl: None };
    let offer = engine.run(call(), next).await?;
    let (held, item) = offer.held.zip(offer.item).context("nothing is ready")?;
    println!("claimed {} as {}, fence {}", item.title, held.claim.holder, held.fence.0);

    let target = Target::Trigger(Trigger::Complete);
    let complete = MoveRequest {
        item: item.id.into(),
        target,
        summary: None,
        by: None,
        fence: Some(held.fence),
        expected_version: None,
    };
    engine.run(call(), Advance { project: project.clone(), moves: vec![complete], atomic: true }).await?;

    let seen = engine.show(&project, &[item.id.into()], Around::default()).await?;
    println!("{} is {}", item.title, seen.resolve(&item.id.into())?.status);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::main().expect("the example runs to its end");
    }
}
