use std::collections::BTreeMap;

use super::*;

#[test]
fn a_status_is_two_aligned_tables() {
    let info = ServerInfoOutput {
        name: "axlrd".into(),
        version: "0.1.0".into(),
        protocol_versions: vec![1],
        pid: 4242,
        uptime_ms: 0,
        tools: Vec::new(),
        limits: BTreeMap::new(),
        capabilities: Vec::new(),
    };
    let read = ToolStats {
        completed: 12_345,
        rejected: 2,
        p50_us: 21,
        p99_us: 140,
        max_us: 5_300,
        ..Default::default()
    };
    let exec = ToolStats {
        failed: 1,
        in_flight: 3,
        p50_us: 1_100,
        p99_us: 2_500_000,
        max_us: 9_000_000,
        ..Default::default()
    };
    let tools = [("exec", exec), ("list", ToolStats::default()), ("read", read)];
    let stats = ServerStatsOutput {
        uptime_ms: 18_720_000,
        connections: 3,
        running: 3,
        queued: 0,
        children: 3,
        detached: 1,
        bytes_in: 1_536,
        bytes_out: 5_242_880,
        resident_bytes: 8_388_608,
        tools: tools.map(|(name, stats)| (name.to_owned(), stats)).into(),
    };
    let expected = "\
version      0.1.0
pid          4242
socket       /run/user/1000/axlr/axlr.sock
up           5 h 12 min
connections  3
requests     3 running, 0 waiting
children     3 running, 1 detached
memory       8.0 MiB
traffic      1.5 KiB in, 5.0 MiB out

tool  completed  rejected  failed  cancelled  timed out  running     p50     p99     max
exec          -         -       1          -          -        3  1.1 ms   2.5 s   9.0 s
read     12,345         2       -          -          -        -   21 µs  140 µs  5.3 ms";
    let lines = lines(&info, &stats, Path::new("/run/user/1000/axlr/axlr.sock"));
    assert_eq!(lines.join("\n"), expected);
}
