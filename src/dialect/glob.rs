//! The `glob` argument of search and list: [`PathPattern`] against a workspace-relative path.
//!
//! A glob without a slash looks at the base name, at any depth; one with a slash at the whole path. After a leading
//! `**/`, which is taken away first, a glob with a slash may match below any directory. Everywhere else `**` is what it
//! is to `path.Match`: two `*`, that is, one.
//!
//! Source: SPEC §3.7.

use crate::dialect::path_match::{PathPattern, PatternFault};

/// A well-formed glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    pattern: PathPattern,
    reach: Reach,
}

/// Which part of a path the pattern looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    BaseName,
    WholePath,
    AnySuffix,
}

/// Why a glob is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GlobFault {
    /// `path.Match` refuses its pattern.
    #[error("is malformed: {0}")]
    Malformed(#[from] PatternFault),
    /// It begins with `/`.
    #[error("is absolute: paths are relative to the workspace")]
    Absolute,
    /// Nothing follows `**/`.
    #[error("has nothing after its `**/`")]
    EmptyAfterStars,
    /// A `/` follows `**/`.
    #[error("has an absolute path after its `**/`")]
    AbsoluteAfterStars,
    /// It holds a NUL.
    #[error("holds a NUL, and no path does")]
    Nul,
}

impl Glob {
    /// Parses a glob. An empty one counts as not given and is `None`.
    ///
    /// # Errors
    /// A [`GlobFault`] when it is malformed, absolute, empty or absolute after a leading `**/`, or holds a NUL. Its
    /// text begins where a message has named the member and its value.
    pub fn parse(glob: &str) -> Result<Option<Self>, GlobFault> {
        if glob.is_empty() {
            return Ok(None);
        }
        if glob.contains('\0') {
            return Err(GlobFault::Nul);
        }
        if glob.starts_with('/') {
            return Err(GlobFault::Absolute);
        }
        let below_any = glob.strip_prefix("**/");
        let rest = below_any.unwrap_or(glob);
        if rest.is_empty() {
            return Err(GlobFault::EmptyAfterStars);
        }
        if rest.starts_with('/') {
            return Err(GlobFault::AbsoluteAfterStars);
        }
        let reach = match (rest.contains('/'), below_any) {
            (false, _) => Reach::BaseName,
            (true, None) => Reach::WholePath,
            (true, Some(_)) => Reach::AnySuffix,
        };
        Ok(Some(Self { pattern: PathPattern::parse(rest)?, reach }))
    }

    /// Whether the glob matches a workspace-relative path, which has no leading and no trailing slash.
    pub fn matches(&self, path: &str) -> bool {
        match self.reach {
            Reach::BaseName => {
                self.pattern.matches(path.rsplit_once('/').map_or(path, |(_, base_name)| base_name))
            }
            Reach::WholePath => self.pattern.matches(path),
            Reach::AnySuffix => {
                self.pattern.matches(path)
                    || path.match_indices('/').any(|(slash, _)| self.pattern.matches(&path[slash + 1..]))
            }
        }
    }
}

#[cfg(test)]
mod tests;
