//! Gates.
