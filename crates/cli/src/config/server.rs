//! `[server]` of `docket.toml`: where `docket serve` listens, the names it answers to, how much it takes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use docket_core::{Invalid, Reason, echo};
use docket_rest_api::Limits;

use super::node::{ConfigError, Field, Settings};

/// What the file says of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Server {
    pub(crate) listen: Option<SocketAddr>,
    /// Names beside the loopback ones.
    pub(crate) hosts: Vec<String>,
    /// Where clients reach it.
    pub(crate) public_url: Option<String>,
    pub(crate) limits: Limits,
}

pub(super) fn read(field: &Field<'_>) -> Result<Server, ConfigError> {
    let mut settings = field.settings()?;
    let mut server = Server::default();
    if let Some(field) = settings.get("listen") {
        server.listen = Some(field.parsed_by(address)?);
    }
    if let Some(field) = settings.get("hosts") {
        server.hosts = field.list()?.iter().map(|host| host.parsed_by(host_name)).collect::<Result<_, _>>()?;
    }
    if let Some(field) = settings.get("public_url") {
        server.public_url = Some(field.parsed_by(public_url)?);
    }
    limits(&mut settings, &mut server.limits)?;
    settings.finish()?;
    Ok(server)
}

fn limits(settings: &mut Settings<'_>, limits: &mut Limits) -> Result<(), ConfigError> {
    for (key, limit) in [
        ("body_bytes", &mut limits.body_bytes),
        ("import_bytes", &mut limits.import_bytes),
        ("header_bytes", &mut limits.header_bytes),
        ("connections", &mut limits.connections),
        ("in_flight", &mut limits.in_flight),
        ("waiters", &mut limits.waiters),
    ] {
        if let Some(field) = settings.get(key) {
            *limit = at_least_one(&field)?;
        }
    }
    for (key, limit) in [
        ("header_timeout_seconds", &mut limits.header_timeout),
        ("body_timeout_seconds", &mut limits.body_timeout),
        ("stall_timeout_seconds", &mut limits.stall_timeout),
        ("drain_seconds", &mut limits.drain),
    ] {
        if let Some(field) = settings.get(key) {
            *limit = Duration::from_secs(at_least_one(&field)? as u64);
        }
    }
    Ok(())
}

fn at_least_one(field: &Field<'_>) -> Result<usize, ConfigError> {
    let number: u32 = field.number()?;
    if number == 0 { Err(field.error("must be at least 1")) } else { Ok(number as usize) }
}

/// `127.0.0.1:7420`, `[::1]:7420`, `localhost:7420`, or a port alone.
pub(crate) fn address(text: &str) -> Result<SocketAddr, Invalid> {
    let local = |port: &str| port.parse().ok().map(|port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let found = text
        .parse()
        .ok()
        .or_else(|| text.strip_prefix("localhost:").and_then(local))
        .or_else(|| text.strip_prefix(':').and_then(local));
    found.ok_or_else(|| {
        let message = format!("must be an address with a port, such as 127.0.0.1:7420, not \"{}\"", echo(text));
        Invalid::new(Reason::BadValue, message)
    })
}

fn host_name(text: &str) -> Result<String, Invalid> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    if text.is_empty() || text.contains("://") || !text.chars().all(plain) {
        let message = format!("must be a host name such as docket.example.org, not \"{}\"", echo(text));
        return Err(Invalid::new(Reason::BadValue, message));
    }
    Ok(text.to_ascii_lowercase())
}

/// Where clients reach the server: a scheme and a name, and nothing behind it.
fn public_url(text: &str) -> Result<String, Invalid> {
    let plain = text.trim_end_matches('/');
    let host = plain.strip_prefix("https://").or_else(|| plain.strip_prefix("http://"));
    let is_name = |host: &str| host.parse::<http::uri::Authority>().is_ok_and(|name| !name.as_str().contains('@'));
    if host.is_some_and(is_name) {
        return Ok(plain.to_owned());
    }
    let message =
        format!("must be an address without a path, such as https://docket.example.org, not \"{}\"", echo(text));
    Err(Invalid::new(Reason::BadValue, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_is_a_scheme_and_a_name() {
        for (text, wanted) in [
            ("https://docket.example.org", "https://docket.example.org"),
            ("https://docket.example.org/", "https://docket.example.org"),
            ("http://10.0.0.1:8080", "http://10.0.0.1:8080"),
        ] {
            assert_eq!(public_url(text), Ok(wanted.to_owned()), "{text}");
        }
        for text in [
            "",
            "docket.example.org",
            "https://",
            "ftp://a",
            "https://a/b",
            "https://a?b",
            "https://u@a",
            "https://a\"b",
        ] {
            assert!(public_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_have_a_port() {
        for (text, wanted) in [
            ("127.0.0.1:7420", "127.0.0.1:7420"),
            ("localhost:1", "127.0.0.1:1"),
            (":80", "127.0.0.1:80"),
            ("[::1]:7420", "[::1]:7420"),
            ("0.0.0.0:0", "0.0.0.0:0"),
        ] {
            assert_eq!(address(text).map(|found| found.to_string()), Ok(wanted.to_owned()), "{text}");
        }
        for text in ["", "7420", "127.0.0.1", "example.org:80", "127.0.0.1:99999", "http://127.0.0.1:1"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
