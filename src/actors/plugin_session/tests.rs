use std::time::Duration;

use super::*;

#[test]
fn rests_grow_and_have_a_bound() {
    let millis = |failures| rest(failures).map(|rest| rest.as_millis());
    assert_eq!([1, 2, 3, 4].map(millis), [None, Some(250), Some(500), Some(1_000)]);
    assert_eq!(rest(9), Some(PLUGIN_PAUSE_MAX));
    assert_eq!(rest(u32::MAX), Some(PLUGIN_PAUSE_MAX));
}

#[test]
fn who_asks_during_a_rest_is_told_how_long_it_lasts_and_why() {
    let why = "plugin \"p\" is not available: it exited with status 3";
    let error = resting("p", Duration::from_millis(250), why);
    assert_eq!(error.kind, Kind::PluginUnavailable);
    assert_eq!(
        error.message,
        "plugin \"p\" keeps failing and is not tried before 250 ms from now; at last it exited with status 3"
    );
}
