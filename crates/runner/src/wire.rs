//! What the runner and its supervisor say to each other, over a socket that is the supervisor's standard input.
//!
//! The runner sends one [`Task`] and perhaps [`CANCEL`]; the supervisor answers with one [`Outcome`]. The end of the
//! socket tells each that the other is gone.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::FRAME_BYTES;
use crate::own::Owned;
use crate::report::{Ended, PutBack, Sandbox};

/// The first argument of a supervisor.
pub(crate) const SUPERVISE: &str = "__supervise";
/// The first argument of the process that a supervisor puts inside.
pub(crate) const CONTAIN: &str = "__contain";
/// The byte by which a run is cancelled.
pub(crate) const CANCEL: u8 = b'c';
/// The exit code of a supervisor that could not make a namespace and cannot go on without one.
pub(crate) const NO_NAMESPACE: i32 = 87;

/// What the inner process has to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) command: String,
    /// The work tree, and the folder beneath it that the command runs in.
    pub(crate) root: PathBuf,
    pub(crate) folder: String,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
    /// Where it may write, when it is to be confined: whole paths.
    pub(crate) writable: Option<Vec<PathBuf>>,
    /// What is the operator's, wherever it lies.
    pub(crate) own: Owned,
}

/// How it went.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) ended: Ended,
    pub(crate) took_us: u64,
    pub(crate) sandbox: Sandbox,
    /// Where something of the operator's was not as it was.
    pub(crate) put_back: Vec<PutBack>,
}

/// Sends a message with its length before it.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|length| *length as usize <= FRAME_BYTES);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend_from_slice(&body);
    to.write_all(&frame)
}

/// Receives a message, and not a byte more.
pub(crate) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_BYTES {
        return Err(io::Error::other("the message is too long"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_whole_and_nothing_after_it_is_read() {
        let mut line = Vec::new();
        send(&mut line, &("text", 7)).expect("sent");
        line.push(CANCEL);
        let mut from = line.as_slice();
        assert_eq!(receive::<(String, u8)>(&mut from).expect("received"), ("text".to_owned(), 7));
        assert_eq!(from, [CANCEL]);
    }

    #[test]
    fn a_length_that_is_too_large_is_not_believed() {
        let line = u32::MAX.to_le_bytes();
        assert!(receive::<String>(&mut line.as_slice()).is_err());
        assert!(send(&mut Vec::new(), &"x".repeat(FRAME_BYTES + 1)).is_err());
    }
}
