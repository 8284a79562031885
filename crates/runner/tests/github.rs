//! The client of pull requests against a server on this machine that speaks the real routes, well or badly.

#[path = "github/server.rs"]
mod server;

use std::time::Duration;

use docket_runner::github::{Client, Failure, PullRef, PullState, Repository, Settings, SetupError};
use server::{Answer, Stand};

fn client(stand: &Stand) -> Client {
    let pause = Duration::from_millis(1);
    let settings = Settings { pause, ..Settings::new(&stand.address, Some("the-token".to_owned())) };
    Client::new(settings).expect("a client")
}

fn repository() -> Repository {
    Repository::parse("octo/demo").expect("a repository")
}

fn number(number: u64) -> PullRef {
    PullRef::number(repository(), number).expect("a number")
}

#[tokio::test]
async fn a_pull_request_is_found_by_its_number() {
    let stand = Stand::start(Vec::new()).await;
    let merged = client(&stand).pull(&number(1)).await.expect("it is there");
    assert!(merged.is_merged());
    assert_eq!(merged.state, PullState::Merged { commit: "c0ffee1".to_owned(), at: "2026-01-02T03:04:05Z".to_owned() });
    assert_eq!((merged.number, merged.base_branch.as_str(), merged.head_commit.as_str()), (1, "main", "head1"));
    assert_eq!(client(&stand).pull(&number(2)).await.expect("it is there").state, PullState::Open);
    assert_eq!(client(&stand).pull(&number(3)).await.expect("it is there").state, PullState::Closed);
    assert_eq!(client(&stand).pull(&number(99)).await, Err(Failure::NotFound));
    let asked = stand.asked();
    assert_eq!(asked.len(), 4, "nothing of this is tried twice");
    assert!(asked[0].starts_with("GET /repos/octo/demo/pulls/1 HTTP/1.1"), "{}", asked[0]);
    let lower = asked[0].to_ascii_lowercase();
    assert!(lower.contains("authorization: bearer the-token") && lower.contains("user-agent: docket/"), "{lower}");
}

#[tokio::test]
async fn a_pull_request_is_found_by_its_branch() {
    let stand = Stand::start(Vec::new()).await;
    let by = |branch: &str| PullRef::branch(repository(), branch).expect("a branch");
    assert_eq!(client(&stand).pull(&by("feature/one&two")).await.expect("it is there").number, 3, "the newest");
    assert_eq!(client(&stand).pull(&by("someone:fix")).await.expect("it is there").number, 2);
    assert_eq!(client(&stand).pull(&by("nothing")).await, Err(Failure::NotFound));
    let asked = stand.asked();
    assert!(asked[0].contains("head=octo%3Afeature%2Fone%26two&state=all"), "{}", asked[0]);
}

#[tokio::test]
async fn what_is_not_there_for_somebody_without_a_token_may_be_there() {
    let stand = Stand::start(vec![Answer::Status(404), Answer::Status(404)]).await;
    let anonymous = Client::new(Settings::new(&stand.address, None)).expect("a client");
    let failure = anonymous.pull(&number(1)).await.expect_err("it is hidden");
    assert_eq!((&failure, failure.is_transient()), (&Failure::Hidden, true));
    assert_eq!(client(&stand).pull(&number(1)).await, Err(Failure::NotFound), "whoever has one is believed");
    let none = anonymous.pull(&PullRef::branch(repository(), "nothing").expect("a branch")).await;
    assert_eq!(none, Err(Failure::NotFound), "the repository is seen, and has none for that branch");
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    for answer in [
        Answer::Status(500),
        Answer::Status(503),
        Answer::Limited(429, "0"),
        Answer::Limited(403, "0"),
        Answer::BreakOff,
    ] {
        let stand = Stand::start(vec![answer.clone(), answer.clone()]).await;
        let found = client(&stand).pull(&number(1)).await;
        assert!(found.is_ok_and(|pull| pull.is_merged()), "{answer:?}");
        assert_eq!(stand.asked().len(), 3, "{answer:?}");
    }
}

#[tokio::test]
async fn it_is_not_tried_for_ever() {
    let stand = Stand::start(vec![Answer::Status(502); 20]).await;
    let failure = client(&stand).pull(&number(1)).await.expect_err("it fails");
    assert!(failure.is_transient());
    assert_eq!(failure, Failure::Unavailable("keeps failing"));
    assert_eq!(stand.asked().len(), 4);
}

#[tokio::test]
async fn a_pause_that_is_too_long_is_told_instead() {
    for status in [429, 403] {
        let stand = Stand::start(vec![Answer::Limited(status, "3600")]).await;
        let failure = client(&stand).pull(&number(1)).await.expect_err("it fails");
        assert_eq!(failure, Failure::RateLimited { after: Some(Duration::from_hours(1)) });
        assert_eq!(stand.asked().len(), 1);
    }
}

#[tokio::test]
async fn what_does_not_pass_is_told_at_once() {
    for (status, expected) in [
        (401, Failure::Unauthorized),
        (403, Failure::Forbidden),
        (404, Failure::NotFound),
        (422, Failure::Unexpected(422)),
        (204, Failure::Unexpected(204)),
    ] {
        let stand = Stand::start(vec![Answer::Status(status)]).await;
        let failure = client(&stand).pull(&number(1)).await.expect_err("it fails");
        assert!(!failure.is_transient());
        assert_eq!(failure, expected);
        assert_eq!(stand.asked().len(), 1);
    }
}

#[tokio::test]
async fn redirects_stay_on_the_server() {
    let other = Stand::start(Vec::new()).await;
    let away = format!("{}/repos/octo/demo/pulls/1", other.address);
    let stand = Stand::start(vec![Answer::Redirect(away)]).await;
    assert_eq!(client(&stand).pull(&number(1)).await, Err(Failure::Unexpected(301)));
    assert!(other.asked().is_empty(), "the token went to another server");
    let stand = Stand::start(vec![Answer::Redirect("/repos/octo/demo/pulls/2".to_owned())]).await;
    assert_eq!(client(&stand).pull(&number(1)).await.expect("it was renamed").number, 2);
    let stand = Stand::start(vec![Answer::Redirect("/repos/octo/demo/pulls/1".to_owned()); 50]).await;
    assert!(matches!(client(&stand).pull(&number(1)).await, Err(Failure::BadAnswer(_))));
    assert!(stand.asked().len() < 10);
}

#[tokio::test]
async fn answers_are_not_believed() {
    for (body, why) in [
        ("<html>".to_owned(), "it is no pull request"),
        ("{}".to_owned(), "it is no pull request"),
        (format!("\"{}\"", "x".repeat(2 * 1024 * 1024)), "it is too long"),
        (server::pull(1, "closed", "null", "\"2026-01-02T03:04:05Z\""), "it names no merge commit"),
        (server::pull(1, "odd", "null", "null"), "its state is not known"),
    ] {
        let stand = Stand::start(vec![Answer::Body(body)]).await;
        assert_eq!(client(&stand).pull(&number(1)).await, Err(Failure::BadAnswer(why)));
        assert_eq!(stand.asked().len(), 1);
    }
}

#[tokio::test]
async fn who_does_not_answer_is_given_up() {
    let stand = Stand::start(vec![Answer::Hang; 20]).await;
    let limits = Settings { timeout: Duration::from_millis(100), tries: 2, ..Settings::new(&stand.address, None) };
    let limits = Settings { pause: Duration::from_millis(1), ..limits };
    let failure = Client::new(limits).expect("a client").pull(&number(1)).await.expect_err("it fails");
    assert_eq!(failure, Failure::Unavailable("did not answer in time"));
    let nobody = Settings { tries: 2, pause: Duration::from_millis(1), ..Settings::new("http://127.0.0.1:1", None) };
    let failure = Client::new(nobody).expect("a client").pull(&number(1)).await.expect_err("it fails");
    assert_eq!(failure, Failure::Unavailable("cannot be reached"));
}

#[test]
fn settings_are_checked_and_keep_their_secret() {
    for api in ["", "api.github.com", "ftp://x", "https://user:pass@host", "https://host?x=1", "file:///etc"] {
        assert_eq!(Client::new(Settings::new(api, None)).err(), Some(SetupError::BadAddress), "{api}");
    }
    let bad = Settings::new("https://host/api/v3/", Some("a\nb".to_owned()));
    assert_eq!(Client::new(bad).err(), Some(SetupError::BadToken));
    let client = Client::new(Settings::new("https://host/api/v3/", Some("the-token".to_owned()))).expect("a client");
    assert!(!format!("{client:?}").contains("the-token"));
}
