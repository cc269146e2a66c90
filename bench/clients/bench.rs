//! bench plain|client: CPU time of one span that is made current and ended, and of a fixed amount of work.
#[path = "../control.rs"]
mod control;
#[path = "../spanflame.rs"]
mod spanflame;

use opentelemetry::trace::{TraceContextExt, Tracer, TracerProvider};
use opentelemetry::Context;
use opentelemetry_sdk::trace::SdkTracerProvider;

fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let tasks = std::fs::read_dir("/proc/self/task").map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let of = |text: &str| text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.);
    let sum: f64 = tasks.iter().map(|t| of(&std::fs::read_to_string(t.path().join("schedstat")).unwrap_or_default())).sum();
    sum.max(of(&stat)) / 1e6
}

fn main() {
    let is_client = std::env::args().nth(1).as_deref() == Some("client");
    let provider = SdkTracerProvider::builder().build();
    let tracer = provider.tracer("bench");
    let profiler = is_client.then(|| {
        control::start(&std::env::var("OTEL_SERVICE_NAME").unwrap_or_default(), &std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap_or_default())
    });
    let (mut best, spans) = (f64::MAX, if is_client { 2000 } else { 100_000 });
    for _ in 0..5 {
        let begin = cpu_ms();
        for _ in 0..spans {
            let context = Context::current_with_span(tracer.start("GET /cart"));
            if is_client {
                let _current = spanflame::enter(&context);
            } else {
                let _current = context.clone().attach();
            }
            context.span().end();
        }
        best = best.min((cpu_ms() - begin) * 1e6 / f64::from(spans));
    }
    let (begin, mut n) = (cpu_ms(), 1u64);
    for i in 0..1_000_000_000u64 {
        n = std::hint::black_box(n.wrapping_mul(6364136223846793005).wrapping_add(i));
    }
    println!("{best} {}", cpu_ms() - begin);
    if let Some(profiler) = profiler {
        profiler.stop();
    }
}
