//! Which project a caller means.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use crate::access::Access;
use crate::engine::Engine;
use crate::error::{Code, Error, Kind, Reason, echo};
use crate::limits;
use crate::model::{Project, ProjectId, Slug, Tag};
use crate::query::{Agent, NextQuery};
use crate::store::ProjectRef;

/// The projects that are thought of when nobody says which one is meant: those that were not put away; all of them, where
/// every one was.
pub fn thought_of(projects: &[Project]) -> Vec<&Project> {
    let living: Vec<&Project> = projects.iter().filter(|project| project.archived_at.is_none()).collect();
    if living.is_empty() { projects.iter().collect() } else { living }
}

impl Engine {
    /// The same engine for a list of what is to be done: where no project is meant in particular, nothing of those that were
    /// put away is in it.
    pub(crate) async fn among_living(&self, project: &ProjectRef) -> Result<Self, Error> {
        if *project != ProjectRef::Any {
            return Ok(self.clone());
        }
        let all = self.projects().await?;
        let living: BTreeSet<ProjectId> =
            all.iter().filter(|project| project.archived_at.is_none()).map(|project| project.id).collect();
        if living.len() == all.len() {
            return Ok(self.clone());
        }
        Ok(self.limited_to(Access { projects: Some(living), ..self.access().clone() }))
    }

    /// The project that a caller names by slug or id. One that was put away, or may not be seen, is not there.
    pub async fn project_named(&self, named: &str) -> Result<Project, Error> {
        let found = self.project_or_archive(named).await?;
        Some(found).filter(|project| project.archived_at.is_none()).ok_or_else(|| no_project(named))
    }

    /// The same, also where it was put away: such a project is read as ever, and a write in it is told that it is archived.
    pub async fn project_or_archive(&self, named: &str) -> Result<Project, Error> {
        let id = ProjectId::from_str(named).ok();
        let slug = Slug::parse(named).ok();
        let meant = |project: &Project| Some(project.id) == id || Some(&project.slug) == slug.as_ref();
        self.projects().await?.into_iter().find(meant).ok_or_else(|| no_project(named))
    }

    /// The project that a call is about: the one it names, else the one its connection is about, else the only one that
    /// the caller may see.
    pub async fn select_project(&self, named: Option<&str>, usual: &ProjectRef) -> Result<ProjectRef, Error> {
        match (named, usual) {
            (Some(named), _) => Ok(ProjectRef::Id(self.project_named(named).await?.id)),
            (None, ProjectRef::Id(_) | ProjectRef::Slug(_)) => Ok(usual.clone()),
            (None, ProjectRef::Any) => {
                let all = self.projects().await?;
                let mut live = all.iter().filter(|project| project.archived_at.is_none());
                match (live.next(), live.next()) {
                    (Some(only), None) => Ok(ProjectRef::Id(only.id)),
                    (Some(_) | None, _) => Err(required(&all)),
                }
            }
        }
    }

    /// Where work is looked for: in the project that a call names or its connection is about, else in all that the caller
    /// may see, first in those that have the best work for this agent.
    pub async fn projects_to_work_in(
        &self,
        named: Option<&str>,
        usual: &ProjectRef,
        agent: Agent,
        tags: Vec<Tag>,
    ) -> Result<Vec<ProjectRef>, Error> {
        if named.is_some() || *usual != ProjectRef::Any {
            return Ok(vec![self.select_project(named, usual).await?]);
        }
        let query = NextQuery { agent: Some(agent), tags, ..NextQuery::of(ProjectRef::Any, limits::PAGE) };
        let mut order: Vec<ProjectId> = Vec::new();
        let best = self.next(&query, None).await?.items.into_iter().map(|ready| ready.item.project);
        let all = self.projects().await?;
        let live = all.iter().filter(|project| project.archived_at.is_none()).map(|project| project.id);
        for project in best.chain(live) {
            if !order.contains(&project) {
                order.push(project);
            }
        }
        if order.is_empty() {
            return Err(required(&all));
        }
        Ok(order.into_iter().map(ProjectRef::Id).collect())
    }
}

fn no_project(named: &str) -> Error {
    Error::not_found(format!("no project \"{}\"", echo(named))).at("project")
}

fn required(projects: &[Project]) -> Error {
    let slugs: Vec<&str> = projects
        .iter()
        .filter(|project| project.archived_at.is_none())
        .map(|project| project.slug.as_str())
        .take(20)
        .collect();
    let message = if slugs.is_empty() {
        "there is no project that this caller may see".to_owned()
    } else {
        format!("which project? name one of {}", slugs.join(", "))
    };
    Error::new(Kind::Permanent, Code::ProjectRequired, Reason::ProjectRequired, message).at("project")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;
    use crate::testing::rows::project;

    #[test]
    fn what_was_put_away_is_thought_of_only_where_there_is_nothing_else() {
        let away = |project: Project| Project { archived_at: Some(Timestamp::from_millis(1)), ..project };
        let slugs = |projects: &[Project]| -> Vec<String> {
            thought_of(projects).into_iter().map(|project| project.slug.to_string()).collect()
        };
        assert_eq!(slugs(&[project("web", "WEB"), away(project("old", "OLD"))]), ["web"]);
        assert_eq!(slugs(&[project("web", "WEB"), project("api", "API")]), ["web", "api"]);
        assert_eq!(slugs(&[away(project("old", "OLD"))]), ["old"]);
        assert!(slugs(&[]).is_empty());
    }
}
