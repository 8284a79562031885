//! Vectors made in the background: after a commit, never in one, and again later where it failed.

use std::time::Duration;

use docket_core::Engine;
use docket_core::knowledge::Round;
use tokio::task::JoinHandle;

use crate::config::Configuration;
use crate::exit::Failure;

/// How long it waits at the least between two looks for something to do.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long it waits while it is another process's turn: less than a turn lasts.
const ELSEWHERE: Duration = Duration::from_secs(30);
/// How long it waits after a failure, at first and at the most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// The engine with the quotas and limits of the configuration.
pub(crate) fn limited(engine: &Engine, config: &Configuration) -> Engine {
    let engine = config.limits.map_or_else(|| engine.clone(), |limits| engine.with_limits(limits));
    match config.knowledge_stored {
        Some(knowledge_stored) => engine.with_quotas(docket_core::access::Quotas { knowledge_stored }),
        None => engine,
    }
}

/// The same, and with whoever makes vectors.
pub(crate) fn equipped(engine: &Engine, config: &Configuration) -> Result<Engine, Failure> {
    let engine = limited(engine, config);
    Ok(match config.embedder.start()? {
        Some(embedder) => engine.with_embedder(embedder),
        None => engine,
    })
}

/// Makes vectors as long as the process lives, where somebody makes any.
pub(crate) fn start(engine: &Engine) -> Option<JoinHandle<()>> {
    engine.embedding_model()?;
    // For all projects, whoever the process serves.
    let engine = engine.limited_to(docket_core::access::Access::default());
    Some(tokio::spawn(follow(engine)))
}

/// What tells this process from all others that make vectors for the same database.
pub(crate) fn maker() -> String {
    uuid::Uuid::now_v7().to_string()
}

async fn follow(engine: Engine) {
    let maker = maker();
    let mut pause = FIRST_PAUSE;
    let mut told = false;
    loop {
        let head = engine.head().await.unwrap_or_default();
        match engine.embed_pending(&maker).await {
            Ok(Round::Made { kept, refused }) => {
                pause = FIRST_PAUSE;
                if refused > 0 {
                    tracing::warn!(
                        kept,
                        refused,
                        "the embedder does not take some texts: they are found by words alone"
                    );
                }
            }
            // Whatever was committed, to look whether there is something to do costs one step down an index.
            Ok(Round::Idle) => {
                pause = FIRST_PAUSE;
                if engine.changed(head).await.is_err() {
                    tokio::time::sleep(pause).await;
                }
                tokio::time::sleep(INTERVAL).await;
            }
            Ok(Round::Elsewhere) => tokio::time::sleep(ELSEWHERE).await,
            Ok(Round::OtherModel(model)) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(%model, "the database keeps the vectors of another model; `docket knowledge embed` makes them anew");
                }
                tokio::time::sleep(LONGEST_PAUSE).await;
            }
            Err(error) => {
                tracing::warn!(%error, "no vectors were made; trying again later");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
