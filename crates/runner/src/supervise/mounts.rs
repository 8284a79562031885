//! What the processes of a run find mounted: their own process table, and what is the operator's as it is.
//!
//! All of it is seen in the namespace alone. Nobody inside can take it away again: that needs rights that are given up before
//! the command begins, and Landlock lets nobody mount.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use rustix::mount::{MountFlags, MountPropagationFlags};

use crate::own::{Owned, Stands};
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
    if private().is_err() {
        return false;
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None).is_ok()
}

/// Makes paths read-only that lie where the command may write otherwise, whichever of their folders it would move away. Where
/// nothing says where it may write, that is everywhere.
pub(super) fn keep(own: &Owned, writable: Option<&[PathBuf]>) -> Own {
    if own.there.is_empty() && own.stands.is_empty() {
        return Own::None;
    }
    let kept = private().and_then(|()| {
        hold(own, writable)?;
        own.there.iter().try_for_each(|path| read_only(path))
    });
    if own.there.is_empty() { Own::None } else { told(kept) }
}

/// The same for the folders above, where it turned out that the command may write everywhere.
pub(super) fn keep_above(own: &Owned) -> Own {
    told(hold(own, None))
}

fn told(kept: rustix::io::Result<()>) -> Own {
    if kept.is_ok() { Own::ReadOnly } else { Own::Open { why: "nothing can be mounted here".to_owned() } }
}

fn private() -> rustix::io::Result<()> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
}

/// A folder that is mounted cannot be moved or removed: those above what is kept, and git's own, in whose place a file could name
/// another. Parents come before what is in them.
fn hold(own: &Owned, writable: Option<&[PathBuf]>) -> rustix::io::Result<()> {
    let paths = own.there.iter().chain(own.stands.iter().map(|(place, _)| place));
    let of_git = own.stands.iter().filter(|(_, stands)| *stands == Stands::NoPointer).map(|(place, _)| place.as_path());
    let folders: BTreeSet<&Path> = paths.flat_map(|path| between(path, writable)).chain(of_git).collect();
    folders
        .into_iter()
        .filter(|folder| folder.is_dir())
        .try_for_each(|folder| rustix::mount::mount_bind_recursive(folder, folder))
}

/// The folders above a path and below the outermost one where the command may write.
fn between<'p>(path: &'p Path, writable: Option<&[PathBuf]>) -> Vec<&'p Path> {
    let outermost = match writable {
        None => Some(Path::new("/")),
        Some(writable) => {
            let places = writable.iter().filter(|place| path.starts_with(place));
            places.map(PathBuf::as_path).min_by_key(|place| place.components().count())
        }
    };
    let Some(outermost) = outermost else { return Vec::new() };
    path.ancestors().skip(1).take_while(|folder| *folder != outermost && folder.starts_with(outermost)).collect()
}

fn read_only(path: &Path) -> rustix::io::Result<()> {
    rustix::mount::mount_bind_recursive(path, path)?;
    let known = rustix::fs::statvfs(path)?.f_flag;
    let kept = KEPT.iter().filter(|(known_as, _)| known.contains(*known_as)).map(|(_, flag)| *flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union);
    rustix::mount::mount_remount(path, flags, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_held_up_to_the_outermost_place_that_is_written() {
        let path = Path::new("/srv/app/data/deep/work.db");
        let writable = |places: &[&str]| places.iter().map(PathBuf::from).collect::<Vec<_>>();
        let held = |places: &[&str]| between(path, Some(&writable(places)));
        let (deep, data, app) = ("/srv/app/data/deep", "/srv/app/data", "/srv/app");
        assert_eq!(held(&["/srv/app"]), [deep, data].map(Path::new));
        assert_eq!(held(&["/srv/app", "/srv"]), [deep, data, app].map(Path::new));
        assert_eq!(held(&["/srv/app/data/deep/work.db"]), [] as [&Path; 0]);
        assert_eq!(held(&["/elsewhere"]), [] as [&Path; 0]);
        assert_eq!(between(path, None), [deep, data, app, "/srv"].map(Path::new));
    }
}
