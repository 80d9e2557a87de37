use axlr_protocol::tool::*;
use axlr_protocol::{Call, Output};

use super::{Subject, render};

fn check(call: Call, output: Output, expected: &[&str]) {
    assert_eq!(render(&Subject::of(&call), &output), expected);
}

fn read(content: &str, start: u64, truncated: bool) -> Output {
    let returned_bytes = content.len() as u64;
    Output::Read(ReadOutput {
        content: content.into(),
        start_offset_bytes: start,
        returned_bytes,
        next_offset_bytes: start + returned_bytes,
        truncated,
        content_sha256: None,
    })
}

#[test]
fn a_file_is_its_content_and_a_page_says_how_to_go_on() {
    let call = || Call::Read(ReadArguments::default());
    check(call(), read("a\n\"b\"", 0, false), &["a\n\"b\""]);
    check(call(), read("", 0, false), &[""]);
    check(call(), read("abc", 4, true), &["abc", "[bytes 4 to 7; the file goes on: offset_bytes 7]"]);
    check(call(), read("abc", 4, false), &["abc", "[bytes 4 to 7, the end of the file]"]);
}

#[test]
fn what_was_written_is_one_sentence() {
    let write = Call::Write(WriteArguments {
        path: "src/a.rs".into(),
        content: String::new(),
        mode: WriteMode::Create,
        expected_sha256: None,
        parents: None,
        encoding: None,
        overwrite: None,
    });
    let output = Output::Write(WriteOutput { written_bytes: 3, content_sha256: "ab".into() });
    check(write, output, &["Wrote src/a.rs: 3 bytes, sha256 ab."]);
    let edit = || Call::Edit(EditArguments { path: "a".into(), ..Default::default() });
    let output = |replacements| {
        Output::Edit(EditOutput { written_bytes: 3, content_sha256: "ab".into(), replacements })
    };
    check(edit(), output(None), &["Edited a: now 3 bytes, sha256 ab."]);
    check(edit(), output(Some(1)), &["Edited a, 1 replacement: now 3 bytes, sha256 ab."]);
    check(edit(), output(Some(2)), &["Edited a, 2 replacements: now 3 bytes, sha256 ab."]);
}

fn exec(stdout: &str, stderr: &str, more: impl FnOnce(&mut ExecOutput)) -> Output {
    let mut output = ExecOutput {
        exit_code: 0,
        stdout: stdout.into(),
        stderr: stderr.into(),
        captured_bytes: 0,
        discarded_bytes: 0,
        truncated: false,
        signal: None,
    };
    more(&mut output);
    Output::Exec(output)
}

#[test]
fn a_program_is_its_output_and_how_it_ended() {
    let call = || Call::Exec(ExecArguments::default());
    check(call(), exec("", "", |_| {}), &["exit code 0"]);
    check(call(), exec("a\n", "", |_| {}), &["a\nexit code 0"]);
    check(call(), exec("", "b", |output| output.exit_code = 2), &["b\nexit code 2"]);
    check(call(), exec("a", "b\n", |_| {}), &["a\nstderr:\nb\nexit code 0"]);
    let killed = |output: &mut ExecOutput| {
        output.exit_code = -1;
        output.signal = Some("KILL".into());
        output.discarded_bytes = 7;
    };
    check(call(), exec("a", "", killed), &["a\nkilled by signal KILL (7 bytes of output left out)"]);
}

fn found(path: &str, line: u64, around: [&[&str]; 2]) -> Match {
    let [before, after] = around.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
    Match { path: path.into(), line, column: 1, text: "x".into(), before, after, truncated: false }
}

fn search(matches: Vec<Match>, next_offset: Option<u64>, limit_reached: bool) -> Output {
    Output::Search(SearchOutput {
        matches,
        files_scanned: 9,
        next_offset,
        limit_reached,
        ..Default::default()
    })
}

#[test]
fn matches_are_lines_with_their_places() {
    let call = |context_lines| Call::Search(SearchArguments { context_lines, ..Default::default() });
    check(call(None), search(vec![], None, false), &["no match in 9 files"]);
    let plain = vec![found("a", 1, [&[], &[]]), found("b", 7, [&[], &[]])];
    check(call(None), search(plain, Some(2), false), &["a:1: x\nb:7: x\n[2 matches; more follow: offset 2]"]);
    let around = vec![
        found("a", 2, [&["1"], &["3"]]),
        found("a", 5, [&["4"], &[]]),
        found("a", 9, [&[], &["10"]]),
        found("b", 11, [&[], &[]]),
    ];
    let expected = "a-1- 1\na:2: x\na-3- 3\na-4- 4\na:5: x\n--\na:9: x\na-10- 10\n--\nb:11: x\n\
        [4 matches; stopped at a limit, narrow it with path or glob]";
    check(call(Some(1)), search(around, None, true), &[expected]);
}

#[test]
fn entries_are_one_a_line() {
    let entry = |path: &str, kind, size| Entry { path: path.into(), kind, size, name_lossy: false };
    let entries = vec![
        entry("a", EntryType::File, Some(12)),
        entry("d", EntryType::Dir, None),
        entry("l", EntryType::Symlink, None),
        entry("s", EntryType::Other, None),
    ];
    let output =
        |entries, next_offset| Output::List(ListOutput { entries, next_offset, ..Default::default() });
    let call = || Call::List(ListArguments::default());
    let expected =
        "a  12 bytes\nd/\nl  symlink\ns  neither file nor folder\n[4 entries; more follow: offset 4]";
    check(call(), output(entries, Some(4)), &[expected]);
    check(call(), output(vec![], None), &["no entries"]);
}
