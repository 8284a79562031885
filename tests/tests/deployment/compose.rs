//! The compose file: well formed, whole, and of one mind with the proxy's file.

use docket_tests::program::docket;
use serde_json::Value;

use super::{PORT, path, read};

fn compose() -> Value {
    serde_saphyr::from_str(&read("deploy/compose.yaml")).expect("YAML")
}

fn services(compose: &Value) -> impl Iterator<Item = (&String, &Value)> {
    compose["services"].as_object().expect("services").iter()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn what_it_names_is_there() {
    let compose = compose();
    for (name, service) in services(&compose) {
        let image = service["image"].as_str().unwrap_or_else(|| panic!("{name} has no image: {service}"));
        assert!(image.split_once(':').is_some_and(|(_, tag)| tag != "latest"), "{name}: {image} is not pinned");
        for volume in texts(&service["volumes"]) {
            let source = volume.split(':').next().unwrap_or_default();
            let there = match source.strip_prefix("./") {
                // What an operator puts there is kept out of git.
                Some(file) if file.starts_with("certs/") => read(".gitignore").contains("/deploy/certs\n"),
                Some(file) => path("deploy").join(file).is_file(),
                None => compose["volumes"].get(source).is_some(),
            };
            assert!(there, "{name} mounts {source}");
        }
        for network in texts(&service["networks"]) {
            assert!(compose["networks"].get(network).is_some(), "{name} is on {network}");
        }
        if let Some(context) = service["build"]["context"].as_str() {
            assert!(path("deploy").join(context).join("Dockerfile").is_file(), "{name} is built from {context}");
        }
    }
    let example = read("deploy/.env.example");
    let upper = |c: char| c.is_ascii_uppercase() || c == '_';
    for variable in read("deploy/compose.yaml").split("${").skip(1) {
        let name = variable.split(|c| !upper(c)).next().unwrap_or_default();
        assert!(example.lines().any(|line| line.starts_with(&format!("{name}="))), "{name} is not in .env.example");
    }
}

#[test]
fn only_the_proxy_can_be_reached() {
    let compose = compose();
    for (name, service) in services(&compose) {
        assert_eq!(name == "proxy", service.get("ports").is_some(), "{name}: ports");
    }
    assert_eq!(compose["networks"]["data"]["internal"], true);
    assert_eq!(texts(&compose["services"]["db"]["networks"]), ["data"]);
}

#[test]
fn the_proxy_knows_every_replica() {
    let compose = compose();
    let replicas: Vec<(&String, &Value)> = services(&compose).filter(|(name, _)| name.starts_with("docket-")).collect();
    assert_eq!(replicas.len(), 2);
    assert_eq!(replicas[0].1, replicas[1].1, "replicas are alike");
    assert_eq!(replicas[0].1["environment"]["DOCKET_CONFIG"], "/etc/docket/docket.toml");
    let proxy = read("deploy/haproxy.cfg");
    let servers: Vec<&str> = proxy.lines().filter_map(|line| line.trim().strip_prefix("server ")).collect();
    // Twice: for whoever may be answered by any of them, and for those who come to the same one, of which it is known from there whether
    // it is ready.
    let any = replicas.iter().map(|(name, _)| format!("{name} {name}:{PORT}"));
    let same = replicas.iter().map(|(name, _)| format!("{name} {name}:{PORT} track docket/{name}"));
    assert_eq!(servers, any.chain(same).collect::<Vec<_>>());
    let settings = read("deploy/docket.toml");
    for (name, _) in replicas {
        assert!(settings.contains(&format!("\"{name}\"")), "Prometheus asks {name} by that name");
    }
}

/// The guide's steps, one after the other as they are written, end with a runner that runs.
#[test]
fn the_steps_of_the_guide_lead_to_a_runner_that_runs() {
    let guide = read("docs/guides/fleet.md");
    let section = guide.split("\n## ").find(|section| section.starts_with("Two replicas")).expect("the section");
    let steps: Vec<Vec<&str>> = section
        .lines()
        .filter_map(|line| line.strip_prefix("$ docker compose run --rm docket-1 "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(steps.len(), 2, "{steps:?}");
    // The image works in a folder of this name.
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("docket");
    std::fs::create_dir(&folder).expect("a folder");
    let database = format!("sqlite:{}", folder.join("docket.db").display());
    let compose = compose();
    let mut runner = texts(&compose["services"]["runner"]["command"]);
    runner.push("--once");
    for words in steps.into_iter().chain([runner]) {
        let mut command = std::process::Command::new(docket());
        command.args(&words).current_dir(&folder).env_clear();
        let ran = command.env("HOME", place.path()).env("DOCKET_DB", &database).output().expect("it runs");
        assert!(ran.status.success(), "docket {}: {}", words.join(" "), String::from_utf8_lossy(&ran.stderr));
    }
}

/// A runner has one work tree: it is told its project, and where the tree is, and finds what its image makes room for.
#[test]
fn the_runner_has_a_project_and_a_work_tree() {
    let compose = compose();
    let runner = &compose["services"]["runner"];
    assert_eq!(texts(&runner["command"]), ["--project", "default", "runner"]);
    assert_eq!(texts(&runner["profiles"]), ["runner"], "only where it is wanted");
    let image = read("deploy/runner/Dockerfile");
    assert!(image.contains("FROM docket:local\n") && image.contains("\nUSER 10001:10001\nWORKDIR /work\n"), "{image}");
    assert!(image.contains("\nCMD [\"--project\", \"default\", \"runner\"]\n"), "{image}");
    assert!(texts(&runner["volumes"]).contains(&"work:/work"));
    assert!(read("deploy/docket.toml").contains("\nrepository = \"/work\"\n"));
    let unit = read("deploy/docket-runner.service");
    let server = read("deploy/docket.service");
    let database = |unit: &str| unit.lines().find(|line| line.starts_with("Environment=DOCKET_DB=")).map(str::to_owned);
    assert_eq!(database(&unit), database(&server), "they share one database");
    let folder = unit.lines().find_map(|line| line.strip_prefix("WorkingDirectory=")).expect("a work tree");
    assert!(unit.lines().any(|line| line.starts_with("ReadWritePaths=") && line.contains(folder)), "{folder}");
}
