//! Exports of older programs: what they say less means what it meant then, and what they let be is told where it is no more.

use docket_core::Reason;
use docket_core::command::NewItem;
use docket_core::model::{EdgeId, ItemId};
use docket_core::testing::{World, title};
use docket_core::workflow::{ChecksWhen, Schemas, Workflow};
use serde_json::json;

use crate::{create, first, scene};

/// What the row meant that an export of before was made of, the export means: it says nothing of a switch that came later.
#[test]
fn an_export_of_before_comes_in_as_this_version_means_it() {
    let mut world = World::new(Workflow::cairn(), Schemas::default());
    create(&mut world, NewItem::titled(title("x")));
    let mut rows = world.export();
    let at = first(&rows, "project");
    rows[at]["project"]["workflow"].as_object_mut().expect("an object").remove("checksWhen");
    let mut copy = World::empty();
    copy.import(&rows).expect("an import");
    assert_eq!(copy.projects.values().next().expect("a project").workflow, Workflow::cairn());
    rows[at]["project"]["workflow"]["checksWhen"] = json!("success");
    let mut copy = World::empty();
    copy.import(&rows).expect("an import");
    let asked = Workflow { checks_when: ChecksWhen::Success, ..Workflow::cairn() };
    assert_eq!(copy.projects.values().next().expect("a project").workflow, asked, "what was asked for");
}

/// Older programs let items give way to each other in a ring; none of them would ever be handed out.
#[test]
fn items_that_all_give_way_to_each_other_are_refused_by_their_keys() {
    let (world, [one, _, two, _]) = scene();
    let edge = |id: u128, from: ItemId, to: ItemId| {
        let id = EdgeId::from_uuid(uuid::Uuid::from_u128(id));
        json!({ "edge": { "id": id, "kind": "duplicate-of", "from": from, "to": to, "createdAt": "2026-01-01T00:00:00.000Z" } })
    };
    let mut rows = world.export();
    rows.push(edge(1, one, two));
    let mut sound = World::empty();
    let taken = sound.import(&rows);
    assert!(taken.is_ok(), "one way: {taken:?}");
    rows.push(edge(2, two, one));
    let mut copy = World::empty();
    let (_, error) = copy.import(&rows).expect_err("a ring");
    assert_eq!(error.reason, Reason::Cycle);
    assert!(error.message.contains("T-1") && error.message.contains("T-3"), "{}", error.message);
    assert!(copy.items.is_empty() && copy.events.is_empty());
}
