#!/usr/bin/env python3
"""The programs, commands and files of the articles that people come from, as they stand there (SPANFLAME_ARTICLES=FOLDER):
each does here what its reader was told, or the test says what it does instead. What is changed in one stands beside it."""
import glob
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import articles  # noqa: E402
import pages  # noqa: E402
import toolchain  # noqa: E402
from articles import block, estimated, folder_with, known, profile_of, sent_to, share, span_of, write  # noqa: E402
from pages import wait_for  # noqa: E402
from pprof_make import otlp, pprof  # noqa: E402
from server import JSON, Server, export_request, free_port, make_span, tap  # noqa: E402

PROGRAM = os.environ["SPANFLAME"]
PROFILES = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


# ---- Go ----

def test_go_the_wrapped_provider():
    with folder_with("exporter.go", "wrap.go") as folder, Server() as server:
        program = articles.build_go(folder, article=sent_to(block(0, 0), server))
        with articles.process(program, folder, server, "order-service"):
            root = span_of(server, "order-service", "POST /orders")
            profile_of(server, root, known)
            assert share(server, root, "plantedHotFunction") > 0.9, articles.functions(server, root)
            child = span_of(server, "order-service", "order.calculate_totals")
            profile_of(server, child, estimated)  # known of the first span alone
            found = search(server, block(0, 3))  # the article's query, and its curl of what that found
            assert [t["traceID"] for t in found] == [child[0]], found
            command = sent_to(block(0, 4, ("abc123def456", child[1])), server)
            done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=False)
            assert done.returncode == 0 and "plantedHotFunction" in done.stdout, done


def search(server, query):
    query = re.sub(r"^#.*$", "", query, flags=re.M)  # TraceQL's comments begin with //
    done = subprocess.run([PROGRAM, "search", query, "--output", "json", "--server", f"http://127.0.0.1:{server.port}"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["traces"]


def test_go_tag_wrapper():
    # `main` ends where the service would begin, and one import is not used.
    text = block(2, 7, ("func main() {", "func setUp() {"), ('    "runtime/pprof"\n', ""))
    with folder_with("exporter.go", "tags.go") as folder, Server() as server:
        program = articles.build_go(folder, article=sent_to(text, server))
        with articles.process(program, folder, server, "my-service"):
            root = span_of(server, "my-service", "handle-request")
            profile_of(server, root, known)
            assert share(server, root, "computeHash") > 0.9, articles.functions(server, root)
            child = span_of(server, "my-service", "process-data")
            profile_of(server, child, estimated)


def test_go_pprof_do_around_nothing():
    with folder_with("exporter.go", "empty.go") as folder, Server() as server:
        program = articles.build_go(folder, article=block(1, 4))
        pages.run(program, folder, server, OTEL_SERVICE_NAME="checkout-service")
        span = span_of(server, "checkout-service", "process_checkout")
        profile_of(server, span, estimated)
        said = wait_for(lambda: [m for m in server.json("/api/v1/coverage?service=checkout-service").get("missing") or []
                                 if m["kind"] == "no_span_ids"])
        assert said and "empty" in json.dumps(said), server.json("/api/v1/coverage?service=checkout-service")


def manual_go(server, folder):
    # Names that are not imported, one that is not used, a `ctx` from nowhere, and a port of our own.
    text = block(2, 10, ('    "time"\n', ""), ('    "go.opentelemetry.io/otel"\n',
                 '    "context"\n    "go.opentelemetry.io/otel/attribute"\n    "go.opentelemetry.io/otel/trace"\n'),
                 ("func collectRuntimeStats() {", "func collectRuntimeStats(ctx context.Context) {"),
                 ("localhost:6060", f"127.0.0.1:{free_port()}"))
    return articles.build_go(folder, article=sent_to(text, server))


def test_go_files_written_by_hand_and_runtime_statistics():
    with folder_with("exporter.go", "manual.go") as folder, Server() as server:
        program = manual_go(server, folder)
        with articles.process(program, folder, server, "go-service", PYROSCOPE_SERVER_ADDRESS=f"http://127.0.0.1:{server.port}"):
            ids = span_of(server, "go-service", "profiled-operation")
            told = server.json("/api/v1/trace/" + ids[0])["spans"][0]
            shown = {a["key"]: a["value"] for a in told["attributes"]}
            assert int(shown["runtime.goroutines"]["intValue"]) > 0 and int(shown["runtime.heap_alloc"]["intValue"]) > 0, shown
            assert len(search(server, "{ span.runtime.heap_objects > 0 }")) == 1
            where = f"http://127.0.0.1:{server.port}/api/v1/profile?service=go-service&trace_id={ids[0]}&span_id={ids[1]}"
            for file in ("cpu.prof", "mem.prof"):
                done = subprocess.run(["curl", "-sSf", "--data-binary", "@" + os.path.join(folder, file), where],
                                      capture_output=True, text=True, check=False)
                assert done.returncode == 0, (file, done)
            profile_of(server, ids, known, more="type=cpu")
            assert share(server, ids, "expensiveCalculation", "&type=cpu") > 0.9
            # Of the ten that it asks for, those of locks need runtime.SetMutexProfileFraction and SetBlockProfileRate.
            kinds = wait_for(lambda: [t for t in [types(server, "go-service")] if len(t) >= 7])
            assert kinds and any("goroutine" in t for t in kinds[0]), types(server, "go-service")


def types(server, service):
    now = time.time_ns() // 10**6
    answer = server.post("/querier.v1.QuerierService/LabelValues", json.dumps(
        {"name": "__profile_type__", "matchers": [f'{{service_name="{service}"}}'], "start": now - 3600000, "end": now + 60000}), JSON)
    return json.loads(answer.body).get("names", [])


def test_go_a_hot_path_before_and_after():
    with folder_with("exporter.go", "hot.go") as folder, Server() as server:
        program = articles.build_go(folder, article="package main\n" + block(2, 3))
        pages.run(program, folder, server)
        shares = {}
        for file, commit in (("before.prof", "abc123"), ("after.prof", "def456")):
            with open(os.path.join(folder, file), "rb") as f:
                answer = server.post(f"/api/v1/profile?service=my-service&label=commit={commit}", f.read(), "application/octet-stream")
            assert answer.status == 200, answer.text
            selector = urllib.parse.quote(f"my-service{{commit={commit}}}")
            shares[commit] = articles.sums(server.get(f"/api/v1/profile?selector={selector}&format=folded").text)
        assert shares["abc123"]["parseComplexJSON"] > shares["abc123"]["validateSchema"] > shares["abc123"]["transform"], shares
        assert shares["def456"]["streamParse"] > shares["def456"]["fastValidate"], shares
        # and its command that compares them, but for the program's name
        command = block(2, 17, ("pyroscope diff", "spanflame diff"))
        done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, check=False, env=dict(
            os.environ, PATH=os.path.dirname(PROGRAM) + ":" + os.environ["PATH"], SPANFLAME_SERVER=f"http://127.0.0.1:{server.port}"))
        assert done.returncode == 0 and re.search(r"^change +-\d.* of cpu", done.stdout, re.M) and "main.step" in done.stdout, done


def test_go_names_that_are_not_to_be_seen():
    names = re.findall(r'^ +"(\w+)",$', block(2, 19), re.M)  # the article changes its own profile; the server does it for all
    assert names == ["password", "secret", "credential", "token"], names
    with Server(config=f"redact:\n  functions: substring\n  patterns: [{', '.join(names)}]\n") as server:
        stacks = {"main;checkPassword": 100, "main;readToken": 50, "main;render": 10}
        assert server.post("/api/v1/profile?service=my-service", pprof(stacks), "application/octet-stream").status == 200
        told = server.get("/api/v1/profile?app=my-service&format=folded").text
        assert "[REDACTED]" in told and "render" in told and "assword" not in told and "oken" not in told, told


# ---- Java ----

def test_java_a_recording_per_request():
    # Imports, a tracer and the exception that async-profiler declares are left out there.
    text = block(0, 1, ("import one.profiler.AsyncProfiler;", "import io.opentelemetry.api.trace.Span;\nimport "
                 "io.opentelemetry.context.Scope;\nimport one.profiler.AsyncProfiler;"), ("class OrderService", "class OrderService extends Rest"),
                 ("(Order order) {", "(Order order) throws Exception {"), ("/tmp/profile-%s", "profile-%s"))
    main = "\npublic class Main { public static void main(String[] a) throws Exception { new OrderService().calculateTotals(new Order()); } }\n"
    with folder_with("Rest.java") as folder, Server() as server:
        write(folder, "Main.java", main)
        java = articles.build_java(folder, "OrderService", text)
        run_java(java, folder, server, "order-service")
        ids = span_of(server, "order-service", "order.calculate_totals")
        file = os.path.join(folder, f"profile-{ids[0]}.jfr")
        done = subprocess.run([PROGRAM, "upload", file, "--service", "order-service", "--trace-id", ids[0], "--span-id", ids[1], "--server",
                               f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done
        opened(server, ids)


def run_java(java, folder, server, service):
    return pages.run([*java, "Main"], folder, server, OTEL_SERVICE_NAME=service, OTEL_METRICS_EXPORTER="none", OTEL_LOGS_EXPORTER="none")


def opened(server, ids, function="plantedHotFunction"):
    profile_of(server, ids, known)
    assert share(server, ids, function) > 0.5, articles.functions(server, ids)


def test_java_a_recording_sent_by_the_request_itself():
    text = block(2, 11, ("import io.opentelemetry.context.Scope;", "import io.opentelemetry.context.Scope;\nimport "
                 "io.opentelemetry.api.GlobalOpenTelemetry;\nimport io.opentelemetry.api.trace.SpanContext;\nimport java.util.Map;"),
                 ("class ProfiledService", "class ProfiledService extends Rest"), ("handleRequest(Request request) {", "handleRequest(Request request) throws Exception {"),
                 ("startRequestProfile(Span span) {", "startRequestProfile(Span span) throws Exception {"),
                 ("stopRequestProfile(String profileFile, Span span) {", "stopRequestProfile(String profileFile, Span span) throws Exception {"),
                 ("/tmp/profile-", "profile-"))
    main = "\npublic class Main { public static void main(String[] a) throws Exception { new ProfiledService().handleRequest(new Request()); } }\n"
    with folder_with("Rest.java") as folder, Server() as server:
        write(folder, "Main.java", main)
        java = articles.build_java(folder, "ProfiledService", text)
        run_java(java, folder, server, "profiled-service")
        opened(server, span_of(server, "profiled-service", "handle-request"))


def test_java_both_agents_side_by_side():
    jars, agents = toolchain.client("pyroscope_java")[0], toolchain.client("page_java")[0]
    otel, = glob.glob(os.path.join(agents, "opentelemetry-javaagent-*.jar"))
    pyroscope, = glob.glob(os.path.join(agents, "agent-*.jar"))
    libraries = [p for p in glob.glob(os.path.join(jars, "opentelemetry-*.jar")) if "javaagent" not in p]
    with folder_with() as folder, Server() as server:
        # Our own paths and class; the file of settings that it names is none of ours.
        command = block(1, 1, ("/opt/opentelemetry-javaagent.jar", otel), ("/opt/pyroscope.jar", pyroscope),
                        ("  -Dotel.experimental.config.file=/etc/otel/otel-config.yaml \\\n", ""),
                        ("-jar checkout-service.jar", f"-cp {':'.join([jars, *libraries])} Shop 3000 30000"))
        with articles.process(["bash", "-euc", "exec " + sent_to(command, server)], folder, server, "checkout-service",
                              OTEL_METRICS_EXPORTER="none", OTEL_LOGS_EXPORTER="none", PYROSCOPE_UPLOAD_INTERVAL="2s"):
            ids = span_of(server, "checkout-service", "GET /checkout")
            answer = profile_of(server, ids, lambda a: a["samples"] > 0)
            assert answer["grades"]["exact"]["samples"] == 0, answer["grades"]  # no ids: by thread and time
            assert share(server, ids, "plantedHotFunction") > 0.5, articles.functions(server, ids)


# ---- Node.js ----

def test_node_an_inspector_profile_under_the_trace_id():
    text = block(0, 2) + "\ncalculateTotals({ id: '7' }).then(() => require('./rest.js').provider.shutdown());\n"
    with folder_with("rest.js") as folder, Server() as server:
        articles.run_node(folder, server, "order-service", text)
        ids = span_of(server, "order-service", "order.calculate_totals")
        with open(os.path.join(folder, ids[0] + ".cpuprofile"), "rb") as f:
            answer = server.post(f"/api/v1/profile?service=order-service&trace_id={ids[0]}", f.read(), JSON)
        assert answer.status == 200, answer.text
        shown = {a["key"] for a in server.json("/api/v1/trace/" + ids[0])["spans"][0]["attributes"]}
        assert {"profile.sample_count", "profile.duration_us"} <= shown, shown
        profile_of(server, ids, lambda a: a["samples"] > 0)
        assert share(server, ids, "plantedHotFunction") > 0.5, articles.functions(server, ids)


def test_node_wrap_with_labels():
    text = block(2, 8) + """
handleRequest({ path: '/cart' }).then(() => require('./rest.js').pause(2000)).then(() => Pyroscope.stop())
  .then(() => require('./rest.js').provider.shutdown());
"""
    with folder_with("rest.js") as folder, Server() as server:
        articles.run_node(folder, server, "my-node-service", sent_to(text, server), NODE_ENV="production")
        ids = span_of(server, "my-node-service", "handle-request")
        profile_of(server, ids, known)
        assert share(server, ids, "plantedHotFunction") > 0.9  # before the first await; nothing after it has labels
        later = span_of(server, "my-node-service", "process-request")
        assert not known(server.json(f"/api/v1/spans/{later[0]}/{later[1]}/profile")), later


def test_node_memory_of_a_hot_function():
    text = block(2, 4) + """
const Pyroscope = require('@pyroscope/nodejs');
Pyroscope.init({ serverAddress: process.env.OTEL_EXPORTER_OTLP_ENDPOINT, appName: process.env.OTEL_SERVICE_NAME, flushIntervalMs: 500 });
Pyroscope.start();
const items = Array.from({ length: 20000 }, (_, id) => ({ id, metadata: { id, a: [1, 2, 3], b: 'x'.repeat(50) } }));
globalThis.kept = [processLargeDataset(items), processLargeDatasetOptimized(items)];
setTimeout(() => process.exit(0), 4000);
"""
    with folder_with("rest.js") as folder, Server() as server:
        articles.run_node(folder, server, "my-node-service", text)
        kinds = wait_for(lambda: [t for t in types(server, "my-node-service") if "inuse_space" in t])
        assert kinds, types(server, "my-node-service")
        told = server.get("/api/v1/profile?app=my-node-service&format=folded&type=inuse_space").text
        sums = articles.sums(told)
        assert sums["processLargeDataset"] > 1.5 * sums.get("processLargeDatasetOptimized", 0), told


# ---- Python ----

BURN = """
import time
def plantedHotFunction(seconds=1.2):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(200))
"""
EXPORT = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
"""


def test_python_the_span_processor():
    text = block(1, 2) + EXPORT + block(1, 3) + BURN + """
calculate_total = lambda cart: plantedHotFunction()
validate_inventory = lambda cart: time.sleep(0.1)
charge_payment = lambda cart, total: time.sleep(0.1)
process_checkout([])
import pyroscope
pyroscope.shutdown()
"""
    with folder_with() as folder, Server() as server:
        articles.run_python(folder, server, "checkout-service", sent_to(text, server))
        opened(server, span_of(server, "checkout-service", "process_checkout"))


def test_python_tag_wrapper():
    # Its spans need a provider; the article has it elsewhere.
    text = block(2, 9, ('tracer = trace.get_tracer("profile-example")', "from opentelemetry.sdk.trace import TracerProvider\n"
                        "trace.set_tracer_provider(TracerProvider())\n" + EXPORT + '\ntracer = trace.get_tracer("profile-example")'))
    text += BURN + """
fetch_data = lambda: [1, 2]
complex_calculation = lambda item: plantedHotFunction(0.8)
handle_request(type("Request", (), {"path": "/cart"}))
pyroscope.shutdown()
"""
    with folder_with() as folder, Server() as server:
        articles.run_python(folder, server, "my-python-service", sent_to(text, server))
        opened(server, span_of(server, "my-python-service", "handle-request"))
        inner = span_of(server, "my-python-service", "transform-data")
        profile_of(server, inner, estimated)


def test_python_should_profile_selects_every_request():
    text = block(0, 6) + """
from opentelemetry.sdk.trace import TracerProvider
spans = [TracerProvider().get_tracer("shop").start_span("op") for _ in range(100)]
print(sum(should_profile(span) for span in spans))
"""
    with folder_with() as folder, Server() as server:
        assert articles.run_python(folder, server, "shop", text).strip() == "100"


# ---- files ----

def sent_through(grpc_traces, grpc_profiles, server, log):
    span, service = make_span(service="by-collector", name="op"), "by-collector"
    assert articles.port_of(grpc_traces).grpc(TRACES, export_request([span]))[0] == 0
    assert articles.port_of(grpc_profiles).grpc(PROFILES, otlp(service, {"main;work": 50000000}))[0] == 0
    assert wait_for(lambda: server.get("/api/v1/trace/" + span["trace_id"].hex()).status == 200, 60), log()
    assert wait_for(lambda: server.get(f"/api/v1/profile?service={service}").status == 200, 60), log()


def test_the_collector_file_with_grpc():
    ports = {"0.0.0.0:4317": free_port(), "0.0.0.0:4318": free_port()}
    with Server() as server, articles.collector(block(1, 5), server, ports) as log:
        sent_through(*ports.values(), server, log)


# The batch processor takes no profiles.
BATCHED = ("      receivers: [otlp/profiles]\n      processors: [batch]\n", "      receivers: [otlp/profiles]\n")


def test_the_collector_file_with_http():
    ports = {"0.0.0.0:4317": free_port(), "0.0.0.0:4318": free_port(), "0.0.0.0:4327": free_port()}
    with Server() as server, articles.collector(block(2, 6, BATCHED), server, ports) as log:
        sent_through(ports["0.0.0.0:4317"], ports["0.0.0.0:4327"], server, log)


def test_the_compose_file_with_this_server_in_pyroscopes_place():
    text = block(2, 5)
    service = text.split("otel-collector:")[0]
    assert "image: grafana/pyroscope" in service, service
    command, = re.findall(r'^ +- "(\w+)"$', service.split("command:")[1], re.M)  # comes after the entry point, the program
    app = dict(re.findall(r"^ +([A-Z_]+): (\S+)$", text, re.M))
    ports = {"0.0.0.0:4317": free_port(), "0.0.0.0:4318": free_port(), "0.0.0.0:4327": free_port()}
    with Server(command=command) as server, articles.collector(block(2, 6, BATCHED), server, ports) as log, \
            folder_with("exporter.go", "manual.go") as folder:
        program = manual_go(server, folder)
        traces = app["OTEL_EXPORTER_OTLP_ENDPOINT"].replace("http://otel-collector:4317", f"http://127.0.0.1:{ports['0.0.0.0:4318']}")
        with articles.process(program, folder, server, "go-service", OTEL_EXPORTER_OTLP_ENDPOINT=traces,
                              PYROSCOPE_SERVER_ADDRESS=sent_to(app["PYROSCOPE_SERVER_ADDRESS"], server)):
            span_of(server, "go-service", "profiled-operation")
            assert wait_for(lambda: server.get("/api/v1/profile?app=go-service&format=json").status == 200), log()


def test_the_settings_for_production():
    for number in (13, 18):
        text = block(2, number)
        with folder_with() as folder:
            write(folder, "spanflame.yaml", text)
            done = subprocess.run([PROGRAM, "check-config", "--config", os.path.join(folder, "spanflame.yaml")], capture_output=True, text=True, check=False)
            assert done.returncode == 0, (number, done)
        with Server(config=text) as server:
            assert server.get("/ready").status == 200


def linked(server, profile_type, selector, span):
    now = time.time_ns() // 10**6
    answer = server.post("/querier.v1.QuerierService/SelectMergeSpanProfile", json.dumps(
        {"profileTypeID": profile_type, "labelSelector": selector, "spanSelector": [span], "start": now - 3600000, "end": now + 60000}), JSON)
    assert answer.status == 200, answer.text
    return json.loads(answer.body)["flamegraph"]["names"]


def test_grafanas_link_from_a_span_to_its_profile():
    with_tags, with_query = block(0, 7), block(1, 6)
    with Server() as server:
        span = make_span(service="order-service", name="op", ms=500)
        server.send([span])
        body = pprof({("main;work", (("span_id", span["span_id"].hex()),)): 10**9, "main;other": 10**9})
        assert server.post("/api/v1/profile?service=order-service", body, "application/octet-stream").status == 200
        kind = re.search(r'profileTypeId: "(.*)"', with_tags)[1]
        (key, value), = re.findall(r'- key: "?([\w.]+)"?\n +value: "?(\w+)"?', with_tags)
        assert (key, value) == ("service.name", "service_name"), (key, value)
        for profile_type, selector in (
                (kind, f'{{{value}="order-service"}}'),
                (re.search(r'profileTypeId: "(.*)"', with_query)[1],
                 re.search(r"query: '(.*)'", with_query)[1].replace('${__span.tags["service.name"]}', "order-service"))):
            names = linked(server, profile_type, selector, span["span_id"].hex())
            assert "work" in names and "other" not in names, (profile_type, selector, names)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
