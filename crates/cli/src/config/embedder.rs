//! `[embedder]` of `docket.toml`: who makes vectors for searches of knowledge, if anybody.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use docket_core::knowledge::Embedder;
use docket_embed::{Endpoint, EndpointSettings, StaticModel};

use super::node::{ConfigError, Field};
use crate::exit::Failure;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EmbedderSettings {
    endpoint: Option<EndpointSettings>,
    /// The variable that the endpoint's key is in.
    key_variable: Option<String>,
    folder: Option<PathBuf>,
}

pub(super) fn read(field: &Field<'_>, folder: &Path) -> Result<EmbedderSettings, ConfigError> {
    let mut settings = field.settings()?;
    let text = |field: Field<'_>| field.text().map(str::to_owned);
    let base = settings.get("endpoint").map(text).transpose()?;
    let model = settings.get("model").map(text).transpose()?;
    let key_variable = settings.get("key_variable").map(text).transpose()?;
    let model_folder = settings.get("folder").map(text).transpose()?;
    settings.finish()?;
    match (base, model, model_folder) {
        (Some(base), Some(model), None) => Ok(EmbedderSettings {
            endpoint: Some(EndpointSettings { base, model, key: None }),
            key_variable,
            folder: None,
        }),
        (None, None, Some(path)) if key_variable.is_none() => {
            Ok(EmbedderSettings { folder: Some(folder.join(path)), ..EmbedderSettings::default() })
        }
        _ => Err(field.error("must have endpoint and model, with key_variable where a key is needed, or folder alone")),
    }
}

impl EmbedderSettings {
    /// Sets the embedder up; none where the file names none.
    pub(crate) fn start(&self) -> Result<Option<Arc<dyn Embedder>>, Failure> {
        let failed = |error: docket_embed::SetupError| Failure::environment(format!("[embedder]: {error}"));
        if let Some(folder) = &self.folder {
            return Ok(Some(Arc::new(StaticModel::open(folder).map_err(failed)?)));
        }
        let Some(endpoint) = self.endpoint.clone() else { return Ok(None) };
        let key = match &self.key_variable {
            None => None,
            Some(variable) => Some(std::env::var(variable).map_err(|_| {
                Failure::environment(format!("[embedder]: the variable {variable} with the key is not set"))
            })?),
        };
        Ok(Some(Arc::new(Endpoint::new(EndpointSettings { key, ..endpoint }).map_err(failed)?)))
    }
}
