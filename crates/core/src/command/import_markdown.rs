//! Makes items of a Markdown text, all of them or none; or says beforehand what would be made.

use serde::{Deserialize, Serialize};

use super::create::{Create, Created};
use super::new_item::{NewItem, Parent};
use super::place::check_depth;
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision};
use crate::error::{Error, Invalid, Reason};
use crate::markdown::{self, Entry, Fault, Outline};
use crate::model::{ItemId, ItemRef, Key, Name, Project, Role, Text, Title};
use crate::store::{ChangeSet, ProjectRef, Scope, Slice};

/// Makes an item of every heading and list item.
#[derive(Clone, Debug, Serialize)]
pub struct ImportMarkdown {
    /// Where they go.
    pub project: ProjectRef,
    /// The text; see [`crate::markdown`] for how it is read.
    pub markdown: Text,
    /// What the outermost items lie beneath.
    pub parent: Option<ItemRef>,
    /// The status of what is not done; the workflow's initial one where nothing is said.
    pub status: Option<Name>,
    /// Whether it is only said what would be made.
    pub preview: bool,
}

/// An item of the text.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedItem {
    /// The line it begins on, from 1.
    pub line: usize,
    /// The item; a preview makes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemId>,
    /// Its key; a preview takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// Its title.
    pub title: Title,
    /// How deep it lies in the project.
    pub depth: u8,
    /// Where it stands.
    pub status: Name,
    /// The line of the item it lies beneath, if that is in the text as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_line: Option<usize>,
}

/// What was made of a text, or would be.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarkdownImported {
    /// Whether it was made; a preview makes nothing.
    pub applied: bool,
    /// The items as they stand in the text.
    pub items: Vec<ImportedItem>,
}

impl Command for ImportMarkdown {
    type Output = MarkdownImported;
    const NAME: &'static str = "import_markdown";
    const NEEDS: Needs = Needs::new(Profile::Planner, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { project: self.project.clone(), items: self.parent.iter().cloned().collect(), ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<MarkdownImported>, Error> {
        let outline = markdown::outline(&self.markdown);
        let create = self.create(&outline, seen)?;
        match create.decide(call, seen).map_err(without_place)? {
            Decision::Look(scope) => Ok(Decision::Look(scope)),
            Decision::Done(changes, created) => {
                let items = self.tell(&outline.entries, created)?;
                let changes = if self.preview { ChangeSet::default() } else { *changes };
                Ok(Decision::done(changes, MarkdownImported { applied: !self.preview, items }))
            }
        }
    }
}

/// The same error without the place of an item: the caller wrote lines, and the field is one that is said of all of them.
fn without_place(error: Error) -> Error {
    let field = error.field.as_deref().and_then(|field| field.strip_prefix("items["));
    let rest = field.and_then(|field| field.split_once(']')).map(|(_, rest)| rest.trim_start_matches('.').to_owned());
    let field = rest.filter(|rest| !rest.is_empty()).or_else(|| error.field.clone());
    Error { field, ..error }
}

impl ImportMarkdown {
    /// The creation that the text amounts to, or everything that is wrong with the text.
    fn create(&self, outline: &Outline, seen: &Slice) -> Result<Create, Error> {
        let project = seen.selected_project()?;
        let top = match &self.parent {
            Some(parent) => usize::from(seen.resolve(parent).map_err(|error| error.at("parentId"))?.depth) + 1,
            None => 0,
        };
        let mut faults = outline.faults.clone();
        let mut items = Vec::with_capacity(outline.entries.len());
        for (index, entry) in outline.entries.iter().enumerate() {
            match self.new_item(project, top, index, entry) {
                Ok(item) => items.push(item),
                Err(found) => faults.extend(found),
            }
        }
        if !faults.is_empty() {
            return Err(markdown::refused(faults));
        }
        if items.is_empty() {
            let message = "markdown must hold a heading or a list item";
            return Err(Error::validation(Reason::TooFew, message).at("markdown"));
        }
        Ok(Create {
            project: self.project.clone(),
            items,
            edges: Vec::new(),
            notes: Vec::new(),
            blank_notes: false,
            room_below: false,
            atomic: true,
        })
    }

    fn new_item(&self, project: &Project, top: usize, index: usize, entry: &Entry) -> Result<NewItem, Vec<Fault>> {
        let fault =
            |what: &str, invalid: Invalid| Fault::new(entry.line, invalid.reason, format!("{what}{}", invalid.message));
        let depth = check_depth(project, top + entry.depth).map_err(|invalid| fault("", invalid));
        let title = Title::parse(&entry.title).map_err(|invalid| fault("the title ", invalid));
        let description = Some(entry.description.as_str()).filter(|text| !text.is_empty());
        let description =
            description.map(Text::parse).transpose().map_err(|invalid| fault("what lies beneath it ", invalid));
        match (depth, title, description) {
            (Ok(_), Ok(title), Ok(description)) => Ok(NewItem {
                local: Some(index.to_string()),
                parent: match entry.parent {
                    Some(parent) => Some(Parent::Local(parent.to_string())),
                    None => self.parent.clone().map(Parent::Existing),
                },
                description,
                role: entry.done.then_some(Role::Terminal),
                done_before: entry.done,
                status: self.status.clone().filter(|_| !entry.done),
                ..NewItem::titled(title)
            }),
            (depth, title, description) => {
                Err([depth.err(), title.err(), description.err()].into_iter().flatten().collect())
            }
        }
    }

    fn tell(&self, entries: &[Entry], created: Created) -> Result<Vec<ImportedItem>, Error> {
        let told = entries.iter().zip(created.items).map(|(entry, made)| {
            let made = made?;
            Ok(ImportedItem {
                line: entry.line,
                item: Some(made.item.id).filter(|_| !self.preview),
                key: Some(made.key).filter(|_| !self.preview),
                title: made.item.title,
                depth: made.item.depth,
                status: made.item.status,
                parent_line: entry.parent.and_then(|parent| entries.get(parent)).map(|parent| parent.line),
            })
        });
        told.collect()
    }
}
