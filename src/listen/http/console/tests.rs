use super::*;

#[test]
fn the_page_is_whole_and_its_policy_names_what_is_in_it() {
    let console = Console::new();
    let page = std::str::from_utf8(&console.page).unwrap();
    assert!(!page.contains("{{"), "a part is missing");
    let policy = console.policy.to_str().unwrap();
    for (begin, end, source) in
        [("<style>", "</style>", "style-src"), ("<script type=\"module\">", "</script>", "script-src")]
    {
        let part = page.split(begin).nth(1).and_then(|rest| rest.split(end).next()).unwrap();
        let digest = BASE64.encode(Sha256::digest(part));
        assert!(policy.contains(&format!("{source} 'sha256-{digest}';")), "{source}: {policy}");
    }
    // Nothing is asked of anybody else. The one address is the name of a format.
    assert_eq!(page.matches("://").count(), page.matches("http://www.w3.org/2000/svg").count());
    assert!(!PAGE.contains(" style=") && !PAGE.contains(" onclick="), "the policy would refuse it");
}
