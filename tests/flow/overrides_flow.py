#!/usr/bin/env python3
"""Limits per tenant and per service: every key of the overrides file changes an answer, the file is read again when it
changes, and a mistake in it is named with its line."""
import base64
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, TRACE_METHOD, Server, export_request, first, json_request, make_span, span_ids, tap  # noqa: E402

RULES = """overrides:
  spans:
    spans_per_second: 10
  burst:
    spans_per_second: 1
    spans_burst: 500
  bytes:
    bytes_per_second: 1KB
  bytes-burst:
    bytes_per_second: 1
    bytes_burst: 1MB
  mixed:
    services:
      noisy: {spans_per_second: 1}
      "*": {spans_per_second: 1000000}
  noisy-profiles:
    services: {noisy: {bytes_per_second: 1}}
  series:
    series: 2
  series-of:
    services: {app: {series: 1}}
  one-query:
    queries: 1
  small-query:
    query_memory: 1MiB
  short:
    retention_spans: 1h
    retention_profiles: 1h
  small-disk:
    disk: 1
  short-service:
    services: {app: {retention_spans: 1h, retention_profiles: 1h}}
  small-service:
    services: {app: {disk: 1}}
  "*":
    series: 4000
"""
SERVER = Server("tenancy:\n  enabled: true\nlimits:\n  overrides_file: HOME/limits.yaml\n")
PATH = os.path.join(SERVER.home, "limits.yaml")


def write_rules(text):
    with open(PATH + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(PATH + ".new", PATH)  # as orchestrators do


write_rules(RULES)
SERVER.start()


def of(tenant):
    return {"X-Scope-OrgID": tenant}


def send(tenant, spans):
    return SERVER.post("/v1/traces", export_request(spans), headers=of(tenant))


def spans(n, **more):
    return [make_span(**more) for _ in range(n)]


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(what)


def limited(tenant, limit):
    return SERVER.metric(f'spanflame_limited_total{{tenant="{tenant}",limit="{limit}"}}')


def check_refused(answer, words):
    assert answer.status == 429, (answer.status, answer.text)
    assert int(answer.headers["Retry-After"]) >= 1, answer.headers
    assert words in answer.text, answer.text


def test_spans_per_second_refuses_a_tenant_until_its_debt_is_paid():
    assert send("spans", spans(1000)).status == 200
    answer = send("spans", spans(1))
    check_refused(answer, "tenant spans is over its limit spans_per_second: 10")
    assert 50 < int(answer.headers["Retry-After"]) <= 100, answer.headers  # 990 spans too many, 10 a second
    status, text, details, _ = SERVER.grpc_stream(TRACE_METHOD, export_request(spans(1)), ["x-scope-orgid: spans"], seconds=1)
    assert status == 8 and "spans_per_second" in text, (status, text)
    info = first(base64.b64decode(details + "=="), 3)
    assert first(info, 1) == b"type.googleapis.com/google.rpc.RetryInfo", details
    assert 50 < first(first(first(info, 2), 1), 1) <= 100, details
    assert send("other", spans(1000)).status == 200
    assert limited("spans", "spans_per_second") == 2


def test_spans_burst_lets_more_through_at_once():
    for _ in range(4):
        assert send("burst", spans(100)).status == 200
    assert send("burst", spans(200)).status == 200  # 600 of 500
    check_refused(send("burst", spans(1)), "spans_per_second: 1")


def test_bytes_per_second_counts_spans_and_profiles():
    body = pprof({"main;work": 5}, zipped=False)
    push = lambda: SERVER.post("/ingest?name=app", body, "application/octet-stream", of("bytes"))
    assert send("bytes", spans(100)).status == 200
    check_refused(push(), "bytes_per_second: 1000")
    check_refused(send("bytes", spans(1)), "bytes_per_second: 1000")
    assert limited("bytes", "bytes_per_second") == 2


def test_bytes_burst_lets_more_through_at_once():
    assert send("bytes-burst", spans(100)).status == 200
    assert send("bytes-burst", spans(100)).status == 200


def test_a_service_over_its_rate_loses_its_own_spans_and_the_answer_counts_them():
    assert send("mixed", spans(50, service="noisy")).status == 200
    quiet = make_span(service="quiet")
    answer = send("mixed", spans(7, service="noisy") + [quiet])
    partial = first(answer.body, 1)
    assert answer.status == 200 and first(partial, 1) == 7, answer.body
    assert b"service noisy of tenant mixed is over its limit spans_per_second" in first(partial, 2), partial
    found = SERVER.get("/api/traces/" + quiet["trace_id"].hex(), headers=of("mixed"))
    assert span_ids(found) == [quiet["span_id"]], found.text
    answer = SERVER.post("/v1/traces", json_request(spans(3, service="noisy") + [make_span(service="quiet")]),
                         "application/json", of("mixed"))
    assert json.loads(answer.body)["partialSuccess"]["rejectedSpans"] == "3", answer.text
    check_refused(send("mixed", spans(3, service="noisy")), "service noisy of tenant mixed")
    assert SERVER.metric('tempo_discarded_spans_total{tenant="mixed",reason="rate_limited"}') == 10
    zipkin = json.dumps([{"traceId": os.urandom(16).hex(), "id": os.urandom(8).hex(), "name": "x", "duration": 5,
                          "timestamp": time.time_ns() // 1000, "localEndpoint": {"serviceName": name}}
                         for name in ("noisy", "quiet")])
    check_refused(SERVER.post("/api/v2/spans", zipkin, "application/json", of("mixed")), "service noisy")


def test_refused_spans_stay_refused_after_a_restart():
    lost, kept = make_span(service="noisy"), make_span(service="quiet")
    send("mixed", [lost, kept])
    SERVER.stop(signal.SIGKILL)
    SERVER.start()
    assert SERVER.get("/api/traces/" + lost["trace_id"].hex(), headers=of("mixed")).status == 404
    assert SERVER.get("/api/traces/" + kept["trace_id"].hex(), headers=of("mixed")).status == 200


def test_a_service_over_its_bytes_is_refused_with_its_profiles():
    push = lambda name: SERVER.post(f"/ingest?name={name}", pprof({"main;work": 5}), "application/octet-stream",
                                    of("noisy-profiles"))
    assert push("noisy").status == 200
    check_refused(push("noisy"), "service noisy of tenant noisy-profiles")
    assert push("quiet").status == 200 and push("quiet").status == 200


def ingest(tenant, service, label):
    return SERVER.post(f"/ingest?name={service}%7Brun%3D{label}%7D", pprof({"main;work": 5}), "application/octet-stream",
                       of(tenant))


def runs(tenant, service):
    answer = SERVER.post("/querier.v1.QuerierService/LabelValues", json.dumps(
        {"name": "run", "matchers": [f'{{service_name="{service}"}}'], "start": 1, "end": time.time_ns() // 10**6 + 10**6}),
        "application/json", of(tenant))
    assert answer.status == 200, answer.text
    return sorted(json.loads(answer.body).get("names", []))


def test_series_of_a_tenant_are_folded_and_new_services_wait():
    assert [ingest("series", "app", run).status for run in ("a", "b", "c")] == [200] * 3
    assert runs("series", "app") == ["a", "b", "other"], runs("series", "app")
    answer = ingest("series", "new-app", "a")
    check_refused(answer, "tenant series is over its limit series: 2")
    assert int(answer.headers["Retry-After"]) > 60, answer.headers
    assert limited("series", "series") == 1


def test_series_of_a_service_are_folded():
    assert [ingest("series-of", "app", run).status for run in ("a", "b")] == [200] * 2
    assert [ingest("series-of", "free", run).status for run in ("a", "b")] == [200] * 2
    assert runs("series-of", "app") == ["a", "other"]
    assert runs("series-of", "free") == ["a", "b"]


def ask_at_once(tenant, n):
    """Statuses of searches that were sent together."""
    text = f"GET /api/search?q=%7B%7D HTTP/1.1\r\nHost: localhost\r\nX-Scope-OrgID: {tenant}\r\nConnection: close\r\n\r\n"
    socks = [socket.create_connection(("127.0.0.1", SERVER.port), timeout=30) for _ in range(n)]
    for s in socks:
        s.sendall(text.encode())
    heads = []
    for s in socks:
        head = b""
        while b"\r\n\r\n" not in head:
            head += s.recv(65536)
        heads.append(head.decode("latin-1"))
        s.close()
    return heads


def test_queries_limits_those_of_a_tenant_that_run_or_wait():
    assert send("one-query", spans(2000)).status == 200
    for _ in range(100):
        heads = ask_at_once("one-query", 12)
        refused = [h for h in heads if h.startswith("HTTP/1.1 429")]
        assert len(refused) < len(heads), heads[0]
        if refused:
            break
    assert re.search(r"(?i)retry-after: 1\r", refused[0]), refused[0]
    assert limited("one-query", "queries") >= 1
    # places are returned
    assert SERVER.get("/api/search?q=%7B%7D", headers=of("one-query")).status == 200


def test_query_memory_limits_one_query_of_a_tenant():
    trace = os.urandom(16)
    many = [make_span(trace=trace, attributes={"key": f"value {i}"}) for i in range(8000)]
    for tenant in ("small-query", "other"):
        assert send(tenant, many).status == 200
    path = "/api/traces/" + trace.hex()
    assert SERVER.get(path, headers=of("other")).status == 200
    answer = SERVER.get(path, headers=of("small-query"))
    assert answer.status == 413 and "1024 KiB that a query of this tenant may hold" in answer.text, answer.text


def test_an_export_with_more_ids_than_a_query_holds_goes_on_without_them():
    many = {("main;work", (("span_id", f"{i + 1:016x}"),)): 10**7 for i in range(20000)}
    assert SERVER.post("/ingest?name=ids&format=pprof", pprof(many), "application/octet-stream", of("small-query")).status == 200
    path = "/api/v1/profile?selector=ids&from=now-1h&until=now&format=pprof"
    answer = SERVER.get(path + "&ids=true", headers=of("small-query"))
    assert answer.status == 413 and "1024 KiB" in answer.text, (answer.status, answer.text)
    assert SERVER.get(path, headers=of("small-query")).status == 200
    done = subprocess.run([PROGRAM, "export", "ids", "--format", "pprof", "--server", f"http://127.0.0.1:{SERVER.port}",
                           "--tenant", "small-query"], capture_output=True, check=False)
    assert done.returncode == 0 and b"note: ids of samples are left out: " in done.stderr and b" 413: " in done.stderr, done
    raw = gzip.decompress(done.stdout)
    assert b"span_id" not in raw and b"work" in raw, raw
    folded = subprocess.run([PROGRAM, "export", "-", "--format", "folded"], input=done.stdout, capture_output=True, check=True).stdout
    assert folded == b"main;work %d\n" % (20000 * 10**7), folded


def test_retention_and_disk_of_a_tenant_remove_its_own_blocks():
    old = make_span(ago_ms=2 * 3600 * 1000)
    when = time.time_ns() - 2 * 3600 * 10**9
    path = "/api/traces/" + old["trace_id"].hex()
    profile = lambda tenant: SERVER.get(f"/api/v1/profile?service=app&type=cpu&from={when // 10**6 - 10**6}&format=folded",
                                        headers=of(tenant))
    flush = lambda: SERVER.post("/api/v1/flush", b"{}", "application/json")
    assert flush().status == 200  # of all tenants before
    for tenant in ("short", "small-disk", "other"):
        assert send(tenant, [old]).status == 200
        assert SERVER.post("/ingest?name=app", pprof({"main;work": 5}, when=when), "application/octet-stream",
                           of(tenant)).status == 200
        assert flush().status == 200
    for tenant in ("short", "small-disk"):
        wait_for(lambda t=tenant: SERVER.get(path, headers=of(t)).status == 404, f"spans of {tenant} stay")
        wait_for(lambda t=tenant: b"work" not in profile(t).body, f"profiles of {tenant} stay")
    assert SERVER.get(path, headers=of("other")).status == 200
    assert b"work" in profile("other").body


def test_age_and_size_of_one_service_leave_the_others():
    when = time.time_ns() - 3 * 3600 * 10**9
    tenants = ("short-service", "small-service")
    made = {service: make_span(service=service) for service in ("app", "rest")}
    for span in made.values():
        span["start"], span["end"] = when, when + 10**6
    for tenant in tenants:
        for service in made:
            assert SERVER.post(f"/ingest?name={service}", pprof({f"main;{service}": 5}, when=when), "application/octet-stream",
                               of(tenant)).status == 200
        assert send(tenant, list(made.values())).status == 200
        assert SERVER.post("/api/v1/flush", b"{}", "application/json").status == 200

    def trace_of(service, tenant):
        return SERVER.get("/api/traces/" + made[service]["trace_id"].hex(), headers=of(tenant)).status

    def profile_of(service, tenant):
        return SERVER.get(f"/api/v1/profile?service={service}&type=cpu&from={when // 10**6 - 10**6}&format=folded", headers=of(tenant)).text
    write_rules(RULES + "# read again: blocks are looked at once a minute, and when rules change\n")
    for tenant in tenants:
        wait_for(lambda t=tenant: trace_of("app", t) == 404, f"spans of app of {tenant} stay", 180)
        wait_for(lambda t=tenant: "main;app" not in profile_of("app", t), f"profiles of app of {tenant} stay", 180)
        assert trace_of("rest", tenant) == 200 and "main;rest" in profile_of("rest", tenant), (tenant, profile_of("rest", tenant))
    write_rules(RULES)
    shown = {tenant: SERVER.get(f"/status/overrides/{tenant}").text for tenant in tenants}
    assert '"app":\n    retention_spans: 3600s\n    retention_profiles: 3600s\n' in shown["short-service"], shown
    assert '"app":\n    disk: 1\n' in shown["small-service"], shown


def test_the_limits_in_effect_are_shown():
    text = SERVER.get("/status/overrides/bytes").text
    assert "\nbytes_per_second: 1000\n" in text and "\nseries: 4000\n" in text, text  # the latter of "*"
    assert "\nqueries: 0 # no limit\n" in text and "\nlimits.query_time" in text, text
    assert "ingestion:\n  rate_limit_bytes: 1000\n" in text and "ingestion_rate_mb: 0.000953674\n" in text, text
    assert "max_global_series_per_tenant: 4000\n" in text, text
    text = SERVER.get("/status/overrides/mixed?mode=diff").text
    assert 'services:\n  "noisy":\n    spans_per_second: 1\n' in text and "no limit" not in text, text
    assert "compaction:\n  block_retention: 3600s\n" in SERVER.get("/status/overrides/short").text
    assert "# retention_spans:" not in SERVER.get("/status/overrides/short").text
    assert "\n# retention_spans: as retention.spans of the server\n" in SERVER.get("/status/overrides/bytes").text
    assert "not named in the file" in SERVER.get("/status/overrides/nobody").text
    assert SERVER.get("/status/overrides/a%20b").status == 400
    assert "/status/overrides/noisy-profiles" in SERVER.get("/status/overrides").text


def test_the_file_is_read_again_when_it_changes_and_a_mistake_changes_nothing():
    assert SERVER.get("/status/overrides/late").text.count("spans_per_second: 0") == 1
    write_rules(RULES + "  late:\n    spans_per_second: 5\n")
    wait_for(lambda: "spans_per_second: 5" in SERVER.get("/status/overrides/late").text, "the new file is not read")
    write_rules(RULES + "  late:\n    spans_per_secnd: 5\n")
    line = len(RULES.splitlines()) + 2
    wait_for(lambda: f"limits.yaml:{line}: there is no limit spans_per_secnd; did you mean spans_per_second?" in SERVER.log(),
             "the mistake is not said")
    assert "limits of tenants were not reloaded" in SERVER.log()
    assert "spans_per_second: 5" in SERVER.get("/status/overrides/late").text
    write_rules(RULES)
    wait_for(lambda: "spans_per_second: 5" not in SERVER.get("/status/overrides/late").text, "the old file is not read")
    n = SERVER.log().count("limits of tenants were reloaded")
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: SERVER.log().count("limits of tenants were reloaded") > n, "SIGHUP does not read it")


def test_a_mistake_at_start_ends_the_server():
    with Server("limits:\n  overrides_file: HOME/limits.yaml\n", wait=False) as server:
        server.process.wait(60)  # there is no such file
        assert server.process.returncode == 1 and "limits.yaml" in server.log(), server.log()
    broken = Server("limits:\n  overrides_file: HOME/limits.yaml\n", wait=False)
    with open(os.path.join(broken.home, "limits.yaml"), "w", encoding="utf-8") as f:
        f.write("overrides:\n  single-tenant:\n    disk: much\n")
    with broken as server:
        server.process.wait(60)
        assert server.process.returncode == 1 and "limits.yaml:3: disk expects a size" in server.log(), server.log()
        path = os.path.join(broken.home, "limits.yaml")
        done = subprocess.run([PROGRAM, "check-config", "--set", f"limits.overrides_file={path}"], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 1 and "limits.yaml:3: disk expects a size" in done.stderr, done


tap.run(sys.modules[__name__])
