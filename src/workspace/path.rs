//! Names from outside, checked once.

/// The path of a file: relative, not empty, not `.`, without `..`, NUL or a `/` at its end.
///
/// Source: SPEC §3.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath(String);

/// The path of a directory or file to walk or work in; empty is the workspace itself.
///
/// Source: SPEC §3.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope(String);

impl WorkspacePath {
    /// Checks a file path. The error is the rule that it breaks, to be put behind the member's name and value.
    pub fn parse(path: &str) -> Result<Self, &'static str> {
        if path.is_empty() {
            return Err("must not be empty");
        }
        if path == "." {
            return Err("must name a file, not the workspace");
        }
        if path.ends_with('/') {
            return Err("must not end with a slash");
        }
        common(path)?;
        Ok(Self(path.to_owned()))
    }

    /// The path as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder, empty for the workspace itself, and the name in it.
    pub fn split(&self) -> (&str, &str) {
        self.0.rsplit_once('/').unwrap_or(("", &self.0))
    }
}

impl Scope {
    /// Checks a scope and drops what has no meaning in it: a `/` at the end, `./` and repeated `/`.
    pub fn parse(path: &str) -> Result<Self, &'static str> {
        common(path)?;
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        Ok(Self(parts.join("/")))
    }

    /// The normalised path; empty for the workspace.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

fn common(path: &str) -> Result<(), &'static str> {
    if path.contains('\0') {
        return Err("must not contain NUL");
    }
    if path.starts_with('/') {
        return Err("must be relative to the workspace");
    }
    if path.split('/').any(|part| part == "..") {
        return Err("must not contain the component \"..\"");
    }
    Ok(())
}
