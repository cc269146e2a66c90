import { useState } from "preact/hooks";
import { CopyButton } from "../parts/copy_button";

interface Recipe {
  name: string;
  text: (host: string, http: string, page: string) => string;
}

const ENV = (http: string) => `export OTEL_SERVICE_NAME=my-service
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=${http}`;

const RECIPES: readonly Recipe[] = [
  {
    name: "C and C++",
    text: (_, http) => `# profiles without a rebuild
OTEL_SERVICE_NAME=my-service spanflame record --cpu --wall --server ${http} -- ./my-program

/* spans: #include <spanflame.h>, cc my-program.c $(pkg-config --cflags --libs spanflame) */
sf_start("my-service");
sf_span s = sf_span_start("GET /cart");
sf_span_end(s);
/* and run it with OTEL_EXPORTER_OTLP_ENDPOINT=${http} */`,
  },
  {
    name: "Go",
    text: (_, http, page) => `${ENV(http)}

// go get github.com/grafana/pyroscope-go github.com/grafana/otel-profiling-go
pyroscope.Start(pyroscope.Config{ApplicationName: "my-service", ServerAddress: "${page}"})
otel.SetTracerProvider(otelpyroscope.NewTracerProvider(tracerProvider))`,
  },
  {
    name: "Java",
    text: (_, http, page) => `${ENV(http)}
export PYROSCOPE_APPLICATION_NAME=my-service
export PYROSCOPE_SERVER_ADDRESS=${page}
java -javaagent:opentelemetry-javaagent.jar \\
     -Dotel.javaagent.extensions=pyroscope-otel.jar -jar my-service.jar`,
  },
  {
    name: "Python",
    text: (_, http, page) => `${ENV(http)}
pip install opentelemetry-distro opentelemetry-exporter-otlp pyroscope-io pyroscope-otel
opentelemetry-instrument python app.py

# in the program
pyroscope.configure(application_name="my-service", server_address="${page}")
provider.add_span_processor(PyroscopeSpanProcessor())`,
  },
  {
    name: "Node.js",
    text: (_, http, page) => `${ENV(http)}
npm install @opentelemetry/auto-instrumentations-node @pyroscope/nodejs
node --require @opentelemetry/auto-instrumentations-node/register app.js

// in the program
Pyroscope.init({ appName: "my-service", serverAddress: "${page}" }); Pyroscope.start();`,
  },
  {
    name: ".NET",
    text: (_, http, page) => `${ENV(http)}
export PYROSCOPE_APPLICATION_NAME=my-service
export PYROSCOPE_SERVER_ADDRESS=${page}
# packages: OpenTelemetry.Exporter.OpenTelemetryProtocol, Pyroscope.OpenTelemetry`,
  },
  {
    name: "Ruby",
    text: (_, http, page) => `${ENV(http)}
gem install opentelemetry-sdk opentelemetry-exporter-otlp pyroscope pyroscope-otel

# in the program
Pyroscope.configure { |c| c.application_name = "my-service"; c.server_address = "${page}" }`,
  },
  {
    name: "Collector",
    text: (host) => `exporters:
  otlp/spanflame:
    endpoint: ${host}:4317
    tls: {insecure: true}
service:
  pipelines:
    traces:   {receivers: [otlp], exporters: [otlp/spanflame]}
    profiles: {receivers: [otlp], exporters: [otlp/spanflame]}`,
  },
  {
    name: "A file",
    text: (_, __, page) => `# pprof, JFR, V8, folded text, OTLP: told by its content
curl --data-binary @profile.pb.gz '${page}/api/v1/profile?service=my-service'`,
  },
];

/** What to do when there is nothing yet: ready to copy, with this server's address. */
export function FirstUse() {
  const [at, setAt] = useState(0);
  const recipe = RECIPES[at] ?? RECIPES[0];
  const page = location.origin;
  // OTLP is taken on every address, so the one this page came from works as it is.
  const text = recipe?.text(location.hostname, page, page) ?? "";
  return (
    <div class="first-use">
      <h2>Nothing here yet</h2>
      <p>
        No spans came in this time range. Send some: traces over OTLP, profiles with whatever your language has. When both carry span ids, every
        span gets its flame graph.
      </p>
      <div class="tabs" role="tablist" aria-label="Language">
        {RECIPES.map((r, i) => (
          <button type="button" role="tab" key={r.name} aria-selected={i === at} onClick={() => setAt(i)}>
            {r.name}
          </button>
        ))}
      </div>
      <div class="code-box" role="tabpanel" aria-label={recipe?.name}>
        <CopyButton text={text} />
        <pre>
          <code>{text}</code>
        </pre>
      </div>
      <p class="note">
        Or see it with made-up data first: <code>spanflame demo</code>.
      </p>
    </div>
  );
}
