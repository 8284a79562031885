//! How clients learn where to get a token (RFC 9728): the header of a refusal leads to a document about the very address that
//! was refused.

use docket_tests::web::Web;
use serde_json::{Value, json};

use crate::server::{KeyServer, Mood};
use crate::sign::{Signer, set};

async fn serve(server: &str) -> (Web, tempfile::TempDir) {
    let signer = Signer::new("k1");
    let mood = Mood::Discovery { issuer: "https://issuer.example".to_owned(), keys: set(&[&signer]) };
    let keys = KeyServer::start(mood).await;
    let toml = format!(
        "{server}\n[identity.tokens]\noidc_discovery = \"{}/.well-known/openid-configuration\"\naudience = \"docket\"\n",
        keys.address
    );
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("docket.toml"), toml).expect("docket.toml");
    let word = format!("sqlite:{}", folder.path().join("work.db").display());
    (Web::serving(&word, folder.path(), |_| {}), folder)
}

/// The address in the header of a refusal.
fn named(web: &Web, method: &str, path: &str) -> String {
    let accept = ("accept", "application/json, text/event-stream");
    let refused = web.to(method, path, &[accept], (method == "POST").then_some(b"{}".as_slice()));
    assert_eq!(refused.status, 401, "{path}");
    let told = refused.header("www-authenticate").to_owned();
    let (_, rest) = told.split_once("resource_metadata=\"").unwrap_or_else(|| panic!("{told}"));
    rest.trim_end_matches('"').to_owned()
}

fn document(web: &Web, base: &str, url: &str) -> Value {
    let path = url.strip_prefix(base).unwrap_or_else(|| panic!("{url} is not at {base}"));
    web.to("GET", path, &[], None).with(200)
}

fn all_lead_home(web: &Web, base: &str) {
    for (method, path, resource) in [
        ("GET", "/api/v1/items", String::new()),
        ("POST", "/mcp", "/mcp".to_owned()),
        ("POST", "/mcp/task-orchestrator", "/mcp/task-orchestrator".to_owned()),
    ] {
        let url = named(web, method, path);
        assert_eq!(url, format!("{base}/.well-known/oauth-protected-resource{resource}"));
        let told = document(web, base, &url);
        assert_eq!(told["resource"], json!(format!("{base}{resource}")), "{told}");
        assert_eq!(told["authorization_servers"], json!(["https://issuer.example"]), "{told}");
        assert_eq!(told["bearer_methods_supported"], json!(["header"]), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_refusal_leads_to_a_document_at_the_address_that_was_called() {
    let (web, _folder) = serve("").await;
    all_lead_home(&web, &format!("http://{}", web.address));
    let strange = web.to("GET", "/.well-known/oauth-protected-resource/elsewhere", &[], None);
    assert_eq!(strange.status, 404);
    // A name that is not ours is not repeated to anybody.
    let other = web.to("GET", "/.well-known/oauth-protected-resource", &[("host", "evil.example")], None);
    assert_eq!(other.status, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_operators_word_for_the_address_goes_before() {
    let (web, _folder) = serve("[server]\npublic_url = \"https://docket.example.org/\"").await;
    all_lead_home(&web, "https://docket.example.org");
}
