//! The plugins of a workspace, and the secrets that each is started with.
//!
//! Environments and headers hold secrets. They are in no log, no error message and no `Debug` output.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::manifest::{Manifest, ManifestError, Server};
use crate::tools::{check_variable, quoted};

/// Names and values, by the id of the plugin that they are for.
pub type ByPlugin = BTreeMap<String, BTreeMap<String, String>>;

/// A plugin and everything that it is started with. Two that are equal can share a session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Plugin {
    pub(crate) manifest: Arc<Manifest>,
    /// The complete environment of a program.
    pub(super) env: BTreeMap<String, String>,
    /// Headers of every request to an HTTP server, by their names in small letters.
    headers: BTreeMap<String, String>,
}

/// Which plugins there are.
#[derive(Clone, Default)]
pub struct PluginSetup {
    manifests: Vec<Arc<Manifest>>,
    env: ByPlugin,
    headers: ByPlugin,
}

/// Why plugins can't be set up so. No value is shown: it may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file that is no manifest.
    #[error("manifest {path} {fault}")]
    Manifest {
        /// The file, in quotes.
        path: String,
        /// What is wrong with it.
        fault: ManifestError,
    },
    /// Two manifests have one id.
    #[error("two plugins have the id {0}")]
    SameId(String),
    /// An environment or headers for nobody.
    #[error("{member}: no plugin {id} is registered")]
    Unregistered {
        /// Where it stands.
        member: &'static str,
        /// For whom, in quotes.
        id: String,
    },
    /// An environment for an HTTP server, or headers for a program.
    #[error("{member}: plugin {id} {rule}")]
    WrongKind {
        /// Where it stands.
        member: &'static str,
        /// For whom, in quotes.
        id: String,
        /// What such a plugin takes.
        rule: &'static str,
    },
    /// A name or a value that can't be.
    #[error("{member}: plugin {id}: {reason}")]
    Entry {
        /// Where it stands.
        member: &'static str,
        /// For whom, in quotes.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
}

const ENV: &str = "plugin_env";
const HEADERS: &str = "plugin_headers";

/// Headers that are the transport's own; so are those that begin with `mcp-`.
const RESERVED: &[&str] = &[
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl PluginSetup {
    /// Reads the manifests, once and for all, and checks what belongs to them.
    ///
    /// # Errors
    /// See [`SetupError`].
    ///
    /// Source: SPEC §3.8.
    pub fn read(
        manifests: &[impl AsRef<Path>],
        env: ByPlugin,
        headers: ByPlugin,
    ) -> Result<Self, SetupError> {
        let manifests = read_manifests(manifests)?;
        check(&manifests, &env, &headers)?;
        Ok(Self { manifests, env, headers })
    }

    /// This setup with those parts replaced that are given. Parts that are kept count only for plugins that are there
    /// and take them.
    ///
    /// # Errors
    /// See [`SetupError`].
    ///
    /// Source: SPEC §7.1.
    pub(crate) fn with(
        &self,
        manifests: Option<&[String]>,
        env: Option<ByPlugin>,
        headers: Option<ByPlugin>,
    ) -> Result<Self, SetupError> {
        let manifests = match manifests {
            Some(paths) => read_manifests(paths)?,
            None => self.manifests.clone(),
        };
        let none = ByPlugin::new();
        check(&manifests, env.as_ref().unwrap_or(&none), headers.as_ref().unwrap_or(&none))?;
        let env = env.unwrap_or_else(|| self.env.clone());
        let headers = headers.unwrap_or_else(|| self.headers.clone());
        Ok(Self { manifests, env, headers })
    }

    /// The plugins, in the order of their registration.
    pub(crate) fn plugins(&self) -> Vec<Plugin> {
        let plugin = |manifest: &Arc<Manifest>| {
            let of = |map: &ByPlugin, is_so: bool| {
                map.get(&manifest.id).filter(|_| is_so).cloned().unwrap_or_default()
            };
            let is_program = matches!(manifest.server, Server::Stdio { .. });
            let headers = of(&self.headers, !is_program);
            Plugin {
                manifest: manifest.clone(),
                env: of(&self.env, is_program),
                headers: headers
                    .into_iter()
                    .map(|(name, value)| (name.to_ascii_lowercase(), value))
                    .collect(),
            }
        };
        self.manifests.iter().map(plugin).collect()
    }
}

impl Plugin {
    /// The plugin's id.
    pub(crate) fn id(&self) -> &str {
        &self.manifest.id
    }

    /// The headers, hidden from the `Debug` output of whoever sends them.
    pub(super) fn headers(&self) -> HeaderMap {
        let header = |(name, value): (&String, &String)| {
            let mut value = HeaderValue::try_from(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(name).ok()?, value))
        };
        self.headers.iter().filter_map(header).collect()
    }
}

/// Text of a server's that is to be shown, without what was sent to it in a header: some servers say it back.
#[derive(Default)]
pub(super) struct Veil(Vec<String>);

/// What is shorter is no secret, and might stand anywhere.
const SECRET_MIN_BYTES: usize = 6;

impl Veil {
    /// Over the headers of this plugin, and over what follows the name of a scheme ("Bearer") in them.
    pub(super) fn new(plugin: &Plugin) -> Self {
        let parts = plugin.headers.values().flat_map(|value| {
            let credentials = value.trim().split_once(' ').map(|(_, credentials)| credentials.trim());
            [Some(value.trim()), credentials]
        });
        let mut secrets: Vec<String> =
            parts.flatten().filter(|part| part.len() >= SECRET_MIN_BYTES).map(str::to_owned).collect();
        // The whole before its part.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// The text with every secret covered.
    pub(super) fn over(&self, text: String) -> String {
        self.0.iter().fold(
            text,
            |text, secret| {
                if text.contains(secret) { text.replace(secret, "[hidden]") } else { text }
            },
        )
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Plugin").field("id", &self.manifest.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for PluginSetup {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(self.manifests.iter().map(|manifest| &manifest.id)).finish()
    }
}

fn read_manifests(paths: &[impl AsRef<Path>]) -> Result<Vec<Arc<Manifest>>, SetupError> {
    let mut manifests: Vec<Arc<Manifest>> = Vec::new();
    for path in paths.iter().map(AsRef::as_ref) {
        let manifest = Manifest::read(path)
            .map_err(|fault| SetupError::Manifest { path: quoted(&path.display().to_string()), fault })?;
        if manifests.iter().any(|other| other.id == manifest.id) {
            return Err(SetupError::SameId(quoted(&manifest.id)));
        }
        manifests.push(Arc::new(manifest));
    }
    Ok(manifests)
}

fn check(manifests: &[Arc<Manifest>], env: &ByPlugin, headers: &ByPlugin) -> Result<(), SetupError> {
    for (id, variables) in env {
        if matches!(of(manifests, ENV, id)?.server, Server::Http { .. }) {
            let rule = "is an HTTP server: it takes headers and no environment";
            return Err(SetupError::WrongKind { member: ENV, id: quoted(id), rule });
        }
        for (name, value) in variables {
            check_variable(ENV, name, value).map_err(|_| {
                let name = quoted(name);
                let reason =
                    format!("the name {name} must not be empty nor hold \"=\" or NUL, nor its value NUL");
                SetupError::Entry { member: ENV, id: quoted(id), reason }
            })?;
        }
    }
    for (id, headers) in headers {
        if matches!(of(manifests, HEADERS, id)?.server, Server::Stdio { .. }) {
            let rule = "is a program: it takes an environment and no headers";
            return Err(SetupError::WrongKind { member: HEADERS, id: quoted(id), rule });
        }
        let mut seen = HashSet::new();
        for (name, value) in headers {
            check_header(name, value, &mut seen).map_err(|reason| SetupError::Entry {
                member: HEADERS,
                id: quoted(id),
                reason,
            })?;
        }
    }
    Ok(())
}

fn of<'m>(
    manifests: &'m [Arc<Manifest>],
    member: &'static str,
    id: &str,
) -> Result<&'m Manifest, SetupError> {
    let found = manifests.iter().find(|manifest| manifest.id == id);
    found.map(Arc::as_ref).ok_or_else(|| SetupError::Unregistered { member, id: quoted(id) })
}

fn check_header(name: &str, value: &str, seen: &mut HashSet<HeaderName>) -> Result<(), String> {
    let shown = quoted(name);
    let Ok(parsed) = HeaderName::try_from(name) else {
        return Err(format!("{shown} is no name of a header"));
    };
    if RESERVED.contains(&parsed.as_str()) || parsed.as_str().starts_with("mcp-") {
        return Err(format!("the header {shown} is the transport's own"));
    }
    if HeaderValue::try_from(value).is_err() {
        return Err(format!("the value of {shown} holds characters that a header can't have"));
    }
    if !seen.insert(parsed) {
        return Err(format!("the header {shown} is there twice"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
