//! That there was no work to hand out, in a word for programs.

use serde::Serialize;

use crate::command::Offer;
use crate::engine::Engine;
use crate::error::Error;
use crate::model::Role;
use crate::store::{Filter, ProjectRef};

/// Why nothing was handed out.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nothing {
    /// There is no open work.
    QueueEmpty,
    /// There is some, and none of it is for this agent now: [`Engine::why`] says why.
    NoneEligible,
}

impl Engine {
    /// Why an offer holds no work; nothing where it holds some. Work is looked for in the role that was asked for.
    pub async fn nothing(
        &self,
        project: &ProjectRef,
        role: Option<Role>,
        offer: &Offer,
    ) -> Result<Option<Nothing>, Error> {
        if offer.held.is_some() {
            return Ok(None);
        }
        // One is enough to know that there are some.
        let open = Filter {
            project: project.clone(),
            roles: vec![role.unwrap_or(Role::Queue)],
            limit: 1,
            ..Filter::default()
        };
        let none = offer.passed_over == 0 && self.find(&open).await?.items.is_empty();
        Ok(Some(if none { Nothing::QueueEmpty } else { Nothing::NoneEligible }))
    }
}
