//! `axe agents`.

mod show;

use std::path::Path;
use std::process::Command;

use super::flags::{AgentsCommand, AgentsFlags};
use super::{environment, help, lookup, place, print, print_exactly};
use crate::config::{Directories, Environment, Lookup, check_agents, init_agent};
use crate::output::{Console, Exit, Failure, Mask};
use crate::text::one_line;

pub(super) fn command(flags: AgentsFlags) -> Result<Exit, Failure> {
    let Some(command) = flags.command else { return help(Some("agents")) };
    match command {
        AgentsCommand::List { place } => list(&find(place.agents_dir.as_deref())?.1),
        AgentsCommand::Show(named) => {
            let (_, lookup) = find(named.place.agents_dir.as_deref())?;
            let loaded = lookup.load(&named.agent).map_err(Failure::runtime)?;
            let console = Console::new(Mask::default(), false);
            loaded.warnings.iter().for_each(|warning| console.warn(warning));
            print_exactly(show::text(&loaded.agent).as_bytes())
        }
        AgentsCommand::Init(named) => {
            let (_, lookup) = find(named.place.agents_dir.as_deref())?;
            print(init_agent(&named.agent, &lookup).map_err(Failure::runtime)?.display())
        }
        AgentsCommand::Edit(named) => {
            let (environment, lookup) = find(named.place.agents_dir.as_deref())?;
            edit(&lookup.find(&named.agent).map_err(Failure::runtime)?, &environment)
        }
        AgentsCommand::Check { agent, place } => check(agent.as_deref(), place.agents_dir.as_deref()),
    }
}

/// Where agents are; `config.toml` is not read for it.
fn find(agents_dir: Option<&str>) -> Result<(Environment, Lookup), Failure> {
    let environment = environment()?;
    let directories = Directories::of(&environment).map_err(Failure::runtime)?;
    let lookup = Lookup::new(agents_dir, &environment, &directories);
    Ok((environment, lookup))
}

fn list(lookup: &Lookup) -> Result<Exit, Failure> {
    let console = Console::new(Mask::default(), false);
    let mut lines = String::new();
    for (name, loaded) in lookup.list() {
        match loaded {
            Ok(loaded) if loaded.agent.description.is_empty() => lines += &format!("{name}\n"),
            Ok(loaded) => lines += &format!("{name} - {}\n", one_line(&loaded.agent.description)),
            Err(error) => console.warn(format_args!("skipped agent {name:?}: {error}")),
        }
    }
    print_exactly(lines.as_bytes())
}

fn edit(path: &Path, environment: &Environment) -> Result<Exit, Failure> {
    let editor = environment.get("EDITOR").filter(|editor| !editor.trim().is_empty());
    let editor =
        editor.ok_or_else(|| Failure::runtime("EDITOR is not set: set it to the program to edit with"))?;
    let words = editor_words(editor)
        .ok_or_else(|| Failure::runtime(format_args!("EDITOR has an open quote: {editor}")))?;
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::runtime("EDITOR names no program"));
    };
    let status = Command::new(program)
        .args(arguments)
        .arg(path)
        .status()
        .map_err(|error| Failure::runtime(format_args!("can't run EDITOR {program:?}: {error}")))?;
    if status.success() {
        return Ok(Exit::Success);
    }
    Err(Failure::runtime(format_args!("EDITOR {program:?} failed: {status}")))
}

/// The words of a command line, quotes understood; a program whose path holds blanks may also stand as it is.
pub(super) fn editor_words(editor: &str) -> Option<Vec<String>> {
    if Path::new(editor).is_file() {
        return Some(vec![editor.to_owned()]);
    }
    shlex::split(editor)
}

fn check(agent: Option<&str>, agents_dir: Option<&str>) -> Result<Exit, Failure> {
    let place = place()?;
    let lookup = lookup(agents_dir, &place);
    let (checked, findings) = check_agents(agent, &lookup, &place).map_err(Failure::config)?;
    let console = super::console(&place, false);
    place.global.warnings.iter().for_each(|warning| console.warn(warning));
    if findings.is_empty() {
        print(format_args!("{checked} agents checked, no problems found"))?;
        return Ok(Exit::Success);
    }
    let lines: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    print_exactly(lines.as_bytes())?;
    Ok(Exit::Config)
}
