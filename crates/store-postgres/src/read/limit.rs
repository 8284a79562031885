//! Which projects are meant and which may be seen, as conditions. Without a limit they add nothing to a statement.

use docket_core::store::{ProjectRef, Visible};

use crate::script::{Param, Script};

/// The projects that the caller may see.
#[derive(Clone, Debug)]
pub(super) struct Limit(Option<Set>);

/// Projects as a subquery of their ids.
#[derive(Clone, Debug)]
pub(super) enum Set {
    /// One at the most.
    One(String),
    /// Those of a bound array.
    Several(Param),
}

impl Limit {
    pub(super) fn of(script: &mut Script, visible: &Visible) -> Self {
        let Some(visible) = visible else { return Self(None) };
        let mut ids = visible.iter();
        if let (Some(only), None) = (ids.next(), ids.next()) {
            let id = script.uuid(only.as_uuid());
            return Self(Some(Set::One(format!("SELECT {id}::uuid AS id"))));
        }
        Self(Some(Set::Several(script.uuids(visible.iter().map(|id| id.as_uuid())))))
    }

    /// One more condition: that the column names a project that may be seen.
    pub(super) fn and(&self, column: &str) -> String {
        self.0.as_ref().map_or_else(String::new, |set| format!(" AND {}", set.holds(column)))
    }

    /// One more condition: that the column names an item of a project that may be seen.
    pub(super) fn and_item(&self, column: &str) -> String {
        self.0.as_ref().map_or_else(String::new, |set| {
            format!(" AND EXISTS (SELECT 1 FROM items z WHERE z.id = {column} AND {})", set.holds("z.project_id"))
        })
    }

    /// One more condition: that the column names an item that something was ever done to in such a project, or none.
    pub(super) fn and_once(&self, column: &str) -> String {
        self.0.as_ref().map_or_else(String::new, |set| {
            let known =
                format!("EXISTS (SELECT 1 FROM events z WHERE z.item_id = {column} AND {})", set.holds("z.project_id"));
            format!(" AND ({column} IS NULL OR {known})")
        })
    }

    /// All projects that may be seen, as a subquery.
    pub(super) fn projects(&self) -> String {
        match &self.0 {
            None => "SELECT id FROM projects".to_owned(),
            Some(set) => format!("SELECT id FROM projects WHERE {}", set.holds("id")),
        }
    }

    /// The project that was named, if it may be seen; `None` when none was named.
    pub(super) fn named(&self, script: &mut Script, project: &ProjectRef) -> Option<Set> {
        if *project == ProjectRef::Any { None } else { self.meant(script, project) }
    }

    /// The project that was named, or all that may be seen where there is a limit; `None` when all are meant.
    pub(super) fn meant(&self, script: &mut Script, project: &ProjectRef) -> Option<Set> {
        let named = match project {
            ProjectRef::Any => return self.0.clone(),
            ProjectRef::Id(id) if self.0.is_none() => {
                let id = script.uuid(id.as_uuid());
                return Some(Set::One(format!("SELECT {id}::uuid AS id")));
            }
            ProjectRef::Id(id) => format!("id = {}", script.uuid(id.as_uuid())),
            ProjectRef::Slug(slug) => format!("slug = {}", script.text(slug.as_str())),
        };
        Some(Set::One(format!("SELECT id FROM projects WHERE {named}{}", self.and("id"))))
    }
}

impl Set {
    /// The condition that a column names one of them.
    pub(super) fn holds(&self, column: &str) -> String {
        match self {
            Self::One(select) => format!("{column} = ({select})"),
            Self::Several(ids) => format!("{column} = ANY({ids})"),
        }
    }

    /// The ids.
    pub(super) fn select(&self) -> String {
        match self {
            Self::One(select) => select.clone(),
            Self::Several(ids) => format!("SELECT unnest({ids}) AS id"),
        }
    }
}
