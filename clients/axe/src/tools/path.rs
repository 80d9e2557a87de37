//! Paths as models write them.

/// Which of the two directories a path starts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Area {
    Workdir,
    Artifacts,
}

impl Area {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Workdir => "workdir",
            Self::Artifacts => "artifact directory",
        }
    }
}

/// A path without `.`, `..` and empty parts, for the runtime, which knows no such parts; `.` is the directory itself.
///
/// Symbolic links are the runtime's affair: it follows those that stay inside and refuses the others.
pub(super) fn clean(path: &str, area: Area) -> Result<String, String> {
    if path.is_empty() {
        return Err("path is required".to_owned());
    }
    if path.starts_with('/') {
        return Err(format!(
            "absolute paths are not allowed: {path:?} must be relative to the {}",
            area.as_str()
        ));
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Err(format!("path escapes {}: {path:?}", area.as_str())),
            ".." => {}
            part => parts.push(part),
        }
    }
    Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}
