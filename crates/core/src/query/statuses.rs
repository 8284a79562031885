//! Statuses by name in questions: one that no workflow has is a slip, and not a question that nothing answers to.

use crate::engine::Engine;
use crate::error::{Error, Reason, echo};
use crate::model::Name;
use crate::store::{Filter, ProjectRef, Scope};
use crate::wire::nearest;

impl Engine {
    /// Refuses a list by a status that none of the projects in question has. Only asked where nothing was found, so that a list
    /// costs no more for it, and what stands in a status from before is found all the same.
    pub(super) async fn check_status(&self, filter: &Filter) -> Result<(), Error> {
        let Some(named) = &filter.status else { return Ok(()) };
        let seen = self.view(&asked(&filter.project)).await?;
        let statuses = seen.projects.values().flat_map(|project| &project.workflow.statuses);
        known_among("status", named, &statuses.map(|status| &status.name).collect::<Vec<_>>())
    }

    /// Refuses to wait for statuses that none of the projects in question has: nothing would ever come to stand in them.
    pub(super) async fn check_awaited(&self, project: &ProjectRef, named: &[Name]) -> Result<(), Error> {
        if named.is_empty() {
            return Ok(());
        }
        let seen = self.view(&asked(project)).await?;
        let statuses = seen.projects.values().flat_map(|project| &project.workflow.statuses);
        let known: Vec<&Name> = statuses.map(|status| &status.name).collect();
        let mut each = named.iter().enumerate();
        each.try_for_each(|(index, named)| known_among(&format!("statuses[{index}]"), named, &known))
    }
}

/// The projects in question, whose rules are kept in memory: the one that is named, and otherwise all that may be seen.
fn asked(project: &ProjectRef) -> Scope {
    Scope { project: project.clone(), every_project: *project == ProjectRef::Any, ..Scope::default() }
}

/// Refuses a name that is none of these, by the field that it was said in.
pub(crate) fn known_among(field: &str, named: &Name, known: &[&Name]) -> Result<(), Error> {
    let mut words: Vec<&str> = Vec::new();
    for name in known {
        if !words.contains(&name.as_str()) {
            words.push(name.as_str());
        }
    }
    // A caller without a project has nothing to choose from, and finds nothing whatever it asks.
    if words.is_empty() || words.contains(&named.as_str()) {
        return Ok(());
    }
    let meant = nearest(named.as_str(), &words).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
    let message = format!("{field} must be one of {}, not \"{}\"{meant}", words.join(", "), echo(named.as_str()));
    Err(Error::validation(Reason::UnknownValue, message).at(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Slug;
    use crate::workflow::Workflow;

    #[test]
    fn of_a_project_that_is_named_no_others_are_looked_at() {
        let named = ProjectRef::Slug(Slug::parse("web").expect("a slug"));
        assert_eq!((asked(&named).every_project, asked(&named).project), (false, named));
        assert!(asked(&ProjectRef::Any).every_project);
    }

    #[test]
    fn a_status_that_no_workflow_has_is_a_slip() {
        let workflows = [Workflow::standard(), Workflow::execution()];
        let known: Vec<&Name> =
            workflows.iter().flat_map(|workflow| &workflow.statuses).map(|status| &status.name).collect();
        let asked = |word: &str| known_among("status", &Name::parse(word).expect("a name"), &known);
        for word in ["braindump", "needs_review", "done"] {
            assert_eq!(asked(word), Ok(()), "{word}");
        }
        let error = asked("in-progres").expect_err("a slip");
        assert_eq!((error.reason, error.field.as_deref()), (Reason::UnknownValue, Some("status")));
        assert!(error.message.ends_with("not \"in-progres\"; did you mean \"in_progress\"?"), "{}", error.message);
        assert_eq!(error.message.matches("in_progress").count(), 2, "each is named once: {}", error.message);
        assert!(!asked("colour").expect_err("none like it").message.contains("did you mean"));
        assert_eq!(known_among("status", &Name::parse("x").expect("a name"), &[]), Ok(()));
    }
}
