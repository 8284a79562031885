//! What the processes of a run find mounted: their own process table, and what is the operator's as it is.
//!
//! All of it is seen in the namespace alone. Nobody inside can take it away again: that needs rights that are given up before
//! the command begins, and Landlock lets nobody mount.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{MountFlags, MountPropagationFlags};

use crate::report::Own;

/// What has to be kept where a path is made read-only: who has no privileges may not take it off.
const KEPT: [(StatVfsMountFlags, MountFlags); 6] = [
    (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
    (StatVfsMountFlags::NODEV, MountFlags::NODEV),
    (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
    (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
    (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
];

/// Shows the namespace its own processes. Where the mounts of the outside would change too, nothing is done.
pub(super) fn own_proc() -> bool {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    if rustix::mount::mount_change("/", private).is_err() {
        return false;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None).is_ok()
}

/// Makes paths read-only that lie where the command may write otherwise, whichever of their folders it would move away.
pub(super) fn keep(own: &[PathBuf], writable: &[PathBuf]) -> Own {
    if own.is_empty() {
        return Own::None;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    let kept = rustix::mount::mount_change("/", private).and_then(|()| {
        // A folder that is mounted cannot be moved or removed. Parents come before what is in them.
        let folders: BTreeSet<&Path> = own.iter().flat_map(|path| between(path, writable)).collect();
        folders.into_iter().try_for_each(|folder| rustix::mount::mount_bind_recursive(folder, folder))?;
        own.iter().try_for_each(|path| read_only(path))
    });
    if kept.is_ok() { Own::ReadOnly } else { Own::Open { why: "nothing can be mounted here".to_owned() } }
}

/// The folders above a path and below one where the command may write.
fn between<'p>(path: &'p Path, writable: &[PathBuf]) -> Vec<&'p Path> {
    let Some(place) = writable.iter().find(|place| path.starts_with(place)) else { return Vec::new() };
    path.ancestors().skip(1).take_while(|folder| *folder != place).collect()
}

fn read_only(path: &Path) -> rustix::io::Result<()> {
    rustix::mount::mount_bind_recursive(path, path)?;
    let known = rustix::fs::statvfs(path)?.f_flag;
    let kept = KEPT.iter().filter(|(known_as, _)| known.contains(*known_as)).map(|(_, flag)| *flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union);
    rustix::mount::mount_remount(path, flags, "")
}
