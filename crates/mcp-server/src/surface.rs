//! A surface is a named set of tools over the engine. Dialects and the native surface plug in here.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use docket_core::access::Needs;
use docket_core::model::ItemRef;
use docket_core::{Error, Reason, echo};
use rmcp::model::{
    CompletionInfo, GetPromptResult, JsonObject, Prompt, Reference, Resource, ResourceContents, ResourceTemplate, Tool,
};

use crate::answer::Answer;
use crate::dialects::{Cairn, Execution, Foresttasks, TaskOrchestrator};
use crate::native::Docket;
use crate::session::Session;

/// A tool call under way.
pub type Calling<'s> = Pin<Box<dyn Future<Output = Answer> + Send + 's>>;

/// Anything else that a surface was asked for, under way.
pub type Getting<'s, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 's>>;

/// What changes a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Whatever is done to an item.
    Item(ItemRef),
    /// Whatever is done in the project of this slug or id.
    Project(String),
    /// Nothing: it changes with the program alone.
    Still,
}

/// A text about a surface that people can read, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guide {
    /// What a page of it is called in an address.
    pub name: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What it says, in Markdown.
    pub text: &'static str,
}

/// An argument whose values a person wants to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Completing<'a> {
    /// The template or prompt that has the argument.
    pub of: &'a Reference,
    /// Its name.
    pub argument: &'a str,
    /// What was typed so far.
    pub typed: &'a str,
    /// The other arguments, as far as they are known.
    pub known: &'a BTreeMap<String, String>,
}

/// A set of tools, and of what else the protocol has. It parses, calls the engine and shapes answers; it holds no rule.
pub trait Surface: Send + Sync + 'static {
    /// What `--surface` calls it.
    fn name(&self) -> &'static str;

    /// What an agent should know before its first call.
    fn instructions(&self) -> &'static str;

    /// Its tools, made once.
    fn tools(&self) -> &[Tool];

    /// What a caller needs for the least that a tool can do; `None` where it reads.
    fn needs(&self, tool: &str) -> Option<Needs>;

    /// Calls a tool; `None` when it has none of this name.
    fn call<'s>(&'s self, session: &'s Session, tool: &str, arguments: JsonObject) -> Option<Calling<'s>>;

    // What follows is there where a surface has any of it; where it has none, the methods are not there either.

    /// Texts about it that have a page where it is served over HTTP.
    fn guides(&self) -> &'static [Guide] {
        &[]
    }

    /// Resources that have an address of their own, made once. No text of items or projects is in them.
    fn resources(&self) -> &[Resource] {
        &[]
    }

    /// Resources whose addresses have a part to fill in, made once.
    fn resource_templates(&self) -> &[ResourceTemplate] {
        &[]
    }

    /// Reads a resource; `None` when no address of this surface has this form.
    fn read<'s>(&'s self, session: &'s Session, uri: &str) -> Option<Getting<'s, ResourceContents>> {
        _ = (session, uri);
        None
    }

    /// What changes a resource, for whoever subscribes to it; `None` when nobody can. A surface with resources that can be
    /// subscribed to says so by [`Surface::has_subscriptions`].
    fn watch(&self, uri: &str) -> Option<Watch> {
        _ = uri;
        None
    }

    /// Whether any resource can be subscribed to.
    fn has_subscriptions(&self) -> bool {
        false
    }

    /// Prompts for a person to choose from, made once.
    fn prompts(&self) -> &[Prompt] {
        &[]
    }

    /// A prompt with its arguments filled in; `None` when it has none of this name.
    fn prompt<'s>(
        &'s self,
        session: &'s Session,
        name: &str,
        arguments: JsonObject,
    ) -> Option<Getting<'s, GetPromptResult>> {
        _ = (session, name, arguments);
        None
    }

    /// Values that an argument may be completed to; `None` when there is no such argument. A surface that completes says
    /// so by [`Surface::has_completions`].
    fn complete<'s>(&'s self, session: &'s Session, completing: Completing<'_>) -> Option<Getting<'s, CompletionInfo>> {
        _ = (session, completing);
        None
    }

    /// Whether any argument can be completed.
    fn has_completions(&self) -> bool {
        false
    }
}

/// The names of all surfaces, the default first.
pub fn surfaces() -> &'static [&'static str] {
    &[Docket::NAME, TaskOrchestrator::NAME, Foresttasks::NAME, Cairn::NAME, Execution::NAME]
}

/// Whether the tools of a surface name projects themselves. Such a surface may be served without choosing one first; the
/// others are about a single project.
pub fn names_projects(surface: &str) -> bool {
    [Docket::NAME, Foresttasks::NAME].contains(&surface)
}

/// The surface of this name.
pub fn surface(name: &str) -> Result<Arc<dyn Surface>, Error> {
    match name {
        Docket::NAME => Ok(Arc::new(Docket::new())),
        TaskOrchestrator::NAME => Ok(Arc::new(TaskOrchestrator::new())),
        Foresttasks::NAME => Ok(Arc::new(Foresttasks::new())),
        Cairn::NAME => Ok(Arc::new(Cairn::new())),
        Execution::NAME => Ok(Arc::new(Execution::new())),
        _ => Err(Error::validation(
            Reason::UnknownValue,
            format!("surface must be one of {}, not \"{}\"", surfaces().join(", "), echo(name)),
        )
        .at("surface")),
    }
}
