//! `axlr status`: what the daemon does and did, in one screenful.

use std::io::Write as _;
use std::path::Path;

use axlr_client::default_socket_path;
use axlr_client::tool::{ServerInfoOutput, ServerStatsOutput, ToolStats};

use super::human::{Side, bytes, count, microseconds, table, uptime};
use super::screen::Screen;
use crate::EXIT_COMPLETED;
use crate::flags::ConnectionFlags;

#[cfg(test)]
mod tests;

/// Runs `axlr status`.
pub(super) async fn run(flags: &ConnectionFlags) -> anyhow::Result<u8> {
    let client = super::connect(flags).await?;
    let stats = client.stats().await?;
    let mut screen = Screen::open();
    if flags.json {
        writeln!(screen.out, "{}", serde_json::to_string(&stats)?)?;
    } else {
        let info = client.info().await?;
        let socket = flags.socket.clone().unwrap_or_else(default_socket_path);
        for line in lines(&info, &stats, &socket) {
            writeln!(screen.out, "{line}")?;
        }
    }
    screen.flush()?;
    Ok(EXIT_COMPLETED)
}

fn lines(info: &ServerInfoOutput, stats: &ServerStatsOutput, socket: &Path) -> Vec<String> {
    let facts = [
        ("version", info.version.clone()),
        ("pid", info.pid.to_string()),
        ("socket", socket.display().to_string()),
        ("up", uptime(stats.uptime_ms)),
        ("connections", count(stats.connections)),
        ("requests", format!("{} running, {} waiting", count(stats.running), count(stats.queued))),
        ("children", format!("{} running, {} detached", count(stats.children), count(stats.detached))),
        ("memory", bytes(stats.resident_bytes)),
        ("traffic", format!("{} in, {} out", bytes(stats.bytes_in), bytes(stats.bytes_out))),
    ];
    let facts = facts.map(|(name, value)| vec![name.to_owned(), value]);
    let mut lines = table(&[Side::Left; 2], &facts);
    let used: Vec<(&String, &ToolStats)> = stats.tools.iter().filter(|(_, tool)| is_used(tool)).collect();
    if used.is_empty() {
        return lines;
    }
    let heads =
        ["tool", "completed", "rejected", "failed", "cancelled", "timed out", "running", "p50", "p99", "max"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(used.into_iter().map(|(name, tool)| row(name, tool)));
    let sides: Vec<Side> = heads
        .iter()
        .enumerate()
        .map(|(index, _)| if index == 0 { Side::Left } else { Side::Right })
        .collect();
    lines.push(String::new());
    lines.extend(table(&sides, &rows));
    lines
}

fn ended(tool: &ToolStats) -> [u64; 5] {
    [tool.completed, tool.rejected, tool.failed, tool.cancelled, tool.timed_out]
}

fn is_used(tool: &ToolStats) -> bool {
    tool.in_flight > 0 || ended(tool).iter().any(|number| *number > 0)
}

fn row(name: &str, tool: &ToolStats) -> Vec<String> {
    // A nought says little in a table of many.
    let shown = |number: u64| if number == 0 { "-".to_owned() } else { count(number) };
    let mut row = vec![name.to_owned()];
    row.extend(ended(tool).map(shown));
    row.push(shown(tool.in_flight));
    row.extend([tool.p50_us, tool.p99_us, tool.max_us].map(microseconds));
    row
}
