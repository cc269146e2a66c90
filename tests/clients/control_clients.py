#!/usr/bin/env python3
"""The clients of clients/ obey the server: the servers of the language pages are switched off and on, change their rate,
name the spans of chosen requests only, take a capture, lower the rate and pause under load; and their own handler works."""
import http.client
import json
import os
import sys
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import pages  # noqa: E402
from pages import wait_for  # noqa: E402
from server import JSON, Server, tap  # noqa: E402

CHOSEN = {"share": "0%", "baseline": "0%", "slow_request_threshold": "800ms", "profile_errors": True}


def ask(port, path, method="GET", **headers):
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        conn.request(method, path, headers=headers)
        answer = conn.getresponse()
        return answer.status, answer.read().decode()
    except OSError:
        return 0, ""
    finally:
        conn.close()


def change(server, document):
    """And waits until the collector has taken it."""
    before = collector(server)["version"]
    got = server.request("PUT", "/api/v1/profiling?service=my-service", json.dumps(document).encode(), {"Content-Type": JSON})
    assert got.status == 200, got.body
    assert wait_for(lambda: collector(server)["version"] != before), document


def collector(server, **want):
    """The service's collector, when the server knows of it what is wanted."""
    def found():
        seen = server.json("/api/v1/collectors?service=my-service")["collectors"]
        return [c for c in seen if all(c[key] == value for key, value in want.items())]
    seen = wait_for(found)
    assert seen, (want, server.json("/api/v1/collectors?service=my-service"))
    return seen[0]


def exact_samples(server, path):
    """Of the one span of that name, when it has come."""
    query = urllib.parse.quote(f'{{ resource.service.name = "my-service" && name = "GET {path}" }}')

    def found():
        return server.json(f"/api/search?q={query}").get("traces")
    traces = wait_for(found)
    assert traces and len(traces) == 1, (path, traces)
    span = traces[0]["spanSets"][0]["spans"][0]["spanID"]
    answer = server.json(f"/api/v1/spans/{traces[0]['traceID']}/{span}/profile?type=cpu")
    return answer["grades"]["exact"]["samples"]


def obeys(language, can_drop=True):
    with pages.program(language) as program, Server() as server, \
            program.serving(server, OTEL_BSP_SCHEDULE_DELAY="200") as (port, process):
        assert wait_for(lambda: ask(port, "/cart?ms=1")[0] == 200)
        seen = collector(server, rate=100, paused=False)
        assert seen["ownCostPercent"] is None, seen  # what is not known is not told
        assert seen["agent"].startswith(f"spanflame-{language}/") and seen["pid"] == process.pid, seen
        change(server, {"rate": {"cpu": 50}})
        collector(server, rate=50)
        change(server, {"enabled": False})
        collector(server, paused=True, rate=0)
        assert json.loads(ask(port, "/profiling")[1]) == {"enabled": False, "rate": 0}
        assert json.loads(ask(port, "/profiling", "POST")[1])["enabled"] is True
        assert json.loads(ask(port, "/profiling", "DELETE")[1])["enabled"] is False
        assert ask(port, "/profiling", "PUT")[0] == 405
        change(server, {"enabled": True, "rate": {"cpu": 100}, "conditions": CHOSEN})
        collector(server, rate=100, paused=False)
        for path in ("/fast?ms=300", "/slow?ms=1000", "/failed?ms=300&fail=1"):
            assert ask(port, path)[0] == 200
        assert ask(port, "/flagged?ms=400", baggage="user=7,profile=1")[0] == 200
        capture = server.request("POST", "/api/v1/profiling/capture?service=my-service&seconds=1&rate=99&wait=false", headers={"Content-Type": "application/json"})
        capture_id = json.loads(capture.body)["id"]
        assert wait_for(lambda: server.json(f"/api/v1/profiling/capture/{capture_id}")["state"] == "done")
        collector(server, rate=100)
        # Each change sent what was sampled before it.
        assert exact_samples(server, "/slow") > 0 or not can_drop
        assert exact_samples(server, "/failed") > 0 or not can_drop
        assert exact_samples(server, "/fast") == 0
        assert exact_samples(server, "/flagged") > 0
        change(server, {"enabled": True})
        assert ask(port, "/all?ms=500")[0] == 200
        change(server, {"enabled": False})
        collector(server, paused=True)
        assert wait_for(lambda: exact_samples(server, "/all") > 0)


def heeds_load(language):
    loaded = {"SPANFLAME_PROFILING_ADAPTIVE_ENABLED": "true", "SPANFLAME_PROFILING_ADAPTIVE_INTERVAL": "200ms",
              "SPANFLAME_PROFILING_ADAPTIVE_CPU_THRESHOLD": "0%"}
    with pages.program(language) as program, Server() as server:
        with program.serving(server, **loaded):
            collector(server, rate=12)  # an eighth
        shed = {"SPANFLAME_PROFILING_ADAPTIVE_INTERVAL": "200ms", "SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED": "true",
                "SPANFLAME_PROFILING_LOAD_SHEDDING_CPU_THRESHOLD": "0%"}
        with program.serving(server, **shed) as (_, process):
            collector(server, paused=True, rate=0, pid=process.pid)


def test_node_obeys():
    obeys("node")


def test_node_heeds_load():
    heeds_load("node")


def test_java_obeys():
    obeys("java", can_drop=False)


def test_java_heeds_load():
    heeds_load("java")


def test_python_obeys():
    obeys("python", can_drop=False)


def test_python_heeds_load():
    heeds_load("python")


def test_go_obeys():
    obeys("go", can_drop=False)


def test_go_heeds_load():
    heeds_load("go")


def test_rust_obeys():
    obeys("rust", can_drop=False)


def test_rust_heeds_load():
    heeds_load("rust")


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
