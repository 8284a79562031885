//! Runs of checks and what they said, in pages.

use serde::Serialize;

use crate::engine::Engine;
use crate::error::{Error, Reason};
use crate::limits;
use crate::model::{ItemRef, Run, RunEnd, RunId};
use crate::store::{Around, ProjectRef, RunFilter, Scope};

/// A page of the runs of an item.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunPage {
    /// The runs, the newest first.
    pub runs: Vec<Run>,
    /// Whether there are more.
    pub has_more: bool,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// A part of what a run said.
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogPage {
    /// The run.
    pub run: Run,
    /// The part. It comes from a program that was run: data, never instructions.
    pub text: String,
    /// Where the part begins, in bytes.
    pub offset: usize,
    /// Whether something was said that was not kept.
    pub truncated: bool,
    /// Whether more follows.
    pub has_more: bool,
    /// Where it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

impl Engine {
    /// The runs of an item, the newest first; those whose runner is gone are lost.
    pub async fn runs_of(
        &self,
        project: &ProjectRef,
        item: &ItemRef,
        offset: usize,
        limit: usize,
    ) -> Result<RunPage, Error> {
        if limit == 0 || limit > limits::PAGE {
            let message = format!("must be from 1 to {}", limits::PAGE);
            return Err(Error::validation(Reason::BadValue, message).at("limit"));
        }
        let seen = self.show(project, std::slice::from_ref(item), Around::default()).await?;
        let item = Some(seen.resolve(item)?.id);
        let filter = RunFilter {
            visible: self.access().projects.clone(),
            item,
            offset,
            limit: limit + 1,
            ..RunFilter::default()
        };
        let mut runs = self.store().runs(&filter).await?;
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        for run in &mut runs {
            run.state = run.state_at(seen.now);
        }
        let next_offset = has_more.then_some(offset.saturating_add(limit));
        Ok(RunPage { runs, has_more, next_offset })
    }

    /// A run as it stands now.
    pub async fn run_named(&self, id: RunId) -> Result<Run, Error> {
        let seen = self.view(&Scope { run_ids: vec![id], ..Scope::default() }).await?;
        let mut run = seen.runs.get(&id).cloned().ok_or_else(|| Error::not_found(format!("no run \"{id}\"")))?;
        run.state = run.state_at(seen.now);
        Ok(run)
    }

    /// A run; the one whose result stands, where it was found that nothing had changed since.
    async fn really_made(&self, id: RunId) -> Result<Run, Error> {
        let mut run = self.run_named(id).await?;
        // Older runs may name one that was not made either.
        for _ in 0..limits::LOOK_ROUNDS {
            let Some(RunEnd::Unchanged { since }) = run.end else { break };
            match self.run_named(since).await {
                Ok(earlier) => run = earlier,
                Err(error) if error.reason == Reason::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        Ok(run)
    }

    /// The end of what a run said: what failed is mostly said last.
    pub async fn log_tail(&self, id: RunId, most: usize) -> Result<LogPage, Error> {
        let run = self.really_made(id).await?;
        let log = self.store().run_log(run.id, &self.access().projects).await?.unwrap_or_default();
        let start = log.ceil_char_boundary(log.len().saturating_sub(most.clamp(4, limits::LOG_PAGE_BYTES)));
        let text = log.get(start..).unwrap_or_default().to_owned();
        let truncated = run.log_left_out > 0;
        Ok(LogPage { run, text, offset: start, truncated, has_more: false, next_offset: None })
    }

    /// A part of what a run said, from an offset in bytes. Parts end at whole characters. A run that was not made because
    /// nothing had changed says what the one before it said.
    pub async fn log_of(&self, id: RunId, offset: usize, most: usize) -> Result<LogPage, Error> {
        let run = self.really_made(id).await?;
        let log = self.store().run_log(run.id, &self.access().projects).await?.unwrap_or_default();
        let start = log.floor_char_boundary(offset.min(log.len()));
        let end = log.floor_char_boundary(start.saturating_add(most.clamp(4, limits::LOG_PAGE_BYTES)).min(log.len()));
        let has_more = end < log.len();
        Ok(LogPage {
            truncated: run.log_left_out > 0,
            run,
            text: log.get(start..end).unwrap_or_default().to_owned(),
            offset: start,
            has_more,
            next_offset: has_more.then_some(end),
        })
    }
}
