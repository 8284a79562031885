//! `docket project`: named sets of items with rules of their own.

use clap::Subcommand;
use docket_core::command::SetProject;
use docket_core::model::{KeyPrefix, Project, Role, Slug, Title};
use docket_core::workflow::{Status, Workflow};
use docket_core::{Error, Reason};

use crate::exit::Failure;
use crate::output::table::{Rows, Text};
use crate::output::{Paint, escape};
use crate::session::{Access, Shell, apply_rules};

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// List the projects of the database
    List,
    /// Show a project and its rules
    Show,
    /// Make a project, or change one; what docket.toml says of it is applied
    Set(SetArgs),
    /// Put a project away: what is in it stays to be read, and nothing in it can be changed
    Archive(SlugArgs),
    /// Bring a project back that was put away
    Restore(SlugArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SlugArgs {
    /// The project's slug
    slug: String,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket project set web --name \"Web shop\" --prefix WEB --preset standard\n  docket project set              apply docket.toml now"
)]
pub(crate) struct SetArgs {
    /// The project's slug: lower-case letters, digits and hyphens [default: the project at hand]
    slug: Option<String>,
    /// Its name for people
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The first half of its keys; fixed once it is made
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
    /// Its workflow: standard, task-orchestrator, foresttasks, cairn or execution; a project with items keeps its statuses
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Whether it is put away: what is in it stays to be read, and nothing in it can be changed
    #[arg(long, value_name = "BOOLEAN")]
    archived: Option<bool>,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::List => list(shell).await,
        Act::Show => show(shell).await,
        Act::Set(args) => set(shell, args).await,
        Act::Archive(args) => put_away(shell, &args.slug, true).await,
        Act::Restore(args) => put_away(shell, &args.slug, false).await,
    }
}

async fn list(shell: &Shell) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    shell.out.answer(&session.projects, |paint| {
        let mut rows = Rows::new(paint, &["SLUG", "PREFIX", "NAME", "WORKFLOW", ""]);
        for project in &session.projects {
            rows.add(vec![
                Text::key(project.slug.as_str()),
                Text::plain(project.prefix.as_str()),
                Text::plain(project.name.as_str()),
                Text::dim(project.workflow.preset.as_str()),
                Text::dim(if project.archived_at.is_some() { "archived" } else { "" }),
            ]);
        }
        if rows.is_empty() { vec![paint.dim("no projects: `docket project set SLUG` makes one")] } else { rows.lines() }
    })
}

async fn show(shell: &Shell) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let project = session.project()?;
    shell.out.answer(project, |paint| render(project, paint))
}

async fn set(shell: &Shell, args: SetArgs) -> Result<(), Failure> {
    let workflow =
        args.preset.as_deref().map(Workflow::preset).transpose().map_err(|invalid| invalid.at("--preset"))?;
    let slug = args.slug.as_deref().map(Slug::parse).transpose().map_err(|invalid| invalid.at("SLUG"))?;
    let name = args.name.as_deref().map(Title::parse).transpose().map_err(|invalid| invalid.at("--name"))?;
    let prefix = args.prefix.as_deref().map(KeyPrefix::parse).transpose().map_err(|invalid| invalid.at("--prefix"))?;
    let config = shell.configuration()?;
    let session = shell.session(Access::Write).await?;
    let slug = match slug {
        Some(slug) => slug,
        None => session.project()?.slug.clone(),
    };
    let before = session.projects.iter().find(|project| project.slug == slug).cloned();
    let archived = args.archived;
    let changes = SetProject { slug, name, prefix, workflow, schemas: None, archived, must_be_new: false };
    let nothing =
        changes.name.is_none() && changes.prefix.is_none() && changes.workflow.is_none() && changes.archived.is_none();
    let project = match before {
        Some(project) if nothing => project,
        Some(_) | None => session.everywhere().run(session.call(), changes).await?.project,
    };
    let project = apply_rules(&session.everywhere(), session.caller(), &config, &project).await?;
    if args.preset.as_deref().is_some_and(|preset| project.workflow.preset.as_str() != preset) {
        let message =
            format!("docket.toml sets the preset of this project to {}: change it there", project.workflow.preset);
        return Err(Error::conflict(Reason::BadValue, message).at("preset").into());
    }
    shell.out.answer(&project, |paint| render(&project, paint))
}

async fn put_away(shell: &Shell, slug: &str, archived: bool) -> Result<(), Failure> {
    let slug = Slug::parse(slug).map_err(|invalid| invalid.at("SLUG"))?;
    // Looked at first: what is not there is not made, and a project that was put away takes no rules from a file.
    let session = shell.session(Access::Read).await?;
    if !session.projects.iter().any(|project| project.slug == slug) {
        return Err(crate::session::no_project(&session.projects, &slug).into());
    }
    let config = shell.configuration()?;
    let database = shell.open_store(Access::Write, config.durability.unwrap_or_default()).await?;
    let engine = docket_core::Engine::new(database.store());
    let set = SetProject {
        slug,
        name: None,
        prefix: None,
        workflow: None,
        schemas: None,
        archived: Some(archived),
        must_be_new: false,
    };
    let set = engine.run(session.call(), set).await?;
    shell.out.answer(&set.project, |paint| {
        let done = if archived { "put away" } else { "brought back" };
        vec![format!("{} {} {}", paint.good(done), set.project.slug, escape::line(set.project.name.as_str()))]
    })
}

/// Whether work in a status is handed out to whoever asks for the best there is.
fn handed_out(status: &Status) -> &'static str {
    match status.role {
        Role::Queue if status.claimable => "yes",
        Role::Work if status.claimable => "once left",
        Role::Queue | Role::Work | Role::Review | Role::Blocked | Role::Terminal => "no",
    }
}

fn render(project: &Project, paint: Paint) -> Vec<String> {
    let workflow = &project.workflow;
    let gates: Vec<&str> = workflow.gates.iter().map(|gate| gate.as_str()).collect();
    let claims = workflow.claims;
    let mut lines = vec![
        format!("{} {}", paint.key(project.slug.as_str()), paint.bold(&escape::line(project.name.as_str()))),
        format!("  {} {} …", paint.dim("keys      "), project.key(1)),
        format!("  {} {}", paint.dim("workflow  "), escape::line(workflow.preset.as_str())),
        format!("  {} {}", paint.dim("gates     "), gates.join(", ")),
        format!(
            "  {} {} s, {} an agent{}",
            paint.dim("leases    "),
            claims.ttl_seconds,
            if claims.per_agent == 0 { "any number".to_owned() } else { claims.per_agent.to_string() },
            if claims.renew_on_write { ", renewed by writes" } else { "" }
        ),
        format!("  {} {} levels beneath a root", paint.dim("depth     "), workflow.max_depth),
        String::new(),
    ];
    if let Some(at) = project.archived_at {
        let since = super::listing::moment(at);
        lines.insert(1, format!("  {} since {since}: nothing in it can be changed", paint.dim("archived  ")));
    }
    let mut rows = Rows::new(paint, &["STATUS", "ROLE", "HANDED OUT"]);
    for status in &workflow.statuses {
        rows.add(vec![
            Text::status(status.name.as_str(), status.role),
            Text::plain(status.role.as_str()),
            Text::dim(handed_out(status)),
        ]);
    }
    lines.extend(rows.lines());
    let mut rows = Rows::new(paint, &["TYPE", "NOTE", "PHASE", "REQUIRED"]);
    for (name, schema) in &project.schemas.types {
        for rule in &schema.notes {
            let required = if rule.required { "yes" } else { "no" };
            rows.add(vec![
                Text::key(name),
                Text::plain(rule.key.as_str()),
                Text::plain(rule.phase.as_str()),
                Text::dim(required),
            ]);
        }
    }
    if !rows.is_empty() {
        lines.push(String::new());
        lines.extend(rows.lines());
    }
    lines
}
