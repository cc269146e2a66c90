#!/usr/bin/env python3
"""An application, an OpenTelemetry Collector, and the server behind it."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import story  # noqa: E402
import toolchain  # noqa: E402
from pprof_make import otlp  # noqa: E402
from server import Server, export_request, free_port, make_span, tap  # noqa: E402

# name: exporter, settings; the Collector compresses by gzip unless told otherwise
WAYS = {"grpc_as_it_comes": ("otlp_grpc", {}), "grpc_zstd": ("otlp_grpc", {"compression": "zstd"}),
        "grpc_plain": ("otlp_grpc", {"compression": "none"}),
        "http_as_it_comes": ("otlp_http", {}), "http_zstd": ("otlp_http", {"compression": "zstd"}),
        "http_plain": ("otlp_http", {"compression": "none"}), "http_json": ("otlp_http", {"encoding": "json"})}
server = Server()
ports = {}


def start():
    """One Collector with a way in and a way out for each of WAYS."""
    command = toolchain.client("collector")
    toolchain.client("go")
    server.start()
    config = {"receivers": {}, "processors": {"batch": {"timeout": "50ms"}}, "exporters": {},
              "service": {"pipelines": {}, "telemetry": {"metrics": {"level": "none"}}}}
    for name, (kind, settings) in WAYS.items():
        ports[name] = free_port()
        config["receivers"][f"otlp/{name}"] = {"protocols": {"http": {"endpoint": f"127.0.0.1:{ports[name]}"}}}
        there = f"127.0.0.1:{server.port}"
        config["exporters"][f"{kind}/{name}"] = dict(
            {"endpoint": there if kind == "otlp_grpc" else f"http://{there}", "tls": {"insecure": True},
             "retry_on_failure": {"initial_interval": "200ms", "max_interval": "1s"}}, **settings)
        config["service"]["pipelines"][f"traces/{name}"] = {
            "receivers": [f"otlp/{name}"], "processors": ["batch"], "exporters": [f"{kind}/{name}"]}
    home = tempfile.mkdtemp(dir=server.home)
    path = os.path.join(home, "collector.yaml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)  # YAML as well
    log = open(os.path.join(home, "log"), "w+", encoding="utf-8")
    process = subprocess.Popen([*command, "--config", path], stdout=log, stderr=log)
    end = time.monotonic() + 60
    while time.monotonic() < end and "Everything is ready" not in text_of(log):
        assert process.poll() is None, text_of(log)
        time.sleep(0.05)
    return process, log


def text_of(log):
    with open(log.name, encoding="utf-8", errors="replace") as f:
        return f.read()


def app(name):
    base_ns = time.time_ns() - 10**9
    done = subprocess.run([*toolchain.client("go"), "http/protobuf", str(base_ns)], capture_output=True, text=True,
                          timeout=60, check=False,
                          env=story.environment("shop-app", f"http://127.0.0.1:{ports[name]}", "http/protobuf", "gzip"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), base_ns


def arrives(sent, base_ns, seconds=20):
    end = time.monotonic() + seconds
    while True:
        trace = server.json("/api/v2/traces/" + sent["trace"])["trace"]
        if trace or time.monotonic() > end:
            return story.check(trace, sent, "shop-app", base_ns)
        time.sleep(0.05)


try:
    collector, collector_log = start()
    missing = None
except tap.Skip as e:
    print(f"1..0 # SKIP {e}")
    sys.exit(0)
except AssertionError as e:
    missing = e


def must_run():
    if missing:
        raise type(missing)(str(missing))


def make_test(name):
    def test():
        must_run()
        arrives(*app(name))
    globals()[f"test_a_trace_passes_a_collector_by_{name}"] = test


for way in WAYS:
    make_test(way)


def test_a_collector_waits_for_a_server_that_is_away():
    must_run()
    server.stop()
    kept = [app("grpc_as_it_comes"), app("http_as_it_comes")]
    time.sleep(0.5)
    server.start()
    for sent, base_ns in kept:
        arrives(sent, base_ns, 30)


def example(name):
    """(gates, text) of a file people copy"""
    with open(os.path.join(os.environ["SOURCE_ROOT"], "deploy", "collector", name), encoding="utf-8") as f:
        text = f.read()
    return re.findall(r"--feature-gates=\S+", text.split("receivers:")[0]), text


def post(port, path, body):
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    conn.request("POST", path, body, {"Content-Type": "application/x-protobuf"})
    answer = conn.getresponse()
    assert answer.status == 200, (path, answer.status, answer.read())
    conn.close()


@contextlib.contextmanager
def running(name):
    """A Collector with the example as it is but for its ports: (gRPC port, HTTP port, log)."""
    gates, text = example(name)
    grpc, plain = free_port(), free_port()
    for before, after in (("127.0.0.1:14317", f"127.0.0.1:{grpc}"), ("127.0.0.1:14318", f"127.0.0.1:{plain}"),
                          ("127.0.0.1:4317", f"127.0.0.1:{server.port}")):
        assert before in text, before
        text = text.replace(before, after)
    home = tempfile.mkdtemp(dir=server.home)
    path = os.path.join(home, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "  telemetry:\n    metrics:\n      level: none\n")
    command = [*toolchain.client("collector"), *gates, "--config", path]
    done = subprocess.run([command[0], "validate", *command[1:]], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "deprecated" not in done.stderr.lower(), done.stderr
    log = open(os.path.join(home, "log"), "w+", encoding="utf-8")
    process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and "Everything is ready" not in text_of(log):
            assert process.poll() is None, text_of(log)
            time.sleep(0.05)
        yield grpc, plain, log
        assert "deprecated" not in text_of(log).lower(), text_of(log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def until(is_there, log, seconds=30):
    end = time.monotonic() + seconds
    while not is_there():
        assert time.monotonic() < end, f"it never came:\n{text_of(log)}"
        time.sleep(0.1)


def passes(name, has_profiles):
    """It takes what an SDK sends and the server has it."""
    with running(name) as (_, plain, log):
        span, service = make_span(service="by-example", name="op"), "by-example-" + name.split(".")[0]
        post(plain, "/v1/traces", export_request([span]))
        if has_profiles:
            post(plain, "/v1development/profiles", otlp(service, {"main;work": 50000000}))
        until(lambda: server.get("/api/v1/trace/" + span["trace_id"].hex()).status == 200, log)
        until(lambda: not has_profiles or server.get(f"/api/v1/profile?service={service}").status == 200, log)


def test_the_example_for_traces_passes_them_on():
    must_run()
    passes("traces.yaml", False)


def test_the_way_by_http_that_the_example_tells_is_valid():
    must_run()
    _, text = example("traces.yaml")
    told = re.search(r"exporter (otlp_http/\S+) with endpoint (http://\S+)\.\s", text)
    assert told, text
    config = re.sub(r"exporters:\n(  .*\n)+", f"exporters:\n  {told[1]}:\n    endpoint: {told[2]}\n", text, count=1)
    path = os.path.join(tempfile.mkdtemp(dir=server.home), "http.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(config.replace("[otlp_grpc/spanflame]", f"[{told[1]}]"))
    done = subprocess.run([toolchain.client("collector")[0], "validate", "--config", path], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and "deprecated" not in done.stderr.lower(), done.stderr


def test_the_example_for_traces_and_profiles_passes_both_on():
    must_run()
    passes("traces-and-profiles.yaml", True)


def test_the_librarys_spans_and_profiles_pass_a_collector():
    must_run()
    source, library = os.environ["SOURCE_ROOT"], os.path.join(os.environ["BUILD_ROOT"], "collect")
    program = os.path.join(server.home, "profiled")
    subprocess.run(["cc", "-O1", "-g", "-I" + os.path.join(source, "include"),
                    os.path.join(source, "tests", "flow", "library", "profiled.c"), "-o", program, "-L" + library,
                    "-lspanflame", "-Wl,-rpath," + library, "-pthread"], check=True)
    with running("traces-and-profiles.yaml") as (grpc, plain, log):
        ways = [(protocol, pack) for protocol in ("http/protobuf", "grpc") for pack in ("gzip", "none")]
        told = []
        for protocol, pack in ways:
            port, service = grpc if protocol == "grpc" else plain, f"library-{protocol[:4]}-{pack}"
            done = subprocess.run([program, "hot"], capture_output=True, text=True, timeout=60, check=False,
                                  env=dict(story.environment(service, f"http://127.0.0.1:{port}", protocol, pack),
                                           OTEL_EXPORTER_OTLP_COMPRESSION=pack))
            assert done.returncode == 0, done
            said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
            taken, sent, dropped, refused = map(int, said["counters"].split())
            assert taken > 40 and sent >= 1 and not dropped and not refused, (service, said)
            told.append((service, said))
        for service, said in told:
            trace, span = said["inner"].split()
            until(lambda: server.get("/api/v1/trace/" + trace).status == 200, log)
            path = f"/api/v1/spans/{trace}/{span}/profile?type=cpu"
            until(lambda: json.loads(server.get(path).body)["samples"] > 20, log)
            got = server.json(path)
            assert got["grades"]["exact"]["samples"] == got["samples"], (service, got)
            frames = str(got["profile"])
            assert "planted_hot" in frames and "planted_cool" not in frames, (service, frames)
        assert "error" not in text_of(log), text_of(log)


def test_the_collector_saw_no_error_that_lasts():
    must_run()
    collector.send_signal(signal.SIGTERM)
    assert collector.wait(30) == 0
    assert "Dropping data" not in text_of(collector_log) and "not retryable" not in text_of(collector_log), \
        text_of(collector_log)


tap.run(sys.modules[__name__])
