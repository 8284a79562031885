//! Making and changing items.

use docket_core::command::{Create, Edit, End, NewEdge, NewItem, NewNote, Parent, Patch};
use docket_core::model::{EdgeKind, ItemRef, Name, RequestId, Role, Summary, Tag, Text, Title};
use docket_core::testing::{World, name, title};
use docket_core::workflow::Workflow;
use docket_core::{Code, Reason};

use crate::scene::Scene;

#[test]
fn text_is_looked_at_once() {
    let long = "x".repeat(1025);
    for (text, reason) in [
        ("", Reason::Blank),
        (" \t ", Reason::Blank),
        ("\u{200b}\u{feff}", Reason::Blank),
        ("a\0b", Reason::BadChar),
        ("a\nb", Reason::BadChar),
        (long.as_str(), Reason::TooLong),
    ] {
        assert_eq!(Title::parse(text).expect_err("not a title").reason, reason, "{text:?}");
    }
    assert_eq!(Title::parse("  A\u{308}nderung ").expect("a title").as_str(), "Änderung", "trimmed and composed");
    assert_eq!(Title::parse(&"x".repeat(1024)).expect("just short enough").as_str().len(), 1024);
    assert!(Text::parse("").is_ok() && Summary::parse("").is_ok());
    assert_eq!(Text::parse("\0").expect_err("NUL").reason, Reason::BadChar);
    for (tag, good) in
        [("api", true), ("a-1", true), ("API", true), ("-a", false), ("a b", false), ("а", false), ("", false)]
    {
        assert_eq!(Tag::parse(tag).is_ok(), good, "{tag}");
    }
    assert!(Name::parse("a\u{202e}b").is_err(), "a name that reorders what follows");
}

#[test]
fn items_are_named_by_id_key_or_prefix() {
    let good = [
        ("550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        ("550E8400-E29B-41D4-A716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        ("550e", "550e"),
        ("DOC-17", "DOC-17"),
        ("doc-17", "DOC-17"),
        ("DOC-017", "DOC-17"),
        ("DOC-0000000017", "DOC-17"),
    ];
    for (text, shown) in good {
        assert_eq!(text.parse::<ItemRef>().expect(text).to_string(), shown);
    }
    let tall = "9".repeat(10_000);
    for text in [
        "",
        "550",
        "../x",
        "x",
        "DOC-0",
        "DOC-000",
        "DOC-00000000017",
        "DOC-",
        "DOC-1x",
        "DOC-１",
        "550e8400-e29b",
        " 550e",
        "550e ",
        "550e\n",
        "DOC-99999999999",
        &tall,
    ] {
        let refused = text.parse::<ItemRef>().expect_err(text);
        assert_eq!(refused.reason, Reason::BadId, "{text:?}");
        assert!(refused.message.len() < 500);
    }
}

#[test]
fn an_ambiguous_prefix_lists_the_candidates() {
    let mut scene = Scene::task_orchestrator();
    let (a, _) = (scene.item("a"), scene.item("b"));
    let prefix: ItemRef = a.to_string()[..8].parse().expect("a prefix");
    let call = scene.world.call(None);
    let edit = Edit { project: World::project(), patches: vec![Patch::of(prefix)], atomic: true };
    let refused = scene.world.run(&call, &edit).expect_err("two items begin so");
    assert_eq!(refused.reason, Reason::AmbiguousId);
    assert!(refused.message.contains("T-1") && refused.message.contains("T-2"), "{}", refused.message);
}

#[test]
fn keys_count_from_one_and_are_never_reused() {
    let mut scene = Scene::task_orchestrator();
    let a = scene.item("a");
    let b = scene.item("b");
    assert_eq!((scene.get(a).number, scene.get(b).number), (1, 2));
    let call = scene.world.call(None);
    let remove = docket_core::command::Remove {
        project: World::project(),
        items: vec![b.into()],
        expected_version: None,
        fence: None,
        recursive: false,
        atomic: true,
    };
    scene.world.run(&call, &remove).expect("gone");
    let c = scene.item("c");
    assert_eq!(scene.get(c).number, 3);
    assert!(a < c, "ids are in the order of creation");
}

fn tree(atomic: bool) -> Create {
    let item = |local: &str, parent: Option<&str>| NewItem {
        local: Some(local.to_owned()),
        parent: parent.map(|parent| Parent::Local(parent.to_owned())),
        item_type: (local == "root").then(|| name("job")),
        ..NewItem::titled(title(local))
    };
    let local = |name: &str| End::Local(name.to_owned());
    Create {
        project: World::project(),
        items: vec![item("root", None), item("a", Some("root")), item("b", Some("root"))],
        edges: vec![NewEdge {
            from: local("a"),
            to: local("b"),
            kind: EdgeKind::Blocks,
            unblock_at: None,
            inverse: false,
        }],
        notes: vec![NewNote {
            local: "root".to_owned(),
            key: name("plan"),
            phase: Role::Queue,
            body: Text::parse("do it").expect("a text"),
        }],
        blank_notes: true,
        room_below: false,
        atomic,
    }
}

#[test]
fn a_tree_is_made_with_edges_and_notes() {
    let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("plan", Role::Queue), ("proof", Role::Work)]);
    let call = scene.world.call(Some("ann"));
    let made = scene.world.run(&call, &tree(true)).expect("a tree");
    assert_eq!((made.items.len(), made.edges.len()), (3, 1));
    let keys: Vec<_> = made.notes.iter().map(|note| (note.local.as_str(), note.key.as_str())).collect();
    assert_eq!(keys, [("root", "plan"), ("root", "proof")], "the written one is not made again, blank");
    let root = made.items[0].as_ref().expect("the root");
    assert!(root.schema_match);
    assert_eq!(
        root.expected_notes.iter().map(|note| (note.exists, note.filled)).collect::<Vec<_>>(),
        [(true, true), (true, false)]
    );
    assert!(scene.world.notes.values().all(|note| note.by.as_ref().is_some_and(|by| by.actor.id.as_str() == "ann")));
    scene.world.check();
}

#[test]
fn a_bad_part_refuses_the_whole_tree() {
    type Spoil = fn(&mut Create);
    let bad: [(&str, Spoil); 5] = [
        ("an edge to nowhere", |tree| tree.edges[0].to = End::Local("nobody".to_owned())),
        ("a note on nobody", |tree| tree.notes[0].local = "nobody".to_owned()),
        ("a note in the wrong phase", |tree| tree.notes[0].phase = Role::Review),
        ("a ring", |tree| {
            let back =
                NewEdge { from: End::Local("b".to_owned()), to: End::Local("a".to_owned()), ..tree.edges[0].clone() };
            tree.edges.push(back);
        }),
        ("a name twice", |tree| tree.items[2].local = Some("a".to_owned())),
    ];
    for (what, spoil) in bad {
        let mut scene = Scene::with_schema(Workflow::task_orchestrator(), &[("plan", Role::Queue)]);
        let mut create = tree(true);
        spoil(&mut create);
        let call = scene.world.call(None);
        let refused = scene.world.run(&call, &create).expect_err(what);
        assert_eq!(refused.code, Code::Validation, "{what}");
        assert!(scene.world.items.is_empty() && scene.world.notes.is_empty(), "{what}");
    }
}

#[test]
fn an_edit_of_an_older_version_is_refused() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let mut edit = |version| {
        let call = scene.world.call(None);
        let patch = Patch { title: Some(title("y")), expected_version: Some(version), ..Patch::of(item.into()) };
        scene.world.run(&call, &Edit { project: World::project(), patches: vec![patch], atomic: true })
    };
    edit(1).expect("the version that was read");
    let refused = edit(1).expect_err("it has moved on");
    assert_eq!((refused.reason, refused.contended_item), (Reason::VersionMismatch, Some(item)));
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let mut scene = Scene::task_orchestrator();
    let item = scene.item("x");
    let events = scene.world.events.len();
    let call = scene.world.call(None);
    let patch = Patch { title: Some(title("x")), ..Patch::of(item.into()) };
    scene.world.run(&call, &Edit { project: World::project(), patches: vec![patch], atomic: true }).expect("an answer");
    assert_eq!(scene.world.events.len(), events);
    assert_eq!(scene.get(item).version, 1);
}

#[test]
fn batches_have_a_size() {
    let mut scene = Scene::task_orchestrator();
    for (count, reason) in [(0, Some(Reason::TooFew)), (200, None), (201, Some(Reason::BatchTooLarge))] {
        let items = (0..count).map(|n| NewItem::titled(title(&format!("{n}")))).collect();
        let create = Create {
            project: World::project(),
            items,
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        let call = scene.world.call(None);
        assert_eq!(scene.world.run(&call, &create).err().map(|error| error.reason), reason, "{count}");
    }
}

#[test]
fn request_ids_are_short_and_plain() {
    for (text, good) in [("", false), ("x", true), ("not a uuid", true), ("a\nb", false)] {
        assert_eq!(RequestId::parse(text).is_ok(), good, "{text:?}");
    }
    assert!(RequestId::parse(&"é".repeat(255)).is_ok());
    assert_eq!(RequestId::parse(&"x".repeat(256)).expect_err("too long").reason, Reason::BadRequestId);
}

#[test]
fn projects_get_prefixes_of_their_own() {
    use docket_core::command::SetProject;
    use docket_core::model::{KeyPrefix, Slug};
    let mut scene = Scene::task_orchestrator();
    let mut make = |slug: &str, prefix: Option<&str>| {
        let set = SetProject {
            slug: Slug::parse(slug).expect("a slug"),
            name: None,
            prefix: prefix.map(|text| KeyPrefix::parse(text).expect("a prefix")),
            workflow: None,
            schemas: None,
            archived: None,
            must_be_new: true,
        };
        let call = scene.world.call(None);
        scene.world.run(&call, &set).map(|set| set.project.prefix.to_string())
    };
    assert_eq!(make("docket-api", None).expect("a project"), "DOCK");
    assert_eq!(make("docket-web", None).expect("a project"), "DOCK2");
    assert_eq!(make("docket-ios", None).expect("a project"), "DOCK3");
    let refused = make("other", Some("DOCK")).expect_err("the prefix is taken");
    assert_eq!((refused.code, refused.reason), (Code::Conflict, Reason::Duplicate));
}
