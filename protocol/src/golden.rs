//! Files that are checked in and compared by tests. `AXLR_UPDATE=1 cargo test -p axlr-protocol` refreshes them; the diff
//! is the review.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of this crate.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compares a file of this crate with what it must hold, or writes it.
#[track_caller]
pub(crate) fn check(path: &str, expected: &str) {
    let place = file(path);
    if std::env::var_os("AXLR_UPDATE").is_some_and(|update| update == "1") {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, expected).unwrap();
        return;
    }
    let found = fs::read_to_string(&place).unwrap_or_default();
    if found != expected {
        let line =
            found.lines().zip(expected.lines()).take_while(|(found, expected)| found == expected).count();
        panic!(
            "protocol/{path} is stale from line {} on; AXLR_UPDATE=1 refreshes it\n found: {:?}\nwanted: {:?}",
            line + 1,
            found.lines().nth(line),
            expected.lines().nth(line),
        );
    }
}

/// The names of the files in a folder of this crate, sorted.
pub(crate) fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(file(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

mod fixtures;
mod spec;

/// Whether the output has exactly the form of the tool's type.
#[track_caller]
pub(crate) fn check_output(tool: &str, output: &serde_json::Value) {
    use crate::request::Tool::*;
    use crate::tool::*;

    fn again<T: serde::Serialize + serde::de::DeserializeOwned>(
        output: &serde_json::Value,
    ) -> serde_json::Value {
        let typed: T =
            serde_json::from_value(output.clone()).unwrap_or_else(|error| panic!("{output}: {error}"));
        serde_json::to_value(typed).unwrap()
    }
    let tool = crate::request::Tool::from_name(tool).unwrap_or_else(|| panic!("no tool {tool}"));
    let typed = match tool {
        Read => again::<ReadOutput>(output),
        Write => again::<WriteOutput>(output),
        Edit => again::<EditOutput>(output),
        Exec => again::<ExecOutput>(output),
        Search => again::<SearchOutput>(output),
        List => again::<ListOutput>(output),
        PluginsList => again::<PluginsListOutput>(output),
        PluginsCall => again::<PluginsCallOutput>(output),
        ServerInfo => again::<ServerInfoOutput>(output),
        ServerStats => again::<ServerStatsOutput>(output),
        WorkspaceOpen => again::<WorkspaceOpenOutput>(output),
        WorkspaceList => again::<WorkspaceListOutput>(output),
        RequestCancel => again::<RequestCancelOutput>(output),
        ServerPing | ServerStop | WorkspaceClose | ExecWrite | ExecSignal => again::<Empty>(output),
    };
    assert_eq!(&typed, output);
}
