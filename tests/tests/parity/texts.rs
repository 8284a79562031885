//! Texts that databases treat differently, and items that have them.

use docket_core::command::{Create, Edit, NewItem, Patch};
use docket_core::model::{Complexity, ItemRef, Name, Summary, Tag, Title};
use docket_core::testing::acts::{Dice, Stage};

use super::Real;

/// Titles that databases treat differently.
pub(super) const TITLES: [&str; 17] = [
    "apple",
    "Banana",
    "äpfel und Öl",
    "zebra",
    "Straße",
    "İstanbul ılık",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "ﬁne ligature",
    "O'Brien; DROP TABLE items;--",
    "100% _under\\score_",
    "日本語 テスト",
    "naïve café",
    "a\u{301}ccent é",
    "🦀 crab & <b>",
    "it's \"quoted\" :* | ! (x)",
    "0042 42 4.2e1",
];
pub(super) const WORDS: [&str; 14] = [
    "app",
    "ÄPFEL",
    "zeb",
    "strasse",
    "straße",
    "istanbul",
    "σισυφος",
    "ΣΙΣΥΦΟΣ",
    "fine",
    "o",
    "42",
    "café",
    "日本",
    "x:*",
];
pub(super) const TAGS: [&str; 4] = ["ui", "db", "ops", "v2"];

pub(super) fn pick<'t>(dice: &mut Dice, texts: &[&'t str]) -> &'t str {
    texts[usize::try_from(dice.roll(texts.len() as u64)).expect("small")]
}

/// An item with a text that databases treat differently, or such a text for one that is there.
pub(super) fn odd_text(stage: &mut Real, dice: &mut Dice) {
    let title = Title::parse(pick(dice, &TITLES)).expect("a title");
    let tags = vec![Tag::parse(pick(dice, &TAGS)).expect("a tag")];
    let call = Stage::call(stage, None);
    let project = stage.project();
    let chosen = usize::try_from(dice.roll(12)).expect("small");
    if dice.roll(3) == 0 && !stage.items.is_empty() {
        let item = ItemRef::Id(stage.items[chosen % stage.items.len()]);
        let patch = Patch { title: Some(title), tags: Some(tags), ..Patch::of(item) };
        let _ = stage.run(&call, &Edit { project, patches: vec![patch], atomic: true });
    } else {
        let mut new = NewItem::titled(title);
        new.summary = Summary::parse(pick(dice, &TITLES)).ok();
        new.tags = tags;
        new.complexity = Complexity::parse(i64::try_from(dice.roll(10)).expect("small") + 1).ok();
        new.touches = vec![Name::parse(pick(dice, &["src/**", "docs/*", "src/a.rs"])).expect("a name")];
        let create = Create {
            project,
            items: vec![new],
            edges: vec![],
            notes: vec![],
            blank_notes: false,
            room_below: false,
            atomic: true,
        };
        let _ = stage.run(&call, &create);
    }
}
