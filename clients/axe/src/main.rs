//! The `axe` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    axe::cli::main()
}
