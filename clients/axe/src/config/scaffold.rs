//! Files that axe makes for its user: a new agent, and the config directory with a sample skill.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use super::{Directories, Error, Lookup, directories, lookup};

const AGENT_TEMPLATE: &str = include_str!("agent.toml");
const CONFIG_TEMPLATE: &str = include_str!("config.toml");
const SAMPLE_SKILL: &str = include_str!("SKILL.md");

/// Only its owner may read a file that is made for keys.
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

/// The text of a new agent's file. It passes validation, and runs once its model is one.
pub fn agent_template(name: &str) -> String {
    // A name may hold quotes or a backslash's kin; TOML's basic strings escape as JSON's do.
    let quoted = serde_json::Value::from(name).to_string();
    AGENT_TEMPLATE.replace("\"@NAME@\"", &quoted).replace("@NAME@", name)
}

/// Makes a new agent's file and returns its path.
///
/// # Errors
/// The name is no file's stem, the file exists, or the operating system refuses.
pub fn init_agent(name: &str, lookup: &Lookup) -> Result<PathBuf, Error> {
    lookup::check_name(name)?;
    let directory = lookup.directory_for_new();
    make_directory(directory)?;
    let path = directory.join(format!("{name}.toml"));
    if write_new(&path, &agent_template(name), PUBLIC)? {
        return Ok(path);
    }
    Err(Error::Invalid(format!("agent config already exists: {}", path.display())))
}

/// Makes what is missing of the config directory; what is there stays as it is.
///
/// # Errors
/// The operating system refuses.
pub fn init_config(directories: &Directories) -> Result<(), Error> {
    let skill = directories.config.join("skills").join("sample");
    make_directory(&directories.agents())?;
    make_directory(&skill)?;
    write_new(&skill.join("SKILL.md"), SAMPLE_SKILL, PUBLIC)?;
    write_new(&directories.config_file(), CONFIG_TEMPLATE, PRIVATE)?;
    Ok(())
}

fn make_directory(path: &Path) -> Result<(), Error> {
    directories::make(path).map_err(|source| Error::Io {
        doing: "can't make directory",
        path: path.to_owned(),
        source,
    })
}

/// Whether the file was made; false when one is there already.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<bool, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(source) => return Err(Error::Io { doing: "can't make", path: path.to_owned(), source }),
    };
    file.write_all(text.as_bytes()).map_err(|source| Error::Io {
        doing: "can't write",
        path: path.to_owned(),
        source,
    })?;
    Ok(true)
}
