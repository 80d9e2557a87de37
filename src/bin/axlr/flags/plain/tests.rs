use std::os::unix::ffi::OsStringExt as _;

use clap::Parser as _;

use super::*;
use crate::flags::Flags;

fn words(text: &str) -> Vec<OsString> {
    text.split(' ').map(OsString::from).collect()
}

fn by_clap(words: &[OsString]) -> Option<WorkerFlags> {
    let flags = Flags::try_parse_from([&[OsString::from("axlr")], words].concat()).ok()?;
    flags.command.is_none().then_some(flags.worker)
}

#[test]
fn what_is_plain_means_what_clap_makes_of_it() {
    let cases = [
        "--root . --profile trusted-local",
        "--profile trusted-local --root /a/b",
        "--root . --profile trusted-local --env A=1 --env B= --env nonsense --env-file f --env-file g",
        "--root . --profile trusted-local --durability atomic --socket s",
        "--root . --profile trusted-local --durability synced",
        "--root . --profile trusted-local --plugin /a --plugin /b --plugin-env a:K=V --plugin-env-file a:f --plugin-header b:N=$V",
    ];
    for case in cases {
        let words = words(case);
        let taken = plain(words.iter().cloned()).expect(case);
        assert_eq!(Some(taken), by_clap(&words), "{case}");
    }
    let mut foreign = words("--profile trusted-local --root");
    foreign.push(OsString::from_vec(vec![b'a', 0xff]));
    assert_eq!(plain(foreign.iter().cloned()), by_clap(&foreign));
}

#[test]
fn the_rest_is_clap_s() {
    let cases = [
        "--root .",
        "--profile trusted-local",
        "--root . --root . --profile trusted-local",
        "--root . --profile other",
        "--root . --profile trusted-local --durability never",
        "--root -x --profile trusted-local",
        "--root=. --profile trusted-local",
        "--root . --profile trusted-local --plugin",
        "--root . --profile trusted-local --help",
        "--root . --profile trusted-local extra",
        "--root . --profile",
        "call list",
        "--version",
    ];
    for case in cases {
        assert_eq!(plain(words(case).into_iter()), None, "{case}");
    }
    assert_eq!(plain(std::iter::empty()), None);
}
