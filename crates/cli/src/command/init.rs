//! `docket init`: makes a database and a project here, and shows how to connect an agent to it.

use std::path::Path;
use std::sync::Arc;

use docket_core::model::{KeyPrefix, Project, Slug, Title};
use docket_core::workflow::Workflow;
use docket_core::{Engine, Error, Reason};
use docket_mcp_server::{surface, surfaces};
use serde::Serialize;

use super::agents;
use super::clients::{self, Clients};
use super::mcp::{DEFAULT_PROJECT, make_project, preset_of, tell_other_rules};
use crate::config::locate::{OWN_FOLDER, Origin, database_in};
use crate::database::{Database, Opening, Place};
use crate::exit::Failure;
use crate::output::{Paint, escape};
use crate::session::{Shell, apply_rules, make_folder_of, resolve};

const HELP: &str = "\
Makes .docket/docket.db (or the database that --db names) with one project, and prints configuration to \
paste into MCP clients. To run it again with the same answers changes nothing and prints the configuration \
again.

Examples:
  docket init
  docket init --name \"Web shop\" --prefix WEB
  docket init --agents                     and tell agents in AGENTS.md how to work with it
  docket --project web init --preset standard --dir ~/code/web
  docket --db postgres://docket@db.example/docket init";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// The project's name for people [default: the folder's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The first half of its keys, such as WEB in WEB-17 [default: from the project's slug]
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
    /// The workflow to begin with: standard, task-orchestrator, foresttasks, cairn or execution [default: the one of the surface]
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// The set of tools that agents are given
    #[arg(long, value_name = "NAME", default_value = surfaces()[0])]
    surface: String,
    /// The folder to make it in [default: this one]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<String>,
    /// Append to AGENTS.md in the folder how agents work with it; what is in the file stays
    #[arg(long)]
    agents: bool,
}

/// What `init` answers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'r> {
    database: String,
    created: bool,
    project: &'r Project,
    clients: Clients,
    agents: Agents,
}

/// What agents are told.
#[derive(Serialize)]
struct Agents {
    file: String,
    written: bool,
    snippet: String,
}

pub(crate) async fn run(shell: &Shell, args: Args) -> Result<(), Failure> {
    surface(&args.surface)?;
    if args.dir.is_some() && shell.globals.db.is_some() {
        let message = "--dir and --db both say where the database goes: give one of them";
        return Err(Error::validation(Reason::BadValue, message).at("--dir").into());
    }
    let folder = args.dir.as_deref().map_or_else(|| shell.around.cwd.clone(), |dir| resolve(&shell.around, dir));
    let config = shell.configuration()?;
    let caller = shell.caller(&config)?;
    let answers = Answers::read(shell, &args, config.project.slug.clone())?;
    let (place, created) = make_database(shell, &folder).await?;
    let durability = config.durability.unwrap_or_default();
    let database = Database::open(&place, Opening { durability, ..Opening::default() }).await?;
    let store = database.store();
    let engine = Engine::new(Arc::clone(&store));
    let projects = store.projects().await?;
    let there = match (&answers.slug, projects.as_slice()) {
        (Some(slug), projects) => projects.iter().find(|project| project.slug == *slug),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let project = if let Some(project) = there {
        let project = apply_rules(&engine, &caller, &config, project).await?;
        answers.check(&project)?;
        tell_other_rules(&args.surface, &project);
        project
    } else {
        let named = answers.name.clone().or_else(|| config.project.name.clone()).or_else(|| folder_title(&folder));
        let mut config = config.clone();
        config.project.name = named;
        config.project.prefix = answers.prefix.clone().or(config.project.prefix);
        config.project.preset = answers.preset.or(config.project.preset);
        let slug = match answers.slug.clone() {
            Some(slug) => slug,
            None => folder_slug(&folder)?,
        };
        config.project.slug = Some(slug.clone());
        make_project(&engine, &caller, &config, slug, preset_of(&args.surface)).await?
    };
    database.close().await;
    let clients = Clients::new(&place, &project.slug, &args.surface);
    let agents = Agents {
        file: folder.join(agents::FILE).display().to_string(),
        written: args.agents && agents::append(&folder, &args.surface)?,
        snippet: agents::snippet(&args.surface),
    };
    let ready = Ready { database: place.shown(), created, project: &project, clients, agents };
    shell.out.answer(&ready, |paint| render(&ready, args.agents, paint))
}

/// Makes the database that the caller named, or the one of a folder; says where it is and whether it is new.
pub(super) async fn make_database(shell: &Shell, folder: &Path) -> Result<(Place, bool), Failure> {
    let place = database_place(shell, folder)?;
    let making = Opening { create: true, ..Opening::default() };
    let created = match &place {
        Place::File(path) => {
            let missing = place.is_missing()?;
            if missing {
                make_folder_of(path)?;
                Database::open(&place, making).await?.close().await;
            }
            ignore(path)?;
            missing
        }
        Place::Server(_) => {
            let database = Database::open(&place, making).await?;
            let empty = database.store().projects().await?.is_empty();
            database.close().await;
            empty
        }
    };
    Ok((place, created))
}

/// What the caller said of the project.
struct Answers {
    slug: Option<Slug>,
    name: Option<Title>,
    prefix: Option<KeyPrefix>,
    preset: Option<&'static str>,
}

impl Answers {
    fn read(shell: &Shell, args: &Args, configured: Option<Slug>) -> Result<Self, Failure> {
        let preset = match args.preset.as_deref() {
            None => None,
            Some(name) => {
                Workflow::preset(name).map_err(|invalid| invalid.at("--preset"))?;
                Workflow::PRESETS.into_iter().find(|preset| *preset == name)
            }
        };
        Ok(Self {
            slug: shell.named_project()?.or(configured),
            name: args.name.as_deref().map(Title::parse).transpose().map_err(|invalid| invalid.at("--name"))?,
            prefix: args
                .prefix
                .as_deref()
                .map(KeyPrefix::parse)
                .transpose()
                .map_err(|invalid| invalid.at("--prefix"))?,
            preset,
        })
    }

    /// Refuses to pretend that a project which is there was made with these answers.
    fn check(&self, project: &Project) -> Result<(), Failure> {
        let differs = [
            self.name
                .as_ref()
                .filter(|name| **name != project.name)
                .map(|_| format!("its name is \"{}\"", project.name)),
            self.prefix
                .as_ref()
                .filter(|prefix| **prefix != project.prefix)
                .map(|_| format!("its prefix is {}", project.prefix)),
            self.preset
                .filter(|preset| *preset != project.workflow.preset.as_str())
                .map(|_| format!("its preset is {}", project.workflow.preset)),
        ];
        let differs: Vec<String> = differs.into_iter().flatten().collect();
        if differs.is_empty() {
            return Ok(());
        }
        Err(Error::conflict(
            Reason::Duplicate,
            format!(
                "the project \"{}\" is there already and {}: `docket project set` changes a project, --project names another",
                project.slug,
                differs.join(" and ")
            ),
        )
        .into())
    }
}

/// Where the database goes: as `--db` says, else into the folder.
fn database_place(shell: &Shell, folder: &Path) -> Result<Place, Failure> {
    let location = shell.location();
    if let Ok(location) = &location {
        if location.origin == Origin::Named {
            return Ok(location.place.clone());
        }
    } else if shell.globals.db.is_some() || shell.around.docket_db.is_some() {
        return location.map(|location| location.place);
    }
    if !folder.is_dir() {
        return Err(Failure::environment(format!("{}: there is no such folder", folder.display())));
    }
    let place = Place::File(database_in(folder));
    if let Some(other) = location.ok().filter(|location| location.origin == Origin::Found && location.place != place) {
        crate::output::remark(&format!(
            "note: {} was used here until now; the new database takes its place in this folder",
            other.place.shown()
        ));
    }
    Ok(place)
}

/// Keeps the database out of git, where it lies in a folder of its own.
fn ignore(database: &Path) -> Result<(), Failure> {
    let Some(folder) = database.parent().filter(|folder| folder.file_name().is_some_and(|name| name == OWN_FOLDER))
    else {
        return Ok(());
    };
    let file = folder.join(".gitignore");
    if crate::config::locate::exists(&file)? {
        return Ok(());
    }
    std::fs::write(&file, "*\n")
        .map_err(|error| Failure::environment(format!("{}: cannot be written: {error}", file.display())))
}

fn folder_title(folder: &Path) -> Option<Title> {
    Title::parse(folder.file_name()?.to_str()?).ok()
}

/// The folder's name as a slug: what is neither letter nor digit becomes a hyphen.
fn folder_slug(folder: &Path) -> Result<Slug, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(64).collect();
    Ok(Slug::parse(&slug).or_else(|_| Slug::parse(DEFAULT_PROJECT))?)
}

fn render(ready: &Ready<'_>, asked: bool, paint: Paint) -> Vec<String> {
    let project = ready.project;
    let mut lines = vec![
        paint.good("Docket is ready."),
        format!("  database  {}{}", escape::line(&ready.database), if ready.created { "" } else { " (was there)" }),
        format!(
            "  project   {} ({}), keys {}, {}, …; workflow {}",
            project.slug,
            escape::line(project.name.as_str()),
            project.key(1),
            project.key(2),
            escape::line(project.workflow.preset.as_str())
        ),
        String::new(),
        "To connect an agent, paste one of these:".to_owned(),
    ];
    lines.extend(clients::render(&ready.clients, paint));
    lines.push(String::new());
    let file = escape::line(&ready.agents.file);
    match (ready.agents.written, asked) {
        (true, _) => lines.push(format!("{file} tells agents how to work with it.")),
        (false, true) => lines.push(format!("{file} told agents of it already, and stays as it is.")),
        (false, false) => {
            lines.push("For agents to know how to work with it, AGENTS.md may say (--agents appends it):".to_owned());
            lines.push(String::new());
            lines.extend(ready.agents.snippet.lines().map(|line| format!("  {line}").trim_end().to_owned()));
        }
    }
    lines
}
