//! What Docket does in the outside world: runs the commands of checks, says what a git work tree holds, and asks what
//! became of a pull request.
//!
//! It holds no rule: who may run what, and what a result means, is decided in `docket-core`. What it promises is that a
//! command sees nothing of the server's secrets, that nothing it started outlives its end, and that the report says what
//! really happened. Linux only: the means are namespaces, Landlock, subreapers and pidfds.

mod cancel;
mod environment;
mod folder;
mod git_folder;
pub mod github;
pub mod limits;
mod order;
mod output;
mod own;
mod prover;
mod report;
mod run;
mod supervise;
mod temporary;
mod tree;
mod wire;

pub use cancel::Cancel;
pub use environment::Environment;
pub use git_folder::{linked, linked_to};
pub use order::{Order, Refusal, check_command, check_folder, check_timeout};
pub use output::{Chunk, Live, Log};
pub use prover::CheckRunner;
pub use report::{Ended, Files, Own, Processes, PutBack, Report, Sandbox};
pub use run::{Runner, Settings};
pub use supervise::supervise;
pub use tree::{Tree, TreeError, tree, tree_blocking, tree_without};
