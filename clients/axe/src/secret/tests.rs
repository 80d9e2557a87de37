use super::{Secret, mask};

#[test]
fn a_text_loses_keys_and_their_parts() {
    let key = "sk-proj-0123456789abcdefXYZ";
    for (text, expected) in [
        ("nothing to see", "nothing to see"),
        ("key sk-proj-0123456789abcdefXYZ is wrong", "key *** is wrong"),
        ("starts with sk-proj-012, he says", "starts with ***, he says"),
        ("ends in 89abcdefXYZ.", "ends in ***."),
        ("Incorrect API key provided: sk-pr****fXYZ. See", "Incorrect API key provided: ***. See"),
        ("sk-pro is too little to tell", "sk-pro is too little to tell"),
        ("twice:sk-proj-0123456789abcdefXYZ,sk-proj-0123456789abcdefXYZ", "twice:***,***"),
        ("Ünï sk-proj-0123456789abcdefXYZ cödé", "Ünï *** cödé"),
    ] {
        assert_eq!(mask(text, &[Secret::new(key)]), expected);
    }
}

#[test]
fn a_short_key_goes_only_where_it_stands_alone() {
    let secrets = [Secret::new("none")];
    assert_eq!(mask("key none or nonesuch (none)", &secrets), "key *** or nonesuch (***)");
    assert_eq!(mask("nonenone none", &secrets), "nonenone ***");
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(format!("{:?}", Some(Secret::new("sk-secret"))), "Some(***)");
}

#[test]
fn emphasis_of_a_provider_is_left_alone() {
    assert_eq!(
        mask("**Note**: use *one* model", &[Secret::new("sk-0123456789")]),
        "**Note**: use *one* model"
    );
}
