//! Makes a project, or gives one new rules.

use serde::{Deserialize, Serialize};

use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::{Error, Gate, Reason};
use crate::model::{KeyPrefix, Project, ProjectId, Slug, Title};
use crate::store::{ProjectRef, Scope, Slice};
use crate::workflow::{RankBy, Schemas, Workflow};

/// Makes a project, or changes what is given of one.
#[derive(Clone, Debug, Serialize)]
pub struct SetProject {
    /// Its name in commands and addresses.
    pub slug: Slug,
    /// Its name for people.
    pub name: Option<Title>,
    /// The first half of its keys; fixed once it is made.
    pub prefix: Option<KeyPrefix>,
    /// Its workflow.
    pub workflow: Option<Workflow>,
    /// Its schemas.
    pub schemas: Option<Schemas>,
    /// Whether it is put away, or brought back.
    pub archived: Option<bool>,
    /// Whether a project that exists is an error.
    pub must_be_new: bool,
}

/// The project as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectSet {
    /// The project.
    pub project: Project,
    /// Whether anything changed.
    pub changed: bool,
}

impl Command for SetProject {
    type Output = ProjectSet;
    const NAME: &'static str = "set-project";
    const NEEDS: Needs = Needs::new(Profile::Maintainer, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { project: ProjectRef::Slug(self.slug.clone()), every_project: true, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<ProjectSet>, Error> {
        if let Some(workflow) = &self.workflow {
            workflow.check().map_err(|invalid| Error::from(invalid.at("workflow")))?;
        }
        let mut draft = Draft::new(call, seen);
        let before = seen.selected_project().ok();
        let project = match before {
            Some(_) if self.must_be_new => {
                return Err(Error::conflict(
                    Reason::Duplicate,
                    format!("there is a project \"{}\" already", self.slug),
                ));
            }
            Some(before) => self.change(before, seen)?,
            None => {
                // Said before anything is compared with other projects: what they are called is not this caller's affair.
                call.access.check(Needs::new(Profile::Maintainer, Reach::Everything))?;
                self.make(&mut draft)?
            }
        };
        let changed = before.is_none_or(|before| **before != project);
        let project = Project { version: project.version + u64::from(changed && before.is_some()), ..project };
        if changed {
            draft.put_project(project.clone());
        }
        Ok(Decision::done(draft.finish(), ProjectSet { project, changed }))
    }
}

impl SetProject {
    fn make(&self, draft: &mut Draft<'_>) -> Result<Project, Error> {
        let seen = draft.seen;
        let taken = |prefix: &KeyPrefix| seen.projects.values().any(|project| project.prefix == *prefix);
        let prefix = match &self.prefix {
            Some(prefix) if taken(prefix) => {
                return Err(Error::conflict(
                    Reason::Duplicate,
                    format!("another project's keys begin with {prefix}: choose another prefix"),
                )
                .at("prefix"));
            }
            Some(prefix) => prefix.clone(),
            None => self.free_prefix(taken)?,
        };
        Ok(Project {
            id: ProjectId::from_uuid(draft.new_uuid()),
            slug: self.slug.clone(),
            name: match &self.name {
                Some(name) => name.clone(),
                None => Title::parse(self.slug.as_str())?,
            },
            prefix,
            workflow: self.workflow.clone().unwrap_or_else(Workflow::standard),
            schemas: self.schemas.clone().unwrap_or_default(),
            next_number: 1,
            version: 1,
            created_at: draft.now,
            archived_at: self.archived.unwrap_or(false).then_some(draft.now),
        })
    }

    /// The first letters of the slug, and a number where they are taken.
    fn free_prefix(&self, taken: impl Fn(&KeyPrefix) -> bool) -> Result<KeyPrefix, Error> {
        let letters: String = self.slug.as_str().chars().filter(char::is_ascii_alphanumeric).take(4).collect();
        let base = KeyPrefix::parse(&letters).or_else(|_| KeyPrefix::parse("ITEM"))?;
        let numbered = (2..u32::MAX).map_while(|number| KeyPrefix::parse(&format!("{base}{number}")).ok());
        std::iter::once(base.clone()).chain(numbered).find(|prefix| !taken(prefix)).ok_or_else(|| {
            Error::conflict(Reason::Duplicate, "no prefix is left that begins like the slug: state one").at("prefix")
        })
    }

    fn change(&self, before: &Project, seen: &Slice) -> Result<Project, Error> {
        if self.prefix.as_ref().is_some_and(|prefix| *prefix != before.prefix) {
            return Err(Error::conflict(
                Reason::BadValue,
                format!(
                    "the keys of \"{}\" begin with {}; that cannot change, people have written them down",
                    self.slug, before.prefix
                ),
            )
            .at("prefix"));
        }
        let has_items = seen.next_numbers.get(&before.id).is_some_and(|next| *next > 1);
        let asked = self.workflow.clone().map(|workflow| workflow.over(&before.workflow));
        let workflow = asked.unwrap_or_else(|| before.workflow.clone());
        if has_items {
            keeps_items(&before.workflow, &workflow)?;
        }
        Ok(Project {
            name: self.name.clone().unwrap_or_else(|| before.name.clone()),
            workflow,
            schemas: self.schemas.clone().unwrap_or_else(|| before.schemas.clone()),
            archived_at: match self.archived {
                None => before.archived_at,
                Some(false) => None,
                Some(true) => before.archived_at.or(Some(seen.now)),
            },
            ..before.clone()
        })
    }
}

/// A workflow may not change under items in a way that would leave one without a place or with a wrong rank.
pub(super) fn keeps_items(before: &Workflow, after: &Workflow) -> Result<(), Error> {
    for status in &before.statuses {
        if after.status(&status.name) != Some(status) {
            return Err(Error::conflict(
                Reason::BadValue,
                format!(
                    "items may be in the status \"{}\": a project with items keeps its statuses as they are",
                    status.name
                ),
            )
            .at("workflow"));
        }
    }
    // Who waits for an answer would stand elsewhere, and who was put aside there would be taken for somebody who waits.
    let place = |workflow: &Workflow| workflow.parked().map(|status| status.name.clone());
    if place(before) != place(after) || (before.parked.is_none() && after.parked.is_some()) {
        return Err(Error::conflict(
            Reason::BadValue,
            "the status for questions (parked) of a project with items cannot change: items may be in it, and others wait for an \
             answer where it was",
        )
        .at("workflow"));
    }
    if after.has_review() && !before.has_review() {
        return Err(Error::conflict(
            Reason::BadValue,
            "a project with items cannot get its first status of the role review: people are asked to sign off what is at work",
        )
        .at("workflow"));
    }
    if after.has_gate(Gate::Descendants) && !before.has_gate(Gate::Descendants) {
        return Err(Error::conflict(
            Reason::BadValue,
            "the descendants gate cannot be switched on for a project with items: open work may lie beneath closed work",
        )
        .at("workflow"));
    }
    // Briefs in front leave the places of items without one as they are, and there were none before briefs counted.
    let with_briefs =
        after.ranking.split_first().is_some_and(|(by, rest)| *by == RankBy::Brief && rest == before.ranking);
    if before.ranking != after.ranking && !with_briefs {
        return Err(
            Error::conflict(Reason::BadValue, "the ranking of a project with items cannot change").at("workflow")
        );
    }
    Ok(())
}
