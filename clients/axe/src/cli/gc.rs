//! `axe gc`.

use std::io;

use super::flags::GcFlags;
use super::{console, lookup, print};
use crate::agent;
use crate::config::{Agent, ModelName, Place, provider_settings};
use crate::memory::{Collection, GcError, Memory};
use crate::output::{Console, Exit, Failure};
use crate::provider;

pub(super) fn command(flags: GcFlags, place: Place) -> Result<Exit, Failure> {
    let console = console(&place, false);
    let result = collect(&flags, &place, &console);
    result.map_err(|failure| Failure { message: console.masked(&failure.message), ..failure })
}

fn collect(flags: &GcFlags, place: &Place, console: &Console) -> Result<Exit, Failure> {
    place.global.warnings.iter().for_each(|warning| console.warn(warning));
    match (&flags.agent, flags.all) {
        (Some(_), true) => Err(Failure::runtime("--all takes no agent name")),
        (None, false) => Err(Failure::runtime("agent name is required (or use --all)")),
        (Some(name), false) => collect_one(name, flags, place, console),
        (None, true) => collect_all(flags, place, console),
    }
}

fn collect_one(name: &str, flags: &GcFlags, place: &Place, console: &Console) -> Result<Exit, Failure> {
    let loaded = lookup(flags.place.agents_dir.as_deref(), place).load(name).map_err(Failure::config)?;
    loaded.warnings.iter().for_each(|warning| console.warn(warning));
    if !loaded.agent.memory.is_enabled {
        console.warn(format_args!("agent {name:?} has no memory: memory.enabled is not true"));
        return Ok(Exit::Success);
    }
    trim(name, &loaded.agent, flags, place)
}

fn collect_all(flags: &GcFlags, place: &Place, console: &Console) -> Result<Exit, Failure> {
    let (mut total, mut failed) = (0, 0);
    for (name, loaded) in lookup(flags.place.agents_dir.as_deref(), place).list() {
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                console.warn(format_args!("skipped agent {name:?}: {error}"));
                continue;
            }
        };
        if !loaded.agent.memory.is_enabled {
            continue;
        }
        total += 1;
        print(format_args!("=== GC: {name} ==="))?;
        if let Err(failure) = trim(&name, &loaded.agent, flags, place) {
            failed += 1;
            console.tell(format_args!("Error: gc failed for agent {name:?}: {}", failure.message));
        }
    }
    if failed > 0 {
        return Err(Failure::runtime(format_args!(
            "gc completed with errors: {failed} of {total} agents failed"
        )));
    }
    if total == 0 {
        return print("No agents with memory enabled.");
    }
    Ok(Exit::Success)
}

fn trim(name: &str, agent: &Agent, flags: &GcFlags, place: &Place) -> Result<Exit, Failure> {
    let model: ModelName = flags.model.as_ref().unwrap_or(&agent.model).parse().map_err(Failure::config)?;
    let memory = Memory::of(name, &agent.memory, &place.environment, &place.directories);
    let collection = Collection {
        agent: name,
        model: &model.model,
        settings: &agent.memory,
        memory: &memory,
        is_dry_run: flags.dry_run,
    };
    let mut stdout = io::stdout();
    // Without entries no model is asked, so no key is needed.
    if !collection.has_entries(&mut stdout).map_err(failure)? {
        return Ok(Exit::Success);
    }
    let settings = provider_settings(&model.provider, &place.global, &place.environment)
        .map_err(super::endpoint_failure)?;
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::runtime(format_args!("the event loop could not be made: {error}")))?;
    executor.block_on(async {
        let provider =
            provider::connect(&settings).await.map_err(|error| agent::Error::from(error).failure())?;
        collection.run(&*provider, &mut stdout).await.map_err(failure)
    })?;
    Ok(Exit::Success)
}

fn failure(error: GcError) -> Failure {
    match error {
        GcError::Provider(error) => error.into(),
        GcError::Memory(_) | GcError::Output(_) => Failure::runtime(error),
    }
}
