//! Opens a working folder beneath a registered root. The descriptor that was checked is the one that is used, so nothing
//! can be swapped between the look and the entering.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::order::{Refusal, check_folder};

/// Whatever is opened is a folder, and no child inherits it.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The folder, opened. Links are followed as long as they stay beneath the root.
pub(crate) fn open(root: &Path, folder: &str) -> Result<OwnedFd, Refusal> {
    check_folder(folder)?;
    let root = rustix::fs::open(root, FOLDER, Mode::empty()).map_err(|_| Refusal::NoSuchRoot)?;
    let folder = if folder.is_empty() { "." } else { folder };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match rustix::fs::openat2(&root, folder, FOLDER, Mode::empty(), resolve) {
            Ok(opened) => return Ok(opened),
            // Something was renamed on the way: the kernel could not tell whether it stayed beneath.
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS) => return step_by_step(root, folder),
            Err(error) => return Err(refusal(error)),
        }
    }
}

/// For kernels that have no `openat2`: one name at a time, and no link at all.
fn step_by_step(root: OwnedFd, folder: &str) -> Result<OwnedFd, Refusal> {
    let mut here = root;
    for name in folder.split('/').filter(|name| !name.is_empty() && *name != ".") {
        let flags = FOLDER | OFlags::NOFOLLOW;
        here = rustix::fs::openat(&here, name, flags, Mode::empty()).map_err(|error| {
            // A link that is opened as a folder without being followed.
            let is_link = rustix::fs::readlinkat(&here, name, Vec::new()).is_ok();
            if is_link { Refusal::OutsideWorktree } else { refusal(error) }
        })?;
    }
    Ok(here)
}

fn refusal(error: Errno) -> Refusal {
    match error {
        // A link that leads out, one that leads in a circle, or a magic one.
        Errno::XDEV | Errno::LOOP => Refusal::OutsideWorktree,
        Errno::NOENT => Refusal::NoSuchFolder,
        Errno::NOTDIR => Refusal::NotAFolder,
        Errno::NAMETOOLONG => Refusal::BadFolder,
        other => Refusal::FolderUnreadable(std::io::Error::from(other).kind().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_outside_the_root_is_opened() {
        let made = tempfile::tempdir().expect("a folder");
        let root = made.path().join("root");
        std::fs::create_dir_all(root.join("src/deep")).expect("folders");
        std::fs::create_dir(made.path().join("other")).expect("a folder");
        std::fs::write(root.join("file"), "text").expect("a file");
        symlink("../other", root.join("out")).expect("a link");
        symlink(made.path().join("other"), root.join("absolute")).expect("a link");
        symlink("src", root.join("in")).expect("a link");
        symlink("round", root.join("round")).expect("a link");
        symlink("/proc/self/root", root.join("magic")).expect("a link");
        symlink("../../other", root.join("src/deep/out")).expect("a link");
        for (folder, expected) in [
            ("", None),
            (".", None),
            ("src/deep", None),
            ("src//deep/", None),
            ("in/deep", None),
            ("out", Some(Refusal::OutsideWorktree)),
            ("absolute", Some(Refusal::OutsideWorktree)),
            ("magic", Some(Refusal::OutsideWorktree)),
            ("round", Some(Refusal::OutsideWorktree)),
            ("../other", Some(Refusal::OutsideWorktree)),
            ("/etc", Some(Refusal::OutsideWorktree)),
            ("missing", Some(Refusal::NoSuchFolder)),
            ("file", Some(Refusal::NotAFolder)),
            ("file/x", Some(Refusal::NotAFolder)),
        ] {
            assert_eq!(open(&root, folder).err(), expected, "{folder}");
        }
        // From a deep folder a link may climb within the root, but this one climbs to what is not there.
        assert_eq!(open(&root, "src/deep/out").err(), Some(Refusal::NoSuchFolder));
        assert_eq!(open(&made.path().join("gone"), "").err(), Some(Refusal::NoSuchRoot));
    }

    #[test]
    fn without_openat2_no_link_is_followed() {
        let made = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(made.path().join("src/deep")).expect("folders");
        std::fs::write(made.path().join("file"), "text").expect("a file");
        symlink("src", made.path().join("link")).expect("a link");
        let root = || rustix::fs::open(made.path(), FOLDER, Mode::empty()).expect("the root");
        for (folder, expected) in [
            (".", None),
            ("src/./deep/", None),
            ("link", Some(Refusal::OutsideWorktree)),
            ("link/deep", Some(Refusal::OutsideWorktree)),
            ("missing", Some(Refusal::NoSuchFolder)),
            ("file", Some(Refusal::NotAFolder)),
        ] {
            assert_eq!(step_by_step(root(), folder).err(), expected, "{folder}");
        }
    }
}
