//! The command line of a host, read without clap.
//!
//! A host starts one process for each request, always with the same few flags. Building the whole command line for that
//! is a tenth of such a process's life. Only what clap would take is taken here; everything else is left to clap, its
//! errors included.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum as _;

use super::{DurabilityFlag, Profile, WorkerFlags};

#[cfg(test)]
mod tests;

/// The flags of the one-request mode, when they are spelt in the plain way: each with its value in a word of its own.
pub(crate) fn plain(mut words: impl Iterator<Item = OsString>) -> Option<WorkerFlags> {
    let mut flags = WorkerFlags::default();
    while let Some(name) = words.next() {
        let value = words.next()?;
        if value.as_encoded_bytes().starts_with(b"-") {
            return None;
        }
        match name.to_str()? {
            "--root" => once(&mut flags.root, PathBuf::from(value))?,
            "--profile" => once(&mut flags.profile, Profile::from_str(value.to_str()?, false).ok()?)?,
            "--env" => flags.env.push(value.into_string().ok()?),
            "--env-file" => flags.env_file.push(PathBuf::from(value)),
            "--durability" => {
                once(&mut flags.durability, DurabilityFlag::from_str(value.to_str()?, false).ok()?)?;
            }
            "--plugin" => flags.plugins.plugin.push(PathBuf::from(value)),
            "--plugin-env" => flags.plugins.plugin_env.push(value.into_string().ok()?),
            "--plugin-env-file" => flags.plugins.plugin_env_file.push(value.into_string().ok()?),
            "--plugin-header" => flags.plugins.plugin_header.push(value.into_string().ok()?),
            "--socket" => once(&mut flags.socket, PathBuf::from(value))?,
            _ => return None,
        }
    }
    (flags.root.is_some() && flags.profile.is_some()).then_some(flags)
}

/// Fills a slot that must be empty.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}
