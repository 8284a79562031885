//! The real `docket` program, as the tests find it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The built program: `DOCKET_BIN` where it is set, else the one beside this test's own executable. It is built first,
/// so that a test never runs against an old one.
pub fn docket() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(given) = std::env::var_os("DOCKET_BIN") {
            return PathBuf::from(given);
        }
        let here = std::env::current_exe().unwrap_or_else(|error| panic!("this test has no path: {error}"));
        let folder = here.ancestors().nth(2).unwrap_or_else(|| panic!("{} lies in no target folder", here.display()));
        let program = folder.join("docket");
        // `xtask test` builds it once and says so; a bare `cargo test` has each test process make sure.
        if std::env::var_os("DOCKET_BUILT").is_none() {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let built =
                Command::new(cargo).args(["build", "--quiet", "-p", "docket-cli", "--features", "plant"]).status();
            assert!(built.is_ok_and(|status| status.success()), "the program does not build");
        }
        program
    })
}
