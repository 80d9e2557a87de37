//! What an agent's file may say.

use std::time::Duration;

use serde_json::json;

use crate::config::unknown::{AGENT, unknown_keys};
use crate::config::{
    Agent, ArtifactSettings, Backoff, BuiltIn, McpServer, MemorySettings, ModelName, Params, ResponseFormat,
    RetrySettings, SubAgents, Transport, agent_template, parse,
};

const MINIMAL: &str = "name = \"a\"\nmodel = \"p/m\"\n";

#[track_caller]
fn refused(rest: &str, message: &str) {
    let error = parse("a", &format!("{MINIMAL}{rest}")).unwrap_err().to_string();
    assert!(error.contains(message), "{rest}\n  said: {error}\n  expected: {message}");
    assert!(!error.contains('\n'), "one line: {error}");
}

#[track_caller]
fn accepted(rest: &str) -> Agent {
    parse("a", &format!("{MINIMAL}{rest}")).unwrap()
}

#[test]
fn every_field_arrives() {
    let text = r#"
name = "a"
model = "p/m"
description = "d"
system_prompt = "s"
skill = "k"
files = ["*.md"]
workdir = "w"
timeout = 5
stream = true
tools = ["read_file", "url_fetch", "read_file"]
allowed_hosts = ["Docs.RS", "bücher.example", "::1"]
sub_agents = ["b"]
[sub_agents_config]
max_depth = 5
parallel = false
timeout = 60
[memory]
enabled = true
path = "~/m"
last_n = 3
max_entries = 4
[params]
temperature = 1
max_tokens = 7
[params.response_format]
type = "json_schema"
schema = { name = "n", type = "object" }
[retry]
max_retries = 2
backoff = "fixed"
initial_delay_ms = 10
max_delay_ms = 20
[budget]
max_tokens = 9
[artifacts]
enabled = true
dir = "out"
default_write = true
[[mcp_servers]]
name = "h"
transport = "streamable-http"
url = "https://h.example/mcp"
headers = { A = "${B}" }
[[mcp_servers]]
name = "s"
transport = "stdio"
command = "serve"
args = ["-x"]
env = { K = "v" }
"#;
    assert_eq!(unknown_keys(text, AGENT), []);
    let agent = parse("a", text).unwrap();
    let expected = Agent {
        name: "a".into(),
        model: "p/m".into(),
        description: "d".into(),
        system_prompt: "s".into(),
        skill: "k".into(),
        files: vec!["*.md".into()],
        workdir: "w".into(),
        timeout: Some(Duration::from_secs(5)),
        stream: true,
        tools: vec![BuiltIn::ReadFile, BuiltIn::UrlFetch],
        allowed_hosts: vec!["docs.rs".into(), "xn--bcher-kva.example".into(), "::1".into()],
        sub_agents: vec!["b".into()],
        sub_agents_config: SubAgents {
            max_depth: Some(5),
            is_parallel: Some(false),
            timeout: Some(Duration::from_secs(60)),
        },
        memory: MemorySettings {
            is_enabled: true,
            path: "~/m".into(),
            last_n: Some(3),
            max_entries: Some(4),
        },
        params: Params {
            temperature: Some(1.0),
            max_tokens: Some(7),
            response_format: Some(ResponseFormat::JsonSchema {
                name: "n".into(),
                schema: json!({"type": "object"}),
            }),
        },
        retry: RetrySettings {
            max_retries: 2,
            backoff: Backoff::Fixed,
            initial_delay: Duration::from_millis(10),
            max_delay: Duration::from_millis(20),
        },
        budget_max_tokens: Some(9),
        artifacts: ArtifactSettings { is_enabled: true, dir: "out".into(), is_default_write: true },
        mcp_servers: vec![
            McpServer {
                name: "h".into(),
                transport: Transport::StreamableHttp {
                    url: "https://h.example/mcp".into(),
                    headers: [("A".to_owned(), "${B}".to_owned())].into(),
                },
            },
            McpServer {
                name: "s".into(),
                transport: Transport::Stdio {
                    command: "serve".into(),
                    args: vec!["-x".into()],
                    env: [("K".to_owned(), "v".to_owned())].into(),
                },
            },
        ],
    };
    assert_eq!(agent, expected);
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    assert_eq!(parse("a", &format!("\u{feff}{MINIMAL}")).unwrap(), accepted(""));
}

#[test]
fn zero_and_absent_are_the_same() {
    let zeros = accepted(
        "timeout = 0\nallowed_hosts = []\n[sub_agents_config]\nmax_depth = 0\ntimeout = 0\n[memory]\nlast_n = 0\n\
         max_entries = 0\n[params]\ntemperature = 0\nmax_tokens = 0\n[retry]\nmax_retries = 0\nbackoff = \"\"\n\
         initial_delay_ms = 0\nmax_delay_ms = 0\n[budget]\nmax_tokens = 0\n[artifacts]\ndir = \"\"",
    );
    assert_eq!(zeros, accepted(""));
    assert_eq!(zeros.sub_agents_config.effective_max_depth(), 3);
    assert!(zeros.sub_agents_config.runs_in_parallel());
    assert_eq!(zeros.retry.initial_delay, Duration::from_millis(500));
    assert_eq!(zeros.retry.max_delay, Duration::from_secs(30));
}

#[test]
fn each_rule_has_its_words() {
    let rules = [
        ("[sub_agents_config]\nmax_depth = 6", "sub_agents_config.max_depth cannot exceed 5"),
        ("[sub_agents_config]\nmax_depth = -1", "sub_agents_config.max_depth must be non-negative"),
        ("[sub_agents_config]\ntimeout = -1", "sub_agents_config.timeout must be non-negative"),
        ("timeout = -1", "timeout must be non-negative"),
        ("[memory]\nlast_n = -1", "memory.last_n must be non-negative"),
        ("[memory]\nmax_entries = -1", "memory.max_entries must be non-negative"),
        ("tools = [\"call_agent\"]", "unknown tool \"call_agent\" in tools config"),
        ("tools = [\"bash\"]", "unknown tool \"bash\" in tools config"),
        ("[retry]\nmax_retries = -1", "retry.max_retries must be non-negative"),
        ("[retry]\nbackoff = \"slow\"", "retry.backoff must be one of: exponential, linear, fixed"),
        ("[retry]\ninitial_delay_ms = -1", "retry.initial_delay_ms must be non-negative"),
        ("[retry]\nmax_delay_ms = -1", "retry.max_delay_ms must be non-negative"),
        (
            "[retry]\ninitial_delay_ms = 2\nmax_delay_ms = 1",
            "retry.max_delay_ms (1) must not be less than retry.initial_delay_ms (2)",
        ),
        ("[budget]\nmax_tokens = -1", "budget.max_tokens must be non-negative"),
        ("[artifacts]\ndir = \"x\"", "artifacts.dir is set but artifacts.enabled is not true"),
        ("[artifacts]\nenabled = true\ndir = \"a/../b\"", "artifacts.dir must not contain \"..\""),
        ("[params]\nmax_tokens = -1", "params.max_tokens must be non-negative"),
        ("[params]\ntemperature = nan", "params.temperature must be a non-negative number"),
        (
            "[params]\nresponse_format = \"xml\"",
            "must be one of: text, json_object, json_schema; got \"xml\"",
        ),
        ("[params]\nresponse_format = 3", "params.response_format must be a string or a table"),
        ("[params]\nresponse_format = \"json_schema\"", "needs a table with type and schema"),
        ("[params.response_format]\nschema = {}", "params.response_format.type must be one of"),
        ("[[mcp_servers]]\ntransport = \"sse\"", "mcp_servers[0].name is required"),
        ("[[mcp_servers]]\nname = \"x\"\ntransport = \"sse\"", "mcp_servers[0].url is required"),
        (
            "[[mcp_servers]]\nname = \"x\"\nurl = \"ftp://h\"",
            "mcp_servers[0].url must use http or https scheme, got \"ftp\"",
        ),
        ("[[mcp_servers]]\nname = \"x\"\nurl = \"http://\"", "mcp_servers[0].url must include a host"),
        ("[[mcp_servers]]\nname = \"x\"\nurl = \"h h\"", "mcp_servers[0].url is invalid"),
        ("[[mcp_servers]]\nname = \"x\"\nurl = \"http://h\"", "mcp_servers[0].transport must be one of"),
        ("[[mcp_servers]]\nname = \"x\"\ntransport = \"stdio\"", "mcp_servers[0].command is required"),
        (
            "[[mcp_servers]]\nname = \"x\"\ntransport = \"stdio\"\ncommand = \"c\"\n\
             [[mcp_servers]]\nname = \"x\"\ntransport = \"stdio\"\ncommand = \"c\"",
            "mcp_servers names must be unique",
        ),
        ("timeout = \"5\"", "failed to parse agent config \"a\": line 3: invalid type"),
        ("memory = 3", "failed to parse agent config \"a\": line 3: invalid type"),
        ("= 1", "failed to parse agent config \"a\": line 3: "),
    ];
    for (text, message) in rules {
        refused(text, message);
    }
}

#[test]
fn rules_are_checked_in_the_order_of_the_contract() {
    let stages = [
        ("name = \" \"\n", "required field: name"),
        ("name = \"a\"\n", "required field: model"),
        ("name = \"a\"\nmodel = \"m\"\n", "sub_agents_config"),
    ];
    let rest = "timeout = -1\ntools = [\"x\"]\nallowed_hosts = [\"*\"]\n[sub_agents_config]\nmax_depth = 9\n\
                [memory]\nlast_n = -1\n[retry]\nmax_retries = -1\n[budget]\nmax_tokens = -1";
    for (start, message) in stages {
        let error = parse("a", &format!("{start}{rest}")).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    // Mended one by one, each uncovers the next.
    let mut text = format!("{MINIMAL}{}", rest.replace("max_depth = 9", ""));
    for (fault, mended, message) in [
        ("timeout = -1", "", "timeout"),
        ("last_n = -1", "", "memory.last_n"),
        ("[\"x\"]", "[]", "unknown tool"),
        ("max_retries = -1", "", "retry.max_retries"),
        ("[budget]\nmax_tokens = -1", "", "budget.max_tokens"),
        ("[\"*\"]", "[]", "allowed_hosts"),
    ] {
        let error = parse("a", &text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        text = text.replace(fault, mended);
    }
    parse("a", &text).unwrap();
}

#[test]
fn hosts_that_can_never_match_are_refused() {
    for (entry, advice) in [
        ("*.example.com", "there are no wildcards"),
        ("https://example.com", "write the host name alone, \"example.com\""),
        ("https://example.com/path", "write the host name alone, \"example.com\""),
        ("example.com:443", "write the host name alone, \"example.com\""),
        ("example.com.", "write the host name alone, \"example.com\""),
        ("example.com/docs", "write the host name alone, \"example.com\""),
        ("[::1]", "write the host name alone, \"::1\""),
        ("", "it is blank"),
        ("a b", "it is no host name"),
    ] {
        refused(&format!("allowed_hosts = [\"ok.example\", {entry:?}]"), "allowed_hosts[1]");
        refused(&format!("allowed_hosts = [{entry:?}]"), advice);
    }
}

#[test]
fn model_strings_split_at_the_first_slash() {
    for (text, provider, model) in [
        ("anthropic/claude", "anthropic", "claude"),
        ("bedrock/anthropic.claude-v2:0", "bedrock", "anthropic.claude-v2:0"),
        ("openrouter/a/b", "openrouter", "a/b"),
    ] {
        let expected = ModelName { provider: provider.into(), model: model.into() };
        assert_eq!(text.parse::<ModelName>().unwrap(), expected);
        assert_eq!(expected.to_string(), text);
    }
    for (text, rule) in [
        ("claude", "invalid model \"claude\": expected provider/model-name"),
        ("/m", "invalid model \"/m\": empty provider"),
        ("p/", "invalid model \"p/\": empty model name"),
    ] {
        assert_eq!(text.parse::<ModelName>().unwrap_err().to_string(), rule);
    }
}

#[test]
fn the_scaffold_passes_validation_as_it_is_and_with_every_comment_taken_away() {
    for name in ["reviewer", "a \"quoted\" name"] {
        let agent = parse(name, &agent_template(name)).unwrap();
        assert_eq!((agent.name.as_str(), agent.model.as_str()), (name, "provider/model-name"));
    }
    let settings = |line: &str| {
        let line = line.strip_prefix("# ").unwrap_or(line);
        (line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')))
            .then(|| format!("{line}\n"))
    };
    let whole: String = agent_template("a").lines().filter_map(settings).collect();
    let agent = parse("a", &whole).unwrap();
    assert_eq!(unknown_keys(&whole, AGENT), []);
    assert_eq!(agent.retry, RetrySettings::default());
    assert_eq!(agent.mcp_servers.len(), 1);
    // Every key that there is stands in the scaffold, but for those of stdio and the schema, which its comments name.
    for (key, _) in AGENT {
        assert!(whole.contains(&format!("{key} = ")) || whole.contains(&format!("[{key}]")), "{key}");
    }
}

#[test]
fn secrets_in_the_place_of_a_server_stay_out_of_sight() {
    let place = |url: &str| Transport::Sse { url: url.into(), headers: [].into() }.place();
    assert_eq!(place("http://h:1/sse"), "http://h:1/sse");
    assert_eq!(place("https://u:p@h/sse?key=1"), "https://h/sse");
}
