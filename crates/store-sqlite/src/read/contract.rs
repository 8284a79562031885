//! Briefs of the items shown, and what was said about them: questions, comments, links.

use docket_core::store::{Around, Scope};
use ulid::Ulid;
use uuid::Uuid;

use super::look::{Look, once, table};
use super::names::Named;
use crate::error::Trouble;
use crate::row::{BRIEF, COMMENT, LINK, QUESTION};
use crate::script::Script;

/// Briefs of the items shown.
pub(super) fn briefs(look: &mut Look<'_>, around: &Around, near: &[Uuid]) -> Result<(), Trouble> {
    if around.briefs { look.attached("briefs", BRIEF, "briefs b ON b.item_id = s.id", near) } else { Ok(()) }
}

/// What was said about the named items, and what was named of it. Returns the items of that.
pub(super) fn talk(look: &mut Look<'_>, scope: &Scope, named: &Named) -> Result<Vec<Uuid>, Trouble> {
    let Around { questions, comments, links, .. } = scope.around;
    let newest =
        "questions q ON q.pk = (SELECT y.pk FROM questions y WHERE y.item_id = s.id ORDER BY y.id DESC LIMIT 1)";
    let of_named =
        Part { result: "questions", row: QUESTION, item: "q.item_id", of_items: questions.then_some(newest) };
    let mut items =
        of_named.find(look, "questions q ON q.id", scope.question_ids.iter().map(|id| bytes(id.0)), named)?;
    let theirs = "links u ON u.item_id = s.id";
    let of_named = Part { result: "links", row: LINK, item: "u.item_id", of_items: links.then_some(theirs) };
    items.extend(of_named.find(look, "links u ON u.id", scope.link_ids.iter().map(|id| bytes(id.0)), named)?);
    if let Some(most) = comments.filter(|_| !named.ids.is_empty()) {
        let mut script = Script::default();
        let of = table(&mut script, &named.ids);
        let most = script.limit(most.saturating_add(1));
        script.add(format!(
            "SELECT {COMMENT} FROM {of} s CROSS JOIN comments t ON t.pk IN (SELECT y.pk FROM comments y \
             WHERE y.item_id = s.id ORDER BY y.id DESC LIMIT {most})"
        ));
        look.rows("comments", &script)?;
    }
    Ok(items)
}

/// Rows that belong to items: those of the named items, and those that were named themselves.
pub(super) struct Part {
    pub(super) result: &'static str,
    pub(super) row: &'static str,
    /// The column that says whose they are.
    pub(super) item: &'static str,
    /// How those of an item `s` are found, if they are wanted.
    pub(super) of_items: Option<&'static str>,
}

impl Part {
    /// Finds both kinds, each row once or twice; returns the items of those that were named.
    pub(super) fn find(
        &self,
        look: &mut Look<'_>,
        by_id: &str,
        ids: impl Iterator<Item = Uuid>,
        named: &Named,
    ) -> Result<Vec<Uuid>, Trouble> {
        let Self { result, row, item, of_items } = self;
        let ids = once(ids);
        let of_items = of_items.filter(|_| !named.ids.is_empty());
        if ids.is_empty() {
            return of_items
                .map_or(Ok(()), |joined| look.attached(result, row, joined, &named.ids))
                .map(|()| Vec::new());
        }
        let (mut script, limit) = look.begin();
        let (ids, seen) = (table(&mut script, &ids), limit.and_item(item));
        let mut select = format!("SELECT {row}, {item} FROM {ids} s CROSS JOIN {by_id} = s.id{seen}");
        if let Some(joined) = of_items {
            let items = table(&mut script, &named.ids);
            select = format!("{select} UNION ALL SELECT {row}, NULL FROM {items} s CROSS JOIN {joined}");
        }
        script.add(select);
        look.rows(result, &script)
    }
}

fn bytes(id: Ulid) -> Uuid {
    Uuid::from_u128(id.0)
}
