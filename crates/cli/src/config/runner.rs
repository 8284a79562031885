//! `[runner]` of `docket.toml`: where checks run, what may run without approval, and who is asked about pull requests.

use std::path::{Path, PathBuf};

use docket_core::checks::Allowed;
use docket_core::{Invalid, Reason, echo, limits};
use reqwest::Url;

use super::node::{ConfigError, Field};

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunnerSettings {
    /// The repository or worktree; where the program was started, where nothing is said.
    pub(crate) repository: Option<PathBuf>,
    /// Whether `docket runner` makes checks in the work trees that are linked to it, too.
    pub(crate) worktrees: bool,
    /// How many checks `docket runner` makes at once, at the most; as many as there are cores, where nothing is said.
    pub(crate) jobs: Option<usize>,
    /// How many commands run at once in one work tree; one, where nothing is said.
    pub(crate) jobs_per_worktree: Option<usize>,
    /// What may run though nobody approved it.
    pub(crate) allow: Allowed,
    /// Variables that commands find in their environment, beside the usual ones.
    pub(crate) keep: Vec<String>,
    /// Folders that commands may write to, beside the repository.
    pub(crate) writable: Vec<PathBuf>,
    /// Where pull requests are asked about.
    pub(crate) github_api: Option<Url>,
    /// The variable that holds what is shown there.
    pub(crate) github_token_variable: Option<String>,
}

pub(super) fn read(field: &Field<'_>, folder: &Path) -> Result<RunnerSettings, ConfigError> {
    let mut settings = field.settings()?;
    let mut runner = RunnerSettings::default();
    if let Some(field) = settings.get("repository") {
        runner.repository = Some(folder.join(field.text()?));
    }
    if let Some(field) = settings.get("worktrees") {
        runner.worktrees = field.flag()?;
    }
    if let Some(field) = settings.get("jobs") {
        runner.jobs = Some(jobs(&field)?);
    }
    if let Some(field) = settings.get("jobs_per_worktree") {
        runner.jobs_per_worktree = Some(jobs(&field)?);
    }
    if let Some(field) = settings.get("allow") {
        runner.allow = allow(&field)?;
    }
    if let Some(field) = settings.get("keep_variables") {
        runner.keep = field.list()?.iter().map(|name| name.parsed_by(variable)).collect::<Result<_, _>>()?;
    }
    if let Some(field) = settings.get("writable") {
        let paths = field.list()?;
        runner.writable =
            paths.iter().map(|path| path.text().map(|path| folder.join(path))).collect::<Result<_, _>>()?;
    }
    if let Some(field) = settings.get("github_api") {
        runner.github_api = Some(field.parsed_by(address)?);
    }
    if let Some(field) = settings.get("github_token_variable") {
        runner.github_token_variable = Some(field.parsed_by(variable)?);
    }
    settings.finish()?;
    Ok(runner)
}

fn jobs(field: &Field<'_>) -> Result<usize, ConfigError> {
    let number: usize = field.number()?;
    if (1..=limits::RUNNER_JOBS).contains(&number) {
        return Ok(number);
    }
    Err(field.error(format!("must be from 1 to {}, not {number}", limits::RUNNER_JOBS)))
}

fn allow(field: &Field<'_>) -> Result<Allowed, ConfigError> {
    if let Ok(lines) = field.list() {
        let lines = lines.iter().map(|line| line.text().map(str::to_owned)).collect::<Result<_, _>>()?;
        return Ok(Allowed::These(lines));
    }
    match field.text() {
        Ok("all") => Ok(Allowed::Everything),
        Ok("none") => Ok(Allowed::Nothing),
        Ok(_) | Err(_) => Err(field.error("must be \"all\", \"none\" or a list of command lines")),
    }
}

fn variable(text: &str) -> Result<String, Invalid> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'*');
    if plain && !text.is_empty() {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(Reason::BadValue, format!("must be the name of a variable, not \"{}\"", echo(text))))
}

fn address(text: &str) -> Result<Url, Invalid> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(|| {
        Invalid::new(Reason::BadValue, format!("must be an http or https address, not \"{}\"", echo(text)))
    })
}
