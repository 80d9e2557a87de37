use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::config::{Environment, Lookup, Overrides, Place, Resolved};
use crate::output::Exit;
use crate::prepare::Prepared;
use crate::prompt::{Asked, UserMessage};
use crate::provider::{
    self, Arguments, Boxed, Category, EventStream, Message, Provider, Reply, Request, ToolCall, Usage,
};
use crate::runtime::ContextFiles;
use crate::runtime::testing::runtime;
use crate::text::one_line;

type Said = Result<Reply, provider::Error>;
/// What a model says to a request, of which agent and in which turn.
type Script = dyn Fn(&str, usize, &Request) -> Said + Send + Sync;

/// Models that follow a script.
struct Scripted {
    script: Arc<Script>,
    delay: Duration,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    requests: Mutex<Vec<(String, Request)>>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Log {
    fn requests(&self, agent: &str) -> Vec<Request> {
        let requests = self.requests.lock().expect("no panic");
        requests.iter().filter(|(name, _)| name == agent).map(|(_, request)| request.clone()).collect()
    }
}

impl Models for Scripted {
    fn connect<'a>(&'a self, wanted: Wanted<'a>, _: OnRetry) -> Boxed<'a, Result<Box<dyn Provider>, Error>> {
        let (agent, turn) = (wanted.agent.to_owned(), AtomicUsize::new(0));
        let model =
            Model { agent, turn, script: self.script.clone(), delay: self.delay, log: self.log.clone() };
        Box::pin(async { Ok(Box::new(model) as Box<dyn Provider>) })
    }
}

struct Model {
    agent: String,
    turn: AtomicUsize,
    script: Arc<Script>,
    delay: Duration,
    log: Arc<Log>,
}

impl Provider for Model {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Said> {
        Box::pin(async move {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            self.log.requests.lock().expect("no panic").push((self.agent.clone(), request.clone()));
            let now = self.log.at_once.fetch_add(1, Ordering::Relaxed) + 1;
            self.log.most_at_once.fetch_max(now, Ordering::Relaxed);
            tokio::time::sleep(self.delay).await;
            self.log.at_once.fetch_sub(1, Ordering::Relaxed);
            (self.script)(&self.agent, turn, request)
        })
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, provider::Error>> {
        Box::pin(async move {
            let Reply { text, stop_reason, usage, is_refusal, .. } = self.complete(request).await?;
            let mut events: Vec<_> =
                text.split_inclusive(' ').map(|word| provider::StreamEvent::Text(word.to_owned())).collect();
            events.push(provider::StreamEvent::Done { stop_reason, usage, is_refusal });
            Ok(Box::pin(futures_util::stream::iter(events.into_iter().map(Ok))) as EventStream)
        })
    }
}

/// Hears every step as a line.
#[derive(Default)]
struct Ear(Mutex<Vec<String>>);

impl Observer for Ear {
    fn tell(&self, who: &Who, step: &Step<'_>) {
        let line = match step {
            Step::Text { text, .. } => format!("{}: text {text}", who.name),
            Step::Calling { call, .. } => format!("{}: calls {} {}", who.name, call.name, call.id),
            Step::Called { call, .. } => format!("{}: called {} {}", who.name, call.name, call.id),
            Step::Delegated { agent, result, .. } => format!("{}: {agent} {result:?}", who.name),
            Step::Note { line } => format!("{}: note {line}", who.name),
            Step::Told { line } => format!("{}: told {line}", who.name),
            _ => return,
        };
        self.0.lock().expect("no panic").push(line);
    }
}

/// A home with agents, and the agent "top" run in it.
struct Stage {
    home: tempfile::TempDir,
    agents: HashMap<&'static str, &'static str>,
    script: Arc<Script>,
    delay: Duration,
    budget: Option<u64>,
    timeout: Duration,
    sub_agent_timeout: Option<Duration>,
    ear: Arc<Ear>,
    log: Arc<Log>,
}

struct Run {
    outcome: Outcome,
    context: Arc<Context>,
}

impl Stage {
    fn new(
        agents: &[(&'static str, &'static str)],
        script: impl Fn(&str, usize, &Request) -> Said + Send + Sync + 'static,
    ) -> Self {
        Self {
            home: tempfile::tempdir().expect("a folder"),
            agents: agents.iter().copied().collect(),
            script: Arc::new(script),
            delay: Duration::ZERO,
            budget: None,
            timeout: Duration::from_secs(30),
            sub_agent_timeout: None,
            ear: Arc::default(),
            log: Arc::default(),
        }
    }

    fn place(&self) -> Place {
        let home = self.home.path().to_str().expect("text");
        let agents = self.home.path().join("axe/agents");
        std::fs::create_dir_all(&agents).expect("folders");
        for (name, rest) in &self.agents {
            let text = format!("name = \"{name}\"\nmodel = \"p/m\"\n{rest}");
            std::fs::write(agents.join(format!("{name}.toml")), text).expect("a file");
        }
        let variables = [("HOME", home), ("PATH", "/usr/bin:/bin")];
        Place::new(Environment::new(home, variables)).expect("no config file")
    }

    async fn run(&self) -> Run {
        self.run_until(std::future::pending()).await
    }

    async fn run_until(&self, interrupted: impl Future<Output = Error>) -> Run {
        let place = self.place();
        let lookup = Lookup::new(None, &place.environment, &place.directories);
        let resolved = Resolved::load("top", &lookup, &Overrides::default(), &place).expect("a good file");
        let runtime = runtime();
        let files = ContextFiles(runtime.clone());
        let user = UserMessage { text: "go".to_owned(), asked: Asked::Flag };
        let config = resolved.agent.sub_agents_config.clone();
        let prepared = Prepared::new(resolved, user, &place, &files).await.expect("no patterns");
        let context = Arc::new(Context {
            place,
            workdirs: Box::new(files),
            runtime,
            models: Box::new(Scripted {
                script: self.script.clone(),
                delay: self.delay,
                log: self.log.clone(),
            }),
            observer: self.ear.clone(),
            budget: Budget::new(self.budget),
            totals: Totals::default(),
            timeout: self.timeout,
            deadline: Instant::now() + self.timeout,
            max_depth: config.effective_max_depth(),
            sub_agent_timeout: self.sub_agent_timeout,
            keeps_artifacts: false,
        });
        let outcome = run(prepared, context.clone(), interrupted).await;
        context.runtime.close().await;
        Run { outcome, context }
    }

    fn heard(&self) -> Vec<String> {
        self.ear.0.lock().expect("no panic").clone()
    }

    fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.home.path().join(path)).expect(path)
    }
}

impl Run {
    #[track_caller]
    fn answer(&self) -> &Answer {
        self.outcome.answer.as_ref().expect("an answer")
    }

    #[track_caller]
    fn failure(&self) -> (Exit, String) {
        let failure = self.outcome.answer.as_ref().expect_err("a failure").failure();
        (failure.exit, failure.message)
    }
}

fn says(text: &str) -> Said {
    let usage = Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() };
    Ok(Reply { text: text.to_owned(), stop_reason: "stop".to_owned(), usage, ..Reply::default() })
}

fn calls(calls: &[(&str, Value)]) -> Said {
    let calls = calls.iter().enumerate().map(|(number, (name, arguments))| ToolCall {
        id: format!("c{number}"),
        name: (*name).to_owned(),
        arguments: Arguments::Object(arguments.as_object().expect("an object").clone()),
    });
    says("").map(|reply| Reply { calls: calls.collect(), stop_reason: "tool_calls".to_owned(), ..reply })
}

fn call_agent(agent: &str, task: &str) -> (&'static str, Value) {
    ("call_agent", json!({ "agent": agent, "task": task }))
}

/// What the last message of a request brings of tools.
fn results(request: &Request) -> Vec<(&str, bool)> {
    match request.messages.last() {
        Some(Message::ToolResults(results)) => {
            results.iter().map(|result| (result.content.as_str(), result.is_error)).collect()
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn an_agent_without_tools_is_asked_once() {
    let stage = Stage::new(
        &[("top", "system_prompt = \"S\"\n[params]\ntemperature = 0.5\nmax_tokens = 9")],
        |_, _, _| says("hi"),
    );
    let run = stage.run().await;
    assert_eq!((run.answer().text.as_str(), run.answer().end), ("hi", End::Done));
    let expected = Request {
        model: "m".to_owned(),
        system: "S".to_owned(),
        messages: vec![Message::User("go".to_owned())],
        tools: Vec::new(),
        temperature: Some(0.5),
        max_tokens: Some(9),
        response_format: None,
    };
    assert_eq!(stage.log.requests("top"), [expected]);
    assert_eq!(run.context.totals.input_tokens(), 7);
}

#[tokio::test]
async fn fifty_turns_are_enough_and_no_more() {
    let busy = |turns: usize| {
        move |_: &str, turn: usize, _: &Request| match turn < turns {
            true => calls(&[("write_file", json!({ "path": "f", "content": turn.to_string() }))]),
            false => says("done"),
        }
    };
    let stage = Stage::new(&[("top", "tools = [\"write_file\"]")], busy(49));
    let run = stage.run().await;
    let answer = run.answer();
    assert_eq!((answer.text.as_str(), answer.end, answer.calls.len()), ("done", End::Done, 49));
    assert_eq!((answer.usage.input_tokens, answer.calls[48].turn), (350, 48));
    assert_eq!(stage.file("f"), "48");

    let stage = Stage::new(&[("top", "tools = [\"write_file\"]")], busy(50));
    let run = stage.run().await;
    assert_eq!((run.answer().end, run.answer().calls.len()), (End::Turns, 50));
    assert_eq!(stage.log.requests("top").len(), 50);
}

#[tokio::test]
async fn calls_run_at_once_results_keep_their_order_and_one_file_is_changed_in_order() {
    let stage = Stage::new(
        &[("top", "tools = [\"write_file\", \"edit_file\", \"read_file\", \"run_command\"]")],
        |_, turn, request| {
            if turn > 0 {
                return says(&format!("{:?}", results(request)));
            }
            let edit = |old: &str, new: &str| {
                ("edit_file", json!({"path": "f", "old_string": old, "new_string": new}))
            };
            calls(&[
                ("run_command", json!({"command": "sleep 0.3; echo slow"})),
                ("write_file", json!({"path": "f", "content": "a"})),
                edit("a", "b"),
                edit("b", "c"),
                ("run_command", json!({"command": "sleep 0.3; echo slow too"})),
                edit("c", "d"),
                ("read_file", json!({"path": "./f"})),
            ])
        },
    );
    let start = std::time::Instant::now();
    let run = stage.run().await;
    let expected = "[(\"slow\\n\", false), (\"wrote 1 bytes to f\", false), (\"replaced 1 occurrence(s) in f\", false), \
                    (\"replaced 1 occurrence(s) in f\", false), (\"slow too\\n\", false), \
                    (\"replaced 1 occurrence(s) in f\", false), (\"1: d\", false)]";
    assert_eq!(run.answer().text, expected);
    assert!(start.elapsed() < Duration::from_millis(1500));
    let heard = stage.heard();
    let place = |line: &str| heard.iter().position(|known| known == line).expect(line);
    assert!(place("top: calls run_command c4") < place("top: called run_command c0"), "{heard:?}");
    let names: Vec<_> = run.answer().calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names[..3], ["run_command", "write_file", "edit_file"]);
}

#[tokio::test]
async fn calls_run_one_after_the_other_where_the_agent_says_so() {
    let stage = Stage::new(
        &[("top", "tools = [\"run_command\"]\n[sub_agents_config]\nparallel = false")],
        |_, turn, _| match turn {
            0 => calls(&[
                ("run_command", json!({"command": "sleep 0.1"})),
                ("run_command", json!({"command": "true"})),
            ]),
            _ => says(""),
        },
    );
    stage.run().await.answer();
    let expected = ["top: calls run_command c0", "top: called run_command c0", "top: calls run_command c1"];
    assert_eq!(stage.heard()[..3], expected);
}

#[tokio::test]
async fn malformed_arguments_and_unknown_tools_are_answered_and_never_run() {
    let stage = Stage::new(&[("top", "tools = [\"run_command\"]")], |_, turn, request| {
        if turn > 0 {
            return says(&format!("{:?}", results(request)));
        }
        let reply =
            calls(&[("run_command", json!({})), ("no_such_tool", json!({"a": [1000000, {"b": null}]}))]);
        reply.map(|mut reply| {
            reply.calls[0].arguments = Arguments::Malformed("{\"command\": \"touch f".to_owned());
            reply
        })
    });
    let run = stage.run().await;
    let expected = r#"[("the arguments of run_command are not a JSON object, so it was not run; they were: {\"command\": \"touch f", true), ("unknown tool \"no_such_tool\"", true)]"#;
    assert_eq!(run.answer().text, expected);
    // Values stay as they were sent, in the record and in what the model sees of its own words.
    assert_eq!(run.answer().calls[1].input, json!({"a": [1000000, {"b": null}]}));
    let Message::Assistant { calls, .. } = &stage.log.requests("top")[1].messages[1] else {
        panic!("no calls")
    };
    assert_eq!(calls[0].arguments, Arguments::Malformed("{\"command\": \"touch f".to_owned()));
    let Arguments::Object(arguments) = &calls[1].arguments else { panic!("no object") };
    assert_eq!(arguments["a"], json!([1000000, {"b": null}]));
}

#[tokio::test]
async fn a_streamed_agent_tells_its_words() {
    let stage = Stage::new(&[("top", "stream = true")], |_, _, _| says("one two"));
    let run = stage.run().await;
    assert_eq!(run.answer().text, "one two");
    assert_eq!(stage.heard(), ["top: text one ", "top: text two"]);
}

#[tokio::test]
async fn a_budget_that_is_met_ends_the_run_before_its_calls() {
    let script = |_: &str, turn: usize, _: &Request| match turn {
        0 | 1 => calls(&[("write_file", json!({"path": turn.to_string(), "content": ""}))]),
        _ => says("done"),
    };
    for (budget, end, calls, requests) in
        [(10, End::Budget, 0, 1), (11, End::Budget, 1, 2), (20, End::Budget, 1, 2), (30, End::Done, 2, 3)]
    {
        let mut stage = Stage::new(&[("top", "tools = [\"write_file\"]")], script);
        stage.budget = Some(budget);
        let run = stage.run().await;
        let answer = run.answer();
        assert_eq!((answer.end, answer.calls.len()), (end, calls), "budget {budget}");
        assert_eq!(stage.log.requests("top").len(), requests, "budget {budget}");
        assert!(run.context.budget.is_exceeded());
    }
}

#[tokio::test]
async fn sub_agents_run_at_once_and_only_their_text_comes_back() {
    let mut stage = Stage::new(
        &[("top", "sub_agents = [\"child\"]"), ("child", "system_prompt = \"C\"")],
        |agent, turn, request| match (agent, turn) {
            ("top", 0) => calls(&(0..10).map(|n| call_agent("child", &format!("t{n}"))).collect::<Vec<_>>()),
            ("top", _) => says(&format!("{:?}", results(request))),
            (_, _) => {
                let Some(Message::User(task)) = request.messages.first() else { return says("no task") };
                says(&format!("did {}", one_line(task)))
            }
        },
    );
    stage.delay = Duration::from_millis(200);
    let start = std::time::Instant::now();
    let run = stage.run().await;
    let expected: Vec<_> = (0..10).map(|n| (format!("did Task: t{n}"), false)).collect();
    assert_eq!(run.answer().text, format!("{expected:?}"));
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    assert_eq!(stage.log.most_at_once.load(Ordering::Relaxed), 10);
    // The top agent's own numbers are its own.
    assert_eq!((run.answer().usage.input_tokens, run.context.totals.input_tokens()), (14, 84));
    assert!(stage.heard().contains(&"top: child Ok(12)".to_owned()));
    let request = &stage.log.requests("child")[0];
    assert_eq!((request.system.as_str(), request.tools.len()), ("C", 0));
}

#[tokio::test]
async fn a_budget_crossed_inside_a_fan_out_keeps_what_is_there() {
    let mut stage = Stage::new(
        &[
            ("top", "sub_agents = [\"child\"]"),
            ("child", "tools = [\"read_file\"]\n[budget]\nmax_tokens = 1"),
        ],
        |agent, turn, request| match (agent, turn) {
            ("top", 0) => {
                calls(&[call_agent("child", "a"), call_agent("child", "b"), call_agent("child", "c")])
            }
            ("top", _) => says(&format!("{:?}", results(request))),
            (_, 0) => calls(&[("read_file", json!({"path": "x"}))])
                .map(|reply| Reply { text: "part".to_owned(), ..reply }),
            (_, _) => says("whole"),
        },
    );
    // Ten for the top's first reply, and ten for each child's: all three are in flight when it is met.
    stage.budget = Some(40);
    stage.delay = Duration::from_millis(50);
    let run = stage.run().await;
    assert_eq!((run.answer().end, run.context.budget.used()), (End::Budget, 40));
    let outputs: Vec<_> =
        run.answer().calls.iter().map(|call| (call.output.as_str(), call.is_error)).collect();
    assert_eq!(outputs.len(), 3);
    assert!(outputs.iter().all(|output| *output == ("part", false)), "{outputs:?}");

    // One after the other, the last finds nothing left.
    stage.agents.insert("top", "sub_agents = [\"child\"]\n[sub_agents_config]\nparallel = false");
    stage.budget = Some(20);
    let run = stage.run().await;
    let outputs: Vec<_> = run.answer().calls.iter().map(|call| call.output.as_str()).collect();
    assert_eq!(outputs[0], "part");
    assert!(
        outputs[2].starts_with("Error: sub-agent \"child\" failed - budget exceeded before first LLM call"),
        "{outputs:?}"
    );
}

#[test]
fn counts_of_a_provider_that_lies_do_not_wrap() {
    let (budget, totals) = (Budget::new(Some(10)), Totals::default());
    let usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    for _ in 0..2 {
        budget.add(&usage);
        totals.add(&usage);
    }
    assert_eq!(
        (budget.used(), totals.input_tokens(), totals.output_tokens()),
        (u64::MAX, u64::MAX, u64::MAX)
    );
}

#[tokio::test]
async fn call_agent_refuses_what_it_must() {
    let agents =
        [("top", "sub_agents = [\"child\", \"gone\"]"), ("child", "sub_agents = [\"top\", \"child\"]")];
    let stage = Stage::new(&agents, |agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[
            ("call_agent", json!({"task": "t"})),
            ("call_agent", json!({"agent": "child", "task": " "})),
            call_agent("other", "t"),
            call_agent("gone", "t"),
            call_agent("child", "t"),
        ]),
        ("child", 0) => calls(&[call_agent("top", "t"), call_agent("child", "t")]),
        (_, _) => says(&results(request).iter().map(|(text, _)| *text).collect::<Vec<_>>().join("\n")),
    });
    let run = stage.run().await;
    let expected = [
        "call_agent error: \"agent\" argument is required",
        "call_agent error: \"task\" argument is required",
        "call_agent error: agent \"other\" is not one of sub_agents: child, gone",
        "Error: sub-agent \"gone\" failed - agent config not found: gone. You may try again, or go on without its result.",
        "call_agent error: agents would call each other in a circle: top -> child -> top",
        "call_agent error: agents would call each other in a circle: top -> child -> child",
    ];
    assert_eq!(run.answer().text.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn depth_is_that_of_the_top_and_the_tool_is_gone_at_its_end() {
    let agents = [
        ("top", "sub_agents = [\"a\"]\ntools = [\"read_file\"]\n[sub_agents_config]\nmax_depth = 2"),
        ("a", "sub_agents = [\"b\"]\ntools = [\"read_file\"]\n[sub_agents_config]\nmax_depth = 5"),
        ("b", "sub_agents = [\"c\"]\ntools = [\"read_file\"]"),
    ];
    let stage = Stage::new(&agents, |agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[call_agent("a", "t")]),
        ("a", 0) => calls(&[call_agent("b", "t")]),
        // It is not told of the tool, and tries.
        ("b", 0) => calls(&[call_agent("c", "t")]),
        _ => says(results(request)[0].0),
    });
    let run = stage.run().await;
    assert_eq!(run.answer().text, "call_agent error: maximum sub-agent depth (2) reached");
    let tools = |agent: &str| -> Vec<String> {
        stage.log.requests(agent)[0].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(tools("top"), ["read_file", "call_agent"]);
    assert_eq!(tools("a"), ["call_agent", "read_file"]);
    assert_eq!(tools("b"), ["read_file"]);
}

#[tokio::test]
async fn a_sub_agent_that_fails_ends_nothing_else() {
    let agents = [
        ("top", "sub_agents = [\"slow\", \"broken\", \"busy\"]"),
        ("slow", ""),
        ("broken", ""),
        ("busy", "tools = [\"read_file\"]"),
    ];
    let mut stage = Stage::new(&agents, |agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[call_agent("broken", "t"), call_agent("busy", "t")]),
        ("top", _) => says(
            &results(request)
                .iter()
                .map(|(text, is_error)| format!("{is_error} {text}"))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        ("broken", _) => Err(provider::Error {
            category: Category::Auth,
            message: "no".to_owned(),
            status: Some(401),
            retry_after: None,
        }),
        (_, _) => calls(&[("read_file", json!({"path": "x"}))]),
    });
    let run = stage.run().await;
    let tail = "You may try again, or go on without its result.";
    let expected = [
        format!("true Error: sub-agent \"broken\" failed - auth: no. {tail}"),
        format!(
            "true Error: sub-agent \"busy\" failed - sub-agent exceeded maximum conversation turns (50). {tail}"
        ),
    ];
    assert_eq!(run.answer().text.lines().collect::<Vec<_>>(), expected);

    stage.script = Arc::new(|agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[call_agent("slow", "t")]),
        _ => says(results(request).first().map_or("", |(text, _)| text)),
    });
    stage.sub_agent_timeout = Some(Duration::from_millis(50));
    stage.delay = Duration::from_millis(200);
    let run = stage.run().await;
    assert!(
        run.answer().text.starts_with("Error: sub-agent \"slow\" failed - timeout: "),
        "{:?}",
        run.answer()
    );
}

#[tokio::test]
async fn hosts_are_inherited_and_replaced_never_merged() {
    let agents = [
        ("top", "sub_agents = [\"own\", \"none\"]\nallowed_hosts = [\"a.example\"]"),
        ("none", "sub_agents = [\"below\"]\ntools = [\"url_fetch\"]\nallowed_hosts = []"),
        ("own", "sub_agents = [\"below\"]\ntools = [\"url_fetch\"]\nallowed_hosts = [\"b.example\"]"),
        ("below", "tools = [\"url_fetch\"]"),
    ];
    let fetches = [
        ("url_fetch", json!({"url": "http://a.example/"})),
        ("url_fetch", json!({"url": "http://b.example/"})),
    ];
    let stage = Stage::new(&agents, move |agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[call_agent("none", "t"), call_agent("own", "t")]),
        ("none" | "own", 0) => calls(&[call_agent("below", "t"), fetches[0].clone(), fetches[1].clone()]),
        ("below", 0) => calls(&fetches),
        (_, _) => says(&results(request).iter().map(|(text, _)| *text).collect::<Vec<_>>().join("|")),
    });
    let run = stage.run().await;
    // A name in the list is resolved (and fails here); one that is not is refused by the list.
    let verdicts = |call: usize| -> Vec<bool> {
        let output = &run.answer().calls[call].output;
        output.split('|').map(|text| text.contains("is not in allowed_hosts")).collect()
    };
    // What the agent below was refused, then what its caller was.
    assert_eq!(verdicts(0), [false, true, false, true]);
    assert_eq!(verdicts(1), [true, false, true, false]);
}

#[tokio::test]
async fn a_sub_agent_works_in_its_own_place_and_remembers() {
    let agents = [
        ("top", "sub_agents = [\"child\"]\nworkdir = \"elsewhere\"\ntools = [\"run_command\"]"),
        ("child", "tools = [\"run_command\"]\n[memory]\nenabled = true"),
    ];
    let stage = Stage::new(&agents, |agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[
            ("run_command", json!({"command": "pwd"})),
            ("call_agent", json!({"agent": "child", "task": "t", "context": "c"})),
        ]),
        ("child", 0) => calls(&[("run_command", json!({"command": "pwd"}))]),
        _ => says(&results(request).iter().map(|(text, _)| text.trim()).collect::<Vec<_>>().join(" ")),
    });
    std::fs::create_dir_all(stage.home.path().join("elsewhere/axe/agents")).expect("folders");
    let home = stage.home.path().to_str().expect("text").to_owned();
    // The child is looked for in the parent's workdir first, and works in the process's own.
    let local = "name = \"child\"\nmodel = \"p/local\"\ntools = [\"run_command\"]\n[memory]\nenabled = true";
    std::fs::write(stage.home.path().join("elsewhere/axe/agents/child.toml"), local).expect("a file");
    let run = stage.run().await;
    assert_eq!(run.answer().text, format!("{home}/elsewhere {home}"));
    let request = &stage.log.requests("child")[0];
    assert_eq!(request.model, "local");
    assert_eq!(request.messages[0], Message::User("Task: t\n\nContext:\nc".to_owned()));
    let memory = stage.file(".local/share/axe/memory/child.md");
    assert!(memory.contains(&format!("**Task:** Task: t  Context: c\n**Result:** {home}")), "{memory}");
}

#[tokio::test]
async fn artifacts_are_for_the_run_and_shared_only_on_request() {
    let agents = [
        (
            "top",
            "sub_agents = [\"child\", \"apart\"]\ntools = [\"write_file\", \"list_directory\"]\n[artifacts]\nenabled = true",
        ),
        ("child", "tools = [\"write_file\"]\n[artifacts]\nenabled = true\ndir = \"${AXE_ARTIFACT_DIR}\""),
        ("apart", "tools = [\"write_file\"]"),
    ];
    let write = |path: &str| ("write_file", json!({"path": path, "content": "x", "artifact": "true"}));
    let stage = Stage::new(&agents, move |agent, turn, request| match (agent, turn) {
        ("top", 0) => calls(&[write("a")]),
        ("top", 1) => calls(&[call_agent("child", "t"), call_agent("apart", "t")]),
        ("top", 2) => calls(&[("list_directory", json!({"path": ".", "artifact": "true"}))]),
        ("child", 0) => calls(&[write("b")]),
        ("apart", 0) => calls(&[write("c")]),
        _ => says(&results(request).iter().map(|(text, _)| *text).collect::<Vec<_>>().join(" ")),
    });
    let run = stage.run().await;
    assert_eq!(run.answer().text, "a\nb");
    assert_eq!(run.answer().calls[2].output, "artifact directory not configured for this agent");
    let written: Vec<_> = run
        .outcome
        .artifacts
        .iter()
        .map(|file| (file.path.as_str(), file.agent.as_str(), file.size))
        .collect();
    assert_eq!(written, [("a", "top", 1)]);
    let left = std::fs::read_dir(stage.home.path().join(".cache/axe/artifacts")).expect("the parent").count();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn the_deadline_and_an_interrupt_end_all_that_runs() {
    let script = |_: &str, _: usize, _: &Request| {
        calls(&[("run_command", json!({"command": "echo $$ > pid; sleep 60"}))])
    };
    for is_interrupt in [false, true] {
        let mut stage =
            Stage::new(&[("top", "tools = [\"run_command\"]\n[artifacts]\nenabled = true")], script);
        stage.timeout = Duration::from_millis(if is_interrupt { 60_000 } else { 700 });
        let start = std::time::Instant::now();
        let interrupt = async {
            match is_interrupt {
                true => tokio::time::sleep(Duration::from_millis(700)).await,
                false => std::future::pending().await,
            }
            Error::Interrupted
        };
        let run = stage.run_until(interrupt).await;
        let expected = if is_interrupt { Exit::Interrupted } else { Exit::Provider };
        assert_eq!(run.failure().0, expected, "{:?}", run.failure());
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        let pid = stage.file("pid");
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
        let left =
            std::fs::read_dir(stage.home.path().join(".cache/axe/artifacts")).expect("the parent").count();
        assert_eq!(left, 0);
    }
}
