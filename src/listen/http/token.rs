//! The secret that a request must know, and the file that it is in.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq as _;

/// Bytes of randomness in a token that we make.
const RANDOM_BYTES: usize = 32;
/// Shortest and longest token that is taken from a file that somebody else wrote.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=1024;

/// The secret. It is not shown, not even by `Debug`.
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// No flag names the file, and no variable does.
    #[error("no place for the token: give --http-token-file, or set XDG_STATE_HOME or HOME")]
    NoPlace,
    /// Somebody else could have read or written it.
    #[error("the token file {} {fault}; it must be a regular file of this user, with mode 0600", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// Somebody else could put another file in its place.
    #[error("the token file {} is in the folder {}, which {fault}; nobody else may write there", path.display(), folder.display())]
    OpenFolder {
        /// The file.
        path: PathBuf,
        /// Where it is.
        folder: PathBuf,
        /// What is wrong with that.
        fault: String,
    },
    /// What the file holds is no token.
    #[error("the token file {} must hold one line of {} to {} letters, digits or -._~+/=", path.display(), LENGTHS.start(), LENGTHS.end())]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("the token file {}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// `$AXERONDIR/axbridge/token` when that is set, else `$XDG_STATE_HOME/axlr/http-token`, else the same below
/// `~/.local/state`.
///
/// # Errors
/// None of the variables names a place.
pub fn default_token_path() -> Result<PathBuf, TokenError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("AXERONDIR") {
        return Ok(folder.join("axbridge/token"));
    }
    // The XDG variables mean nothing when they are relative.
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    Ok(state.ok_or(TokenError::NoPlace)?.join("axlr/http-token"))
}

impl Token {
    /// The token of a file, which is made, 0600, with its folder, when it is missing.
    ///
    /// The file appears all at once: of two daemons that start together one makes it, and both read it.
    ///
    /// # Errors
    /// The file or its folder is open to others, or holds no token, or can't be read or made.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        let failed = |source| TokenError::Io { path: path.to_owned(), source };
        match open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = folder(path);
                DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
                // Before a token is left where others could have theirs.
                check_folder(path, folder)?;
                create(path).map_err(failed)?;
                read(path, open(path).map_err(failed)?)
            }
            opened => read(path, opened.map_err(failed)?),
        }
    }

    /// Whether that is the token. How long it takes tells nothing but whether the lengths are equal, and everybody
    /// knows how long a token is.
    pub(super) fn is(&self, said: &str) -> bool {
        self.0.as_bytes().ct_eq(said.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Without waiting, should somebody have put a FIFO there.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn read(path: &Path, file: File) -> Result<Token, TokenError> {
    let failed = |source| TokenError::Io { path: path.to_owned(), source };
    let exposed = |fault: String| TokenError::Exposed { path: path.to_owned(), fault };
    let own = rustix::process::geteuid().as_raw();
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(exposed("is no regular file".to_owned()));
    }
    if metadata.uid() != own {
        return Err(exposed(format!("belongs to user {}", metadata.uid())));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(exposed(format!("has mode {:04o}", metadata.mode() & 0o7777)));
    }
    // Where the name is, and where the file is, should the name be a link.
    check_folder(path, folder(path))?;
    check_folder(path, folder(&path.canonicalize().map_err(failed)?))?;
    let mut text = String::new();
    let limit = *LENGTHS.end() as u64 + 2;
    let malformed = || TokenError::Malformed { path: path.to_owned() };
    file.take(limit).read_to_string(&mut text).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => malformed(),
        _ => failed(error),
    })?;
    let token = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    // RFC 6750 §2.1: what an Authorization header can carry.
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    if !LENGTHS.contains(&token.len()) || !token.bytes().all(is_sound) {
        return Err(malformed());
    }
    Ok(Token(token.to_owned()))
}

/// Whose folder it is, and who may write there, could put a file of ours with another text there, or a link to one; in a
/// sticky one he could not move the token away.
fn check_folder(path: &Path, folder: &Path) -> Result<(), TokenError> {
    let failed = |source| TokenError::Io { path: folder.to_owned(), source };
    let open =
        |fault| Err(TokenError::OpenFolder { path: path.to_owned(), folder: folder.to_owned(), fault });
    let metadata = std::fs::metadata(folder).map_err(failed)?;
    let (own, root) = (rustix::process::geteuid().as_raw(), 0);
    if metadata.uid() != own && metadata.uid() != root {
        return open(format!("belongs to user {}", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 && metadata.mode() & 0o1000 == 0 {
        return open(format!("has mode {:04o}", metadata.mode() & 0o7777));
    }
    Ok(())
}

/// Writes a file beside it and links that to its name, unless somebody was faster.
fn create(path: &Path) -> io::Result<()> {
    let folder = folder(path);
    let (token, suffix) = (random_hex(RANDOM_BYTES)?, random_hex(8)?);
    let temporary = folder.join(format!(".axlr-tmp-{suffix}"));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        // The umask may have taken even that.
        file.set_permissions(Permissions::from_mode(0o600))?;
        writeln!(file, "{token}")?;
        file.sync_all()?;
        match std::fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    })();
    let removed = std::fs::remove_file(&temporary);
    written.and(removed)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn random_hex(length: usize) -> io::Result<String> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
