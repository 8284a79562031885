//! What a run leaves open in the program that asked for it: nothing. A test by itself, because it counts for the whole process.

use docket_runner::{Cancel, Order, Runner, Settings};

fn open() -> Vec<String> {
    let list = std::fs::read_dir("/proc/self/fd").expect("a list");
    let mut open: Vec<String> = list
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .collect();
    open.sort();
    open
}

#[tokio::test]
async fn no_descriptor_is_left_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_docket-supervise").into();
    let runner = Runner::new(Settings { program, ..Settings::default() });
    let run = async || {
        let cancel = Cancel::new().expect("a descriptor");
        let report = runner.run(Order::new(folder.path(), "true"), None, cancel).await.expect("it runs");
        assert!(report.passed(), "{}", report.ended);
    };
    run().await;
    let before = open();
    for _ in 0..20 {
        run().await;
    }
    assert_eq!(open().len(), before.len(), "{before:?}\n{:?}", open());
}
