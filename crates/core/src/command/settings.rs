//! Changes switches of a project's workflow, and leaves the rest of it as it is.

use serde::Serialize;

use super::project_set::{ProjectSet, keeps_items};
use crate::access::{Needs, Profile, Reach};
use crate::engine::{Call, Command, Decision, Draft};
use crate::error::Error;
use crate::model::{Project, Slug};
use crate::store::{ProjectRef, Scope, Slice};
use crate::workflow::Settings;

/// Changes switches of a project.
#[derive(Clone, Debug, Serialize)]
pub struct SetSettings {
    /// The project.
    pub slug: Slug,
    /// What changes; the rest stays as it is, whoever changed that meanwhile.
    pub settings: Settings,
}

impl Command for SetSettings {
    type Output = ProjectSet;
    const NAME: &'static str = "set-settings";
    const NEEDS: Needs = Needs::new(Profile::Maintainer, Reach::Project);

    fn scope(&self, _call: &Call) -> Scope {
        Scope { project: ProjectRef::Slug(self.slug.clone()), every_project: true, ..Scope::default() }
    }

    fn decide(&self, call: &Call, seen: &Slice) -> Result<Decision<ProjectSet>, Error> {
        let mut draft = Draft::new(call, seen);
        let before = seen.selected_project()?;
        let workflow = self.settings.applied_to(&before.workflow);
        workflow.check().map_err(|invalid| Error::from(invalid.at("settings")))?;
        if seen.next_numbers.get(&before.id).is_some_and(|next| *next > 1) {
            keeps_items(&before.workflow, &workflow).map_err(|error| error.called("workflow", "settings"))?;
        }
        let changed = workflow != before.workflow;
        let version = before.version + u64::from(changed);
        let project = Project { workflow, version, ..Project::clone(before) };
        if changed {
            draft.put_project(project.clone());
        }
        Ok(Decision::done(draft.finish(), ProjectSet { project, changed }))
    }
}
