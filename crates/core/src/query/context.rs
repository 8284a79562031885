//! Everything an agent asks about one item before it moves it.

use std::sync::Arc;

use serde::Serialize;

use crate::engine::Engine;
use crate::error::Error;
use crate::model::{Item, ItemRef, Name, Project, Timestamp};
use crate::store::{Around, NoteReach, ProjectRef};
use crate::workflow::{ExpectedNote, Guide, Resolved};

/// One item with its contract and its claim.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemContext {
    /// The item.
    pub item: Item,
    /// The rules it is under; named in the item, so they are not written out with it.
    #[serde(skip)]
    pub project: Arc<Project>,
    /// Its ancestors, the root first.
    pub ancestors: Vec<Item>,
    /// Whether a schema holds for it.
    pub has_schema: bool,
    /// Every note that its schema knows.
    pub expected_notes: Vec<ExpectedNote>,
    /// Required notes of the present phase that are missing or blank.
    pub missing: Vec<Name>,
    /// What to write next.
    pub guide: Guide,
    /// Whether its workflow leads on from where it stands.
    #[serde(skip)]
    pub has_next: bool,
    /// The moment all this was so.
    pub now: Timestamp,
}

impl ItemContext {
    /// Whether there is a way forward from where it stands, and nothing is missing to take it.
    pub fn can_advance(&self) -> bool {
        self.has_next && self.missing.is_empty()
    }
}

impl Engine {
    /// One item with its contract and its claim.
    pub async fn context(&self, project: &ProjectRef, item: &ItemRef) -> Result<ItemContext, Error> {
        let around = Around { ancestors: true, notes: NoteReach::Heads, ..Around::default() };
        let seen = self.show(project, std::slice::from_ref(item), around).await?;
        let item = seen.resolve(item)?;
        let rules = Arc::clone(seen.project_of(item)?);
        let heads = seen.heads(item.id);
        let schema = rules.schemas.resolve(item);
        let missing = schema.as_ref().map(|schema| schema.missing(Some(item.role), heads)).unwrap_or_default();
        let has_review = schema.as_ref().is_some_and(Resolved::has_review);
        Ok(ItemContext {
            has_next: rules.workflow.next(item, has_review).is_some(),
            item: item.clone(),
            ancestors: seen.ancestors(item).into_iter().cloned().collect(),
            has_schema: schema.is_some(),
            expected_notes: schema.as_ref().map(|schema| schema.expected(None, heads)).unwrap_or_default(),
            missing: missing.into_iter().map(|rule| rule.key.clone()).collect(),
            guide: schema.as_ref().map(|schema| schema.guide(item.role, heads)).unwrap_or_default(),
            now: seen.now,
            project: Arc::clone(&rules),
        })
    }
}
