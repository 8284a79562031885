//! `docket item`: make, show, list, change and remove items.

mod add;
mod edit;
mod list;
mod rm;
mod show;

use clap::Subcommand;

pub(super) use show::relation;

use crate::exit::Failure;
use crate::session::Shell;

#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Make an item
    Add(Box<add::Args>),
    /// Show one item: its texts, notes, edges, claim, and what it still needs
    Show(show::Args),
    /// List items
    List(Box<list::Args>),
    /// Change an item's fields, or where it lies
    Edit(Box<edit::Args>),
    /// Remove items
    Rm(rm::Args),
}

pub(crate) async fn run(shell: &Shell, act: Act) -> Result<(), Failure> {
    match act {
        Act::Add(args) => add::run(shell, *args).await,
        Act::Show(args) => show::run(shell, args).await,
        Act::List(args) => list::run(shell, *args).await,
        Act::Edit(args) => edit::run(shell, *args).await,
        Act::Rm(args) => rm::run(shell, args).await,
    }
}
