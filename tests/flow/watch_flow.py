#!/usr/bin/env python3
"""The built-in alerts, on a real server: two hours of a service's past in which everything got worse 14 minutes ago, one in
which nothing did, and one whose profiles stopped. Each is told to a webhook with its sentence and a link. And a capture that
an alert begins."""
import http.server
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pprof_make import pprof  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

GOT = {}  # the last of each alert: (name, service) to alert
MINUTE, MINUTES, BAD = 60 * 10**9, 105, 14
NOW = time.time_ns() // MINUTE * MINUTE - MINUTE


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]:
            labels = alert["labels"]
            GOT[tuple(labels[k] for k in ("alertname", "service", "tenant") if k in labels)] = alert
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


RECEIVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=RECEIVER.serve_forever, daemon=True).start()
SERVER = Server(f"""alerts:
  interval: 1s
  url: http://spanflame.example
  webhook: ["http://127.0.0.1:{RECEIVER.server_address[1]}/hook"]
  rules:
    - {{name: taken, traceql: '{{ name = "capture me" }} | count_over_time() by (resource.service.name)', above: 0, capture: {{seconds: 7, rate: 50, types: wall}}}}
""")


def wait_for(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: {GOT} {SERVER.get('/api/v1/rules').text} {SERVER.log()}")


def wave(i, of=5):
    """Noise of a few percent, the same in every run."""
    return 1 + 0.03 * ((i * 7919 % of) - of // 2) / of


def push(name, i, stacks, kind="cpu", unit="nanoseconds", label=""):
    body = pprof(stacks, sample_type=kind, unit=unit, when=NOW - (MINUTES - i) * MINUTE + MINUTE // 3, seconds=30,
                 file="shop.c")
    answer = SERVER.post(f"/api/v1/profile?service={name}{'&label=' + label if label else ''}&format=pprof", body)
    assert answer.status == 200, answer.text


def plant():
    spans = []
    for i in range(MINUTES):
        bad = i >= MINUTES - BAD
        at = NOW - (MINUTES - i) * MINUTE
        for service, version in (("shop", "v2" if bad else "v1"), ("calm", "v1"), ("mute", "v1")):
            for k in range(24):
                ms = (80 if bad and service == "shop" else 40) * wave(i * 24 + k, 11)
                start = at + k * 2 * 10**9
                spans.append(dict(make_span(service=service, name="GET /" + service, kind=2, resource={"service.version": version}),
                                  start=start, end=start + int(ms * 10**6)))
        cpu = int(10**9 * wave(i))
        push("shop", i, {"main;work": cpu, "main;parse": 27 * cpu if bad else cpu // 100}, label="k8s.container.cpu.limit=1000m")
        push("calm", i, {"main;work": cpu})
        if i < MINUTES - 12:
            push("mute", i, {"main;work": cpu})
        push("shop", i, {"main;get": cpu, "main;wait": 3 * cpu if bad else 0}, "delay")
        push("shop", i, {"main;make": cpu // 100, "main;parse": cpu // 20 if bad else 0}, "alloc_space", "bytes")
        grown = 2 ** ((i - (MINUTES - BAD)) / 5) if bad else 1
        push("shop", i, {"main;hold": int(cpu * grown)}, "inuse_space", "bytes")
    for i in range(100):  # more services than are watched
        spans.append(dict(make_span(service=f"other{i}", kind=2, resource={"service.version": "v1"}), start=NOW - 60 * MINUTE,
                          end=NOW - 60 * MINUTE + 10**6))
    for version in ("v1", "v2"):  # a request has one resource of each service
        of = [s for s in spans if s["resource"]["service.version"] == version]
        for at in range(0, len(of), 500):
            SERVER.send(of[at:at + 500])


WANTED = {"spanflame_latency": ("GET /shop", "mean duration"), "spanflame_cpu": ("parse", "CPU time per request"),
          "spanflame_lock": ("wait", "lock time per request"), "spanflame_allocation": ("parse", "allocation per request"),
          "spanflame_memory": ("hold", "memory in use"), "spanflame_cpu_limit": ("parse", "of its CPU limit"),
          "spanflame_new_function": ("parse", "since its deploy")}


def test_1_each_regression_is_told_with_its_sentence_and_a_link():
    SERVER.start()
    plant()
    SERVER.stop()
    SERVER.start()  # what it missed it reads from the store
    for name, words in WANTED.items():
        alert = wait_for(lambda n=name: GOT.get((n, "shop")), name)
        assert alert["status"] == "firing", alert
        for word in words:
            assert word in alert["annotations"]["why"], alert
        assert "shop" in alert["annotations"]["why"] and alert["generatorURL"].startswith(
            "http://spanflame.example/?view=profiles&service=shop&from="), alert
    for name in ("spanflame_memory", "spanflame_cpu_limit"):
        assert "at shop.c:7" in GOT[name, "shop"]["annotations"]["why"], GOT[name, "shop"]  # the line
    stopped = wait_for(lambda: GOT.get(("spanflame_stopped", "mute")), "profiles that stopped")
    assert "no samples for 10 minutes" in stopped["annotations"]["why"], stopped


def test_2_nothing_else_is_told():
    assert set(GOT) == {(n, "shop") for n in WANTED} | {("spanflame_stopped", "mute")}, GOT.keys()
    known = {r["name"]: r for g in SERVER.json("/api/v1/rules")["data"]["groups"] for r in g["rules"]}
    assert set(known) == set(WANTED) | {"spanflame_stopped", "taken"} and all(r["health"] == "ok" for r in known.values()), known
    assert known["spanflame_cpu"]["query"] == "watch cpu of all services", known["spanflame_cpu"]
    assert SERVER.metric("spanflame_alerts_unwatched_total") > 0
    assert any(p["note"].startswith("alert: spanflame_") for p in SERVER.json("/api/v1/pins")["pins"])


def test_2b_what_the_pack_would_have_said():
    answer = SERVER.json("/api/v1/alerts/test?rule=spanflame_cpu&from=now-30m")
    assert [f["labels"]["service"] for f in answer["fired"]] == ["shop"] and answer["stepSeconds"] == 60, answer
    assert "parse" in answer["fired"][0]["why"] and 29 <= answer["moments"] <= 31, answer
    assert not SERVER.json("/api/v1/alerts/test?rule=spanflame_stopped&from=now-30m&until=now-15m")["fired"]


def test_3_an_alert_begins_a_capture():
    poll = "/api/v1/control?service=cart&instance=1"
    assert SERVER.get(poll).status == 200
    SERVER.send([make_span(service="cart", name="capture me")])
    lines = wait_for(lambda: [x for x in SERVER.get(poll + "&format=text").text.splitlines() if x.startswith("capture ")], "a capture")
    assert lines[0].split()[2:] == ["wall", "50", "7"], lines
    changes = SERVER.json("/api/v1/profiling/audit")["changes"]
    assert any(c["who"] == "alert taken" and "capture wall at 50 Hz for 7 s" in c["what"] for c in changes), changes
    wait_for(lambda: SERVER.metric("spanflame_alerts_captures_total") == 1, "it is counted")


def slower(tenant, service, ms):
    """Requests of a tenant, which take `ms` since a quarter of an hour."""
    spans = []
    for i in range(MINUTES):
        for k in range(24):
            start = NOW - (MINUTES - i) * MINUTE + k * 2 * 10**9
            took = (ms if i >= MINUTES - BAD else 40) * wave(i * 24 + k, 11)
            spans.append(dict(make_span(service=service, name="GET /" + service, kind=2), start=start, end=start + int(took * 10**6)))
    for at in range(0, len(spans), 500):
        SERVER.send(spans[at:at + 500], headers={"X-Scope-OrgID": tenant})


def test_4_with_tenancy_each_tenant_is_watched_and_sees_its_own():
    SERVER.stop()
    SERVER.config = "tenancy: {enabled: true}\n" + SERVER.config
    SERVER.start()
    slower("one", "shop", 120)
    slower("two", "shop", 40)
    SERVER.stop()
    GOT.clear()
    SERVER.start()
    alert = wait_for(lambda: GOT.get(("spanflame_latency", "shop", "one")), "the tenant's alert")
    assert alert["status"] == "firing" and not any("two" in key for key in GOT), GOT
    assert "GET /shop" in alert["annotations"]["why"], alert

    def of(tenant):
        headers = {"X-Scope-OrgID": tenant}
        known = [r for g in json.loads(SERVER.get("/api/v1/rules", headers=headers).body)["data"]["groups"] for r in g["rules"]]
        fired = json.loads(SERVER.get("/api/v1/alerts", headers=headers).body)["data"]["alerts"]
        return {r["name"]: r for r in known if r["name"] != "taken"}, fired
    wait_for(lambda: all(r["health"] == "ok" for t in ("one", "two") for r in of(t)[0].values()), "both are judged")
    known, fired = of("one")
    assert [a["labels"]["alertname"] for a in fired] == ["spanflame_latency"] and known["spanflame_latency"]["state"] == "firing", fired
    known, fired = of("two")
    assert len(known) == 8 and not fired and known["spanflame_latency"]["state"] == "inactive", (known, fired)
    assert SERVER.metric("spanflame_alerts_unwatched_tenants") == 0


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
