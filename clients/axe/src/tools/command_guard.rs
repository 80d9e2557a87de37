//! A look at a command before it runs.
//!
//! It is advice for a model that means well and has lost its way, not a wall: a shell can always be talked round it. Walls
//! are what the runtime builds around files, and what the operating system builds around the user.

use std::path::{Component, Path, PathBuf};

use super::Surroundings;

/// What ends a word of the shell besides white space.
const METACHARACTERS: [char; 8] = [';', '|', '&', '(', ')', '<', '>', '`'];
/// Variables that hold the working directory in every command.
const WORKDIR_VARIABLES: [&str; 6] = ["${HOME}", "$HOME", "${TMPDIR}", "$TMPDIR", "${PWD}", "$PWD"];

/// Refuses commands that name places outside the working directory.
pub(super) struct CommandGuard {
    /// The working directory first, then others that commands may name.
    roots: Vec<PathBuf>,
}

impl CommandGuard {
    pub(super) fn new(surroundings: &Surroundings) -> Self {
        let artifacts = surroundings.artifacts.iter().map(|artifacts| artifacts.directory());
        let named = std::iter::once(surroundings.workdir.as_path())
            .chain(artifacts)
            .chain(surroundings.skill_directory.as_deref())
            .map(Path::to_owned);
        // A directory that was reached through a link has two names.
        let roots = named
            .flat_map(|root| [root.canonicalize().ok(), Some(root)].into_iter().flatten().rev())
            .collect();
        Self { roots }
    }

    /// Whether the command may run; else why not.
    pub(super) fn check(&self, command: &str) -> Result<(), String> {
        if self.roots.first().is_some_and(|workdir| workdir == Path::new("/")) {
            return Ok(());
        }
        let text = without_web_addresses(command);
        refuse_tilde(&text)?;
        let text: String = text.chars().filter(|&c| c != '\\').collect();
        self.refuse_parent_traversal(&text)?;
        self.refuse_absolute_path(&text)
    }

    /// Quotes count as nothing here: `".."/x` is `../x`.
    fn refuse_parent_traversal(&self, text: &str) -> Result<(), String> {
        let unquoted: String = text.chars().filter(|c| !matches!(c, '\'' | '"')).collect();
        let ends_word = |c: char| c.is_whitespace() || c == '=' || c == ':' || METACHARACTERS.contains(&c);
        let Some(workdir) = self.roots.first() else { return Ok(()) };
        for word in unquoted.split(ends_word) {
            if !word.split('/').any(|part| part == "..") {
                continue;
            }
            let word = without_workdir_variable(word);
            // An absolute word replaces the working directory.
            let is_inside = depth_never_leaves(word)
                || resolve(&workdir.join(word)).is_some_and(|path| self.holds(&path));
            if !is_inside {
                return Err(format!(
                    "command rejected: parent traversal in {word:?} leaves the working directory; commands start \
                     there, so name paths from there"
                ));
            }
        }
        Ok(())
    }

    fn refuse_absolute_path(&self, text: &str) -> Result<(), String> {
        let starts_word =
            |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '=' | ':') || METACHARACTERS.contains(&c);
        let mut before = None;
        for (at, c) in text.char_indices() {
            if c == '/' && before.is_none_or(starts_word) {
                let run = &text[at..];
                let end = run.find(|c: char| !is_path_character(c)).unwrap_or(run.len());
                let path = resolve(Path::new(&run[..end]));
                if !path.is_some_and(|path| self.holds(&path) || is_device(&path)) {
                    return Err(format!(
                        "command rejected: absolute path {:?} is outside the working directory; name paths from there",
                        &run[..end]
                    ));
                }
            }
            before = Some(c);
        }
        Ok(())
    }

    fn holds(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }
}

fn refuse_tilde(text: &str) -> Result<(), String> {
    let starts_word = |c: char| c.is_whitespace() || c == '=' || c == ':' || METACHARACTERS.contains(&c);
    let mut before = None;
    for (at, c) in text.char_indices() {
        if c == '~' && before.is_none_or(starts_word) {
            // The name of a user may stand between.
            let rest = text[at + 1..]
                .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
            let ends = |c: char| c == '/' || c.is_whitespace() || c == ':' || METACHARACTERS.contains(&c);
            if rest.chars().next().is_none_or(ends) {
                return Err("command rejected: home directory expansion (~) leaves the working directory; name paths \
                            from there"
                    .to_owned());
            }
        }
        before = Some(c);
    }
    Ok(())
}

/// The slashes of a web address name no file.
fn without_web_addresses(command: &str) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '$') || METACHARACTERS.contains(&c);
    let mut text = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find("://") {
        let before = &rest[..at];
        let is_web = before.ends_with("http") || before.ends_with("https");
        let end = if is_web { rest[at..].find(ends).map_or(rest.len(), |end| at + end) } else { at + 3 };
        text.push_str(if is_web { before } else { &rest[..end] });
        rest = &rest[end..];
    }
    text + rest
}

fn without_workdir_variable(word: &str) -> &str {
    WORKDIR_VARIABLES
        .iter()
        .filter_map(|variable| word.strip_prefix(variable))
        .find(|rest| rest.is_empty() || rest.starts_with('/'))
        .map_or(word, |rest| rest.trim_start_matches('/'))
}

/// Whether a relative word stays below where it starts at each of its parts. A part that a variable begins may be nothing.
fn depth_never_leaves(word: &str) -> bool {
    let mut depth = 0_usize;
    for part in word.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return false,
            ".." => depth -= 1,
            part if part.starts_with('$') => {}
            _ => depth += 1,
        }
    }
    !word.starts_with('/')
}

/// The path without `.` and `..`, by its letters alone; None when a variable decides where it leads.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Normal(part) if part.to_string_lossy().starts_with('$') => return None,
            component => resolved.push(component),
        }
    }
    Some(resolved)
}

fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") && path != Path::new("/dev")
}

fn is_path_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')
}

#[cfg(test)]
mod tests;
