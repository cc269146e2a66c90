#!/usr/bin/env python3
"""Pyroscope's SDKs as they are, with what ties them to OpenTelemetry's spans: each runs a small service that burns
the CPU in a planted function inside a span, and asked as Grafana asks, that function comes first under that span."""
import glob
import json
import os
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from server import JSON, Server, tap  # noqa: E402

server = Server().start()
URL = f"http://127.0.0.1:{server.port}"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def run(argv, env=None):
    """The ids that the service printed in its last line."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False,
                          env=dict(os.environ, **(env or {})))
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout.splitlines()[-1])


def ask(method, **body):
    now_ms = time.time_ns() // 10**6
    answer = server.post("/querier.v1.QuerierService/" + method,
                         json.dumps({"start": now_ms - 3600000, "end": now_ms + 60000, **body}), JSON,
                         headers={"Accept": "application/json; allow-utf8-labelnames=true"})
    assert answer.status == 200, (method, answer.status, answer.text)
    return json.loads(answer.body)


def self_values(flame):
    """[(self, name)], largest first."""
    out = []
    for level in flame["levels"]:
        values = [int(v) for v in level["values"]]
        out += [(values[i + 2], flame["names"][values[i + 3]]) for i in range(0, len(values), 4)]
    # Where the machine is busy, Go's runtime stops a loop again and again: that frame stands above the function it stopped.
    return sorted((v for v in out if v[1] != "runtime.asyncPreempt"), reverse=True)


def wait_for(what):
    """What comes with an agent's next upload."""
    for _ in range(300):
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("nothing came")


def check(ids, types, planted, other, labels):
    """The function under its span; what ran elsewhere not under it; types and labels as the SDK sends them."""
    selector = f'{{service_name="{ids["service"]}"}}'
    kinds = set(wait_for(lambda: ask("LabelValues", name="__profile_type__", matchers=[selector]).get("names")))
    assert types <= kinds, (types - kinds, kinds)
    kind = next(t for t in (CPU, "wall:wall:nanoseconds:wall:nanoseconds") if t in types)

    def span_flame():
        flame = ask("SelectMergeSpanProfile", profileTypeID=kind, labelSelector=selector,
                    spanSelector=[ids["root"]])["flamegraph"]
        return flame if len(flame["levels"]) > 1 else None
    values = self_values(wait_for(span_flame))
    assert planted in values[0][1], values[:5]
    assert not any(other in name for _, name in values), values
    whole = self_values(ask("SelectMergeStacktraces", profileTypeID=kind, labelSelector=selector)["flamegraph"])
    assert any(other in name for _, name in whole), whole[:10]
    names = set(ask("LabelNames", matchers=[selector])["names"])
    assert labels <= names, (labels - names, names)
    assert not names & {"span_id", "trace_id", "profile_id", "__session_id__"}, names


def span_attributes(ids):
    told = server.json("/api/v1/trace/" + ids["trace"])
    return {s["spanId"]: {a["key"]: a["value"] for a in s["attributes"]} for s in told["spans"]}


def test_go_with_its_tracer():
    ids = run([*toolchain.client("pyroscope_go"), URL])
    check(ids, {CPU, "process_cpu:samples:count:cpu:nanoseconds", "memory:alloc_space:bytes:space:bytes",
                "memory:inuse_objects:count:space:bytes", "goroutines:goroutine:count:goroutine:count"},
          "plantedHotFunction", "elsewhere", {"env", "otel.scope.name", "process.runtime.version"})
    assert span_attributes(ids)[ids["root"]]["pyroscope.profile.id"] == {"stringValue": ids["root"]}


def test_python_with_its_span_processor():
    ids = run([*toolchain.client("pyroscope_python"), URL])
    check(ids, {CPU}, "planted_hot_function", "elsewhere", {"env"})
    assert span_attributes(ids)[ids["root"]]["pyroscope.profile.id"] == {"stringValue": ids["root"]}


def test_node_with_labels_of_the_span():
    ids = run([*toolchain.client("pyroscope_node"), URL])
    check(ids, {"wall:wall:nanoseconds:wall:nanoseconds", "wall:samples:count:wall:nanoseconds"},
          "plantedHotFunction", "elsewhere", {"env", "otel.scope.name"})


def test_java_agent_with_opentelemetrys():
    folder, = toolchain.client("pyroscope_java")
    agent, = glob.glob(os.path.join(folder, "opentelemetry-javaagent-*.jar"))
    extension, = glob.glob(os.path.join(folder, "otel-*.jar"))
    libraries = [p for p in glob.glob(os.path.join(folder, "opentelemetry-*.jar")) if p != agent]
    ids = run(["java", f"-javaagent:{agent}", f"-Dotel.javaagent.extensions={extension}",
               "-Dotel.pyroscope.start.profiling=true", "-cp", ":".join([folder, *libraries]), "Shop", "3000", "6000"],
              {"OTEL_SERVICE_NAME": "shop-pyroscope-java", "OTEL_EXPORTER_OTLP_ENDPOINT": URL,
               "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_METRICS_EXPORTER": "none",
               "OTEL_LOGS_EXPORTER": "none", "PYROSCOPE_APPLICATION_NAME": "shop-pyroscope-java",
               "PYROSCOPE_SERVER_ADDRESS": URL, "PYROSCOPE_UPLOAD_INTERVAL": "2s", "PYROSCOPE_LABELS": "env=test"})
    check(ids, {CPU}, "plantedHotFunction", "elsewhere", {"env"})
    assert span_attributes(ids)[ids["root"]]["pyroscope.profile.id"] == {"stringValue": ids["root"]}


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
