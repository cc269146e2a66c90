#!/usr/bin/env python3
"""Alerts: rules of the configuration are evaluated, state survives a restart, real receivers on loopback are told of what
fires and what is over, a bad rule names its line."""
import calendar
import http.client
import http.server
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, make_span, tap  # noqa: E402

GOT = []  # (path, body)
MOVED = "/moved?token=ghp_" + "Hunter2" * 5  # receivers are often addresses that hold a secret
STATUS = {"/hook": 200, "/api/v2/alerts": 200, MOVED: 302, "/second/api/v2/alerts": 500}


HANGS, GIVEN_UP = 0, []  # a status: no answer, until the server gives it up


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        GOT.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        if STATUS[self.path] == HANGS:
            select.select([self.connection], [], [], 60)
            GIVEN_UP.append(self.path)
            return
        self.send_response(STATUS[self.path])
        if STATUS[self.path] == 302:
            self.send_header("Location", "/hook")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


RECEIVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=RECEIVER.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{RECEIVER.server_address[1]}"
RULES = """    - name: errors
      traceql: '{ status = error } | count_over_time() by (resource.service.name)'
      above: 2
      window: 10s
      labels: {severity: page, team: 'of {{ $labels.resource_service_name }}'}
      annotations: {summary: '{{ $labels.resource_service_name }} has {{ $value }} errors'}
    - {name: never, traceql: '{ } | rate()', above: 1000000}
    - {name: patient, traceql: '{ status = error } | count_over_time()', above: 2, for: 1h, window: 1h}
    - {name: hot, share: {selector: 'order-service', function: 'json.*', type: cpu}, above: 20%, window: 1h}
    - {name: much, amount: {selector: 'order-service', function: 'json.*', type: cpu}, above: 1h, window: 1h}
"""
HEAD = f"""metrics:
  recording_rules: {{interval: 500ms}}
alerts:
  interval: 1s
  url: http://spanflame.example/
  pack: false
  alertmanager: ["{URL}", "{URL}/second/"]
  webhook: ["{URL}/hook", "{URL}{MOVED}"]
  rules_files: ["HOME/rules/*.yaml"]
  rules:
"""
SERVER = Server(HEAD + RULES)
os.mkdir(os.path.join(SERVER.home, "rules"))
SERVER.start()


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: {GOT} {SERVER.log()}")


def told(path, name, status=None):
    for at, body in list(GOT):
        for alert in [] if at != path else body if path.endswith("/api/v2/alerts") else body["alerts"]:
            if alert["labels"]["alertname"] == name and status in (None, alert.get("status")):
                return alert, body
    return None


def alerts():
    return {a["labels"]["alertname"]: a for a in SERVER.json("/api/v1/alerts")["data"]["alerts"]}


def rules():
    groups = SERVER.json("/api/v1/rules?type=alert")["data"]["groups"]
    return {r["name"]: r for g in groups for r in g["rules"]}


def send_errors():
    SERVER.send([make_span(service="shop", error=True) for _ in range(5)])


def test_1_an_alert_fires_and_everybody_is_told():
    send_errors()
    alert, body = wait_for(lambda: told("/hook", "errors", "firing"), "the webhook is told")
    assert alert["labels"] == {"alertname": "errors", "severity": "page", "team": "of shop", "resource_service_name": "shop"}, alert
    assert alert["annotations"]["summary"] == "shop has 5 errors", alert
    assert body["commonLabels"] == alert["labels"] and body["commonAnnotations"] == alert["annotations"], body
    assert alert["annotations"]["value"] == "5" and "5" in alert["annotations"]["why"], alert
    assert alert["generatorURL"].startswith("http://spanflame.example/?view=search&q=%7B%20status"), alert
    assert body["version"] == "4" and body["status"] == "firing", body
    alert, _ = wait_for(lambda: told("/api/v2/alerts", "errors"), "Alertmanager is told")
    assert alert["startsAt"] < alert["endsAt"], alert
    wait_for(lambda: told("/second/api/v2/alerts", "errors"), "the second one is asked, and fails")
    GOT.clear()
    STATUS["/second/api/v2/alerts"] = 200
    again, _ = wait_for(lambda: told("/second/api/v2/alerts", "errors"), "it is asked again")
    assert again["startsAt"] == alert["startsAt"] and not told("/api/v2/alerts", "errors"), "who took it is not"
    assert not told("/hook", "never") and not told("/hook", "patient")


def pins():
    return [(p["traceId"], p["note"], int(p["untilUnixNano"]) - int(p["createdUnixNano"])) for p in SERVER.json("/api/v1/pins")["pins"]]


def test_1a_its_evidence_is_pinned():
    wait_for(pins, "a pin")
    wait_for(lambda: SERVER.metric("spanflame_alerts_pinned_total") == 5, "five pins")
    assert {(note, length) for _, note, length in pins()} == {("alert: errors", 7 * 86400 * 10**9)}, pins()
    found = SERVER.json("/api/search?q=%7B%20status%20%3D%20error%20%7D")["traces"]
    assert {t for t, _, _ in pins()} == {t["traceID"].rjust(32, "0") for t in found}, (pins(), found)


def test_2_prometheus_shape_of_rules_and_alerts():
    wait_for(lambda: alerts().get("patient", {}).get("state") == "pending", "for is waited for")
    known = rules()
    assert set(known) == {"errors", "never", "patient", "hot", "much"}, known
    assert known["never"]["state"] == "inactive" and known["never"]["health"] == "ok", known["never"]
    assert known["patient"]["state"] == "pending" and known["patient"]["duration"] == 3600, known["patient"]
    assert known["errors"]["type"] == "alerting" and known["errors"]["labels"]["severity"] == "page"
    assert SERVER.metric("spanflame_alerts_rules") == 5 and SERVER.metric("spanflame_alerts_pending") >= 1
    assert SERVER.metric("spanflame_alerts_evaluations_total") >= 5
    assert SERVER.metric("spanflame_alerts_evaluation_failures_total") == 0


def test_3_it_is_resolved_and_nobody_is_followed_elsewhere():
    wait_for(lambda: told("/hook", "errors", "resolved"), "the webhook hears the end")
    for path in ("/api/v2/alerts", "/second/api/v2/alerts"):
        wait_for(lambda p=path: any(a["endsAt"] < time.strftime("%Y-%m-%dT%H:%M:%S.9Z", time.gmtime())
                                    for at, body in list(GOT) if at == p for a in body), f"{path} hears the end")
    assert "errors" not in alerts()
    wait_for(lambda: SERVER.metric("spanflame_alerts_send_failures_total") > 0, "a redirect is a failure")
    assert re.search(r"/moved\?token=.REDACTED.*status 302", SERVER.log()), SERVER.log()
    assert "Hunter2" not in SERVER.log(), SERVER.log()
    assert SERVER.metric("spanflame_alerts_sent_total") >= 2


def test_4_a_share_of_profiles():
    few = pprof({"main;json.decode": 9 * 10**7, "main;work": 10**7})
    assert SERVER.post("/ingest?name=order-service&format=pprof", few).status == 200
    seen = rules()["hot"]["lastEvaluation"]
    wait_for(lambda: rules()["hot"]["lastEvaluation"] > seen, "an evaluation")
    assert rules()["hot"]["state"] == "inactive", "ten samples are no share"
    many = {f"main;json.decode;a{i}": 10**7 for i in range(40)}
    many.update({f"main;work{i}": 10**7 for i in range(59)})
    many["main;other"] = 10**7
    span = make_span(service="order-service", name="parse")
    SERVER.send([span])
    many[("main;json.decode;a0", (("span_id", span["span_id"].hex()), ("trace_id", span["trace_id"].hex())))] = 10**7
    assert SERVER.post("/ingest?name=order-service&format=pprof", pprof(many)).status == 200
    alert, _ = wait_for(lambda: told("/hook", "hot", "firing"), "the share")
    assert 0.4 < float(alert["annotations"]["value"]) < 0.5, alert
    assert "json.* has 500 ms of 1.11 s (45 %) in order-service within 1 h 00 m, hottest: json.decode, 90 ms" in alert["annotations"]["why"], alert
    wait_for(lambda: any(note == "alert: hot" for _, note, _ in pins()), "the span with the function is pinned")
    assert [t for t, note, _ in pins() if note == "alert: hot"] == [span["trace_id"].hex()], pins()
    assert "view=profiles&service=order-service" in alert["generatorURL"], alert
    assert rules()["much"]["state"] == "inactive" and rules()["much"]["health"] == "ok", rules()["much"]


def test_5_state_survives_a_restart():
    since = alerts()["patient"]["activeAt"]
    assert SERVER.stop() == 0
    SERVER.start()
    assert alerts()["patient"]["activeAt"] == since
    assert SERVER.stop() == 0
    path = os.path.join(SERVER.data, "alerts")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    data[-3] ^= 1
    with open(path, "wb") as f:
        f.write(data)
    SERVER.start()
    assert "checksum is wrong" in SERVER.log() and os.path.exists(path + ".damaged")


def test_6_what_would_have_fired():
    text = subprocess.run([PROGRAM, "alerts", "--server", f"http://127.0.0.1:{SERVER.port}", "--test", "errors",
                           "--since", "3m"], capture_output=True, text=True, check=True).stdout
    assert "errors would have fired 1 time; evaluated at" in text and "fired 20" in text, text
    answer = SERVER.json("/api/v1/alerts/test?rule=errors&from=now-3m")
    assert len(answer["fired"]) == 1 and answer["stepSeconds"] >= 1, answer
    assert "mean of 5 spans" in answer["fired"][0]["why"] and answer["fired"][0]["why"] in text, answer
    assert SERVER.get("/api/v1/alerts/test?rule=nothing").status == 404
    # Moments: of profiles up to 500; of TraceQL one window after the other, where there would be gaps between 500.
    assert 490 < SERVER.json("/api/v1/alerts/test?rule=much&from=now-30d")["moments"] <= 500
    week = SERVER.json("/api/v1/alerts/test?rule=never&from=now-7d")
    assert week["stepSeconds"] == 300 and 2014 <= week["moments"] <= 2016, week
    assert 490 < SERVER.json("/api/v1/alerts/test?rule=errors&from=now-7d")["moments"] <= 500, "10 s windows of a week are too many"


def test_6a_an_outage_of_days_ago_is_found_and_nothing_between_two_moments_is_lost():
    begin = (time.time_ns() // 10**9 // 300 * 300 - 3 * 86400) * 10**9
    for minute in range(0, 22):  # ten errors each minute, within a window of five; and one burst
        SERVER.send([dict(make_span(service="past", name="outage", error=True), start=begin + (minute * 60 + i) * 10**9 + 1,
                          end=begin + (minute * 60 + i) * 10**9 + 10**6) for i in range(10)])
    SERVER.send([dict(make_span(service="past", name="burst"), start=begin + 7200 * 10**9 + 1 + i, end=begin + 7201 * 10**9) for i in range(7)])
    with open(os.path.join(SERVER.home, "rules", "past.yaml"), "w", encoding="utf-8") as f:
        f.write("rules:\n  - {name: outage, traceql: '{ name = \"outage\" } | count_over_time()', above: 20, for: 10m}\n"
                "  - {name: burst, traceql: '{ name = \"burst\" } | count_over_time()', above: 6}\n"
                "  - {name: middle, traceql: '{ name = \"burst\" } | quantile_over_time(duration, .5)', above: 1ms}\n")
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "outage" in rules() and "burst" in rules(), "the rules")

    def seconds(text):
        return calendar.timegm(time.strptime(text.split(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S")) - begin // 10**9
    def tried(rule, value):  # what was acknowledged is seen a moment later
        def fired():
            return SERVER.json(f"/api/v1/alerts/test?rule={rule}&from=now-7d")["fired"]
        return wait_for(lambda: [f for f in fired() if f["value"] == value and "why" in f] and fired(), f"a trial of {rule}")
    told = tried("outage", "50")
    assert [(seconds(f["activeAt"]), seconds(f["firedAt"]), seconds(f["resolvedAt"]), f["value"]) for f in told] == [(300, 900, 1500, "50")], told
    assert "mean of 50 spans" in told[0]["why"], told
    told = tried("burst", "7")
    assert [(seconds(f["firedAt"]), seconds(f["resolvedAt"]), f["value"]) for f in told] == [(7500, 7800, "7")], told
    assert "isEstimate" not in told[0], told
    told = SERVER.json("/api/v1/alerts/test?rule=middle&from=now-7d")["fired"]  # a quantile is read off buckets
    assert len(told) == 1 and told[0]["isEstimate"] and f", value ~{told[0]['value']}  " in SERVER.get("/api/v1/alerts/test?rule=middle&from=now-7d&format=text").text, told
    os.unlink(os.path.join(SERVER.home, "rules", "past.yaml"))
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "burst" not in rules(), "the rules of before")


def test_6aa_the_command_lists_them():
    text = subprocess.run([PROGRAM, "alerts", "--server", f"http://127.0.0.1:{SERVER.port}"], capture_output=True,
                          text=True, check=True).stdout
    assert "5 rules" in text, text


def silence(value, **more):
    body = {"matchers": [{"name": "alertname", "value": value, "isRegex": False, "isEqual": True}], "duration": "1h", **more}
    return SERVER.post("/api/v1/silences", json.dumps(body).encode(), "application/json")


def test_6b_silences_history_and_series_of_rules():
    fired = {e["rule"]: e for e in SERVER.json("/api/v1/alerts/history")["events"]}
    assert fired["errors"]["resolvedAt"] and fired["errors"]["why"] and not fired["errors"]["silenced"], fired
    assert 0.4 < float(fired["hot"]["value"]) < 0.5 and fired["hot"]["resolvedAt"] is None, fired
    assert SERVER.get("/api/v1/alerts/history?limit=0").status == 400
    assert len(SERVER.json("/api/v1/alerts/history?rule=errors&limit=1")["events"]) == 1
    whole, one = (SERVER.json("/api/v1/alerts/history" + q) for q in ("", "?limit=1"))
    assert whole["more"] == 0 and len(one["events"]) + one["more"] == len(whole["events"]) > 1, (whole, one)
    # A server that has just started says it after its first evaluation.
    value = wait_for(lambda: [x for x in SERVER.metrics().splitlines() if x.startswith('spanflame_alert_rule_value{rule="hot"')],
                     "the rule's value")
    assert 0.4 < float(value[0].split()[-1]) < 0.5, value
    made = silence("errors", comment="a deploy", createdBy="me")
    assert made.status == 200, made.text
    assert silence("errors", duration="never").status == 400 and silence("x", duration="9000d").status == 413
    assert silence("x", comment="c" * 65536).status == 413
    GOT.clear()
    send_errors()
    wait_for(lambda: alerts().get("errors", {}).get("silenced"), "it fires in silence")
    for _ in range(2):  # receivers are told behind each evaluation
        seen = rules()["errors"]["lastEvaluation"]
        wait_for(lambda: rules()["errors"]["lastEvaluation"] > seen, "an evaluation")
    assert not told("/hook", "errors") and not told("/api/v2/alerts", "errors"), GOT
    assert SERVER.stop() == 0
    SERVER.start()
    known = SERVER.json("/api/v1/silences")
    assert [(s["id"], s["status"]["state"], s["comment"]) for s in known] == [
        (json.loads(made.text)["silenceID"], "active", "a deploy")], known
    assert SERVER.request("DELETE", "/api/v1/silences/" + known[0]["id"]).status == 200
    assert SERVER.request("DELETE", "/api/v1/silences/0000").status == 404
    assert SERVER.json("/api/v1/silences")[0]["status"]["state"] == "expired"
    send_errors()
    wait_for(lambda: told("/hook", "errors", "firing"), "told again")


def test_7_reload_takes_good_rules_and_keeps_the_old_set_over_bad_ones():
    path = os.path.join(SERVER.home, "rules", "more.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("rules:\n  - {name: more, traceql: '{ } | rate()', above: 1000000}\n")
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "more" in rules(), "a rule of a file")
    with open(path, "w", encoding="utf-8") as f:
        f.write("rules:\n  - name: bad\n    traceql: '{ } | rate()'\n    abvoe: 1\n")
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "more.yaml:4: a rule has no abvoe; did you mean above?" in SERVER.log(), "the line is named")
    assert "more" in rules()
    done = subprocess.run([PROGRAM, "serve", "--config", os.path.join(SERVER.home, "spanflame.yaml"), "--data",
                           os.path.join(SERVER.home, "other")], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "more.yaml:4" in done.stderr, done
    for name in ("/nonexistent/rules.yaml", "-"):
        done = subprocess.run([PROGRAM, "check-config", "--set", f"alerts.rules_files={name}"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and name in done.stderr, done


def evaluations():
    return SERVER.metric("spanflame_alerts_evaluations_total") / len(rules())


def test_7a_missed_evaluations_are_made_up_once():
    with open(os.path.join(SERVER.home, "rules", "more.yaml"), "w", encoding="utf-8") as f:
        f.write("rules:\n  - {name: waits, traceql: '{ status = error } | count_over_time()', above: 2, window: 1h, for: 6s}\n")
    send_errors()
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: alerts().get("waits", {}).get("state") == "pending", "it waits")
    since, before, begun = alerts()["waits"]["activeAt"], evaluations(), time.monotonic()
    SERVER.process.send_signal(signal.SIGSTOP)
    ran = time.monotonic() - begun
    time.sleep(8)  # eight intervals
    continued, begun = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), time.monotonic()
    SERVER.process.send_signal(signal.SIGCONT)
    wait_for(lambda: alerts()["waits"]["state"] == "firing", "the first evaluation knows how long it has been true")
    wait_for(lambda: evaluations() >= before + 1, "the pass ends")
    made, ran = evaluations() - before, ran + time.monotonic() - begun
    assert made <= ran + 2, f"{made} passes in {ran} s"
    assert alerts()["waits"]["activeAt"] == since
    fired = [e for e in SERVER.json("/api/v1/alerts/history?rule=waits")["events"]]
    assert len(fired) == 1 and fired[0]["firedAt"] >= continued, (fired, continued)
    # Of a stop it is the same.
    assert SERVER.stop() == 0
    time.sleep(5)
    begun = time.monotonic()
    SERVER.start()
    wait_for(lambda: evaluations() >= 1, "an evaluation")
    made, ran = evaluations(), time.monotonic() - begun
    assert made <= ran + 2, f"{made} passes in {ran} s"
    assert len(SERVER.json("/api/v1/alerts/history?rule=waits")["events"]) == 1 and alerts()["waits"]["activeAt"] == since


def test_7b_a_receiver_that_hangs_delays_nobody():
    assert SERVER.stop() == 0
    STATUS["/second/api/v2/alerts"] = HANGS
    GOT.clear()
    SERVER.start()
    wait_for(lambda: told("/second/api/v2/alerts", "waits"), "it is told of what fires by a server that has just started")
    before = evaluations()
    wait_for(lambda: told("/hook", "waits", "firing"), "the others are told")
    wait_for(lambda: evaluations() >= before + 2, "rules are evaluated")
    assert not GIVEN_UP, "meanwhile it hangs"
    wait_for(lambda: GIVEN_UP, "it is given up")
    wait_for(lambda: sum(at == "/second/api/v2/alerts" for at, _ in GOT) > 1, "it is asked again")
    STATUS["/second/api/v2/alerts"] = 200
    wait_for(lambda: sum(at == "/second/api/v2/alerts" for at, _ in GOT) > 2, "it takes it")


def test_8_alerts_have_half_of_the_pins_and_people_the_others():
    half = SERVER.json("/api/v1/pins")["limit"] // 2
    spans = [make_span(service="pinned") for _ in range(half + 1)]
    SERVER.send(spans)
    missing = half - 2 - sum(note.startswith("alert: ") for _, note, _ in pins())
    conn = http.client.HTTPConnection("127.0.0.1", SERVER.port, timeout=60)
    for span in spans[:missing]:
        conn.request("POST", f"/api/v1/pins/{span['trace_id'].hex()}?note=alert%3A%20others", b"{}", {"Content-Type": "application/json"})
        answer = conn.getresponse()
        assert answer.read() and answer.status == 200, answer.status
    conn.close()
    with open(os.path.join(SERVER.home, "rules", "more.yaml"), "w", encoding="utf-8") as f:
        f.write("rules:\n  - {name: full, traceql: '{ name = \"full\" } | count_over_time()', above: 2, window: 1h}\n")
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "full" in rules(), "the rule of five more traces")
    SERVER.send([make_span(service="pinned", name="full") for _ in range(5)])
    wait_for(lambda: any(note == "alert: full" for _, note, _ in pins()), "a pin of the last two")
    seen = rules()["full"]["lastEvaluation"]
    wait_for(lambda: rules()["full"]["lastEvaluation"] > seen, "an evaluation")
    notes = [note for _, note, _ in pins()]
    assert notes.count("alert: full") == 2 and sum(n.startswith("alert: ") for n in notes) == half, len(notes)
    answer = SERVER.post(f"/api/v1/pins/{spans[-1]['trace_id'].hex()}?note=mine", b"{}", "application/json")
    assert answer.status == 200, answer.text


RECORDED = {"metricName": "profiles_recorded_order", "matchers": [
    '{service_name="order-service"}', '{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}']}


def test_9_what_could_not_be_read_is_said():
    with open(os.path.join(SERVER.home, "rules", "more.yaml"), "w", encoding="utf-8") as f:
        f.write("rules:\n  - {name: gone, traceql: '{ status = error } | count_over_time()', absent: true, window: 1h}\n"
                "  - {name: slow, watch: {kind: latency}}\n")
    answer = SERVER.post("/settings.v1.RecordingRulesService/UpsertRecordingRule", json.dumps(RECORDED), "application/json")
    assert answer.status == 200, answer.text
    assert SERVER.post("/ingest?name=order-service&format=pprof", pprof({"main;json.decode": 9 * 10**7}, when=time.time_ns())).status == 200
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "profiles_recorded_order{" in SERVER.metrics() and "gone" in rules(), "the rules")
    assert alerts()["patient"]["state"] == "pending" and alerts()["hot"]["state"] == "firing", alerts()
    assert SERVER.json("/api/v1/alerts/test?rule=gone&from=now-1s")["unknown"] == 0
    assert "spanflame_recording_partial_total{" not in SERVER.metrics()
    assert SERVER.post("/api/v1/flush", b"{}", "application/json").status == 200
    SERVER.damage("*.sf[sp]")
    SERVER.start()
    wait_for(lambda: all(rules()[r].get("partial") for r in ("patient", "hot", "never")), "rules say what is missing")
    for name in ("patient", "hot", "never"):
        assert rules()[name]["health"] == "err" and "could not be read: block" in rules()[name]["lastError"], rules()[name]
    # What was true stays so: nothing says that it is over.
    assert alerts()["patient"]["state"] == "pending" and alerts()["hot"]["state"] == "firing", alerts()
    send_errors()
    wait_for(lambda: "could not be read: block" in alerts()["patient"]["annotations"].get("partial", ""), "the alert says so")
    # What is not seen may be there.
    tried = SERVER.get("/api/v1/alerts/test?rule=gone&from=now-1s")
    assert json.loads(tried.body)["unknown"] == json.loads(tried.body)["moments"] > 0 and tried.getheader("x-spanflame-partial"), tried.text
    text = subprocess.run([PROGRAM, "alerts", "--server", f"http://127.0.0.1:{SERVER.port}"], capture_output=True, text=True, check=True)
    assert "partial   hot: some stored data could not be read: block" in text.stdout, text
    assert SERVER.metric("spanflame_alerts_evaluations_partial_total") > 0
    wait_for(lambda: 'spanflame_recording_partial_total{rule="' in SERVER.metrics(), "the recording rule")
    assert "sums are too low: some stored data could not be read: block" in SERVER.log()
    # Minutes that are not whole are left out of what is watched, and that is stated.
    wait_for(lambda: rules()["slow"].get("partial"), "the watch")


def test_9a_assistants_and_commands_say_it_too():
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "services", "arguments": {}}}
    told = SERVER.post("/mcp", json.dumps(ask), "application/json").text
    assert "note: some stored data could not be read: block" in told, told
    for words in (["services"], ["flame", "order-service"], ["coverage", "--service", "shop"]):
        done = subprocess.run([PROGRAM, *words, "--server", f"http://127.0.0.1:{SERVER.port}"], capture_output=True, text=True, check=False)
        assert "note: some stored data could not be read: block" in done.stderr, (words, done)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
