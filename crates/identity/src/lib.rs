//! Turns credentials into a caller: API keys, bearer tokens, proofs of actors; and how often a caller may call.
//!
//! What a caller may do is the core's business ([`docket_core::access`]); here it is only found out who it is. Key sets
//! are fetched from the addresses of the operator's configuration and from nowhere else: no address in a token counts.

mod bearer;
mod fetch;
mod file;
mod keyset;
mod lasting;
mod limiter;
mod proofs;
mod settings;
mod source;
mod token;

pub use bearer::{Bearer, Caller};
pub use lasting::Holding;
pub use limiter::{Limiter, Rate};
pub use proofs::JwksVerifier;
pub use settings::{Algorithm, ClaimNames, JwksSettings, SetupError, TokenSettings};

/// Longest time that a key server has for its answers: for a discovery document and the keys that it names together.
pub const FETCH_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
/// How long whoever could go on with old keys waits for those that are being fetched, counted from when that began.
pub const REFRESH_MOMENT: std::time::Duration = std::time::Duration::from_millis(250);
/// Most bytes of a key set, fetched or in a file, or of a discovery document.
pub const FETCH_BYTES: usize = 1024 * 1024;
/// Shortest time between two fetches that tokens cause: a stranger's key id must not make us a nuisance.
pub const REFRESH_PAUSE: std::time::Duration = std::time::Duration::from_secs(30);
/// Longest time that keys are used which could not be fetched again.
pub const KEYS_MAX_AGE: std::time::Duration = std::time::Duration::from_hours(24);
/// Longest token that is looked at, in bytes.
pub const TOKEN_BYTES: usize = 16 * 1024;
/// Smallest RSA key that is accepted, in bits.
pub const RSA_BITS: usize = 2048;
/// Difference between clocks that is forgiven, in seconds.
pub const LEEWAY_SECONDS: u64 = 30;
