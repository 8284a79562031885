//! `complete_tree`: an item that more than one gate keeps open is told all of it.

use serde_json::json;

use crate::{World, text};

#[test]
fn what_stands_in_the_way_beside_missing_notes_is_told_too() {
    let world = World::with_schemas();
    let (blocker, held) = (world.item("blocker"), world.made(json!({ "title": "held", "type": "quick" })));
    world.blocks(&blocker, &held);
    world.claim("agent-1", &held);
    let close = || world.ok("complete_tree", json!({ "itemIds": [held] }));
    let answer = close();
    let row = &answer["results"][0];
    let told: Vec<String> = row["gateErrors"].as_array().expect("a list").iter().map(text).collect();
    assert_eq!((told.len(), told[0].as_str()), (3, "missing: outcome"), "{row}");
    assert!(told[1..].iter().any(|told| told.contains("claimed by")), "{row}");
    assert!(told[1..].iter().any(|told| told.contains("blocking")), "{row}");
    assert!(row.get("skipped").is_none(), "{row}");
    assert_eq!(answer["summary"], json!({ "total": 1, "completed": 0, "skipped": 0, "gateFailures": 1 }));
    // As before where notes are all that is missing.
    let alone = world.made(json!({ "title": "alone", "type": "quick" }));
    let answer = world.ok("complete_tree", json!({ "itemIds": [alone] }));
    assert_eq!(answer["results"][0]["gateErrors"], json!(["missing: outcome"]), "{answer}");
}
