//! A runner over a throwaway folder, and a look at the process table.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use docket_runner::{Cancel, Order, Refusal, Report, Runner, Settings};

/// A work tree that is gone at the end.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) settings: Settings,
}

impl Place {
    pub(crate) fn new() -> Self {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_docket-supervise"));
        Self { folder: tempfile::tempdir().expect("a folder"), settings: Settings { program, ..Settings::default() } }
    }

    /// With no more than a subreaper.
    pub(crate) fn lesser() -> Self {
        let mut place = Self::new();
        place.settings.namespace = false;
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn order(&self, command: &str) -> Order {
        Order::new(self.root(), command)
    }

    pub(crate) fn runner(&self) -> Runner {
        Runner::new(self.settings.clone())
    }

    pub(crate) fn try_run(&self, order: &Order) -> Result<Report, Refusal> {
        self.runner().run_blocking(order, None, &Cancel::new().expect("a descriptor"))
    }

    pub(crate) fn run(&self, command: &str) -> Report {
        self.try_run(&self.order(command)).expect("it runs")
    }

    pub(crate) fn said(&self, command: &str) -> String {
        let report = self.run(command);
        assert!(report.passed(), "{}: {}", report.ended, report.log.text());
        report.log.text()
    }
}

/// Both ways of keeping processes together, as far as this machine has them.
pub(crate) fn both() -> [Place; 2] {
    [Place::new(), Place::lesser()]
}

/// A word that stands in the command line of no other process.
pub(crate) fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("mark-{}-{}-end", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes have a word in their command line. Supervisors and what they run both count; the dead do not.
pub(crate) fn alive(mark: &str) -> usize {
    let table = std::fs::read_dir("/proc").expect("a process table");
    table
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// Says that this machine has not what a test needs.
#[expect(clippy::print_stderr, reason = "what was not tried is told")]
pub(crate) fn not_tried(why: &str) {
    eprintln!("NOT TRIED: {why}");
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}
