//! Where Postgres' programs are looked for, and what is said where there are none.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{VARIABLE, is_root, quiet};

/// The places that are looked at, and what else may be done.
#[derive(Clone, Debug)]
struct Places {
    /// Folders, as `PATH` lists them.
    path: OsString,
    /// A folder with one folder for each version, as Debian has it.
    versions: PathBuf,
    /// What installs Postgres; none where we may not install anything.
    installer: Option<PathBuf>,
}

/// The folder of Postgres' programs: on the path, else where Debian has them, else after installing them.
pub fn programs() -> PathBuf {
    let installer = Path::new("/usr/bin/apt-get");
    let places = Places {
        path: std::env::var_os("PATH").unwrap_or_default(),
        versions: PathBuf::from("/usr/lib/postgresql"),
        installer: (is_root() && installer.exists()).then(|| installer.to_owned()),
    };
    places.programs().unwrap_or_else(|missing| panic!("{missing}"))
}

/// The first number of the version of these programs, as they tell it.
pub(crate) fn version(programs: &Path) -> String {
    let told = Command::new(programs.join("initdb")).arg("--version").output();
    let told = told.unwrap_or_else(|error| panic!("{} does not run: {error}", programs.join("initdb").display()));
    first_number(&String::from_utf8_lossy(&told.stdout))
}

/// Of "initdb (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)" it is 15, and of "19beta1" 19.
fn first_number(told: &str) -> String {
    let from = told.trim_start_matches(|c: char| !c.is_ascii_digit());
    from.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().to_owned()
}

impl Places {
    /// The folder, or what to tell whoever started this.
    fn programs(&self) -> Result<PathBuf, String> {
        if let Some(found) = self.find() {
            return Ok(found);
        }
        if let Some(installer) = &self.installer {
            quiet(Command::new(installer).args(["update", "-q"]));
            let mut install = Command::new(installer);
            install.args(["install", "-q", "-y", "--no-install-recommends", "postgresql"]);
            quiet(install.env("DEBIAN_FRONTEND", "noninteractive"));
        }
        self.find().ok_or_else(|| {
            format!(
                "this needs Postgres 13 or newer: install it (initdb and pg_ctl on the path or beneath {}), \
                 or name a server with {VARIABLE}=postgres://...",
                self.versions.display()
            )
        })
    }

    fn find(&self) -> Option<PathBuf> {
        let has_all = |folder: &Path| folder.join("initdb").is_file() && folder.join("pg_ctl").is_file();
        // Where a link stands on the path, the programs beside it may be missing: what it points to has all.
        let on_path = std::env::split_paths(&self.path).filter(|folder| has_all(folder)).find_map(|folder| {
            fs::canonicalize(folder.join("initdb")).ok().and_then(|file| file.parent().map(Path::to_owned))
        });
        on_path.or_else(|| {
            let versions = fs::read_dir(&self.versions).ok()?.filter_map(Result::ok);
            let mut found: Vec<(u32, PathBuf)> = versions
                .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
                .filter(|(_, folder)| has_all(folder))
                .collect();
            found.sort();
            found.pop().map(|(_, folder)| folder)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn nowhere(folder: &Path) -> Places {
        Places { path: folder.join("bin").into(), versions: folder.join("versions"), installer: None }
    }

    fn fill(folder: &Path) {
        fs::create_dir_all(folder).expect("a folder");
        for program in ["initdb", "pg_ctl"] {
            fs::write(folder.join(program), "").expect("a file");
        }
    }

    /// Something in the place of apt-get.
    fn installer(folder: &Path, script: &str) -> PathBuf {
        let file = folder.join("apt-get");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("its rights");
        file
    }

    fn assert_told(places: &Places) {
        let told = places.programs().expect_err("there is no Postgres");
        assert!(told.starts_with("this needs Postgres 13 or newer: install it"), "{told}");
        assert!(told.contains("DOCKET_TEST_POSTGRES=postgres://"), "it names the other way: {told}");
    }

    #[test]
    fn nothing_found_and_nothing_to_install_by_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_told(&nowhere(folder.path()));
        // One of the two programs is not enough.
        fill(&folder.path().join("bin"));
        fs::remove_file(folder.path().join("bin/pg_ctl")).expect("it was there");
        assert_told(&nowhere(folder.path()));
    }

    #[test]
    fn an_installer_that_installs_nothing_is_told_too() {
        let folder = tempfile::tempdir().expect("a folder");
        for script in ["exit 100", "exit 0"] {
            let installer = Some(installer(folder.path(), script));
            assert_told(&Places { installer, ..nowhere(folder.path()) });
        }
    }

    #[test]
    fn what_was_installed_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let bin = folder.path().join("versions/16/bin");
        let make = format!("[ $1 = update ] || {{ mkdir -p {0}; touch {0}/initdb {0}/pg_ctl; }}", bin.display());
        let places = Places { installer: Some(installer(folder.path(), &make)), ..nowhere(folder.path()) };
        assert_eq!(places.programs(), Ok(bin));
    }

    #[test]
    fn versions_are_told_apart() {
        for (told, number) in [
            ("initdb (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n", "15"),
            ("initdb (PostgreSQL) 19beta1\n", "19"),
            ("", ""),
        ] {
            assert_eq!(first_number(told), number, "{told}");
        }
    }

    #[test]
    fn the_path_comes_first_and_then_the_newest() {
        let folder = tempfile::tempdir().expect("a folder");
        // An installer would be seen: it takes the place of what is asked for.
        let installer = Some(installer(folder.path(), "rm -rf \"$(dirname \"$0\")/versions\""));
        let places = Places { installer, ..nowhere(folder.path()) };
        for version in ["9", "13", "not-a-version"] {
            fill(&places.versions.join(version).join("bin"));
        }
        assert_eq!(places.programs(), Ok(places.versions.join("13/bin")));
        let elsewhere = folder.path().join("elsewhere");
        fill(&elsewhere);
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        for program in ["initdb", "pg_ctl"] {
            std::os::unix::fs::symlink(elsewhere.join(program), folder.path().join("bin").join(program))
                .expect("a link");
        }
        assert_eq!(places.programs(), fs::canonicalize(&elsewhere).map_err(|error| error.to_string()));
    }
}
