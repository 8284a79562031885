//! What is named in a question, by every spelling, and an answer without those names.

use docket_core::model::{
    EdgeId, EntryId, ItemId, ItemRef, Key, LinkId, NoteId, ProjectId, QuestionId, RunId, SessionId, Slug,
};
use docket_core::store::ProjectRef;
use uuid::Uuid;

use super::rows::Half;

/// What is named in a question: something of one's own, of the other's, or that never was.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) project: ProjectRef,
    pub(super) item: ItemRef,
    pub(super) note: NoteId,
    pub(super) edge: EdgeId,
    pub(super) question: QuestionId,
    pub(super) link: LinkId,
    pub(super) session: SessionId,
    pub(super) run: RunId,
    pub(super) entry: EntryId,
}

/// What can be said of one's own.
pub(super) fn own(half: &Half) -> Names {
    Names {
        project: ProjectRef::Id(half.project.id),
        item: half.item.id.into(),
        note: half.note,
        edge: half.edge,
        question: half.question,
        link: half.link,
        session: half.session,
        run: half.run,
        entry: half.entry,
    }
}

/// The other's things by every spelling, each beside one of the same shape that never was.
pub(super) fn spellings(other: &Half) -> Vec<(Names, Names)> {
    let nil = Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001);
    let unknown = Names {
        project: ProjectRef::Id(ProjectId::from_uuid(nil)),
        item: ItemId::from_uuid(nil).into(),
        note: NoteId::from_uuid(nil),
        edge: EdgeId::from_uuid(nil),
        question: QuestionId(nil.as_u128().into()),
        link: LinkId(nil.as_u128().into()),
        session: SessionId(nil.as_u128().into()),
        run: RunId(nil.as_u128().into()),
        entry: EntryId(nil.as_u128().into()),
    };
    let slug = |text: &str| ProjectRef::Slug(Slug::parse(text).unwrap_or_else(|error| panic!("{error}")));
    let digits = other.item.id.as_uuid().simple().to_string();
    let key = Key { prefix: other.project.prefix.clone(), number: other.item.number };
    let nokey = Key { number: 999_999, ..key.clone() };
    let by_key =
        |item: Key, names: &Names| Names { item: ItemRef::Key(item), project: ProjectRef::Any, ..names.clone() };
    let by_prefix = |digits: &str, names: &Names| Names {
        item: ItemRef::Prefix(digits.to_owned()),
        project: slug(if names.note == other.note { "other" } else { "nowhere" }),
        ..names.clone()
    };
    vec![
        (own(other), unknown.clone()),
        (by_key(key, &own(other)), by_key(nokey, &unknown)),
        (by_prefix(&digits[..31], &own(other)), by_prefix("ffffffffffff", &unknown)),
    ]
}

/// An answer without the names that were asked for.
pub(super) fn anonymous(answer: &str, names: &Names) -> String {
    // The name of a project is a plain word: only where it is quoted it is that name.
    let mut answer = answer.replace(&format!("\\\"{}\\\"", project_word(&names.project)), "X");
    let spelled = [
        names.item.to_string(),
        format!("{:?}", names.item),
        names.note.to_string(),
        names.edge.to_string(),
        names.question.to_string(),
        names.link.to_string(),
        names.session.to_string(),
        names.run.to_string(),
        format!("{:?}", names.run),
        names.entry.to_string(),
        format!("{:?}", names.entry),
    ];
    for name in spelled {
        answer = answer.replace(&name, "X");
    }
    // Whichever of the names it was: some are the same where nothing has any.
    answer.replace("\\\"X\\\"", "X")
}

/// A project as a caller would write it.
pub(super) fn project_word(project: &ProjectRef) -> String {
    match project {
        ProjectRef::Id(id) => id.to_string(),
        ProjectRef::Slug(slug) => slug.to_string(),
        ProjectRef::Any => String::new(),
    }
}
