//! `docket key`: the keys that callers over the network are known by. A secret is made here and shown once; the engine
//! gets its hash.

use docket_core::access::Profile;
use docket_core::command::{CreateKey, KeySet, RevokeKey, RotateKey};
use docket_core::model::{ApiKey, KeySecret, Slug, Timestamp};
use docket_core::{Error, Invalid, Reason};
use serde::Serialize;

use super::{listing, values};
use crate::exit::Failure;
use crate::names::Names;
use crate::output::table::{Rows, Text};
use crate::output::{Paint, escape};
use crate::session::{Access, Session, Shell};

const CREATE_HELP: &str = "\
Profiles, each may do what those before it may: viewer reads, planner makes items, worker claims, moves and changes \
them, operator reviews, maintainer removes and administers.

Examples:
  docket key create --profile worker --name ci --project web --expires 90d
  docket key create --profile viewer --project web --project api
  docket key create --profile worker --item WEB-7 --expires 2h    for one agent on one item";

/// What can be done with keys.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Act {
    /// Make a key, and show it once
    Create(CreateArgs),
    /// List keys, the newest first
    #[command(after_help = "Examples:\n  docket key list\n  docket key list --all --json")]
    List(ListArgs),
    /// End a key, at once
    #[command(after_help = "Examples:\n  docket key revoke ci\n  docket key revoke dkt_1a2b3c4d")]
    Revoke(RevokeArgs),
    /// Give a key a new secret, and show it once; the old one ends at once
    #[command(after_help = "Examples:\n  docket key rotate ci\n  docket key rotate ci --expires 90d")]
    Rotate(RotateArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = CREATE_HELP)]
pub(crate) struct CreateArgs {
    /// How much its holder may do: viewer, planner, worker, operator or maintainer
    #[arg(long, value_name = "PROFILE")]
    profile: String,
    /// What to call it [default: the profile and a few digits]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A project that it is for; may be given several times [default: all projects]
    #[arg(long, value_name = "SLUG")]
    project: Vec<String>,
    /// The one item that its holder may change
    #[arg(long, value_name = "ITEM")]
    item: Option<String>,
    /// How long it holds, such as 12h or 90d [default: until it is revoked]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Also those that were revoked or have expired
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RevokeArgs {
    /// The key: its name, its beginning or its id
    key: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RotateArgs {
    /// The key: its name, its beginning or its id
    key: String,
    /// How long it holds from now on, such as 12h or 90d [default: as before]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

/// A key with its secret, once.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'k> {
    key: &'k ApiKey,
    secret: String,
}

#[derive(Serialize)]
struct Listed<'k> {
    keys: Vec<&'k ApiKey>,
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::Create(args) => create(shell, args).await,
        Act::List(args) => list(shell, &args).await,
        Act::Revoke(args) => revoke(shell, args).await,
        Act::Rotate(args) => rotate(shell, args).await,
    }
}

async fn create(shell: &Shell, args: CreateArgs) -> Result<(), Failure> {
    let profile: Profile = args.profile.parse().map_err(|invalid: Invalid| invalid.at("--profile"))?;
    let projects = args.project.iter().map(|slug| Slug::parse(slug)).collect::<Result<Vec<_>, _>>();
    let projects = projects.map_err(|invalid| invalid.at("--project"))?;
    let item = args.item.as_deref().map(values::item).transpose()?;
    let lasts = args.expires.as_deref().map(lasts).transpose()?;
    let secret = new_secret()?;
    let name = args.name.as_deref().map(|name| values::name(name, "--name")).transpose()?;
    let session = shell.session(Access::Write).await?;
    let (handle, digest) = (secret.handle().clone(), secret.digest());
    let create = CreateKey { handle, digest, name, profile, projects, item, lasts };
    let KeySet { key } = session.everywhere().run(session.call(), create).await?;
    show(&session, &key, &secret).await
}

async fn rotate(shell: &Shell, args: RotateArgs) -> Result<(), Failure> {
    let lasts = args.expires.as_deref().map(lasts).transpose()?;
    let secret = new_secret()?;
    let session = shell.session(Access::Write).await?;
    let rotate = RotateKey { key: args.key, handle: secret.handle().clone(), digest: secret.digest(), lasts };
    let KeySet { key } = session.everywhere().run(session.call(), rotate).await?;
    show(&session, &key, &secret).await
}

async fn revoke(shell: &Shell, args: RevokeArgs) -> Result<(), Failure> {
    let session = shell.session(Access::Write).await?;
    let revoked = session.everywhere().run(session.call(), RevokeKey { key: args.key }).await?;
    let KeySet { key } = &revoked;
    shell.out.answer(&revoked, |_| vec![format!("revoked {} ({})", escape::line(key.name.as_str()), key.handle)])
}

async fn list(shell: &Shell, args: &ListArgs) -> Result<(), Failure> {
    let session = shell.session(Access::Read).await?;
    let (now, keys) = session.everywhere().keys().await?;
    let keys: Vec<&ApiKey> = keys.iter().filter(|key| args.all || key.check(now).is_ok()).collect();
    let names = session.names(keys.iter().filter_map(|key| key.item)).await?;
    let listed = Listed { keys };
    shell.out.answer(&listed, |paint| {
        let mut rows = Rows::new(paint, &["NAME", "BEGINS", "PROFILE", "FOR", "EXPIRES", "LAST USED"]);
        for key in &listed.keys {
            let when = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), listing::moment);
            let ends = key.revoked_at.map_or_else(|| when(key.expires_at), |_| "revoked".to_owned());
            rows.add(vec![
                Text::key(key.name.as_str()),
                Text::dim(key.handle.to_string()),
                Text::plain(key.profile.as_str()),
                Text::plain(reach(&session, &names, key)),
                Text::plain(ends),
                Text::dim(when(key.last_used_at)),
            ]);
        }
        if rows.is_empty() {
            vec![paint.dim("no keys: `docket key create --profile worker` makes one")]
        } else {
            rows.lines()
        }
    })
}

/// Where a key's holder may act.
fn reach(session: &Session, names: &Names, key: &ApiKey) -> String {
    let Some(projects) = &key.projects else { return "everything".to_owned() };
    let slug = |id| session.projects.iter().find(|project| project.id == id).map(|project| project.slug.to_string());
    let slugs: Vec<String> = projects.iter().map(|id| slug(*id).unwrap_or_else(|| id.to_string())).collect();
    match key.item {
        None => slugs.join(", "),
        Some(item) => {
            let item = names.key(item).map_or_else(|| item.to_string(), |key| key.to_string());
            format!("one item of {}: {item}", slugs.join(", "))
        }
    }
}

/// Shows a secret once. A request that is sent again is answered as before, and what was its secret nobody knows here.
async fn show(session: &Session, key: &ApiKey, secret: &KeySecret) -> Result<(), Failure> {
    if key.handle != *secret.handle() {
        let message = format!(
            "this request was answered before, with the key {}; its secret was shown then: `docket key rotate {}` makes another",
            key.handle, key.handle
        );
        return Err(Error::conflict(Reason::RequestIdReused, message).into());
    }
    let shown = Shown { key, secret: secret.reveal() };
    // The secret is not lost for want of a name.
    let names = session.names(key.item).await.unwrap_or_default();
    session.out.answer(&shown, |paint| render(session, &names, &shown, paint))
}

fn render(session: &Session, names: &Names, shown: &Shown<'_>, paint: Paint) -> Vec<String> {
    let key = shown.key;
    let ends = key
        .expires_at
        .map_or_else(|| "until it is revoked".to_owned(), |end| format!("until {}", listing::moment(end)));
    vec![
        format!(
            "{} {}: {} of {}, {ends}",
            paint.bold("key"),
            escape::line(key.name.as_str()),
            key.profile,
            reach(session, names, key)
        ),
        String::new(),
        format!("  {}", shown.secret),
        String::new(),
        paint.dim("It is shown this once. Whoever has it may act with it: keep it where passwords are kept."),
    ]
}

fn new_secret() -> Result<KeySecret, Failure> {
    let mut random = [0; 36];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::environment(format!("the system gives no randomness: {error}")))?;
    Ok(KeySecret::new(random))
}

fn lasts(text: &str) -> Result<u32, Failure> {
    let seconds = values::seconds(text).map_err(|invalid| invalid.at("--expires"))?;
    u32::try_from(seconds).map_err(|_| {
        Error::validation(Reason::BadValue, "--expires must be from 1 minute to 10 years").at("--expires").into()
    })
}
