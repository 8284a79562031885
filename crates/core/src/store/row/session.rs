//! Sessions.

use serde::Deserialize;
use uuid::Uuid;

use super::Millis;
use super::talk::ulid;
use crate::model::{Fence, ItemId, Name, Progress, ProjectId, Runtime, Session, SessionId, SessionState, Text};
use crate::store::code::Code;

/// A row of `sessions`.
#[derive(Debug, Deserialize)]
pub struct SessionRow {
    id: Uuid,
    item: ItemId,
    project: ProjectId,
    actor: Name,
    state: Code<SessionState>,
    fence: u64,
    started_at: Millis,
    heartbeat_at: Millis,
    ended_at: Option<Millis>,
    runtime: Runtime,
    progress: Progress,
    summary: Option<Text>,
    head: Option<Name>,
    reason: Option<Text>,
}

impl From<SessionRow> for Session {
    fn from(row: SessionRow) -> Self {
        Self {
            id: SessionId(ulid(row.id)),
            item: row.item,
            project: row.project,
            actor: row.actor,
            state: row.state.0,
            fence: Fence(row.fence),
            started_at: row.started_at.into(),
            heartbeat_at: row.heartbeat_at.into(),
            ended_at: row.ended_at.map(Into::into),
            runtime: row.runtime,
            progress: row.progress,
            summary: row.summary,
            head: row.head,
            reason: row.reason,
        }
    }
}
