use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("s", r#""command":"/bin/s","args":[]"#);
        place.write("h", r#""url":"http://h/""#);
        place
    }

    fn write(&self, id: &str, server: &str) {
        let text = format!(r#"{{"manifest_version":1,"id":"{id}",{server},"allow_tools":["*"]}}"#);
        std::fs::write(self.path(id), text).unwrap();
    }

    fn path(&self, id: &str) -> String {
        self.0.path().join(id).to_str().unwrap().to_owned()
    }

    fn read(&self, ids: &[&str], env: ByPlugin, headers: ByPlugin) -> Result<PluginSetup, String> {
        let paths: Vec<String> = ids.iter().map(|id| self.path(id)).collect();
        PluginSetup::read(&paths, env, headers).map_err(|error| error.to_string())
    }
}

fn one(id: &str, name: &str, value: &str) -> ByPlugin {
    let entry = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    BTreeMap::from([(id.to_owned(), entry)])
}

#[test]
fn plugins_keep_their_order_and_get_what_is_theirs() {
    let place = Place::new();
    let setup = place.read(&["s", "h"], one("s", "KEY", "secret"), one("h", "X-Key", "secret")).unwrap();
    let plugins = setup.plugins();
    assert_eq!(plugins.iter().map(Plugin::id).collect::<Vec<_>>(), ["s", "h"]);
    assert_eq!(plugins[0].env["KEY"], "secret");
    assert_eq!(plugins[1].headers()["x-key"], "secret");
    assert!(plugins[0].headers().is_empty() && plugins[1].env.is_empty());
    let shown = format!("{setup:?} {plugins:?} {:?}", plugins[1].headers());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn what_does_not_belong_together_is_refused_without_the_secret() {
    let place = Place::new();
    let none = ByPlugin::new;
    for (env, headers, reason) in [
        (one("x", "K", "secret"), none(), "plugin_env: no plugin \"x\" is registered"),
        (none(), one("x", "K", "secret"), "plugin_headers: no plugin \"x\" is registered"),
        (one("h", "K", "secret"), none(), "is an HTTP server"),
        (none(), one("s", "K", "secret"), "is a program"),
        (one("s", "", "secret"), none(), "must not be empty"),
        (one("s", "A=B", "secret"), none(), "must not be empty nor hold"),
        (one("s", "K", "secret\0"), none(), "NUL"),
        (none(), one("h", "a b", "secret"), "is no name of a header"),
        (none(), one("h", "", "secret"), "is no name of a header"),
        (none(), one("h", "K", "secret\r\nX: y"), "holds characters"),
        (none(), one("h", "K", "secret\0"), "holds characters"),
        (none(), one("h", "Content-Length", "secret"), "the transport's own"),
        (none(), one("h", "MCP-Session-Id", "secret"), "the transport's own"),
        (none(), one("h", "host", "secret"), "the transport's own"),
    ] {
        let error = place.read(&["s", "h"], env, headers).unwrap_err();
        assert!(error.contains(reason) && !error.contains("secret"), "{reason}: {error}");
    }
    let mut twice = one("h", "X-Key", "a");
    twice.get_mut("h").unwrap().insert("x-key".to_owned(), "b".to_owned());
    assert!(place.read(&["h"], none(), twice).unwrap_err().contains("is there twice"));
    assert!(place.read(&["s", "s"], none(), none()).unwrap_err().contains("two plugins have the id \"s\""));
    assert!(place.read(&["missing"], none(), none()).unwrap_err().contains("can't be read"));
}

#[test]
fn what_a_workspace_does_not_say_is_the_daemons() {
    let place = Place::new();
    let daemon = place.read(&["s", "h"], one("s", "K", "1"), one("h", "K", "1")).unwrap();
    let same = daemon.with(None, None, None).unwrap();
    assert_eq!(same.plugins(), daemon.plugins());

    // The daemon's environment is not asked for, so one for a plugin that is not here is no fault.
    let fewer = daemon.with(Some(&[place.path("h")]), None, None).unwrap().plugins();
    assert_eq!(fewer, daemon.plugins()[1..]);
    assert!(daemon.with(Some(&[]), None, None).unwrap().plugins().is_empty());

    let bare = daemon.with(None, Some(ByPlugin::new()), Some(ByPlugin::new())).unwrap().plugins();
    assert!(bare.iter().all(|plugin| plugin.env.is_empty() && plugin.headers.is_empty()));
    assert!(daemon.with(Some(&[]), Some(one("s", "K", "1")), None).is_err());
}

#[test]
fn a_plugin_is_its_content_and_not_its_file() {
    let place = Place::new();
    let read = |env| place.read(&["s"], env, ByPlugin::new()).unwrap().plugins();
    let first = read(one("s", "K", "1"));
    assert_eq!(first, read(one("s", "K", "1")));
    assert_ne!(first, read(one("s", "K", "2")));
    place.write("s", r#""command":"/bin/s","args":["-v"]"#);
    assert_ne!(first, read(one("s", "K", "1")));
}

#[test]
fn the_veil_lies_over_headers_and_their_credentials() {
    let place = Place::new();
    let mut headers = one("h", "Authorization", "Bearer k1k2k3k4");
    headers.get_mut("h").unwrap().insert("X-Short".to_owned(), "no".to_owned());
    let setup = place.read(&["h"], ByPlugin::new(), headers).unwrap();
    let veil = Veil::new(&setup.plugins()[0]);
    let said = "no: got Bearer k1k2k3k4, key k1k2k3k4, Bearer else";
    assert_eq!(veil.over(said.to_owned()), "no: got [hidden], key [hidden], Bearer else");
}
