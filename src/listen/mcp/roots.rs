//! The client's roots: directories that its user works in, as file URIs.
//!
//! They can only narrow. The workspace is the root that the command line gave; a client's root inside of it becomes the
//! folder that paths are relative to, and beyond which nothing is reached; several become the deepest folder that holds
//! them all. What lies outside is passed over, with a line in the log.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The folder that these roots stand for, when at least one of them is a directory inside of `home`, which is absolute
/// and without symlinks.
pub(super) fn folder_of(home: &Path, uris: &[String]) -> Option<PathBuf> {
    let mut folder: Option<PathBuf> = None;
    for uri in uris {
        match inside(home, uri) {
            Ok(path) => {
                folder = Some(match folder {
                    Some(folder) => shared_by(&folder, &path),
                    None => path,
                });
            }
            Err(reason) => tracing::info!(uri, reason, "a root of the client is passed over"),
        }
    }
    folder
}

fn inside(home: &Path, uri: &str) -> Result<PathBuf, &'static str> {
    let path = path_of(uri).ok_or("it is not the file URI of an absolute path")?;
    // Both without symlinks, so that comparing names compares places.
    let path = std::fs::canonicalize(path).map_err(|_| "it does not exist")?;
    if !path.is_dir() {
        return Err("it is not a directory");
    }
    if !path.starts_with(home) {
        return Err("it lies outside of the workspace");
    }
    Ok(path)
}

fn shared_by(one: &Path, other: &Path) -> PathBuf {
    one.components()
        .zip(other.components())
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one)
        .collect()
}

/// The path of a `file:` URI on this machine. Source: RFC 8089.
fn path_of(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/')?);
            (host.is_empty() || host.eq_ignore_ascii_case("localhost")).then_some(path)?
        }
        None => rest,
    };
    let path = path.split(['?', '#']).next()?;
    let path = PathBuf::from(OsString::from_vec(unescaped(path)?));
    path.is_absolute().then_some(path)
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'%' {
            bytes.push(*byte);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_first_chunk::<2>()?;
        let value = |digit: u8| (digit as char).to_digit(16);
        let byte = u8::try_from(value(digits[0])? * 16 + value(digits[1])?).ok()?;
        // A path can't hold a NUL.
        if byte == 0 {
            return None;
        }
        bytes.push(byte);
        rest = after;
    }
    Some(bytes)
}
