const KEY = "axlr-token";
const KEPT_CHARACTERS = 1_000_000;
const SAMPLES = 120;
const $ = (id) => document.getElementById(id);

// The token, asked once and kept for as long as this tab.

let token = sessionStorage.getItem(KEY) ?? "";

function ask(fault = "") {
  token = "";
  sessionStorage.removeItem(KEY);
  $("ask").hidden = false;
  $("forget").hidden = true;
  $("token-fault").textContent = fault;
  $("daemon").textContent = "Not connected";
  $("token").focus();
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  $("token").value = "";
  // What no header can carry would fail before anybody could say that it is wrong.
  if (!/^[\x21-\x7e]+$/.test(token)) return ask("This is not the token.");
  sessionStorage.setItem(KEY, token);
  $("ask").hidden = true;
  refresh();
  $("cmd").focus();
});

$("forget").addEventListener("click", () => ask());

async function request(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (response.status === 401) ask("This is not the token.");
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({ error: response.statusText }));
    throw new Error(error);
  }
  return response;
}

// A command, and its output as it comes.

let running = null;
let shown = 0;

$("run-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) run();
});

$("cmd").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("run-form").requestSubmit();
  }
});

$("kill").addEventListener("click", () => running?.abort());

async function run() {
  if (!token) return ask("A command needs the token.");
  running = new AbortController();
  const begun = performance.now();
  busy(true);
  outcome("Running…");
  $("output").replaceChildren();
  shown = 0;
  try {
    const body = { cmd: $("cmd").value, cwd: $("cwd").value || null, timeout: Number($("timeout").value) || null };
    const response = await request("/spawn", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: running.signal,
    });
    const code = await follow(response.body);
    const seconds = ((performance.now() - begun) / 1000).toFixed(2);
    if (code === null) outcome("The stream broke off before the end: how the command ended is not known.", true);
    else if (code === -1) outcome("The command could not be started: is the folder there?", true);
    else outcome(`Exit code ${code} after ${seconds} s.`, code !== 0);
  } catch (error) {
    if (running.signal.aborted) outcome("Killed, with everything that it started.", true);
    else outcome(`${error.message}`, true);
  }
  running = null;
  busy(false);
}

// Returns the exit code, or null when the stream ends without one.
async function follow(stream) {
  const decoders = { out: new TextDecoder(), err: new TextDecoder() };
  const lines = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await lines.read();
    if (done) return null;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) {
      const line = JSON.parse(part);
      if (line.t === "exit") {
        // What ended within a character is marked.
        for (const name of ["out", "err"]) show(name, decoders[name].decode());
        return line.code;
      }
      const bytes = Uint8Array.from(atob(line.b), (character) => character.charCodeAt(0));
      show(line.t, decoders[line.t].decode(bytes, { stream: true }));
    }
  }
}

function show(stream, text) {
  if (!text) return;
  const output = $("output");
  const isAtEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 4;
  const last = output.lastChild;
  if (last?.className === stream && last.textContent.length < 10_000) {
    last.append(text);
  } else {
    const piece = document.createElement("span");
    piece.className = stream;
    piece.textContent = text;
    output.append(piece);
  }
  shown += text.length;
  while (shown > KEPT_CHARACTERS && output.childNodes.length > 1) {
    shown -= output.firstChild.textContent.length;
    output.firstChild.remove();
  }
  if (isAtEnd) output.scrollTop = output.scrollHeight;
}

function busy(is) {
  $("run").disabled = is;
  $("kill").disabled = !is;
}

function outcome(text, isFault = false) {
  $("outcome").textContent = text;
  $("outcome").className = isFault ? "fault" : "";
}

// What the daemon does.

const history = [];
const tones = new Map();

async function refresh() {
  if (!token || document.hidden) return;
  try {
    draw(await (await request("/stats")).json());
  } catch (error) {
    if (token) $("daemon").textContent = `No answer: ${error.message}`;
  }
}

function draw(stats) {
  $("forget").hidden = false;
  $("daemon").textContent = `axlrd ${stats.version}, process ${stats.pid}, up ${span(stats.uptime_ms / 1000)}`;
  for (const name of ["running", "queued", "children", "detached", "connections"]) $(name).textContent = stats[name];
  $("memory").textContent = `${(stats.resident_bytes / 1048576).toFixed(1)} MiB`;
  const tools = Object.entries(stats.tools);
  for (const [name] of tools) if (!tones.has(name)) tones.set(name, tone(tones.size));
  $("tools").replaceChildren(...tools.map(row));
  history.push(Object.fromEntries(tools.map(([name, tool]) => [name, { p50: tool.p50_us, p99: tool.p99_us }])));
  while (history.length > SAMPLES) history.shift();
  chart();
}

// Six colours, and again in broader lines.
function tone(index) {
  return `tool-${index % 6}${index >= 6 ? " broad" : ""}`;
}

function row([name, tool]) {
  const line = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  const mark = document.createElement("span");
  mark.className = `mark ${tones.get(name)}`;
  head.append(mark, name);
  const other = tool.rejected + tool.failed + tool.cancelled + tool.timed_out;
  const values = [tool.in_flight, tool.completed, other, time(tool.p50_us), time(tool.p99_us), time(tool.max_us)];
  line.append(head, ...values.map((value) => Object.assign(document.createElement("td"), { textContent: value })));
  return line;
}

function chart() {
  const [width, height, left, foot] = [$("chart").clientWidth || 600, $("chart").clientHeight || 176, 56, 8];
  $("chart").setAttribute("viewBox", `0 0 ${width} ${height}`);
  const points = history.flatMap((tools) => Object.values(tools).flatMap(({ p50, p99 }) => [p50, p99])).filter(Boolean);
  const low = Math.floor(Math.log10(Math.min(...points, 1e2)));
  const high = Math.ceil(Math.log10(Math.max(...points, 1e3)));
  const y = (micros) => foot + (height - 2 * foot) * (1 - (Math.log10(micros) - low) / (high - low));
  const x = (index) => left + ((width - left) * (index + SAMPLES - history.length)) / (SAMPLES - 1);
  const parts = [];
  for (let power = low; power <= high; power += 1) {
    const level = y(10 ** power);
    parts.push(element("line", { class: "grid", x1: left, x2: width, y1: level, y2: level }));
    const label = element("text", { x: 4, y: Math.min(Math.max(level + 4, 12), height - 4) });
    label.textContent = time(10 ** power);
    parts.push(label);
  }
  for (const [name, look] of tones) {
    for (const quantile of ["p50", "p99"]) {
      const path = history
        .map((tools, index) => [index, tools[name]?.[quantile]])
        .filter(([, micros]) => micros > 0)
        .map(([index, micros], place) => `${place ? "L" : "M"}${x(index).toFixed(1)} ${y(micros).toFixed(1)}`);
      parts.push(element("path", { class: `${look} ${quantile}`, d: path.join("") }));
    }
  }
  $("chart").replaceChildren(...parts);
}

function element(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function time(micros) {
  if (micros < 1_000) return `${micros} µs`;
  if (micros < 1_000_000) return `${+(micros / 1_000).toPrecision(3)} ms`;
  return `${+(micros / 1_000_000).toPrecision(3)} s`;
}

function span(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min` : `${Math.floor(seconds)} s`;
}

setInterval(refresh, 1_000);
if (token) refresh();
else ask();
