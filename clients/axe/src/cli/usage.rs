//! What a wrong command line is answered with: one line that says what is wrong and where to read on.

use clap::CommandFactory as _;

use super::flags::Flags;
use crate::output::{Console, Exit, Failure, Mask};

/// Prints what the parser has to say, on stdout if it was asked for.
pub(super) fn answer(error: &clap::Error) -> Exit {
    let console = Console::new(Mask::default(), false);
    if !error.use_stderr() {
        // Coloured when stdout is a terminal that wants it.
        return match error.print() {
            Ok(()) => Exit::Success,
            Err(error) => {
                console.fail(&super::stdout_fault(error));
                Exit::Runtime
            }
        };
    }
    let words: Vec<_> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    console.fail(&Failure::runtime(line(error, &words)));
    Exit::Runtime
}

/// The parser's error without its usage text. `words` are those of the command line, the program's name left out.
pub(super) fn line(error: &clap::Error, words: &[String]) -> String {
    let text = error.render().to_string();
    let said: Vec<_> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .map(|line| match line.strip_prefix("tip: ") {
            Some(tip) => format!("({tip})"),
            None => line.strip_prefix("error: ").unwrap_or(line).to_owned(),
        })
        .collect();
    let said =
        said.join(" ").replace("the following required arguments were not provided:", "missing argument");
    format!("{said}; see {} --help", command(words))
}

/// The command that was called, as far as it is one.
fn command(words: &[String]) -> String {
    let root = Flags::command();
    let mut command = &root;
    let mut name = "axe".to_owned();
    for word in words {
        let Some(found) = command.find_subcommand(word) else { break };
        command = found;
        name.push(' ');
        name.push_str(found.get_name());
    }
    name
}
