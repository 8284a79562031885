//! The private folders of commands, and those that processes left behind which were killed in the middle.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Once;

use tempfile::TempDir;

const PREFIX: &str = "docket-check-";

/// A new folder. Its name says whose it is: the process, and where process numbers mean what they mean here.
pub(crate) fn folder() -> io::Result<TempDir> {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| sweep(&std::env::temp_dir(), &space()));
    tempfile::Builder::new().prefix(&format!("{PREFIX}{}-{}-", space(), std::process::id())).tempdir()
}

/// The space of process numbers that we live in. Another container's processes are not ours to count.
fn space() -> String {
    let name = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    name.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

/// Removes the folders of our processes that are gone. What cannot be removed stays.
fn sweep(place: &Path, space: &str) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| {
            let mut parts = rest.splitn(3, '-');
            (parts.next()? == space).then(|| parts.next()?.parse::<u32>().ok()).flatten()
        });
        let Some(owner) = owner.filter(|owner| !Path::new(&format!("/proc/{owner}")).exists()) else { continue };
        let ours =
            entry.metadata().is_ok_and(|kind| kind.is_dir() && kind.uid() == rustix::process::geteuid().as_raw());
        if ours {
            tracing::debug!(owner, "a folder is removed that a process left behind");
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_dead_left_is_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let gone = std::process::Command::new("true").spawn().and_then(|mut child| {
            child.wait()?;
            Ok(child.id())
        });
        let (gone, here, space) = (gone.expect("a process"), std::process::id(), space());
        let names = [
            format!("{PREFIX}{space}-{gone}-a"),
            format!("{PREFIX}{space}-{here}-b"),
            format!("{PREFIX}1{space}-{gone}-c"),
            format!("{PREFIX}x"),
            "other".to_owned(),
        ];
        for name in &names {
            std::fs::create_dir_all(place.path().join(name).join("inside")).expect("a folder");
        }
        sweep(place.path(), &space);
        let left: Vec<bool> = names.iter().map(|name| place.path().join(name).exists()).collect();
        assert_eq!(left, [false, true, true, true, true], "{names:?}");
    }
}
