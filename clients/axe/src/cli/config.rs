//! `axe config`.

use super::flags::{ConfigCommand, ConfigFlags};
use super::{environment, help, print};
use crate::config::{Directories, init_config};
use crate::output::{Exit, Failure};

pub(super) fn command(flags: ConfigFlags) -> Result<Exit, Failure> {
    let Some(command) = flags.command else { return help(Some("config")) };
    // config.toml is not read: a broken one must not hide the way to it.
    let directories = Directories::of(&environment()?).map_err(Failure::runtime)?;
    match command {
        ConfigCommand::Path => {}
        ConfigCommand::Init => init_config(&directories).map_err(Failure::runtime)?,
    }
    print(directories.config.display())
}
