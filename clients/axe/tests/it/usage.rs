//! Help, versions, completions, and command lines that are wrong.

use std::process::Stdio;

use crate::support::{Home, start};

#[test]
fn versions_and_help_go_to_stdout() {
    let home = Home::new();
    home.axe(&["version"]).said("axe version 0.1.0\n");
    let whole = home.axe(&[]);
    assert!(whole.stdout.contains("axe agents init reviewer") && whole.stdout.contains("Exit codes:"));
    for words in [
        &[][..],
        &["help"],
        &["--help"],
        &["-h"],
        &["agents"],
        &["agents", "--help"],
        &["config"],
        &["help", "run"],
    ] {
        let help = home.axe(words);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{words:?}");
        assert!(help.stdout.contains("Usage: axe"), "{words:?}: {}", help.stdout);
    }
    assert_eq!(home.axe(&["help"]).stdout, whole.stdout);
}

#[test]
fn a_wrong_command_line_is_one_line_and_exit_1() {
    let home = Home::new();
    for (words, line) in [
        (&["run"][..], "missing argument <AGENT>; see axe run --help"),
        (&["run", "a", "b"], "unexpected argument 'b' found; see axe run --help"),
        (&["bogus"], "unrecognized subcommand 'bogus'; see axe --help"),
        (&["agents", "show"], "missing argument <AGENT>; see axe agents show --help"),
        (&["gc"], "agent name is required (or use --all)"),
        (&["gc", "a", "--all"], "--all takes no agent name"),
    ] {
        home.axe(words).failed(1, line);
    }
    for words in [["run", "a", "--timeout", "-1"], ["run", "a", "--max-tokens", "-5"]] {
        let outcome = home.axe(&words);
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.lines().count()), (1, "", 1));
    }
}

#[test]
fn completions_are_scripts() {
    let home = Home::new();
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef axe"), ("fish", "complete -c axe")] {
        for command in ["completion", "completions"] {
            let script = home.axe(&[command, shell]);
            assert_eq!(script.code, 0);
            assert!(script.stdout.contains(word), "{shell}");
        }
    }
    // Scripts of users ask which shells there are.
    assert_eq!(home.axe(&["completion"]), home.axe(&["completion", "--help"]));
}

#[test]
fn a_reader_that_leaves_is_an_error_and_no_panic() {
    let home = Home::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let outcome: crate::support::Outcome =
        home.command(&["completion", "bash"]).stdout(writer).stderr(Stdio::piped()).output().unwrap().into();
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.starts_with("can't write to stdout: "), "{outcome:?}");

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = start(&mut home.command(&["run"]));
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    let status = home.command(&["run"]).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(1), "nobody reads stderr");
}

/// The help that is checked in. `AXLR_UPDATE=1` writes it anew; the diff is the review.
#[test]
fn help_is_what_is_checked_in() {
    let home = Home::new();
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/help");
    for words in [
        &[][..],
        &["run"],
        &["agents"],
        &["agents", "list"],
        &["agents", "show"],
        &["agents", "init"],
        &["agents", "edit"],
        &["agents", "check"],
        &["config"],
        &["gc"],
        &["completion"],
    ] {
        let help = home.axe(&[words, &["--help"]].concat()).stdout;
        let path = directory.join(format!("{}.txt", [&["axe"], words].concat().join("-")));
        if std::env::var_os("AXLR_UPDATE").is_some_and(|update| update == "1") {
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(&path, &help).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(help, expected, "{}: AXLR_UPDATE=1 cargo test -p axe", path.display());
    }
}
