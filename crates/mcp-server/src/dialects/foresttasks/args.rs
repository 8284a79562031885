//! Arguments that several tools share: the act behind a discriminator, profiles, includes, projects, statuses.

use docket_core::model::{ItemRef, Name};
use docket_core::query::Section;
use docket_core::store::{Around, ProjectRef};
use docket_core::{Error, Invalid, Reason, echo};
use rmcp::model::JsonObject;
use serde_json::Value;

pub(super) use crate::args::{item_ref, long_text, moment, name, need_batch, one_of, request_id, tag};
use crate::input::{Fields, wrong_type};
use crate::session::Session;

/// One act of a composite tool: its word, what it means, and the fields it knows.
#[derive(Debug)]
pub(super) struct Act<T: 'static> {
    pub(super) word: &'static str,
    pub(super) means: T,
    pub(super) fields: &'static [&'static str],
}

/// The act that a call asks for, and its fields. A field of another act is refused like one that nobody knows.
pub(super) fn choose<T: Copy>(
    arguments: JsonObject,
    by: &'static str,
    acts: &'static [Act<T>],
    usual: Option<&'static str>,
) -> Result<(T, Fields), Error> {
    let words = || acts.iter().map(|act| act.word).collect::<Vec<_>>().join(", ");
    let word = match (arguments.get(by), usual) {
        (Some(Value::String(word)), _) => word.trim(),
        (None | Some(Value::Null), Some(usual)) => usual,
        (None | Some(Value::Null), None) => {
            let message = format!("{by} is required: one of {}", words());
            return Err(Error::validation(Reason::MissingField, message).at(by));
        }
        (Some(other), _) => return Err(wrong_type(by, "a string", other)),
    };
    let Some(act) = acts.iter().find(|act| act.word.eq_ignore_ascii_case(word)) else {
        let message = format!("{by} must be one of {}, not \"{}\"", words(), echo(word));
        return Err(Error::validation(Reason::UnknownValue, message).at(by));
    };
    let known: Vec<&str> = std::iter::once(by).chain(act.fields.iter().copied()).collect();
    let mut fields = Fields::open(arguments, &known)?;
    // It was read here.
    fields.given(by);
    Ok((act.means, fields))
}

/// How much of a task is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// The guard.
    Compact,
    /// What whoever works on it must know.
    Work,
    /// Everything, rows as they are kept included.
    Full,
}

/// The words for it.
pub(super) const PROFILES: &[(&str, Profile)] =
    &[("compact", Profile::Compact), ("work", Profile::Work), ("full", Profile::Full)];

/// The words of `detail`: whether everything is told.
pub(super) const DETAILS: &[(&str, bool)] = &[("concise", false), ("full", true)];

/// Sections that are only read when they are asked for.
const INCLUDES: &[(&str, Section)] = &[
    ("links", Section::Links),
    ("relations", Section::Relations),
    ("activity", Section::Activity),
    ("subtasks", Section::Subtasks),
];
/// Their words.
pub(super) const INCLUDE_WORDS: &[&str] = &["links", "relations", "activity", "subtasks"];

/// The sections that a call asks for.
pub(super) fn includes(fields: &mut Fields) -> Result<Vec<Section>, Error> {
    Ok(fields.texts("include", one_of(INCLUDES))?.unwrap_or_default())
}

/// The project that a call is about: the one it names, else the connection's, else the only one.
pub(super) async fn project(session: &Session, fields: &mut Fields) -> Result<ProjectRef, Error> {
    let named = project_word(fields)?;
    let selected = session.engine().select_project(named.as_deref(), session.project()).await;
    selected.map_err(at_project)
}

/// The project that a call names, else another: for reads that need none.
pub(super) async fn project_or(session: &Session, fields: &mut Fields, usual: ProjectRef) -> Result<ProjectRef, Error> {
    let Some(named) = project_word(fields)? else { return Ok(usual) };
    Ok(ProjectRef::Id(session.engine().project_named(&named).await.map_err(at_project)?.id))
}

/// The project that a call about one task names, in which the task must be; else the connection's.
pub(super) async fn project_of(session: &Session, task: &ItemRef, fields: &mut Fields) -> Result<ProjectRef, Error> {
    let project = project_or(session, fields, ProjectRef::Any).await?;
    let ProjectRef::Id(meant) = project else { return Ok(session.project().clone()) };
    let seen = session.engine().show(&project, std::slice::from_ref(task), Around::default()).await?;
    if seen.resolve(task)?.project != meant {
        return Err(
            Error::not_found(format!("no task \"{}\" in that project", echo(&task.to_string()))).at("projectId")
        );
    }
    Ok(project)
}

/// The project that a call names, as it is spelled.
pub(super) fn project_word(fields: &mut Fields) -> Result<Option<String>, Error> {
    fields.parsed("projectId", |word| Ok(word.trim().to_owned()))
}

/// Names the field at fault as this dialect spells it.
pub(super) fn at_project(error: Error) -> Error {
    let field = error.field.as_deref().map(|field| if field == "project" { "projectId" } else { field }.to_owned());
    Error { field, ..error }
}

/// A task that must be named.
pub(super) fn need_task(fields: &mut Fields, field: &str) -> Result<ItemRef, Error> {
    fields.need(field, item_ref)
}

/// A status by name; whether the workflow has it is not said here.
pub(super) fn status(text: &str) -> Result<Name, Invalid> {
    Name::parse(text)
}

/// How many rows are wanted, up to as many as a list has.
pub(super) fn limit(fields: &mut Fields, most: usize) -> Result<usize, Error> {
    let Some(number) = fields.whole("limit")? else { return Ok(most) };
    usize::try_from(number).ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        Error::validation(Reason::BadValue, format!("limit must be from 1 to {most}, not {number}")).at("limit")
    })
}
