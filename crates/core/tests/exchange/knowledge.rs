//! Knowledge, out and in: entries as they were, their links, and whose word is believed.

use docket_core::Reason;
use docket_core::command::{AddEntries, CiteEntries, Learning, ReadEntry, ReviewEntries};
use docket_core::exchange::Reader;
use docket_core::model::{Authority, EntryTie, Source, Tag};
use docket_core::testing::{World, title};
use serde_json::{Value, json};

use super::{NOBODY, Spoil, again, change, kinds, scene, text};

/// The scene with two entries: a person's that was reviewed and used, an agent's that came from an item.
fn learned() -> World {
    let (mut world, [review, _, talked, _]) = scene();
    let learning = |about: &str| Learning {
        title: title(about),
        body: text("what it says"),
        tags: vec![Tag::parse("build").expect("a tag")],
    };
    let call = world.call(None);
    let add = AddEntries {
        project: World::project(),
        entries: vec![learning("by a person")],
        item: None,
        authority: Authority::Human,
    };
    let entry = world.run(&call, &add).expect("an entry").entries[0];
    let call = world.call(None);
    let entries = vec![ReadEntry { entry, version: Some(1) }];
    world.run(&call, &ReviewEntries { entries, reviewed: true, authority: Authority::Human }).expect("a word");
    let call = world.call(Some("ann"));
    let cite = CiteEntries { project: World::project(), item: talked.into(), entries: vec![entry], used: true };
    world.run(&call, &cite).expect("a link");
    let call = world.call(Some("ann"));
    let add = AddEntries {
        project: World::project(),
        entries: vec![learning("by an agent")],
        item: Some(review.into()),
        authority: Authority::Agent,
    };
    world.run(&call, &add).expect("an entry");
    world
}

#[test]
fn entries_and_their_links_come_in_as_they_were() {
    let world = learned();
    let rows = world.export();
    let count = |kind: &str| kinds(&rows).iter().filter(|known| *known == kind).count();
    assert_eq!((count("entry"), count("entryLink")), (2, 2));
    let mut copy = World::empty();
    copy.import(&rows).expect("an import");
    copy.check();
    assert_eq!(copy.export(), rows);
    assert_eq!((&copy.entries, &copy.entry_links), (&world.entries, &world.entry_links));
    assert!(copy.entries.values().any(|entry| entry.review.is_some() && entry.version == 2));
    let kinds: Vec<EntryTie> = copy.entry_links.values().map(|link| link.kind).collect();
    assert!(kinds.contains(&EntryTie::Produced) && kinds.contains(&EntryTie::Used));
}

#[test]
fn an_agent_brings_no_persons_word() {
    let rows = learned().export();
    let mut reader = Reader::default();
    for (at, row) in rows.iter().enumerate() {
        reader.line(at + 1, &row.to_string()).expect("a line");
    }
    let import = reader.take_import().expect("an import");
    let mut copy = World::empty();
    let call = copy.call(Some("ann"));
    copy.run(&call, &import).expect("brought");
    copy.check();
    assert!(copy.entries.values().all(|entry| entry.review.is_none()), "{:?}", copy.entries);
    let mut sources: Vec<Source> = copy.entries.values().map(|entry| entry.source).collect();
    sources.sort_unstable();
    assert_eq!(sources, [Source::Agent, Source::Import], "what a file says of a person is not a person's word");
}

#[test]
fn an_entry_that_does_not_fit_is_refused_with_its_line() {
    let world = learned();
    let cases: Vec<(&str, Reason, Spoil)> = vec![
        ("an entry of no project", Reason::NotFound, |rows| change(rows, "entry", "project", json!(NOBODY))),
        ("an entry twice", Reason::Duplicate, |rows| again(rows, "entry")),
        ("a blank text", Reason::BadValue, |rows| change(rows, "entry", "body", json!("  "))),
        ("no version", Reason::BadValue, |rows| change(rows, "entry", "version", json!(0))),
        ("a link to no item", Reason::NotFound, |rows| change(rows, "entryLink", "item", json!(NOBODY))),
        ("a link twice", Reason::Duplicate, |rows| again(rows, "entryLink")),
    ];
    for (what, reason, spoil) in cases {
        let mut rows: Vec<Value> = world.export();
        spoil(&mut rows);
        let mut copy = World::empty();
        let (_, error) = copy.import(&rows).expect_err(what);
        assert_eq!(error.reason, reason, "{what}: {error}");
        assert!(copy.entries.is_empty() && copy.items.is_empty(), "{what}: nothing came in");
    }
}
