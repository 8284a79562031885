//! Where the work of the database is done: on the thread that asks for it.
//!
//! SQLite is a library. A thread of its own for each connection would cost two wake-ups a call, which is several times
//! what most calls take. So a quick look is made in place, and where there are several threads, a long one lets the other
//! tasks of its thread go on elsewhere. A writer waits for the disk: where there are several threads it has one to itself.

use docket_core::store::StoreError;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};

/// Whether other tasks go on while this thread is blocked.
pub(crate) fn has_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Does something that may take milliseconds.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    if has_threads() { tokio::task::block_in_place(work) } else { work() }
}

/// Does something that may take minutes, while everything else goes on.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| StoreError::Failed(Box::new(error)))
}

/// Runs a task that often blocks, beside everything else where there are several threads.
pub(crate) fn run_apart(name: &str, task: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    if has_threads() {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(task))?;
    } else {
        tokio::spawn(task);
    }
    Ok(())
}
