/* coverage_hint.c - which link between traces and profiles is missing, and lines of code or
 * configuration that add it.
 *
 * For each language, the lines use the profiler that its users know; all of these send to this
 * server, which speaks their protocol. */
#include "link/coverage_hint.h"

#include <string.h>

#include "base/text.h"

/* SERVICE@KIND stands for the service's name as it must be written in that place, SERVER for this
 * server's address. A name comes from telemetry: the sender must not be able to change what a
 * pasted line does. */
enum kind {
    WORD,  /* of a shell */
    URL,   /* a part of an address */
    TEXT,  /* between double quotes in Go, Python, Rust and C */
    RUBY,  /* likewise, where # begins code */
    JS,    /* between single quotes */
    QUERY, /* between double quotes of TraceQL between single quotes of a shell */
    KINDS
};
static const char *const kind_names[KINDS] = {"word", "url", "text", "ruby", "js", "query"};

struct language {
    sf_str name;
    const char *profiles[2], *span_ids[2], *every_span[2], *spans[2];
};

static const struct language languages[] = {
    {SF_STR("go"),
     {"import \"github.com/grafana/pyroscope-go\"",
      "pyroscope.Start(pyroscope.Config{ApplicationName: \"SERVICE@text\", ServerAddress: "
      "\"SERVER\"})"},
     {"import otelpyroscope \"github.com/grafana/otel-profiling-go\"",
      "otel.SetTracerProvider(otelpyroscope.NewTracerProvider(tracerProvider))"},
     {"// clients/go/spanflame.go of Spanflame, copied into your module: docs/go.md",
      "otel.SetTracerProvider(spanflame.NewTracerProvider(tracerProvider))"},
     {"exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(\"SERVER\"))",
      "otel.SetTracerProvider(trace.NewTracerProvider(trace.WithBatcher(exporter)))"}},
    {SF_STR("java"),
     {"PYROSCOPE_APPLICATION_NAME=SERVICE@word PYROSCOPE_SERVER_ADDRESS=SERVER",
      "java -javaagent:pyroscope.jar ..."},
     {"OTEL_PYROSCOPE_START_PROFILING=true PYROSCOPE_APPLICATION_NAME=SERVICE@word "
      "PYROSCOPE_SERVER_ADDRESS=SERVER",
      "java -javaagent:opentelemetry-javaagent.jar "
      "-Dotel.javaagent.extensions=pyroscope-otel.jar ..."},
     {"java -Dpyroscope.agent.enabled=false -javaagent:pyroscope.jar "
      "-javaagent:opentelemetry-javaagent.jar -Dotel.javaagent.extensions=spanflame.jar ...",
      "# spanflame.jar: clients/java of Spanflame, built as docs/java.md says"},
     {"OTEL_SERVICE_NAME=SERVICE@word OTEL_EXPORTER_OTLP_ENDPOINT=SERVER",
      "java -javaagent:opentelemetry-javaagent.jar ..."}},
    {SF_STR("python"),
     {"import pyroscope",
      "pyroscope.configure(application_name=\"SERVICE@text\", server_address=\"SERVER\")"},
     {"from pyroscope.otel import PyroscopeSpanProcessor",
      "tracer_provider.add_span_processor(PyroscopeSpanProcessor())"},
     {"import spanflame_profiling  # clients/python of Spanflame, copied beside it: docs/python.md",
      "tracer_provider.add_span_processor(spanflame_profiling.SpanTagger())"},
     {"OTEL_SERVICE_NAME=SERVICE@word OTEL_EXPORTER_OTLP_ENDPOINT=SERVER",
      "opentelemetry-instrument python app.py"}},
    {SF_STR("ruby"),
     {"require \"pyroscope\"", "Pyroscope.configure { |c| c.application_name = \"SERVICE@ruby\"; "
                               "c.server_address = \"SERVER\" }"},
     {"require \"pyroscope/otel\"",
      "c.add_span_processor Pyroscope::Otel::SpanProcessor.new(\"SERVICE@ruby\", \"SERVER\")"},
     {"Pyroscope.tag_wrapper(\"span_id\" => span.context.hex_span_id) { work }", NULL},
     {"require \"opentelemetry/exporter/otlp\"",
      "OpenTelemetry::SDK.configure { |c| c.service_name = \"SERVICE@ruby\"; c.use_all }"}},
    {SF_STR("dotnet"),
     {"PYROSCOPE_APPLICATION_NAME=SERVICE@word PYROSCOPE_SERVER_ADDRESS=SERVER "
      "PYROSCOPE_PROFILING_ENABLED=1",
      "CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={BD1A650D-AC5D-4896-B64F-D6FA25D6B26A} "
      "CORECLR_PROFILER_PATH=Pyroscope.Profiler.Native.so "
      "LD_PRELOAD=Pyroscope.Linux.ApiWrapper.x64.so"},
     {"dotnet add package Pyroscope.OpenTelemetry",
      "builder.WithTracing(b => b.AddProcessor(new "
      "Pyroscope.OpenTelemetry.PyroscopeSpanProcessor()));"},
     {"Profiler.Instance.SetSpanContext(spanId, traceIdHi, traceIdLo); // OnStart of a processor",
      "// of your own (BaseProcessor<Activity>), and the same with the parent's ids in OnEnd"},
     {"dotnet add package OpenTelemetry.Exporter.OpenTelemetryProtocol",
      "builder.Services.AddOpenTelemetry().WithTracing(b => b.AddOtlpExporter());"}},
    {SF_STR("nodejs"),
     {"const Pyroscope = require('@pyroscope/nodejs');",
      "Pyroscope.init({ serverAddress: 'SERVER', appName: 'SERVICE@js' }); Pyroscope.start();"},
     {"const { spanId, traceId } = trace.getActiveSpan().spanContext();",
      "Pyroscope.wrapWithLabels({ span_id: spanId, trace_id: traceId }, () => handle(request));"},
     {"const spanflame = require('./spanflame'); // clients/node of Spanflame: docs/node.md",
      "context.setGlobalContextManager(new spanflame.ContextManager().enable());"},
     {"OTEL_SERVICE_NAME=SERVICE@word OTEL_EXPORTER_OTLP_ENDPOINT=SERVER",
      "node --require @opentelemetry/auto-instrumentations-node/register app.js"}},
    {SF_STR("rust"),
     {"let agent = PyroscopeAgentBuilder::new(\"SERVER\", \"SERVICE@text\", 100, \"pyroscope-rs\", "
      "\"2.1.5\",",
      "    pprof_backend(PprofConfig { sample_rate: 100 }, BackendConfig::default()))"
      ".build()?.start()?;"},
     {"let (add_tag, remove_tag) = agent.tag_wrapper();",
      "add_tag(\"span_id\".into(), span.span_context().span_id().to_string())?;"},
     {"spanflame::install(add_tag, remove_tag); // clients/rust of Spanflame: docs/rust.md",
      "let _current = spanflame::enter(&cart); // in the place of cart.attach()"},
     {"let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build()?;",
      "global::set_tracer_provider(SdkTracerProvider::builder()"
      ".with_batch_exporter(exporter).build());"}},
    {SF_STR("c"),
     {"sf_start(\"SERVICE@text\"); /* spanflame.h, and OTEL_EXPORTER_OTLP_ENDPOINT=SERVER */",
      "sf_profiling_start(SF_PROFILE_CPU | SF_PROFILE_WALL | SF_PROFILE_MUTEX | "
      "SF_PROFILE_BLOCK);"},
     {"sf_span s = sf_span_start(\"GET /cart\"); /* samples of this thread now name it */",
      "sf_context_set(trace_id, span_id); /* where spans are made by another library */"},
     {"sf_span s = sf_span_start(\"load rules\"); /* for each span, on the thread that does the "
      "work */",
      "sf_context_set(trace_id, span_id); /* where spans are made by another library */"},
     {"sf_start(\"SERVICE@text\"); /* spanflame.h, and OTEL_EXPORTER_OTLP_ENDPOINT=SERVER */",
      "sf_span s = sf_span_start(\"GET /cart\"); /* and sf_span_end(s) after the work */"}},
    {SF_STR(""), /* any: must be last */
     {"spanflame record -- PROGRAM",
      "curl --data-binary @profile 'SERVER/api/v1/profile?service=SERVICE@url'"},
     {"label each sample with span_id=<16 hexadecimal digits of the active span>",
      "curl --data-binary @profile 'SERVER/api/v1/profile?service=SERVICE@url&span_id=ID'"},
     {"label each sample with span_id=<16 hexadecimal digits of the innermost active span>", NULL},
     {"OTEL_SERVICE_NAME=SERVICE@word", "OTEL_EXPORTER_OTLP_ENDPOINT=SERVER"}},
};

/* For SF_MISSING_SPAN_IDS: a frequent mistake that only Go has. */
static const char go_without_ids[] =
    "samples carry no span ids: a span shows its share of what its process did at that time, an "
    "estimate. Labels of pprof.Do and TagWrapper apply only while the function passed to them "
    "runs: with an empty function no sample gets them";

static const struct language *coverage_hint_find(sf_str name)
{
    size_t n = sizeof(languages) / sizeof(languages[0]);
    for (size_t i = 0; i < n; i++)
        if (sf_str_eq(languages[i].name, name) ||
            (sf_str_eq(name, SF_STR("cpp")) && sf_str_eq(languages[i].name, SF_STR("c"))))
            return &languages[i];
    return &languages[n - 1];
}

struct sf_coverage_hint sf_coverage_hint_of(enum sf_missing what, sf_str language)
{
    static const struct sf_coverage_hint hints[SF_MISSINGS] = {
        [SF_MISSING_PROFILES] =
            {"no_profiles",
             "no profiles were received in this time: spans have no flame graphs",
             {NULL, NULL}},
        [SF_MISSING_SPANS] =
            {"no_spans",
             "no spans were received in this time: profiles cannot be assigned to requests",
             {NULL, NULL}},
        [SF_MISSING_SPAN_IDS] = {"no_span_ids",
                                 "samples carry no span ids: a span shows its share of what its "
                                 "process did at that time, an estimate",
                                 {NULL, NULL}},
        [SF_MISSING_SOME_IDS] =
            {"few_span_ids",
             "some samples carry no span id: work outside of requests, or spans that are not "
             "tagged; such spans show an estimate or too little",
             {NULL, NULL}},
        [SF_MISSING_EVERY_SPAN] = {"root_span_ids",
                                   "samples carry the id of a request's first span, not of the "
                                   "span they belong to: the total of the first span with its "
                                   "children is exact, the share of each span is an estimate",
                                   {NULL, NULL}},
        [SF_MISSING_PROCESS] =
            {"no_instance",
             "spans do not identify the instance they ran in: they are joined with "
             "the profiles of the whole service",
             {"OTEL_RESOURCE_ATTRIBUTES=service.instance.id=$(hostname)",
              "and the same service.instance.id among the profiler's labels"}},
        [SF_MISSING_SENDER] = {"no_profile_instance",
                               "several instances send profiles that do not identify the instance: "
                               "samples without a span id cannot be assigned to spans",
                               {"OTEL_RESOURCE_ATTRIBUTES=service.instance.id=$(hostname)",
                                "and the same service.instance.id among the profiler's labels"}},
        [SF_MISSING_SYMBOLS] = {"no_symbols",
                                "some samples have addresses without function names",
                                {"build with debug information (-g) and keep build ids "
                                 "(-Wl,--build-id)",
                                 "upload the debug information: spanflame symbols upload FILE"}},
        [SF_MISSING_SAMPLES] = {"few_samples",
                                "spans have less than 5 % of the samples expected for their "
                                "duration: they waited (spanflame ledger shows for what), or their "
                                "samples were not received or carry no span id",
                                {NULL, NULL}},
        [SF_MISSING_RATE] = {"low_rate",
                             "most spans are shorter than the time between two samples: merge "
                             "many of them (spanflame flame --q), or sample more often",
                             {"spanflame flame --q '{ resource.service.name = \"SERVICE@query\" }'",
                              NULL}},
        [SF_MISSING_TIME] = {"gaps",
                             "profiles were missing for some of the time: the profiler stopped, or "
                             "its uploads failed",
                             {NULL, NULL}},
        [SF_MISSING_CLOCK] = {"clock_skew",
                              "clocks of this service and of its callers contradict each other: "
                              "traces are drawn with estimated corrections; samples are joined "
                              "within a process and are not affected",
                              {"run chrony or ntpd on both hosts", NULL}},
        [SF_MISSING_THREADS] = {"no_threads",
                                "the thread ids of spans do not occur in samples: threads are "
                                "ignored, and samples are joined by time only",
                                {"send the kernel's thread number as the span's thread.id; for "
                                 "Java, profile with JFR, which has Java's number too",
                                 NULL}},
    };
    struct sf_coverage_hint hint = hints[what];
    const struct language *l = coverage_hint_find(language);
    const char *const *lines = hint.lines;
    switch (what) {
    case SF_MISSING_PROFILES: lines = l->profiles; break;
    case SF_MISSING_SPAN_IDS:
        lines = l->span_ids;
        if (sf_str_eq(l->name, SF_STR("go")))
            hint.sentence = go_without_ids;
        break;
    case SF_MISSING_SOME_IDS: lines = l->span_ids; break;
    case SF_MISSING_EVERY_SPAN: lines = l->every_span; break;
    case SF_MISSING_SPANS: lines = l->spans; break;
    default: break;
    }
    hint.lines[0] = lines[0];
    hint.lines[1] = lines[1];
    return hint;
}

/* ---- filling in ---- */

static bool coverage_hint_is_plain(uint32_t c, const char *more)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c > 0 && c < 0x80 && strchr(more, (int)c));
}

static void coverage_hint_add_escaped(struct sf_buf *out, enum kind kind, sf_str one, uint32_t c)
{
    switch (kind) {
    case QUERY:
        if (c == '\'')
            sf_buf_add_str(out, SF_STR("'\\''"));
        else if (c == '"' || c == '\\')
            sf_buf_print(out, "\\%c", (int)c);
        else
            sf_buf_add_str(out, one);
        break;
    case URL:
        for (size_t i = 0; i < one.len; i++)
            sf_buf_print(out, coverage_hint_is_plain(c, "-._~") ? "%c" : "%%%02X",
                         (uint8_t)one.p[i]);
        break;
    default: {
        bool is_special = c == '\\' || (kind == JS ? c == '\'' : c == '"') ||
                          (kind == RUBY && c == '#');
        if (is_special)
            sf_buf_add_u8(out, '\\');
        sf_buf_add_str(out, one);
    }
    }
}

static void coverage_hint_add_name(struct sf_buf *out, enum kind kind, sf_str name)
{
    if (kind == WORD) {
        sf_text_shell_word(out, name);
        return;
    }
    for (size_t at = 0; at < name.len;) {
        uint32_t c = 0;
        sf_str rest = sf_str_from_at(name, at);
        size_t len = sf_utf8_char_len(rest, &c);
        if (len == 0 || (kind != URL && sf_text_is_unseen(c)))
            sf_buf_add_u8(out, '?');
        else
            coverage_hint_add_escaped(out, kind, sf_str_part(rest, 0, len), c);
        at += len ? len : 1;
    }
}

/* The kind after "SERVICE", and the length of its name; KINDS if there is none. */
static enum kind kind_at(sf_str rest, size_t *out_len)
{
    enum kind k = WORD;
    while (k < KINDS && !sf_str_starts(rest, sf_str_from(kind_names[k])))
        k++;
    *out_len = k < KINDS ? strlen(kind_names[k]) : 0;
    return k;
}

void sf_coverage_hint_fill(const char *line, sf_str service, sf_str server, struct sf_buf *out)
{
    sf_str rest = sf_str_from(line);
    while (rest.len > 0) {
        size_t len = 1, word_len;
        if (sf_str_starts(rest, SF_STR("SERVICE@"))) {
            enum kind kind = kind_at(sf_str_from_at(rest, 8), &word_len);
            if (kind < KINDS)
                coverage_hint_add_name(out, kind, service);
            len = 8 + word_len;
        } else if (sf_str_starts(rest, SF_STR("SERVER")) && !(rest.len > 6 && rest.p[6] == '_')) {
            sf_buf_add_str(out, server); /* but not in the word PYROSCOPE_SERVER_ADDRESS */
            len = 6;
        } else {
            sf_buf_add_u8(out, (uint8_t)rest.p[0]);
        }
        rest = sf_str_from_at(rest, len);
    }
}
