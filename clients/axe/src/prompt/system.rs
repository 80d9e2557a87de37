//! The system prompt. Its bytes are what users' prompts were tuned with: headings and separators never change.

use super::ContextFile;

const SEPARATOR: &str = "\n\n---\n\n";
/// Backticks of a fence that nothing in the file breaks.
const FENCE: usize = 3;

/// The parts of a system prompt; what is empty is left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPrompt<'a> {
    /// The agent's own words.
    pub system_prompt: &'a str,
    /// The text of its skill.
    pub skill: Option<&'a str>,
    /// Its context, in order.
    pub files: &'a [ContextFile],
    /// What it remembers.
    pub memory: &'a str,
}

impl SystemPrompt<'_> {
    /// The parts as one text. Separators stand also where nothing is before them.
    pub fn assemble(&self) -> String {
        let mut prompt = self.system_prompt.to_owned();
        let mut section = |heading: &str, text: &str| {
            prompt.push_str(SEPARATOR);
            prompt.push_str(heading);
            prompt.push_str("\n\n");
            prompt.push_str(text);
        };
        if let Some(skill) = self.skill.filter(|skill| !skill.is_empty()) {
            section("## Skill", skill);
        }
        if !self.files.is_empty() {
            let files: Vec<_> = self.files.iter().map(fenced).collect();
            section("## Context Files", &files.join("\n\n"));
        }
        if !self.memory.is_empty() {
            section("## Memory", self.memory);
        }
        prompt
    }
}

fn fenced(file: &ContextFile) -> String {
    let ContextFile { path, text } = file;
    let fence = "`".repeat(fence_length(text));
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    format!("### {path}\n{fence}{extension}\n{text}\n{fence}")
}

/// One more than the longest run of backticks that begins a line, so that no line of the file closes the fence.
fn fence_length(text: &str) -> usize {
    let run = |line: &str| line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
    let longest = text.lines().map(run).max().unwrap_or(0);
    if longest < FENCE { FENCE } else { longest + 1 }
}
