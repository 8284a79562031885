//! Importing Markdown: all of it or nothing, a preview that says the same, errors by line.

use docket_core::command::{ImportMarkdown, MarkdownImported, NewItem};
use docket_core::model::{Item, ItemId, RequestId, Role, Text};
use docket_core::testing::{World, name, title};
use docket_core::workflow::{Lifecycle, Workflow};
use docket_core::{Code, Error, Reason};
use proptest::prelude::*;

use crate::scene::Scene;

const PLAN: &str = "\
# Release
Everything for *1.0*.

- [x] Write the parser
  - Lexer
- [ ] Write the docs
  Two pages.

  ```sh
  make docs
  ```
  1. Guide
";

fn import(markdown: &str) -> ImportMarkdown {
    let markdown = Text::parse(markdown).expect("a text");
    ImportMarkdown { project: World::project(), markdown, parent: None, status: None, preview: false }
}

fn run(scene: &mut Scene, import: &ImportMarkdown) -> Result<MarkdownImported, Error> {
    let call = scene.world.call(None);
    scene.world.run(&call, import)
}

/// Line, title, depth, status and the parent's line of everything in an answer.
fn told(imported: &MarkdownImported) -> Vec<(usize, &str, u8, &str, Option<usize>)> {
    let items = imported.items.iter();
    items.map(|item| (item.line, item.title.as_str(), item.depth, item.status.as_str(), item.parent_line)).collect()
}

fn find<'s>(scene: &'s Scene, title: &str) -> &'s Item {
    scene.world.items.values().find(|item| item.title.as_str() == title).expect("an item of this title")
}

#[test]
fn a_text_becomes_a_tree() {
    let mut scene = Scene::new(Workflow::standard());
    let imported = run(&mut scene, &import(PLAN)).expect("items");
    assert!(imported.applied);
    assert_eq!(
        told(&imported),
        [
            (1, "Release", 0, "backlog", None),
            (4, "Write the parser", 1, "done", Some(1)),
            (5, "Lexer", 2, "done", Some(4)),
            (6, "Write the docs", 1, "backlog", Some(1)),
            (12, "Guide", 2, "backlog", Some(6)),
        ]
    );
    let keys: Vec<String> = imported.items.iter().map(|item| item.key.as_ref().expect("a key").to_string()).collect();
    assert_eq!(keys, ["T-1", "T-2", "T-3", "T-4", "T-5"]);
    let docs = find(&scene, "Write the docs");
    assert_eq!(Some(docs.id), imported.items[3].item);
    assert_eq!(docs.parent, imported.items[0].item);
    assert_eq!(docs.description.as_ref().map(Text::as_str), Some("Two pages.\n\n```sh\nmake docs\n```"));
    assert_eq!(find(&scene, "Release").description.as_ref().map(Text::as_str), Some("Everything for *1.0*."));
    assert_eq!(find(&scene, "Guide").description, None);
    scene.world.check();
}

#[test]
fn a_preview_says_the_same_and_makes_nothing() {
    let mut scene = Scene::new(Workflow::standard());
    let before = scene.world.clone();
    let mut call = scene.world.call(None);
    call.request = Some(RequestId::parse("again").expect("a request id"));
    let preview = ImportMarkdown { preview: true, ..import(PLAN) };
    let shown = scene.world.run(&call, &preview).expect("a preview");
    assert!(!shown.applied);
    assert!(shown.items.iter().all(|item| item.item.is_none() && item.key.is_none()));
    assert_eq!((&before.items, before.events.len()), (&scene.world.items, scene.world.events.len()));
    let made = run(&mut scene, &import(PLAN)).expect("items");
    assert_eq!(told(&shown), told(&made));
    assert_eq!(made.items[0].key.as_ref().map(ToString::to_string).as_deref(), Some("T-1"), "no number was used up");
}

#[test]
fn it_goes_beneath_a_parent_and_into_a_status() {
    let mut scene = Scene::new(Workflow::standard());
    let parent = scene.item("parent");
    let into = ImportMarkdown {
        parent: Some(parent.into()),
        status: Some(name("ready")),
        ..import("- a\n  - [x] b\n- [ ] c\n")
    };
    let imported = run(&mut scene, &into).expect("items");
    assert_eq!(told(&imported), [(1, "a", 1, "ready", None), (2, "b", 2, "done", Some(1)), (3, "c", 1, "ready", None)]);
    assert_eq!(find(&scene, "c").parent, Some(parent));
    let unknown = ImportMarkdown { status: Some(name("nowhere")), ..import("- d\n") };
    let refused = run(&mut scene, &unknown).expect_err("no such status");
    assert_eq!((refused.reason, refused.field.as_deref()), (Reason::UnknownValue, Some("status")));
    let orphan = ImportMarkdown { parent: Some("T-99".parse().expect("a key")), ..import("- d\n") };
    assert_eq!(run(&mut scene, &orphan).expect_err("no such parent").code, Code::NotFound);
}

#[test]
fn every_bad_line_is_told_at_once_and_nothing_is_made() {
    let mut scene = Scene::new(Workflow { max_depth: 2, ..Workflow::standard() });
    let before = scene.world.events.len();
    let long = "x".repeat(1025);
    let text = format!(
        "- fine\n-\n- {long}\n- a\tb\n- c\n  - d\n    - e\n      - too deep\n        - deeper\n- [x] f\n  - [ ] g\n"
    );
    for preview in [true, false] {
        let refused = run(&mut scene, &ImportMarkdown { preview, ..import(&text) }).expect_err("a bad text");
        assert_eq!(
            (refused.code, refused.reason, refused.field.as_deref()),
            (Code::Validation, Reason::Blank, Some("markdown"))
        );
        assert_eq!(
            refused.message.split("; ").collect::<Vec<_>>(),
            [
                "line 2: the title must not be blank",
                "line 3: the title must be at most 1024 bytes",
                "line 4: the title must be one line without control characters",
                "line 8: depth 3 exceeds maximum depth of 2",
                "line 9: depth 4 exceeds maximum depth of 2",
                "line 10: its box is ticked, yet line 11 beneath it is open",
            ]
        );
    }
    assert!(scene.world.items.is_empty() && scene.world.events.len() == before);
}

#[test]
fn depth_counts_from_the_parent() {
    let mut scene = Scene::new(Workflow { max_depth: 2, ..Workflow::standard() });
    let root = scene.item("root");
    let parent = scene.child(root, "parent");
    let deep = ImportMarkdown { parent: Some(parent.into()), ..import("- a\n  - b\n") };
    let refused = run(&mut scene, &deep).expect_err("too deep");
    assert_eq!(
        (refused.reason, refused.message.as_str()),
        (Reason::TooDeep, "line 2: depth 3 exceeds maximum depth of 2")
    );
    run(&mut scene, &ImportMarkdown { parent: Some(parent.into()), ..import("- a\n- b\n") }).expect("just deep enough");
}

#[test]
fn a_nesting_bomb_is_refused_by_line() {
    let mut scene = Scene::new(Workflow::standard());
    let bomb = format!("- fine\n{}x\n", "- ".repeat(100_000));
    let refused = run(&mut scene, &import(&bomb)).expect_err("a bomb");
    assert_eq!(refused.reason, Reason::TooDeep);
    assert!(refused.message.starts_with("line 2: "), "{}", refused.message);
    let many = "- a\n".repeat(201);
    let refused = run(&mut scene, &import(&many)).expect_err("too many");
    assert_eq!(refused.reason, Reason::BatchTooLarge);
    assert!(refused.message.starts_with("line 201: ") && refused.message.contains("200"), "{}", refused.message);
    let stairs: Vec<String> = (0..150).map(|step| " ".repeat(step * 2) + "- x\n").collect();
    let refused = run(&mut scene, &import(&stairs.concat())).expect_err("too deep");
    assert!(
        refused.message.starts_with("line 10: ") && refused.message.ends_with("and 121 more"),
        "{}",
        refused.message
    );
}

#[test]
fn a_text_without_items_is_refused() {
    let mut scene = Scene::new(Workflow::standard());
    for text in ["", "\n \n", "---\ntitle: x\n---\n", "<!-- nothing -->"] {
        let refused = run(&mut scene, &import(text)).expect_err("nothing to make");
        assert_eq!((refused.reason, refused.field.as_deref()), (Reason::TooFew, Some("markdown")), "{text:?}");
    }
    let refused = run(&mut scene, &import("just words")).expect_err("words beneath nothing");
    assert!(refused.message.starts_with("line 1: "), "{}", refused.message);
}

fn closed_parent(scene: &mut Scene) -> ItemId {
    scene.create(NewItem { role: Some(Role::Terminal), ..NewItem::titled(title("parent")) }).expect("an item")
}

#[test]
fn open_work_beneath_a_closed_parent_is_treated_as_any_creation_is() {
    let mut scene = Scene::new(Workflow::standard());
    let parent = closed_parent(&mut scene);
    let open = ImportMarkdown { parent: Some(parent.into()), ..import("- a\n") };
    assert_eq!(run(&mut scene, &open).expect_err("the parent is closed").reason, Reason::Terminal);
    let done = ImportMarkdown { parent: Some(parent.into()), ..import("- [x] a\n") };
    run(&mut scene, &done).expect("closed work beneath closed work");

    let mut scene = Scene::new(Workflow { close_parents: Lifecycle::AutoReopen, ..Workflow::standard() });
    let parent = closed_parent(&mut scene);
    let open = ImportMarkdown { parent: Some(parent.into()), ..import("- a\n") };
    run(&mut scene, &ImportMarkdown { preview: true, ..open.clone() }).expect("a preview");
    assert!(!scene.get(parent).role.is_open(), "a preview reopens nothing");
    run(&mut scene, &open).expect("an item");
    assert!(scene.get(parent).role.is_open());
    scene.world.check();
}

/// Text that looks like Markdown more often than not.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "- ", "* ", "1. ", "[ ] ", "[x] ", "# ", "## ", "###### ", "\n", "\n\n", "\r\n", "\r", "  ", "    ", "\t",
        "> ", "```", "~~~", "---\n", "===\n", "a", "word", "*b*", "`c`", "[l](u)", "\\", "<!--", "-->", "<b>", "é",
        "\u{200b}", "\u{7}", "|", "&amp;", "[x]: y\n",
    ]);
    prop_oneof![
        4 => prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()),
        1 => "\\PC{0,80}",
        1 => any::<String>(),
    ]
}

/// A line of an outline: how deep it would like to lie, its box, its words, and whether a paragraph follows.
type Line = (u8, Option<bool>, String, bool);

fn line() -> impl Strategy<Value = Line> {
    (0..6_u8, prop::option::of(any::<bool>()), "[a-z]{1,8}( [a-z]{1,8})?", any::<bool>())
}

type Row = (usize, String, u8, String, Option<String>);

/// An outline as a list, and what must come of it: the line, title, depth, status and description of each item.
fn written(lines: &[Line]) -> (String, Vec<Row>) {
    let (mut text, mut expected) = (String::new(), Vec::new());
    let mut done: Vec<bool> = Vec::new();
    for (wish, ticked, words, paragraph) in lines {
        done.truncate(usize::from(*wish));
        let above = done.last().copied().unwrap_or(false);
        // An open box beneath a ticked one would be refused.
        let ticked = ticked.filter(|ticked| *ticked || !above);
        let mark = ticked.map_or("", |ticked| if ticked { "[x] " } else { "[ ] " });
        let indent = "  ".repeat(done.len());
        let depth = u8::try_from(done.len()).expect("a small depth");
        let number = text.lines().count() + 1;
        text.extend([&indent, "- ", mark, words, "\n"]);
        let description = paragraph.then(|| format!("more of {words}"));
        if let Some(description) = &description {
            text.extend(["\n", &indent, "  ", description, "\n\n"]);
        }
        done.push(ticked.unwrap_or(above));
        let status = if ticked.unwrap_or(above) { "done" } else { "backlog" };
        expected.push((number, words.clone(), depth, status.to_owned(), description));
    }
    (text, expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_preview_and_an_import_agree_whatever_the_text(text in markdown()) {
        // What is no text at all stops before any command.
        prop_assume!(Text::parse(&text).is_ok());
        let mut scene = Scene::new(Workflow::standard());
        let before = scene.world.events.len();
        let shown = run(&mut scene, &ImportMarkdown { preview: true, ..import(&text) });
        prop_assert!(scene.world.items.is_empty() && scene.world.events.len() == before);
        let made = run(&mut scene, &import(&text));
        match (shown, made) {
            (Ok(shown), Ok(made)) => {
                prop_assert_eq!(told(&shown), told(&made));
                prop_assert_eq!(made.items.len(), scene.world.items.len());
                let lines: Vec<usize> = made.items.iter().map(|item| item.line).collect();
                prop_assert!(lines.is_sorted(), "{:?}", lines);
                let last = text.split(['\n', '\r']).count();
                prop_assert!(lines.iter().all(|line| (1..=last).contains(line)), "{:?} of {}", lines, last);
                for item in &made.items {
                    let row = &scene.world.items[&item.item.expect("an id")];
                    prop_assert_eq!(&row.title, &item.title);
                }
                scene.world.check();
            }
            (Err(shown), Err(made)) => {
                prop_assert_eq!(&shown, &made);
                prop_assert_eq!(shown.field.as_deref(), Some("markdown"));
                prop_assert!(shown.reason == Reason::TooFew || shown.message.starts_with("line "), "{}", shown);
                prop_assert!(scene.world.items.is_empty());
            }
            (shown, made) => prop_assert!(false, "a preview said {:?}, an import {:?}", shown, made),
        }
    }

    #[test]
    fn an_outline_becomes_the_items_it_was_written_from(lines in prop::collection::vec(line(), 1..40)) {
        let (text, expected) = written(&lines);
        let mut scene = Scene::new(Workflow::standard());
        let made = run(&mut scene, &import(&text)).map_err(|error| TestCaseError::fail(format!("{error} in\n{text}")))?;
        let got: Vec<Row> = made.items.iter().map(|item| {
            let row = &scene.world.items[&item.item.expect("an id")];
            let description = row.description.as_ref().map(ToString::to_string);
            (item.line, item.title.to_string(), item.depth, row.status.to_string(), description)
        }).collect();
        prop_assert_eq!(got, expected, "{}", text);
        scene.world.check();
    }
}
