//! Puts the ids of OpenTelemetry spans on the samples that Pyroscope's profiler takes in them. Copy this file
//! beside your program; it needs the crates opentelemetry and pyroscope. With control.rs beside it the server
//! switches the profiler.
//!
//!     let (add, remove) = agent.tag_wrapper();
//!     spanflame::install(add, remove);
//!     let _current = spanflame::enter(&context); // in the place of context.attach()
//!
//! Tags of one key add up, and the greatest value wins: the guard takes the outer span's tags away, and
//! gives them back when it is dropped, also by a panic. A future has the tags whenever it is polled.
#![allow(dead_code)] // a program uses some of it
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, RwLock};
use std::task::Poll;

use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Context, ContextGuard};

type Ids = Option<(String, String)>;
type Change = Box<dyn Fn(String, String) -> pyroscope::Result<()> + Send + Sync>;

struct Tags {
    start: u64, // of the profiler: one that was started again knows no tags
    add: Change,
    remove: Change,
}

static TAGS: RwLock<Option<Arc<Tags>>> = RwLock::new(None);
/// Whose samples name their spans; none: everybody's. control.rs sets it.
pub static CHOOSE: OnceLock<fn(&Context, [u8; 16]) -> bool> = OnceLock::new();

thread_local! {
    static CURRENT: RefCell<(u64, Ids)> = const { RefCell::new((0, None)) };
}

/// What `tag_wrapper` of the running agent gives; again when another one runs.
pub fn install(
    add: impl Fn(String, String) -> pyroscope::Result<()> + Send + Sync + 'static,
    remove: impl Fn(String, String) -> pyroscope::Result<()> + Send + Sync + 'static,
) {
    static STARTS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let start = STARTS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    *TAGS.write().unwrap_or_else(|e| e.into_inner()) = Some(Arc::new(Tags { start, add: Box::new(add), remove: Box::new(remove) }));
}

/// While no profiler runs, tags cost nothing.
pub fn uninstall() {
    *TAGS.write().unwrap_or_else(|e| e.into_inner()) = None;
}

/// Sets the thread's tags; gives the ones before.
fn swap(ids: Ids) -> Ids {
    let tags = TAGS.read().unwrap_or_else(|e| e.into_inner()).clone();
    let start = tags.as_ref().map_or(0, |t| t.start);
    let (old_start, before) = CURRENT.with(|c| c.replace((start, ids.clone())));
    if let Some(tags) = tags {
        let old = if old_start == start { &before } else { &None };
        if *old != ids {
            for (change, ids) in [(&tags.remove, old), (&tags.add, &ids)] {
                if let Some((span, trace)) = ids {
                    let _ = change("span_id".into(), span.clone());
                    let _ = change("trace_id".into(), trace.clone());
                }
            }
        }
    }
    before
}

/// While it lives, the context is current on this thread, and samples name its span.
pub struct Guard {
    before: Ids,
    _context: ContextGuard,
}

impl Drop for Guard {
    fn drop(&mut self) {
        swap(self.before.take());
    }
}

/// Makes a context current, as `Context::attach` does.
pub fn enter(context: &Context) -> Guard {
    let of = context.span().span_context().clone();
    let is_chosen = of.is_sampled() && !of.is_remote() && CHOOSE.get().is_none_or(|choose| choose(context, of.trace_id().to_bytes()));
    let ids = is_chosen.then(|| (of.span_id().to_string(), of.trace_id().to_string()));
    Guard { before: swap(ids), _context: context.clone().attach() }
}

/// A future that runs in a context, wherever it is polled.
pub struct Entered<F> {
    context: Context,
    inner: Pin<Box<F>>,
}

pub fn within<F: Future>(context: Context, future: F) -> Entered<F> {
    Entered { context, inner: Box::pin(future) }
}

impl<F: Future> Future for Entered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut std::task::Context<'_>) -> Poll<F::Output> {
        let _current = enter(&self.context);
        self.inner.as_mut().poll(task)
    }
}

/// Of this process: that of OTEL_RESOURCE_ATTRIBUTES, else made of the process's number and its start.
pub fn instance() -> &'static str {
    static INSTANCE: OnceLock<String> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        let given = std::env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let found = given.split(',').filter_map(|pair| pair.split_once('=')).find(|(key, _)| key.trim() == "service.instance.id");
        if let Some((_, value)) = found {
            return value.trim().to_string();
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        format!("{:x}-{:x}", std::process::id(), now.as_nanos())
    })
}
