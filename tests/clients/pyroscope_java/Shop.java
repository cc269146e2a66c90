import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;

/**
 * A small service under the OpenTelemetry Java agent with Pyroscope's extension: one span, whose child
 * burns the CPU in a function that is easy to find. It prints the ids of both spans.
 */
public class Shop {
    static volatile long kept;

    static void plantedHotFunction(long ms) {
        long n = kept;
        for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end; ) {
            for (int i = 0; i < 1_000_000; i++) {
                n = n * 6364136223846793005L + i;
            }
        }
        kept = n;
    }

    static void elsewhere(long ms) {
        long n = kept;
        for (long end = System.nanoTime() + ms * 1_000_000; System.nanoTime() < end; ) {
            for (int i = 0; i < 1_000_000; i++) {
                n = n * 2862933555777941757L + i;
            }
        }
        kept = n;
    }

    public static void main(String[] args) throws Exception {
        Tracer tracer = GlobalOpenTelemetry.getTracer("shop");
        Span root = tracer.spanBuilder("GET /checkout").startSpan();
        Span child;
        try (Scope s = root.makeCurrent()) {
            child = tracer.spanBuilder("totals").startSpan();
            try (Scope inner = child.makeCurrent()) {
                plantedHotFunction(Long.parseLong(args[0]));
            }
            child.end();
        }
        root.end();
        elsewhere(800);
        Thread.sleep(Long.parseLong(args[1])); // the agent sends every interval, and not at the end
        System.out.println("{\"service\":\"" + System.getenv("OTEL_SERVICE_NAME") + "\",\"trace\":\""
            + root.getSpanContext().getTraceId() + "\",\"root\":\"" + root.getSpanContext().getSpanId()
            + "\",\"child\":\"" + child.getSpanContext().getSpanId() + "\"}");
    }
}
