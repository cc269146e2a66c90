// A program under async-profiler that writes one recording in every form it knows: java Profiled FOLDER.
import java.nio.file.Files;
import java.nio.file.Path;
import one.profiler.AsyncProfiler;

public class Profiled {
    static volatile long sink;

    static long parse(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) sum += (long) i * i % 7;
        return sum;
    }

    static long render(int n) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < n; i++) text.append(i);
        return text.length();
    }

    static long handle(int n) {
        return parse(n * 40) + render(n);
    }

    public static void main(String[] args) throws Exception {
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        Path folder = Path.of(args[0]);
        profiler.execute("start,event=itimer,interval=1ms");
        for (long end = System.nanoTime() + 1_500_000_000L; System.nanoTime() < end;) sink += handle(2000);
        profiler.stop();
        for (String form : new String[] {"collapsed", "traces=10000", "flat=10000", "traces=10000,flat=10000", "flamegraph", "flamegraph,reverse",
                                         "tree", "tree,reverse"}) {
            String name = form.replaceAll("[^a-z]+", "_");
            String file = folder.resolve(name + (form.startsWith("flamegraph") || form.startsWith("tree") ? ".html" : ".txt")).toString();
            String said = profiler.execute(form + ",file=" + file);
            if (!Files.exists(Path.of(file))) Files.writeString(Path.of(file), said);
        }
    }
}
