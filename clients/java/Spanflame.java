package spanflame;

import io.opentelemetry.api.baggage.Baggage;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.impl.InstrumentationUtil;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer;
import io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizerProvider;
import io.opentelemetry.sdk.autoconfigure.spi.ConfigProperties;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.pyroscope.javaagent.api.ProfilerApi;
import io.pyroscope.javaagent.api.ProfilerApiHolder;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.net.HttpURLConnection;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.ObjectName;
import javax.management.StandardMBean;

/**
 * Puts the ids of every OpenTelemetry span on the samples that Pyroscope's agent takes in it, and does what the server's
 * /api/v1/control says. An extension of the OpenTelemetry agent; Pyroscope's agent comes before it:
 *
 * <pre>java -Dpyroscope.agent.enabled=false -javaagent:pyroscope.jar -javaagent:opentelemetry-javaagent.jar
 *     -Dotel.javaagent.extensions=spanflame.jar ...</pre>
 *
 * A thread's samples carry the ids of the span that is current on it: they change whenever a context becomes current and
 * when it no longer is. The extension itself starts the
 * profiler, and its profiles have the service's name and instance of the spans' resource. A program switches
 * profiling by the MBean spanflame:type=Profiling (Enabled, Rate).
 */
public final class Spanflame implements AutoConfigurationCustomizerProvider {
    private final Control control = new Control();

    @Override
    public void customize(AutoConfigurationCustomizer customizer) {
        ContextStorage.addWrapper(Labelled::new);
        customizer.addResourceCustomizer((resource, config) -> control.resource = resource);
        customizer.addTracerProviderCustomizer((provider, config) -> {
            control.start(config);
            return provider.addSpanProcessor(new Named());
        });
    }

    // ---- labels ----

    private final class Labelled implements ContextStorage {
        private final ContextStorage inner;

        Labelled(ContextStorage inner) {
            this.inner = inner;
        }

        @Override
        public Scope attach(Context to) {
            Scope scope = inner.attach(to);
            label(to);
            return () -> {
                scope.close();
                label(inner.current());
            };
        }

        @Override
        public Context current() {
            return inner.current();
        }
    }

    private void label(Context current) {
        ProfilerApi profiler = ProfilerApiHolder.INSTANCE.get();
        if (profiler == null) {
            return;
        }
        SpanContext span = current == null ? SpanContext.getInvalid() : Span.fromContext(current).getSpanContext();
        if (span.isSampled() && !span.isRemote() && isChosen(current, span.getTraceId())) {
            profiler.setTracingContext(Long.parseUnsignedLong(span.getSpanId(), 16), 0);
            profiler.setTraceId(span.getTraceId());
        } else {
            profiler.setTracingContext(0, 0);
            profiler.clearTraceId();
        }
    }

    private boolean isChosen(Context context, String traceId) {
        double share = control.share;
        return share >= 1 || isInShare(traceId, share) || "1".equals(Baggage.fromContext(context).getEntryValue("profile"));
    }

    private static long mix(long v) {
        v = (v ^ v >>> 30) * 0xbf58476d1ce4e5b9L;
        v = (v ^ v >>> 27) * 0x94d049bb133111ebL;
        return v ^ v >>> 31;
    }

    /** Whether a trace is in a share (0 to 1) of all: every process and the server choose the same ones. */
    static boolean isInShare(String traceId, double share) {
        long first = Long.reverseBytes(Long.parseUnsignedLong(traceId.substring(0, 16), 16));
        long second = Long.reverseBytes(Long.parseUnsignedLong(traceId.substring(16), 16));
        long v = mix(mix(first + 0x9e3779b97f4a7c15L) ^ second);
        long tenThousandths = ((v >>> 32) * 10000 + ((v & 0xffffffffL) * 10000 >>> 32)) >>> 32;
        return tenThousandths < share * 10000;
    }

    private static final class Named implements SpanProcessor {
        @Override
        public void onStart(Context parent, ReadWriteSpan span) {
            span.setAttribute("pyroscope.profile.id", span.getSpanContext().getSpanId());
        }

        @Override
        public boolean isStartRequired() {
            return true;
        }

        @Override
        public void onEnd(ReadableSpan span) {}

        @Override
        public boolean isEndRequired() {
            return false;
        }
    }

    // ---- Pyroscope's profiler, whose classes another class loader has ----

    private static Class<?> type(String name) throws ReflectiveOperationException {
        return ClassLoader.getSystemClassLoader().loadClass("io.pyroscope.javaagent." + name);
    }

    private static Object call(Class<?> type, Object on, String name, Object... args) throws ReflectiveOperationException {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == args.length
                    && (args.length == 0 || method.getParameterTypes()[0].isInstance(args[0]))) {
                method.setAccessible(true);
                return method.invoke(on, args);
            }
        }
        throw new NoSuchMethodException(type + "." + name);
    }

    /** Sampling at one rate; closing it gives what is to be sent. */
    private static final class Window {
        private final Object profiler, exporter;
        private final Instant from = Instant.now();

        Window(Object config) throws ReflectiveOperationException {
            Object level = config.getClass().getField("logLevel").get(config);
            Object logger = type("impl.DefaultLogger").getConstructors()[0].newInstance(level, System.out);
            profiler = call(type("ProfilerDelegate"), null, "create", config);
            exporter = type("impl.PyroscopeExporter").getConstructors()[0].newInstance(config, logger);
            call(type("ProfilerDelegate"), profiler, "start");
        }

        Object close() throws ReflectiveOperationException {
            call(type("ProfilerDelegate"), profiler, "stop");
            return call(type("ProfilerDelegate"), profiler, "dumpProfile", from, Instant.now());
        }

        void send(Object snapshot) throws ReflectiveOperationException {
            call(type("api.Exporter"), exporter, "export", snapshot);
            call(type("api.Exporter"), exporter, "stop");
        }
    }

    /** What a program may see and switch. */
    public interface ProfilingMBean {
        boolean isEnabled();

        void setEnabled(boolean isEnabled);

        int getRate();
    }

    // ---- control ----

    private static final class Control implements ProfilingMBean {
        private static final Pattern NUMBER = Pattern.compile("(\\d+(?:\\.\\d+)?)([A-Za-z%]*)");
        private static final Map<String, Double> UNITS = new HashMap<>();

        static {
            Object[] units = {"", 1, "%", .01, "ns", 1e-6, "us", 1e-3, "ms", 1, "s", 1e3, "m", 6e4, "h", 3.6e6, "d", 8.64e7, "B", 1,
                "KB", 1e3, "MB", 1e6, "GB", 1e9, "KiB", 1024, "MiB", 1 << 20, "GiB", 1 << 30};
            for (int i = 0; i < units.length; i += 2) {
                UNITS.put((String) units[i], ((Number) units[i + 1]).doubleValue());
            }
        }

        volatile Resource resource;
        volatile double share = 1; // of the requests whose samples name their spans
        private volatile Map<String, String> doc = new HashMap<>(); // what the server said, line by line
        private volatile Boolean own; // what the program said last
        private volatile double lowered = 1; // share of the rate, by load
        private volatile boolean isPaused, isEnded;
        private volatile int rate; // in effect
        private volatile int capture; // its rate while one is taken
        private volatile String problem = "";
        private String server, service, instance;
        private Object base; // Pyroscope's own settings
        private final Object lock = new Object();
        private long asked, done; // changes; guarded by lock

        /** What the server says, else SPANFLAME_PROFILING_*, else `otherwise`: a share, milliseconds, bytes. */
        private double number(String name, double otherwise) {
            String key = "SPANFLAME_PROFILING_" + name.replace('.', '_').toUpperCase();
            for (String text : new String[] {doc.get(name), System.getenv(key)}) {
                Matcher found = NUMBER.matcher(text == null ? "" : text);
                if ("true".equals(text) || "false".equals(text)) {
                    return "true".equals(text) ? 1 : 0;
                }
                if (found.matches() && UNITS.containsKey(found.group(2))) {
                    return Double.parseDouble(found.group(1)) * UNITS.get(found.group(2));
                }
            }
            return otherwise;
        }

        @Override
        public boolean isEnabled() {
            return own != null ? own : !"false".equals(doc.get("enabled"));
        }

        @Override
        public void setEnabled(boolean isEnabled) {
            own = isEnabled;
            settle();
        }

        @Override
        public int getRate() {
            return rate;
        }

        /** Timers fire at the kernel's tick at most, and each sample counts as the interval that was asked for. */
        private int most() {
            String event = System.getenv("PYROSCOPE_PROFILER_EVENT");
            return "cpu".equals(System.getProperty("pyroscope.profiler.event", event)) ? 1000 : 200;
        }

        private int wanted() {
            if (isEnded || (capture == 0 && (!isEnabled() || isPaused))) {
                return 0;
            }
            if (capture > 0) {
                return Math.min(capture, most());
            }
            boolean holds = System.currentTimeMillis() < number("rate.until", Double.MAX_VALUE);
            double base = number("cpu.sample_rate", 100);
            return (int) Math.max(1, Math.min(most(), (holds ? number("rate.cpu", base) : base) * lowered));
        }

        void start(ConfigProperties config) {
            service = attribute("service.name", "unknown_service:java");
            instance = attribute("service.instance.id", "");
            String pyroscope = System.getProperty("pyroscope.server.address", System.getenv("PYROSCOPE_SERVER_ADDRESS"));
            server = pyroscope != null ? pyroscope : config.getString("otel.exporter.otlp.endpoint", "http://localhost:4040");
            server = server.replaceAll("/+$", "");
            share = Math.max(number("conditional.share", 1), number("conditional.baseline", .01));
            thread("spanflame-profiling", this::profile);
            thread("spanflame-load", this::watchLoad);
            if (number("control.enabled", 1) != 0) {
                thread("spanflame-control", this::ask);
            }
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                isEnded = true;
                settle(); // sends what there is
            }, "spanflame-end"));
        }

        private static void thread(String name, Runnable work) {
            Thread thread = new Thread(() -> InstrumentationUtil.suppressInstrumentation(work), name);
            thread.setDaemon(true);
            thread.start();
        }

        private String attribute(String key, String otherwise) {
            Object value = resource.getAttribute(AttributeKey.stringKey(key));
            return value == null ? otherwise : value.toString();
        }

        private Object config(int hz) throws ReflectiveOperationException {
            if (base == null) {
                base = call(type("config.Config"), null, "build");
            }
            Map<String, String> labels = new LinkedHashMap<>();
            ((Map<?, ?>) base.getClass().getField("labels").get(base)).forEach((k, v) -> labels.put(k.toString(), v.toString()));
            labels.put("process.pid", String.valueOf(ProcessHandle.current().pid()));
            for (String key : new String[] {"service.instance.id", "host.name", "k8s.pod.name"}) {
                labels.put(key, attribute(key, ""));
            }
            labels.values().removeIf(value -> value.isEmpty() || value.matches(".*[{},=].*"));
            Object builder = call(base.getClass(), base, "newBuilder");
            call(builder.getClass(), builder, "setApplicationName", service);
            call(builder.getClass(), builder, "setServerAddress", server);
            call(builder.getClass(), builder, "setLabels", labels);
            call(builder.getClass(), builder, "setProfilingInterval", Duration.ofNanos(1_000_000_000L / hz));
            return call(builder.getClass(), builder, "build");
        }

        /** Waits until what holds now is in effect, and what was sampled before is sent. */
        private void settle() {
            synchronized (lock) {
                long mine = ++asked;
                lock.notifyAll();
                try {
                    while (done < mine) {
                        lock.wait(15000);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        private void profile() {
            try {
                if ((Boolean) call(type("PyroscopeAgent"), null, "isStarted")) {
                    call(type("PyroscopeAgent"), null, "stop");
                }
                Method publish = type("ProfilerApiPublisher").getDeclaredMethod("publish", type("api.Logger"));
                publish.setAccessible(true);
                publish.invoke(null, type("impl.DefaultLogger").getField("PRECONFIG_LOGGER").get(null));
            } catch (ReflectiveOperationException e) {
                problem = "no -javaagent of Pyroscope";
            }
            Window window = null;
            for (boolean isLast = false; !isLast; ) {
                long serving;
                synchronized (lock) {
                    serving = asked;
                }
                isLast = isEnded;
                try {
                    Window before = window;
                    Object snapshot = before == null ? null : before.close();
                    int hz = wanted();
                    window = hz > 0 ? new Window(config(hz)) : null;
                    rate = hz;
                    if (snapshot != null) {
                        before.send(snapshot);
                    }
                } catch (ReflectiveOperationException e) {
                    Throwable cause = e.getCause() == null ? e : e.getCause();
                    problem = String.valueOf(cause);
                    window = null;
                    rate = 0;
                }
                synchronized (lock) {
                    done = serving;
                    lock.notifyAll();
                    long end = System.currentTimeMillis() + (long) number("upload_interval", 10000);
                    try {
                        for (long left; !isLast && asked == serving && (left = end - System.currentTimeMillis()) > 0; ) {
                            lock.wait(left);
                        }
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }

        /** Halves the rate above the thresholds, and pauses while the host is overloaded. */
        private void watchLoad() {
            com.sun.management.OperatingSystemMXBean os =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            int over = 0;
            try {
                ManagementFactory.getPlatformMBeanServer().registerMBean(
                    new StandardMBean(this, ProfilingMBean.class), new ObjectName("spanflame:type=Profiling"));
            } catch (javax.management.JMException e) {
                problem = String.valueOf(e);
            }
            while (!isEnded && sleep((long) number("adaptive.interval", 10000))) {
                double host = os.getSystemCpuLoad();
                double pauseAt = number("load_shedding.cpu_threshold", .9);
                long memory = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
                over = host >= pauseAt ? over + 1 : 0;
                if (number("load_shedding.enabled", 1) == 0 || host < pauseAt - .1) {
                    isPaused = false;
                } else if (over >= 2) {
                    isPaused = true;
                }
                boolean isLoaded = Math.max(host, os.getProcessCpuLoad()) >= number("adaptive.cpu_threshold", .8)
                    || memory >= number("adaptive.memory_threshold", 512e6);
                if (number("adaptive.enabled", 0) == 0) {
                    lowered = 1;
                } else {
                    lowered = isLoaded ? Math.max(1 / 8., lowered / 2) : Math.min(1, lowered + 1 / 4.);
                }
                if (wanted() != rate) {
                    settle();
                }
            }
        }

        // ---- the server's word ----

        private String taken = ""; // the capture that was taken last, and what is to be told of it

        private void ask() {
            String news = "";
            for (int failures = 0; !isEnded; ) {
                long pauseMs = 100;
                try {
                    int status = ask(news);
                    boolean isAnswer = status == 200 || status == 304;
                    boolean isRefusal = status == 401 || status == 403 || status == 404 || status == 405;
                    failures = isAnswer || isRefusal ? 0 : Math.min(failures + 1, 4);
                    news = isAnswer ? "" : news;
                    pauseMs = isRefusal ? 600000 : failures > 0 ? 250L << failures : 100;
                    if (status == 200) {
                        news = take();
                    }
                } catch (Exception e) { // no answer, or none that is understood
                    failures = Math.min(failures + 1, 4);
                    pauseMs = 250L << failures;
                }
                sleep(pauseMs / 2 + ThreadLocalRandom.current().nextLong(pauseMs));
            }
        }

        private int ask(String news) throws java.io.IOException {
            StringBuilder query = new StringBuilder(server + "/api/v1/control?format=text&wait=" + (news.isEmpty() ? "30s" : "1s"));
            String[] said = {"service", service, "instance", instance, "rate", String.valueOf(rate), "paused",
                String.valueOf(rate == 0), "pid", String.valueOf(ProcessHandle.current().pid()), "host", attribute("host.name", ""),
                "agent", "spanflame-java/1", "problem", problem.substring(0, Math.min(150, problem.length()))};
            for (int i = 0; i < said.length; i += 2) {
                if (!said[i + 1].isEmpty()) {
                    query.append('&').append(said[i]).append('=').append(URLEncoder.encode(said[i + 1], StandardCharsets.UTF_8));
                }
            }
            HttpURLConnection question = (HttpURLConnection) new URL(query + news).openConnection();
            question.setConnectTimeout(5000);
            question.setReadTimeout(45000);
            String token = System.getProperty("pyroscope.auth.token", System.getenv("PYROSCOPE_AUTH_TOKEN"));
            if (token != null) {
                question.setRequestProperty("Authorization", "Bearer " + token);
            }
            if (doc.containsKey("version")) {
                question.setRequestProperty("If-None-Match", '"' + doc.get("version") + '"');
            }
            int status = question.getResponseCode();
            if (status == 200) {
                Map<String, String> lines = new HashMap<>();
                try (InputStream body = question.getInputStream()) {
                    for (String line : new String(body.readNBytes(65536), StandardCharsets.UTF_8).split("\n")) {
                        String[] parts = line.split(" ", 2);
                        lines.put(parts[0], parts.length > 1 ? parts[1] : "");
                    }
                }
                doc = lines;
                own = null; // what was said last holds
                share = Math.max(number("conditional.share", 1), number("conditional.baseline", .01));
            }
            return status;
        }

        /** Obeys; a capture is taken to its end. What there is to tell of it. */
        private String take() {
            String[] order = doc.getOrDefault("capture", "").split(" ");
            if (order.length != 4 || order[0].equals(taken)) {
                if (wanted() != rate) {
                    settle();
                }
                return "";
            }
            taken = order[0];
            capture = Integer.parseInt(order[2]);
            settle();
            long from = System.currentTimeMillis();
            sleep(Long.parseLong(order[3]) * 1000);
            capture = 0;
            long until = System.currentTimeMillis();
            settle(); // what was sampled is at the server when this is told
            return "&capture=" + taken + "&from=" + from + "000000&until=" + until + "000000";
        }

        private static boolean sleep(long ms) {
            try {
                Thread.sleep(ms);
                return true;
            } catch (InterruptedException e) {
                return false;
            }
        }
    }
}
