//! The file of a memory.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::entry::{self, Entries};
use crate::config::{Directories, Environment, MemorySettings, make_directory};

/// An agent's memory file; it need not be there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    path: PathBuf,
}

/// A memory that can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("can't {doing} memory {}: {source}", path.display())]
pub struct MemoryError {
    doing: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Memory {
    /// The memory of an agent: `memory/<agent>.md` in the data directory, or what its settings name. A path that ends in
    /// `.md` or is a file is the file itself, any other a directory that holds `<agent>.md`.
    pub fn of(
        agent: &str,
        settings: &MemorySettings,
        environment: &Environment,
        directories: &Directories,
    ) -> Self {
        let file = format!("{agent}.md");
        if settings.path.is_empty() {
            return Self { path: directories.data.join("memory").join(file) };
        }
        let path = environment.current_dir().join(environment.expand(&settings.path));
        let is_file = path.extension().is_some_and(|extension| extension == "md") || path.is_file();
        Self { path: if is_file { path } else { path.join(file) } }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All entries. None when there is no file.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn load(&self) -> Result<Option<Entries>, MemoryError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => Ok(Some(Entries::parse(String::from_utf8_lossy(&bytes)))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.fault("read", source)),
        }
    }

    /// Adds an entry for a run that succeeded, and makes the file and its directories if need be.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn append(&self, task: &str, result: &str) -> Result<(), MemoryError> {
        self.append_at(SystemTime::now(), task, result)
    }

    pub(super) fn append_at(&self, now: SystemTime, task: &str, result: &str) -> Result<(), MemoryError> {
        self.try_append(&entry::entry(now, task, result)).map_err(|source| self.fault("write", source))
    }

    fn try_append(&self, entry: &str) -> io::Result<()> {
        if let Some(directory) = self.path.parent() {
            make_directory(directory)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
        let mut file = self.lock(&options)?;
        // Whoever edits a memory by hand may leave its last line open.
        let gap = if ends_open(&mut file)? { "\n\n" } else { "" };
        file.write_all(format!("{gap}{entry}").as_bytes())
    }

    /// Keeps only the newest `target` entries and returns how many went and how many stay. The file is replaced all at
    /// once, and keeps its mode.
    ///
    /// # Errors
    /// The operating system refuses; the file is then as it was.
    pub fn trim(&self, target: usize) -> Result<Trimmed, MemoryError> {
        self.try_trim(target).map_err(|source| self.fault("trim", source))
    }

    fn try_trim(&self, target: usize) -> io::Result<Trimmed> {
        // Held to the end, past the rename: who waits for it then finds another file at the path and starts over.
        let mut file = self.lock(OpenOptions::new().read(true))?;
        let mut text = String::new();
        // Fails for what is not UTF-8: it could not be written back as it was.
        file.read_to_string(&mut text)?;
        let entries = Entries::parse(text);
        let removed = entries.count().saturating_sub(target);
        if removed > 0 {
            // A memory behind a symlink is replaced where it is.
            let path = self.path.canonicalize()?;
            let mut replacement = replacement_of(&path)?;
            replacement.write_all(entries.trimmed_to(target).as_bytes())?;
            replacement.as_file().set_permissions(file.metadata()?.permissions())?;
            replacement.as_file().sync_all()?;
            replacement.persist(path)?;
        }
        Ok(Trimmed { removed, kept: entries.count() - removed })
    }

    /// Opens the file and takes its lock, again if another took its place meanwhile.
    fn lock(&self, options: &OpenOptions) -> io::Result<File> {
        loop {
            let file = options.open(&self.path)?;
            file.lock()?;
            if is_still_at(&file, &self.path)? {
                return Ok(file);
            }
        }
    }

    fn fault(&self, doing: &'static str, source: io::Error) -> MemoryError {
        MemoryError { doing, path: self.path.clone(), source }
    }
}

/// A new file beside a memory, gone again unless it takes its place. Whoever holds the memory's lock is alone with the
/// name, so what a trim that was killed left under it is nobody's.
fn replacement_of(memory: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut name = OsString::from(".");
    name.push(memory.file_name().unwrap_or_default());
    name.push(".trim");
    let directory = memory.parent().unwrap_or(Path::new("."));
    if let Err(error) = std::fs::remove_file(directory.join(&name))
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    tempfile::Builder::new().prefix(&name).rand_bytes(0).tempfile_in(directory)
}

/// What a trim did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimmed {
    /// Entries that went.
    pub removed: usize,
    /// Entries that stay.
    pub kept: usize,
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open can't be replaced.
#[cfg(not(unix))]
fn is_still_at(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

fn ends_open(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}
