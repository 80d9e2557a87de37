use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_first_start_makes_a_private_file_and_the_second_reads_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("state/axlr/http-token");
    let first = Token::load_or_create(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.len(), 2 * RANDOM_BYTES + 1);
    assert!(text.trim_end().bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{text}");
    assert!(first.is(text.trim_end()));
    assert!(Token::load_or_create(&path).unwrap().is(text.trim_end()));
    let names: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["http-token"]);
}

#[test]
fn daemons_that_start_together_have_one_token() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("token");
    let tokens: Vec<String> = std::thread::scope(|scope| {
        let starts: Vec<_> =
            (0..16).map(|_| scope.spawn(|| Token::load_or_create(&path).unwrap().0)).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(tokens.iter().all(|token| *token == tokens[0]));
}

#[test]
fn only_the_token_is_the_token() {
    let token = Token("0123456789abcdef0123456789abcdef".to_owned());
    assert!(token.is("0123456789abcdef0123456789abcdef"));
    for said in [
        "",
        "0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdeF",
        "0123456789abcdef0123456789abcdef0",
    ] {
        assert!(!token.is(said), "{said}");
    }
    assert_eq!(format!("{token:?}"), "Token");
}

#[test]
fn a_file_that_others_can_read_or_write_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("token");
    for mode in [0o640, 0o604, 0o620, 0o602, 0o666] {
        write(&path, &"a".repeat(64), mode);
        let error = Token::load_or_create(&path).unwrap_err();
        assert!(error.to_string().contains(&format!("has mode {mode:04o}")), "{error}");
    }
    write(&path, &"a".repeat(64), 0o400);
    Token::load_or_create(&path).unwrap();
}

#[test]
fn a_folder_that_others_can_write_is_refused_unless_it_is_sticky() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("token");
    write(&path, &"a".repeat(64), 0o600);
    for (mode, fine) in [(0o755, true), (0o777, false), (0o720, false), (0o1777, true)] {
        std::fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        assert_eq!(Token::load_or_create(&path).is_ok(), fine, "{mode:o}");
    }
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("token");
    write(&path, &"a".repeat(64), 0o600);
    if std::os::unix::fs::chown(folder.path(), Some(65_534), None).is_err() {
        // Only root can give a folder away.
        return;
    }
    let error = Token::load_or_create(&path).unwrap_err();
    assert!(error.to_string().contains("belongs to user 65534; nobody else may write there"), "{error}");
}

#[test]
fn the_folder_that_a_symlink_leads_to_counts_too() {
    let folder = TempDir::new().unwrap();
    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    write(&open.join("token"), &"a".repeat(64), 0o600);
    let link = folder.path().join("token");
    symlink("open/token", &link).unwrap();
    Token::load_or_create(&link).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Token::load_or_create(&link), Err(TokenError::OpenFolder { .. })));
}

#[test]
fn no_token_is_made_in_a_folder_that_others_can_write() {
    let folder = TempDir::new().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let error = Token::load_or_create(&folder.path().join("token")).unwrap_err();
    assert!(error.to_string().contains("has mode 0777"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_file_or_holds_no_token_is_refused_without_waiting() {
    let folder = TempDir::new().unwrap();
    assert!(matches!(Token::load_or_create(folder.path()), Err(TokenError::Exposed { .. })));
    let path = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(Token::load_or_create(&path), Err(TokenError::Exposed { .. })));
    let path = folder.path().join("token");
    let long = "a".repeat(1025);
    for text in [
        "",
        "\n",
        "short",
        &long,
        "two words that are long enough together",
        "é234567890123456789012345678901234",
    ] {
        write(&path, text, 0o600);
        assert!(matches!(Token::load_or_create(&path), Err(TokenError::Malformed { .. })), "{text}");
    }
    write(&path, &format!("{}\r\n", "A-._~+/=9".repeat(4)), 0o600);
    Token::load_or_create(&path).unwrap();
}

#[test]
fn a_dangling_symlink_is_not_written_through() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("token");
    symlink(folder.path().join("elsewhere"), &path).unwrap();
    Token::load_or_create(&path).unwrap_err();
    assert!(!folder.path().join("elsewhere").exists());
}
