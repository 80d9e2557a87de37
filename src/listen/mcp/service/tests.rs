use std::sync::{Arc, Mutex};

use axlr_protocol::tool::{
    PluginTool, PluginsCallOutput, PluginsListOutput, WorkspaceOpenArguments, WorkspaceOpenOutput,
};
use axlr_protocol::{Call, Code, ErrorBody, Output};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Incoming, Root, Service, Settings, UnknownTool};
use crate::listen::mcp::caller::{Answer, Caller, Job};

/// Where each call was made, and which.
type Asked = Arc<Mutex<Vec<(Option<String>, Call)>>>;

/// Answers from a table, and remembers what it was asked.
#[derive(Default)]
struct Fake {
    plugins: Vec<PluginTool>,
    asked: Asked,
}

impl Caller for Fake {
    async fn call(&self, job: Job) -> Answer {
        self.asked.lock().unwrap().push((job.workspace, job.call.clone()));
        match job.call {
            Call::PluginsList(_) => {
                Ok(Output::PluginsList(PluginsListOutput { tools: self.plugins.clone() }))
            }
            Call::PluginsCall(_) => Ok(Output::PluginsCall(PluginsCallOutput {
                content: vec![json!({"type": "novel", "x": 1})],
                structured_content: Some(json!([1])),
                is_error: true,
            })),
            Call::WorkspaceOpen(open) => {
                let workspace = format!("w:{}", open.root);
                Ok(Output::WorkspaceOpen(WorkspaceOpenOutput { workspace, root: open.root }))
            }
            _ => Err(ErrorBody { code: Code::NotFound, message: "gone".into() }),
        }
    }
}

fn settings(roots: Vec<Root>, read_only: bool, with_plugins: bool) -> Arc<Settings> {
    Arc::new(Settings { roots, read_only, with_plugins, open: WorkspaceOpenArguments::default() })
}

fn one_root() -> Vec<Root> {
    vec![Root { path: "/r".into(), workspace: Some("home".into()) }]
}

fn incoming<'m>(name: &'m str, arguments: &'m RawValue) -> Incoming<'m> {
    Incoming { name, arguments: Some(arguments), root: None, steps: None }
}

async fn reply<C: Caller>(service: &Service<C>, name: &str, arguments: Value) -> Result<Value, UnknownTool> {
    let arguments = RawValue::from_string(arguments.to_string()).unwrap();
    let prepared = service.prepare(incoming(name, &arguments))?;
    let reply = service.run(prepared).await?;
    Ok(serde_json::to_value(reply.on_wire(false)).unwrap())
}

#[tokio::test]
async fn a_failure_is_for_the_model_and_a_name_for_the_host() {
    let service = Service::new(Fake::default(), settings(one_root(), false, false));
    let expected = json!({"content": [{"type": "text", "text": "not_found: gone"}], "isError": true});
    assert_eq!(reply(&service, "read_file", json!({"path": "a"})).await, Ok(expected));
    let mistake = reply(&service, "read_file", json!({})).await.unwrap();
    assert_eq!(mistake["isError"], true);
    assert_eq!(reply(&service, "read", json!({})).await, Err(UnknownTool("read".into())));
    assert_eq!(reply(&service, "a__b", json!({})).await, Err(UnknownTool("a__b".into())));
}

#[tokio::test]
async fn read_only_offers_nothing_that_changes_anything() {
    let service = Service::new(Fake::default(), settings(one_root(), true, true));
    let names: Vec<String> = service.tools().await.into_iter().map(|tool| tool.name.into_owned()).collect();
    assert_eq!(names, ["read_file", "search_text", "list_files"]);
    for name in ["write_file", "edit_file", "run_program", "p__t"] {
        assert!(reply(&service, name, json!({})).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn a_plugins_tool_is_found_before_it_was_listed_and_its_answer_is_not_touched() {
    let tool = PluginTool {
        plugin_id: "p".into(),
        tool_name: "t".into(),
        description: Some("Does.".into()),
        input_schema: json!({"type": "object"}),
        output_schema: None,
    };
    let fake = Fake { plugins: vec![tool], ..Default::default() };
    let service = Service::new(fake, settings(one_root(), false, true));
    let arguments = RawValue::from_string("{}".into()).unwrap();
    let prepared = service.prepare(incoming("p__t", &arguments)).unwrap();
    let answered = service.run(prepared).await.unwrap();
    let content = json!([{"type": "novel", "x": 1}]);
    let legacy = json!({"content": content, "isError": true});
    assert_eq!(serde_json::to_value(answered.on_wire(false)).unwrap(), legacy);
    let modern =
        json!({"resultType": "complete", "content": content, "structuredContent": [1], "isError": true});
    assert_eq!(serde_json::to_value(answered.on_wire(true)).unwrap(), modern);
    assert_eq!(reply(&service, "p__x", json!({})).await, Err(UnknownTool("p__x".into())));
    assert_eq!(service.tools().await.len(), 7);
}

#[tokio::test]
async fn a_call_may_name_one_of_several_roots() {
    let root = |path: &str| Root { path: path.into(), workspace: Some(format!("w{path}")) };
    let fake = Fake::default();
    let asked = fake.asked.clone();
    let service = Service::new(fake, settings(vec![root("/a"), root("/b")], false, false));
    let arguments = RawValue::from_string("{}".into()).unwrap();
    for (name, expected) in [(None, "w/a"), (Some("/a"), "w/a"), (Some("/b"), "w/b")] {
        let prepared =
            service.prepare(Incoming { root: name, ..incoming("list_files", &arguments) }).unwrap();
        service.run(prepared).await.unwrap();
        assert_eq!(asked.lock().unwrap().last().unwrap().0.as_deref(), Some(expected));
    }
    let wrong = service.prepare(Incoming { root: Some("/"), ..incoming("list_files", &arguments) }).unwrap();
    let wrong = serde_json::to_value(service.run(wrong).await.unwrap().on_wire(false)).unwrap();
    assert_eq!(wrong["content"][0]["text"], "invalid_request: root must be one of /a, /b, got \"/\"");
}

#[tokio::test(start_paused = true)]
async fn calls_wait_for_the_roots_that_the_client_offered_but_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    std::fs::create_dir(home.join("sub")).unwrap();
    let fake = Fake::default();
    let asked = fake.asked.clone();
    let root = Root { path: home.clone(), workspace: Some("home".into()) };
    let service = Arc::new(Service::new(fake, settings(vec![root], false, false)));
    let place = || asked.lock().unwrap().last().unwrap().0.clone();
    service.begin(true);
    reply(&service, "list_files", json!({})).await.unwrap();
    assert_eq!(place().as_deref(), Some("home"));

    service.begin(true);
    let calling = {
        let service = service.clone();
        tokio::spawn(async move { reply(&service, "list_files", json!({})).await })
    };
    tokio::task::yield_now().await;
    let named = |uri: String| {
        let service = service.clone();
        async move { service.take_roots(service.roots_are_unknown().unwrap(), Some(vec![uri])).await }
    };
    named(format!("file://{}/sub", home.display())).await;
    calling.await.unwrap().unwrap();
    assert_eq!(place(), Some(format!("w:{}/sub", home.display())));
    // Nothing of ours is named any more: the whole root again, and the folder is given back.
    named("file:///nowhere".into()).await;
    assert!(matches!(asked.lock().unwrap().last().unwrap().1, Call::WorkspaceClose(_)));
    reply(&service, "list_files", json!({})).await.unwrap();
    assert_eq!(place().as_deref(), Some("home"));
}

#[tokio::test(start_paused = true)]
async fn only_the_answer_to_the_last_question_for_roots_holds() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let uri = |name: &str| Some(vec![format!("file://{}/{name}", home.display())]);
    for name in ["old", "new"] {
        std::fs::create_dir(home.join(name)).unwrap();
    }
    let fake = Fake::default();
    let asked = fake.asked.clone();
    let root = Root { path: home.clone(), workspace: Some("home".into()) };
    let service = Service::new(fake, settings(vec![root], false, false));
    assert_eq!(service.roots_are_unknown(), None, "it offers none");
    service.begin(true);
    let (first, second) = (service.roots_are_unknown().unwrap(), service.roots_are_unknown().unwrap());
    service.is_asked_again(first).await;
    service.take_roots(second, uri("new")).await;
    service.take_roots(first, uri("old")).await;
    reply(&service, "list_files", json!({})).await.unwrap();
    assert_eq!(asked.lock().unwrap().last().unwrap().0, Some(format!("w:{}/new", home.display())));
    // The same again is not opened again.
    let calls = asked.lock().unwrap().len();
    service.take_roots(service.roots_are_unknown().unwrap(), uri("new")).await;
    assert_eq!(asked.lock().unwrap().len(), calls);
}
