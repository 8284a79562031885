//! What stands behind the question mark: every name known and there once.

use axum::extract::FromRequestParts;
use docket_core::Reason;
use docket_core::wire::from_pairs;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// The parameters of an address.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let mut pairs = Vec::new();
        for part in parts.uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            pairs.push((decode(name)?, decode(value)?));
        }
        from_pairs(pairs).map(Self).map_err(Failure::from)
    }
}

/// Text out of its escapes.
fn decode(text: &str) -> Result<String, Failure> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                match (digit(rest.next()), digit(rest.next())) {
                    (Some(high), Some(low)) => u8::try_from(high * 16 + low).unwrap_or_default(),
                    _ => {
                        return Err(Failure::malformed(Reason::BadValue, "the address has a % without two hex digits"));
                    }
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| Failure::malformed(Reason::BadUtf8, "the address is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_are_read_and_bad_ones_refused() {
        let decode = |text| super::decode(text).map_err(|failure| failure.status.as_u16());
        assert_eq!(decode("a+b%20c%C3%A9"), Ok("a b cé".to_owned()));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decode(bad), Err(400), "{bad}");
        }
    }
}
