import com.sun.management.OperatingSystemMXBean;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import java.lang.management.ManagementFactory;

/** CPU time of one span that is made current and ended, and of a fixed amount of work. */
public class Bench {
    static volatile long kept;

    public static void main(String[] args) {
        Tracer tracer = GlobalOpenTelemetry.getTracer("bench");
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        double best = Double.MAX_VALUE;
        int spans = 100_000;
        for (int round = 0; round < 8; round++) {
            long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            for (int i = 0; i < spans; i++) {
                Span span = tracer.spanBuilder("GET /cart").startSpan();
                try (Scope scope = span.makeCurrent()) {
                    kept++;
                }
                span.end();
            }
            best = Math.min(best, (double) (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin) / spans);
        }
        long begin = system.getProcessCpuTime(), n = 0;
        for (long i = 0; i < 1_000_000_000L; i++) {
            n = n * 6364136223846793005L + i;
        }
        kept = n;
        System.out.println(best + " " + (system.getProcessCpuTime() - begin) / 1e6);
    }
}
