//! `[telemetry]` of `docket.toml`, and the standard variables over it: where traces of calls go.

use docket_core::{Invalid, Reason, echo};
use reqwest::Url;

use super::locate::Surroundings;
use super::node::{ConfigError, Field};
use crate::exit::Failure;

/// Where a collector takes traces, beneath its address.
const TRACES: &str = "v1/traces";

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Telemetry {
    /// The collector's address.
    endpoint: Option<Url>,
    /// What this server is called there.
    pub(crate) service_name: Option<String>,
}

/// The standard variables, as far as they are not read where they are used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`
    pub(crate) endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`
    pub(crate) traces_endpoint: Option<String>,
    /// `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL`, else `OTEL_EXPORTER_OTLP_PROTOCOL`
    pub(crate) protocol: Option<String>,
    /// `OTEL_TRACES_EXPORTER`
    pub(crate) exporter: Option<String>,
    /// `OTEL_SDK_DISABLED`
    pub(crate) disabled: Option<String>,
}

pub(super) fn read(field: &Field<'_>) -> Result<Telemetry, ConfigError> {
    let mut settings = field.settings()?;
    let telemetry = Telemetry {
        endpoint: settings.get("endpoint").map(|field| field.parsed_by(address)).transpose()?,
        service_name: settings.get("service_name").map(|field| field.parsed_by(name)).transpose()?,
    };
    settings.finish()?;
    Ok(telemetry)
}

impl Telemetry {
    /// Where traces go; nowhere unless somebody says so.
    pub(crate) fn traces(&self, around: &Surroundings) -> Result<Option<Url>, Failure> {
        let said = &around.telemetry;
        let is = |variable: &Option<String>, value: &str| {
            variable.as_deref().is_some_and(|said| said.eq_ignore_ascii_case(value))
        };
        if is(&said.disabled, "true") || is(&said.exporter, "none") {
            return Ok(None);
        }
        let parsed = |variable: &str, text: &str| {
            address(text).map_err(|invalid| Failure::environment(format!("{variable} {}", invalid.message)))
        };
        let found = match (&said.traces_endpoint, &said.endpoint) {
            (Some(text), _) => Some(parsed("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", text)?),
            (None, Some(text)) => Some(beneath(&parsed("OTEL_EXPORTER_OTLP_ENDPOINT", text)?)),
            (None, None) => self.endpoint.as_ref().map(beneath),
        };
        match &said.protocol {
            Some(other) if found.is_some() && !is(&said.protocol, "http/protobuf") => {
                Err(Failure::environment(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, not \"{}\": traces are sent in no other form",
                    echo(other)
                )))
            }
            Some(_) | None => Ok(found),
        }
    }
}

fn beneath(base: &Url) -> Url {
    let mut whole = base.clone();
    whole.set_path(&format!("{}/{TRACES}", base.path().trim_end_matches('/')));
    whole
}

fn address(text: &str) -> Result<Url, Invalid> {
    let found = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    found.ok_or_else(|| {
        let message = format!("must be an address such as http://127.0.0.1:4318, not \"{}\"", echo(text));
        Invalid::new(Reason::BadValue, message)
    })
}

fn name(text: &str) -> Result<String, Invalid> {
    let fits = !text.trim().is_empty() && text.len() <= 255 && !text.contains(char::is_control);
    fits.then(|| text.to_owned()).ok_or_else(|| {
        Invalid::new(Reason::BadValue, "must be a name of at most 255 bytes, without control characters")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(variables: &[(&str, &str)]) -> Surroundings {
        let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let telemetry = Variables {
            endpoint: of("endpoint"),
            traces_endpoint: of("traces"),
            protocol: of("protocol"),
            exporter: of("exporter"),
            disabled: of("disabled"),
        };
        Surroundings { telemetry, ..Surroundings::default() }
    }

    #[test]
    fn traces_go_where_the_environment_or_else_the_file_says() {
        let file = Telemetry { endpoint: address("http://file:4318").ok(), service_name: None };
        for (variables, wanted) in [
            (&[][..], Some("http://file:4318/v1/traces")),
            (&[("endpoint", "https://env/otlp/")], Some("https://env/otlp/v1/traces")),
            (&[("endpoint", "http://env"), ("traces", "http://exact/here")], Some("http://exact/here")),
            (&[("disabled", "TRUE")], None),
            (&[("exporter", "none")], None),
            (&[("protocol", "http/protobuf")], Some("http://file:4318/v1/traces")),
        ] {
            let found = file.traces(&around(variables)).expect("an address").map(String::from);
            assert_eq!(found.as_deref(), wanted, "{variables:?}");
        }
        assert!(Telemetry::default().traces(&around(&[("protocol", "grpc")])).expect("off").is_none());
    }

    #[test]
    fn what_cannot_be_sent_to_is_refused() {
        for variables in [
            &[("endpoint", "collector:4317")][..],
            &[("endpoint", "")],
            &[("endpoint", "http://c"), ("protocol", "grpc")],
        ] {
            assert!(Telemetry::default().traces(&around(variables)).is_err(), "{variables:?}");
        }
    }
}
