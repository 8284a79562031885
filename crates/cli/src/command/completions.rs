//! `docket completions`: the script by which a shell completes our commands.

use clap::CommandFactory;
use clap_complete::Shell as Kind;

use crate::args::Cli;
use crate::exit::Failure;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  docket completions bash > ~/.local/share/bash-completion/completions/docket\n  docket completions zsh > ~/.zfunc/_docket\n  docket completions fish > ~/.config/fish/completions/docket.fish"
)]
pub(crate) struct Args {
    /// The shell
    shell: Kind,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "docket", &mut script);
    crate::output::print(&[String::from_utf8_lossy(&script).trim_end().to_owned()])
}
