//! Random wire values for property tests.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::request::{Call, Request};
use crate::tool::*;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z./]{0,12}",
        1 => ".{0,40}",
        1 => vec(any::<char>(), 0..40).prop_map(String::from_iter),
        1 => "[\\x00-\\x22a\\\\é]{0,40}",
    ]
}

fn number() -> impl Strategy<Value = Option<i64>> {
    option::of(prop_oneof![Just(0), -100..100_000_i64, any::<i64>()])
}

fn flag() -> impl Strategy<Value = Option<bool>> {
    option::of(any::<bool>())
}

fn strings() -> impl Strategy<Value = StringMap> {
    btree_map(text(), text(), 0..4).prop_map(StringMap)
}

fn string_maps() -> impl Strategy<Value = Option<BTreeMap<String, StringMap>>> {
    option::of(btree_map(text(), strings(), 0..3))
}

/// Any JSON value that our integers and doubles hold.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(text(), inner, 0..5).prop_map(|map| Value::Object(Map::from_iter(map))),
        ]
    })
}

fn content_encoding() -> impl Strategy<Value = Option<ContentEncoding>> {
    option::of(prop_oneof![Just(ContentEncoding::Utf8), Just(ContentEncoding::Base64)])
}

fn call() -> impl Strategy<Value = Call> {
    let mode = prop_oneof![Just(WriteMode::Create), Just(WriteMode::Replace)];
    let signal = prop_oneof![Just(SignalName::Int), Just(SignalName::Kill), Just(SignalName::Usr1)];
    let arguments = btree_map(text(), json(), 0..5).prop_map(Map::from_iter);
    prop_oneof![
        (text(), number(), number(), content_encoding()).prop_map(
            |(path, offset_bytes, max_bytes, encoding)| {
                Call::Read(ReadArguments { path, offset_bytes, max_bytes, encoding })
            }
        ),
        (text(), text(), mode, option::of(text()), flag(), content_encoding(), flag()).prop_map(
            |(path, content, mode, expected_sha256, parents, encoding, overwrite)| {
                Call::Write(WriteArguments {
                    path,
                    content,
                    mode,
                    expected_sha256,
                    parents,
                    encoding,
                    overwrite,
                })
            }
        ),
        (text(), text(), text(), option::of(text()), flag()).prop_map(
            |(path, old_text, new_text, expected_sha256, replace_all)| {
                Call::Edit(EditArguments { path, old_text, new_text, expected_sha256, replace_all })
            }
        ),
        (
            text(),
            option::of(vec(text(), 0..4)),
            option::of(text()),
            option::of(text()),
            number(),
            number(),
            option::of(strings()),
            flag(),
        )
            .prop_map(
                |(program, args, cwd, stdin, timeout_ms, max_output_bytes, env, stdin_open)| {
                    Call::Exec(ExecArguments {
                        program,
                        args,
                        cwd,
                        stdin,
                        timeout_ms,
                        max_output_bytes,
                        env,
                        stdin_open,
                    })
                }
            ),
        (
            text(),
            (option::of(text()), option::of(text()), flag(), flag()),
            (number(), number(), number(), number()),
            flag(),
            flag(),
        )
            .prop_map(
                |(pattern, (path, glob, literal, ignore_case), numbers, ignore_files, explain)| {
                    let (context_lines, max_results, offset, max_bytes) = numbers;
                    Call::Search(SearchArguments {
                        pattern,
                        path,
                        glob,
                        literal,
                        ignore_case,
                        context_lines,
                        max_results,
                        offset,
                        max_bytes,
                        ignore_files,
                        explain,
                    })
                }
            ),
        (option::of(text()), option::of(text()), flag(), (number(), number(), number(), number()), flag(),)
            .prop_map(
                |(path, glob, recursive, (max_depth, max_entries, offset, max_bytes), ignore_files)| {
                    Call::List(ListArguments {
                        path,
                        glob,
                        recursive,
                        max_depth,
                        max_entries,
                        offset,
                        max_bytes,
                        ignore_files,
                    })
                }
            ),
        Just(Call::PluginsList(Empty {})),
        (text(), text(), arguments, number()).prop_map(|(plugin_id, tool_name, arguments, timeout_ms)| {
            Call::PluginsCall(PluginsCallArguments { plugin_id, tool_name, arguments, timeout_ms })
        }),
        Just(Call::ServerPing(Empty {})),
        Just(Call::ServerInfo(Empty {})),
        Just(Call::ServerStats(Empty {})),
        number().prop_map(|drain_ms| Call::ServerStop(ServerStopArguments { drain_ms })),
        (
            text(),
            option::of(text()),
            option::of(strings()),
            option::of(vec(text(), 0..3)),
            string_maps(),
            string_maps(),
            flag(),
        )
            .prop_map(|(root, name, env, plugins, plugin_env, plugin_headers, default)| {
                Call::WorkspaceOpen(WorkspaceOpenArguments {
                    root,
                    name,
                    env,
                    plugins,
                    plugin_env,
                    plugin_headers,
                    default,
                })
            }),
        Just(Call::WorkspaceList(Empty {})),
        text().prop_map(|workspace| Call::WorkspaceClose(WorkspaceCloseArguments { workspace })),
        text().prop_map(|request_id| Call::RequestCancel(RequestCancelArguments { request_id })),
        (text(), option::of(text()), option::of(text()), flag()).prop_map(
            |(request_id, data, base64, eof)| {
                Call::ExecWrite(ExecWriteArguments { request_id, data, base64, eof })
            }
        ),
        (text(), signal)
            .prop_map(|(request_id, signal)| Call::ExecSignal(ExecSignalArguments { request_id, signal })),
    ]
}

/// Any request that decodes.
pub(crate) fn request() -> impl Strategy<Value = Request> {
    ("[ -~é😀]{1,30}", option::of(text()), any::<bool>(), call()).prop_map(
        |(request_id, workspace, stream, call)| {
            let needs_stream = matches!(&call, Call::Exec(exec) if exec.stdin_open.is_some());
            Request { request_id, workspace, stream: stream || needs_stream, call }
        },
    )
}
