//! A CPU profiler that does what the server's /api/v1/control says; the file to copy beside spanflame.rs when
//! profiling is to be switched at run time. It needs the crates opentelemetry and pyroscope.
//!
//!     let profiler = control::start("my-service", "http://127.0.0.1:4040");
//!     let (status, body) = profiler.handle("GET"); // for an endpoint of your own
//!     profiler.stop(); // sends what there is
//!
//! Settings are SPANFLAME_PROFILING_*, named as in Spanflame's docs/configuration.md. A change ends the
//! profiler and starts another one, which takes up to an upload interval, on a thread of its own. The server
//! is asked over plain HTTP; one behind https:// is not asked.
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opentelemetry::baggage::BaggageExt;
use opentelemetry::Context;
use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::{PyroscopeAgent, PyroscopeAgentBuilder, PyroscopeAgentRunning};

use crate::spanflame;

/// A timer fires at the kernel's tick at most, and each sample counts as the interval that was asked for.
const MOST_HZ: f64 = 200.0;

// ---- whose samples name their spans ----

/// Their share of all requests, in ten-thousandths.
static SHARE: AtomicU64 = AtomicU64::new(10000);

fn mix(v: u64) -> u64 {
    let v = (v ^ v >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    let v = (v ^ v >> 27).wrapping_mul(0x94d049bb133111eb);
    v ^ v >> 31
}

/// Whether a trace is in a share of all: every process and the server choose the same ones.
pub fn is_in_share(trace: [u8; 16], ten_thousandths: u64) -> bool {
    let half = |at: usize| u64::from_le_bytes(trace[at..at + 8].try_into().unwrap_or_default());
    let v = mix(mix(half(0).wrapping_add(0x9e3779b97f4a7c15)) ^ half(8));
    ((u128::from(v) * 10000) >> 64) < u128::from(ten_thousandths)
}

fn is_chosen(context: &Context, trace: [u8; 16]) -> bool {
    let share = SHARE.load(Ordering::Relaxed);
    share >= 10000 || is_in_share(trace, share) || context.baggage().get("profile").is_some_and(|v| v.as_str() == "1")
}

// ---- what is to be done ----

#[derive(Default)]
struct State {
    doc: HashMap<String, String>, // what the server said, line by line
    own: Option<bool>,            // what the handler was told last
    lowered: f64,                 // share of the rate, by load
    is_paused: bool,              // the host is overloaded
    is_stopped: bool,
    capture: u32, // its rate while one is taken
    is_cut: bool, // which begins and ends with a profiler of its own
    changes: u64, // said
    done: u64,    // in effect
    rate: u32,
    problem: String,
}

/// A share, seconds, bytes.
fn number_of(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 16] = [("", 1.), ("%", 0.01), ("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.), ("m", 60.),
        ("h", 3600.), ("d", 86400.), ("B", 1.), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("KiB", 1024.), ("MiB", 1048576.),
        ("GiB", 1073741824.)];
    match text {
        "true" => return Some(1.),
        "false" => return Some(0.),
        _ => (),
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = UNITS.iter().find(|(name, _)| *name == &text[end..])?;
    Some(text[..end].parse::<f64>().ok()? * unit.1)
}

impl State {
    /// What the server says, else SPANFLAME_PROFILING_*.
    fn number(&self, name: &str, otherwise: f64) -> f64 {
        let key = format!("SPANFLAME_PROFILING_{}", name.replace('.', "_").to_uppercase());
        let said = self.doc.get(name).and_then(|text| number_of(text));
        said.or_else(|| number_of(&std::env::var(key).ok()?)).unwrap_or(otherwise)
    }

    fn is_enabled(&self) -> bool {
        self.own.unwrap_or_else(|| self.doc.get("enabled").is_none_or(|v| v != "false"))
    }

    fn wanted(&self) -> u32 {
        let is_off = self.capture == 0 && (!self.is_enabled() || self.is_paused);
        if self.is_stopped || is_off {
            return 0;
        }
        if self.capture > 0 {
            return (f64::from(self.capture)).min(MOST_HZ) as u32;
        }
        let mut hz = self.number("cpu.sample_rate", 100.);
        if (now_ns() / 1_000_000) as f64 <= self.number("rate.until", f64::MAX) {
            hz = self.number("rate.cpu", hz);
        }
        (hz * self.lowered).clamp(1., MOST_HZ) as u32
    }
}

struct Shared {
    service: String,
    server: String,
    state: Mutex<State>,
    changed: Condvar,
}

fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A change, and waits until it is in effect.
    fn change(&self, what: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        what(&mut state);
        state.changes += 1;
        let change = state.changes;
        self.changed.notify_all();
        while state.done < change && !state.is_stopped {
            state = self.changed.wait(state).unwrap_or_else(|e| e.into_inner());
        }
    }

    // ---- sampling ----

    fn begin(&self, hz: u32, interval: f64) -> pyroscope::Result<PyroscopeAgent<PyroscopeAgentRunning>> {
        let pid = std::process::id().to_string();
        let agent = PyroscopeAgentBuilder::new(&self.server, &self.service, hz, "pyroscope-rs", "2.1.5",
            pprof_backend(PprofConfig { sample_rate: hz }, BackendConfig::default()))
            .tags(vec![("service.instance.id", spanflame::instance()), ("process.pid", &pid)])
            .upload_interval(Duration::from_secs_f64(interval.max(1.)))
            .build()?
            .start()?;
        let (add, remove) = agent.tag_wrapper();
        spanflame::install(add, remove);
        Ok(agent)
    }

    fn profile(&self) {
        let mut running: Option<PyroscopeAgent<PyroscopeAgentRunning>> = None;
        loop {
            let (hz, change, is_other, interval) = {
                let mut state = self.lock();
                while !state.is_stopped && state.done >= state.changes && state.wanted() == state.rate {
                    state = self.changed.wait_timeout(state, Duration::from_secs(1)).unwrap_or_else(|e| e.into_inner()).0;
                }
                let share = state.number("conditional.share", 1.).max(state.number("conditional.baseline", 0.01));
                SHARE.store((share * 10000.) as u64, Ordering::Relaxed);
                let is_other = state.wanted() != state.rate || state.is_cut;
                state.is_cut = false;
                (state.wanted(), state.changes, is_other, state.number("upload_interval", 10.))
            };
            if is_other {
                spanflame::uninstall();
                if let Some(ready) = running.take().and_then(|agent| agent.stop().ok()) {
                    ready.shutdown(); // `stop` alone goes on sampling
                }
            }
            let mut problem = String::new();
            if hz > 0 && running.is_none() {
                running = self.begin(hz, interval).map_err(|e| problem = e.to_string()).ok();
            }
            let mut state = self.lock();
            (state.rate, state.done, state.problem) = (if running.is_some() { hz } else { 0 }, change, problem);
            self.changed.notify_all();
            if state.is_stopped && running.is_none() {
                return;
            }
            if running.is_none() && hz > 0 {
                drop(self.changed.wait_timeout(state, Duration::from_secs(5))); // somebody else profiles: later, perhaps
            }
        }
    }

    // ---- load ----

    /// Halves the rate above the thresholds, and pauses while the host is overloaded.
    fn watch_load(&self) {
        let (mut over, mut before, mut at) = (0, times(), Instant::now());
        loop {
            let interval = Duration::from_secs_f64(self.lock().number("adaptive.interval", 10.).max(0.01));
            let end = Instant::now() + interval;
            while Instant::now() < end {
                if self.lock().is_stopped {
                    return;
                }
                thread::sleep(interval.min(Duration::from_millis(200)));
            }
            let now = times();
            let host = (now.busy - before.busy) / (now.all - before.all).max(1.);
            let own = (now.own - before.own) / at.elapsed().as_secs_f64() / thread::available_parallelism().map_or(1., |n| n.get() as f64);
            (before, at) = (now, Instant::now());
            let mut state = self.lock();
            let pause_at = state.number("load_shedding.cpu_threshold", 0.9);
            over = if host >= pause_at { over + 1 } else { 0 };
            if state.number("load_shedding.enabled", 1.) == 0. || host < pause_at - 0.1 {
                state.is_paused = false;
            } else if over >= 2 {
                state.is_paused = true;
            }
            let is_loaded = host.max(own) >= state.number("adaptive.cpu_threshold", 0.8)
                || resident() >= state.number("adaptive.memory_threshold", 512e6);
            state.lowered = match (state.number("adaptive.enabled", 0.) != 0., is_loaded) {
                (false, _) => 1.,
                (true, true) => (state.lowered / 2.).max(1. / 8.),
                (true, false) => (state.lowered + 1. / 4.).min(1.),
            };
            self.changed.notify_all();
        }
    }

    // ---- the server's word ----

    fn ask(&self, news: &str) -> Option<(u16, String)> {
        let address = self.server.strip_prefix("http://")?;
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let with_port = if host.contains(':') { host.to_string() } else { format!("{host}:80") };
        let (query, version) = {
            let state = self.lock();
            let problem = if state.problem.is_empty() { String::new() } else { format!("&problem={}", escaped(&state.problem)) };
            (format!("format=text&service={}&instance={}&wait={}&rate={}&paused={}&pid={}&host={}&agent=spanflame-rust/1{problem}{news}",
                escaped(&self.service), escaped(spanflame::instance()), if news.is_empty() { "30s" } else { "1s" }, state.rate,
                state.rate == 0, std::process::id(), escaped(&host_name())), state.doc.get("version").cloned())
        };
        let mut headers = format!("Host: {host}\r\nConnection: close\r\n");
        if let Some(version) = version {
            headers += &format!("If-None-Match: \"{version}\"\r\n");
        }
        if let Ok(token) = std::env::var("PYROSCOPE_AUTH_TOKEN") {
            headers += &format!("Authorization: Bearer {token}\r\n");
        }
        let mut stream = TcpStream::connect(with_port).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(45))).ok()?;
        let path = path.trim_end_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        stream.write_all(format!("GET {slash}{path}/api/v1/control?{query} HTTP/1.0\r\n{headers}\r\n").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.take(65536).read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_string()))
    }

    fn ask_on(&self) {
        let (mut news, mut failures) = (String::new(), 0u32);
        while !self.lock().is_stopped {
            let asked = self.ask(&news);
            let pause_ms = match asked {
                Some((200, body)) => {
                    failures = 0;
                    news = self.take(&body);
                    100
                }
                Some((304, _)) => {
                    (failures, news) = (0, String::new());
                    100
                }
                Some((401 | 403 | 404 | 405, _)) => 600_000,
                _ => {
                    failures = (failures + 1).min(4);
                    250 << failures
                }
            };
            let by_chance = u64::try_from(now_ns() % 1000).unwrap_or(0);
            let end = Instant::now() + Duration::from_millis(pause_ms / 2 + pause_ms * by_chance / 1000);
            while Instant::now() < end && !self.lock().is_stopped {
                thread::sleep(Duration::from_millis(50));
            }
        }
    }

    /// Obeys; a capture is taken to its end. What there is to tell of it.
    fn take(&self, body: &str) -> String {
        let doc: HashMap<String, String> =
            body.lines().filter_map(|line| line.split_once(' ')).map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let order: Vec<String> = doc.get("capture").map(|v| v.split(' ').map(str::to_string).collect()).unwrap_or_default();
        let known = self.lock().doc.get("capture").cloned();
        let is_new = order.len() == 4 && doc.get("capture") != known.as_ref();
        let hz = if is_new { order[2].parse().unwrap_or(100) } else { 0 };
        self.change(|state| {
            state.own = None; // what was said last holds
            state.doc = doc;
            (state.capture, state.is_cut) = (hz, is_new);
        });
        if !is_new {
            return String::new();
        }
        let interval = Duration::from_secs_f64(self.lock().number("upload_interval", 10.).max(1.)).as_secs().max(1) as u128 * 1_000_000_000;
        let from = now_ns() / interval * interval; // a profile has the time of its whole interval
        thread::sleep(Duration::from_secs(order[3].parse().unwrap_or(1)));
        let until = now_ns() / interval * interval + interval;
        self.change(|state| (state.capture, state.is_cut) = (0, true)); // what was sampled is at the server when this is told
        format!("&capture={}&from={from}&until={until}", escaped(&order[0]))
    }
}

fn escaped(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes().take(150).map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

struct Times {
    busy: f64,
    all: f64,
    own: f64,
}

/// CPU time of the host in ticks, of the process in seconds; 0 where it is not told.
fn times() -> Times {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<f64> = stat.lines().next().unwrap_or("").split_whitespace().skip(1).take(8).filter_map(|n| n.parse().ok()).collect();
    let all: f64 = ticks.iter().sum();
    let idle: f64 = ticks.iter().skip(3).take(2).sum();
    let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = own.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let own: f64 = fields.iter().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    Times { busy: all - idle, all, own: own / 100. }
}

fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.) * 4096.
}

// ---- the outside ----

pub struct Profiler {
    shared: Arc<Shared>,
    profile: JoinHandle<()>,
}

/// Samples the CPU for a service, sends to a server, and obeys it.
pub fn start(service: &str, server: &str) -> Profiler {
    let _ = spanflame::CHOOSE.set(is_chosen);
    let state = State { lowered: 1., changes: 1, ..State::default() };
    let asks = state.number("control.enabled", 1.) != 0. && server.starts_with("http://");
    let shared = Arc::new(Shared { service: service.into(), server: server.trim_end_matches('/').into(), state: Mutex::new(state), changed: Condvar::new() });
    let of = |what: fn(&Shared)| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || what(&shared))
    };
    let profile = of(Shared::profile);
    of(Shared::watch_load);
    if asks {
        of(Shared::ask_on);
    }
    drop(shared.changed.wait_while(shared.lock(), |state| state.done == 0));
    Profiler { shared, profile }
}

impl Profiler {
    /// (status, body) for an endpoint of your own: GET says whether profiling is on, POST and DELETE switch it until the
    /// next change at the server.
    pub fn handle(&self, method: &str) -> (u16, String) {
        match method {
            "POST" | "DELETE" => self.shared.change(|state| state.own = Some(method == "POST")),
            "GET" => (),
            _ => return (405, String::new()),
        }
        let state = self.shared.lock();
        (200, format!("{{\"enabled\":{},\"rate\":{}}}", state.is_enabled(), state.rate))
    }

    /// Sends what there is.
    pub fn stop(self) {
        self.shared.lock().is_stopped = true;
        self.shared.changed.notify_all();
        let _ = self.profile.join();
    }
}
