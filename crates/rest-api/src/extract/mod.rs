//! Reads the parts of a request: strictly, and with a refusal that names what is wrong.

mod body;
mod head;
mod path;
mod query;

pub(crate) use body::{Json, Lines, MaybeJson, whole};
pub(crate) use head::{Expected, Idempotency, Unchanged};
pub(crate) use path::{CheckPath, ItemPath, NotePath, TextPath};
pub(crate) use query::Query;
