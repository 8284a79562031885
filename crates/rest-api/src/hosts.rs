//! Which names this server answers to. A page of another site can make a browser send requests to us: by a name that it has
//! bound to our address, or from its own origin. Both are told by their headers, and refused before anything else is read.

use std::net::IpAddr;

use docket_core::{Code, Error, Kind, Reason, echo};
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri};

use crate::failure::Failure;

/// The names a server answers to.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// These names beside the loopback ones; a port after a name is not looked at.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Lets a request through, or says why not.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Failure::malformed(Reason::WrongHost, "a request has exactly one Host header"));
        };
        let host = host.to_str().ok().and_then(authority);
        let Some(host) = host.filter(|host| self.knows(host)) else {
            return Err(refused("this server has another name"));
        };
        // A request may carry a whole address; then it must be the same one.
        if uri.authority().is_some_and(|named| !same(named, &host, uri.scheme_str())) {
            return Err(refused("the address and the Host header differ"));
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(()) };
        let shown = origin.to_str().unwrap_or_default();
        let ours = shown
            .split_once("://")
            .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
            .and_then(|(scheme, rest)| Some((scheme, authority(rest)?)))
            .is_some_and(|(scheme, named)| same(&named, &host, Some(scheme)));
        if ours && origins.next().is_none() {
            return Ok(());
        }
        Err(refused(&format!("requests from pages of \"{}\" are not taken", echo(shown))))
    }

    fn knows(&self, host: &Authority) -> bool {
        let name = host.host().to_ascii_lowercase();
        name == "localhost" || address(&name).is_some_and(|ip| ip.is_loopback()) || self.names.contains(&name)
    }
}

fn refused(message: &str) -> Failure {
    let error = Error::new(Kind::Permanent, Code::Forbidden, Reason::WrongHost, message);
    Failure::with_status(StatusCode::FORBIDDEN, error)
}

/// A host with a port or without; no user, nothing behind it.
fn authority(text: &str) -> Option<Authority> {
    text.parse::<Authority>().ok().filter(|authority| !authority.as_str().contains('@') && !authority.host().is_empty())
}

fn address(name: &str) -> Option<IpAddr> {
    name.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether both name the same place; a port that goes without saying may be said.
fn same(a: &Authority, b: &Authority, scheme: Option<&str>) -> bool {
    let usual = match scheme {
        Some("https") => 443,
        Some(_) | None => 80,
    };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(usual);
    a.host().eq_ignore_ascii_case(b.host()) && port(a) == port(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().expect("a name");
            map.append(name, value.parse().expect("a value"));
        }
        let hosts = Hosts::new(["docket.example".to_owned()]);
        let uri: Uri = uri.parse().expect("an address");
        hosts.check(&uri, &map).err().map_or(200, |failure| failure.status.as_u16())
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        for host in [
            "localhost",
            "LOCALHOST:7420",
            "127.0.0.1:7420",
            "127.8.8.8",
            "[::1]:7420",
            "docket.example",
            "Docket.Example:443",
        ] {
            assert_eq!(status("/", &[("host", host)]), 200, "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0", "192.168.0.1", "user@localhost", ""]
        {
            assert_eq!(status("/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status("/", &[]), 400);
        assert_eq!(status("/", &[("host", "localhost"), ("host", "localhost")]), 400);
        assert_eq!(status("http://localhost:1/", &[("host", "localhost:1")]), 200);
        assert_eq!(status("http://evil.example/", &[("host", "localhost")]), 403);
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let from = |host, origin| status("/", &[("host", host), ("origin", origin)]);
        assert_eq!(from("localhost:7420", "http://localhost:7420"), 200);
        assert_eq!(from("docket.example", "https://docket.example"), 200);
        assert_eq!(from("docket.example:443", "https://docket.example"), 200);
        for origin in
            ["null", "http://localhost:3000", "http://evil.example", "https://localhost", "file://", "localhost:7420"]
        {
            assert_eq!(from("localhost:7420", origin), 403, "{origin}");
        }
        let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(status("/", &two), 403);
    }
}
