use super::*;

fn entry(path: &str, kind: EntryType, size: Option<u64>) -> Entry {
    Entry { path: path.to_owned(), kind, size, name_lossy: false }
}

fn entries() -> Vec<Entry> {
    vec![
        entry("src", EntryType::Dir, None),
        entry("src/bin", EntryType::Dir, None),
        entry("src/bin/main.rs", EntryType::File, Some(1_536)),
        entry("src/latest", EntryType::Symlink, None),
        entry("src/pipe", EntryType::Other, None),
        Entry { name_lossy: true, ..entry("src/\u{fffd}", EntryType::File, Some(3)) },
    ]
}

fn check(arguments: ListArguments, is_terminal: bool, palette: Palette, expected: &str) {
    let printer = Printer::new(&arguments, is_terminal);
    let lines: Vec<String> =
        entries().iter().map(|entry| line(entry, &entry.path, printer.tree_depth, palette)).collect();
    assert_eq!(lines.join("\n"), expected);
}

#[test]
fn a_listing_is_a_table_of_whole_paths() {
    let expected = "  folder  src/
  folder  src/bin/
 1.5 KiB  src/bin/main.rs
    link  src/latest
   other  src/pipe
     3 B  src/\u{fffd}  (the name is not UTF-8)";
    check(ListArguments::default(), true, Palette::PLAIN, expected);
    let recursive = ListArguments { recursive: Some(true), ..Default::default() };
    check(recursive.clone(), false, Palette::PLAIN, expected);
    let globbed = ListArguments { glob: Some("*".to_owned()), ..recursive };
    check(globbed, true, Palette::PLAIN, expected);
}

#[test]
fn a_person_who_lists_recursively_sees_a_tree() {
    let recursive = ListArguments { recursive: Some(true), ..Default::default() };
    let expected = "  folder  src/
  folder    bin/
 1.5 KiB      main.rs
    link    latest
   other    pipe
     3 B    \u{fffd}  (the name is not UTF-8)";
    check(recursive, true, Palette::PLAIN, expected);
    let below =
        ListArguments { recursive: Some(true), path: Some("./src/".to_owned()), ..Default::default() };
    let printer = Printer::new(&below, true);
    assert_eq!(printer.tree_depth, Some(1));
}

#[test]
fn folders_stand_out_in_colour() {
    let shown = line(&entries()[0], "src", None, Palette::COLOURED);
    assert_eq!(shown, "  folder  \u{1b}[1msrc\u{1b}[0m/");
}
