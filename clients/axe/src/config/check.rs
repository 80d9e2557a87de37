//! `axe agents check`: what is wrong with agents, without running any.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use super::{
    Directories, Environment, Error, Global, Loaded, Lookup, ModelName, Place, Skill, directories, hosts,
    provider_settings,
};
use crate::prompt::Pattern;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The agent.
    pub agent: String,
    /// What, on one line.
    pub problem: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.agent, self.problem)
    }
}

/// Looks at one agent, or at all that are found, and returns how many those are and what is wrong with them.
///
/// # Errors
/// The one agent is not there.
pub fn check_agents(
    name: Option<&str>,
    lookup: &Lookup,
    place: &Place,
) -> Result<(usize, Vec<Finding>), Error> {
    let names: Vec<_> = match name {
        Some(name) => {
            lookup.find(name)?;
            vec![name.to_owned()]
        }
        None => lookup.list().into_keys().collect(),
    };
    let mut check = Check { lookup, place, findings: BTreeSet::new(), followed: BTreeSet::new() };
    for name in &names {
        check.agent(name);
    }
    Ok((names.len(), check.findings.into_iter().collect()))
}

struct Check<'a> {
    lookup: &'a Lookup,
    place: &'a Place,
    findings: BTreeSet<Finding>,
    /// Files whose calls have been followed.
    followed: BTreeSet<PathBuf>,
}

impl Check<'_> {
    fn agent(&mut self, name: &str) {
        let loaded = match self.lookup.load(name) {
            Ok(loaded) => loaded,
            Err(error) => return self.note(name, error.to_string()),
        };
        for warning in &loaded.warnings {
            self.note(name, warning.clone());
        }
        for problem in own_problems(&loaded, self.place) {
            self.note(name, problem);
        }
        let lookup = self.lookup.from_workdir(&workdir(&loaded, &self.place.environment));
        self.sub_agents(&mut vec![name.to_owned()], &loaded, &lookup);
    }

    /// Follows the calls that are possible, down to the first that closes a circle.
    fn sub_agents(&mut self, chain: &mut Vec<String>, loaded: &Loaded, lookup: &Lookup) {
        if !self.followed.insert(loaded.path.clone()) {
            return;
        }
        for name in &loaded.agent.sub_agents {
            if let Some(start) = chain.iter().position(|caller| caller == name) {
                let circle = circle(&chain[start..]);
                let first = circle.first().cloned().unwrap_or_default();
                self.note(&first, format!("sub_agents form a circle: {} -> {first}", circle.join(" -> ")));
                continue;
            }
            let child = match lookup.load(name) {
                Ok(child) => child,
                Err(error) => {
                    // A sub-agent that is there but broken is reported under its own name too, where all are looked at.
                    let caller = chain.last().cloned().unwrap_or_default();
                    self.note(&caller, format!("sub-agent {name:?}: {error}"));
                    continue;
                }
            };
            let lookup = lookup.from_workdir(&workdir(&child, &self.place.environment));
            chain.push(name.clone());
            self.sub_agents(chain, &child, &lookup);
            chain.pop();
        }
    }

    fn note(&mut self, agent: &str, problem: String) {
        self.findings.insert(Finding { agent: agent.to_owned(), problem });
    }
}

fn own_problems(loaded: &Loaded, place: &Place) -> Vec<String> {
    let Place { environment, directories, global } = place;
    let agent = &loaded.agent;
    let mut problems = Vec::new();
    problems.extend(model_problem(&agent.model, global, environment));
    problems.extend(skill_problem(&agent.skill, environment, directories));
    for text in &agent.files {
        match Pattern::parse(text) {
            Err(error) => problems.push(error.to_string()),
            Ok(pattern) if pattern.leaves_workdir() => {
                problems.push(format!("files pattern {text:?} can never match: it leaves the workdir"));
            }
            Ok(_) => {}
        }
    }
    for host in agent.allowed_hosts.iter().filter(|host| hosts::is_private(host)) {
        problems.push(format!(
            "allowed_hosts entry {host:?} can never be reached: url_fetch refuses private addresses"
        ));
    }
    problems
}

/// Whether the provider exists; that its key is set is a matter of the moment.
fn model_problem(model: &str, global: &Global, environment: &Environment) -> Option<String> {
    let model: ModelName = match model.parse() {
        Ok(model) => model,
        Err(error) => return Some(Error::to_string(&error)),
    };
    match provider_settings(&model.provider, global, environment) {
        Err(error @ Error::UnsupportedProvider { .. }) => Some(error.to_string()),
        _ => None,
    }
}

fn skill_problem(skill: &str, environment: &Environment, directories: &Directories) -> Option<String> {
    Skill::load(skill, environment, directories).err().map(|error| error.to_string())
}

fn workdir(loaded: &Loaded, environment: &Environment) -> PathBuf {
    directories::absolute(environment.current_dir(), environment.expand(&loaded.agent.workdir))
}

/// The members of a circle, from the one that comes first in the alphabet, so that it is reported once.
fn circle(members: &[String]) -> Vec<String> {
    let first = members.iter().enumerate().min_by_key(|(_, name)| *name).map_or(0, |(index, _)| index);
    members[first..].iter().chain(&members[..first]).cloned().collect()
}
