import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.Tracer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** What the articles' Java classes leave out: the work, an order, a request, and something that sends a file. */
class Rest {
    static final Tracer tracer = GlobalOpenTelemetry.getTracer("shop");
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

    OrderResult doExpensiveCalculation(Order order) {
        plantedHotFunction(2000);
        return new OrderResult();
    }

    void processRequest(Request request) {
        plantedHotFunction(2000);
    }
}

class Order {
    String getId() {
        return "7";
    }

    List<String> getItems() {
        return List.of("a", "b");
    }
}

class OrderResult {}

class Request {}

class PyroscopeClient {
    /** A file under the ids of a span. */
    static void upload(String file, Map<String, String> ids) {
        String url = System.getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + "/api/v1/profile?service=" + System.getenv("OTEL_SERVICE_NAME")
            + "&trace_id=" + ids.get("trace_id") + "&span_id=" + ids.get("span_id");
        try {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url)).POST(HttpRequest.BodyPublishers.ofFile(Path.of(file))).build();
            HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IllegalStateException(answer.body());
            }
        } catch (java.io.IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
