#!/usr/bin/env python3
"""Debian's Prometheus and Alertmanager, running on loopback: Alertmanager takes our alerts as they fire and as they end, and its
silences hold of them; what it sends to a webhook has the fields of what we send. Prometheus scrapes /metrics, alerts on a rule's
value and on a target that is down, and its own lists of rules, alerts and targets have no field that ours lack."""
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server, free_port, make_span, tap  # noqa: E402

MANAGER, PROMETHEUS, TOOL = (shutil.which(name) for name in ("prometheus-alertmanager", "prometheus", "promtool"))
HOOKS = {}  # the last body of each path


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        HOOKS[self.path] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


HOOK = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=HOOK.serve_forever, daemon=True).start()
HOOK_URL = f"http://127.0.0.1:{HOOK.server_address[1]}"
AM, PROM = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
SERVER = Server(f"""alerts:
  interval: 1s
  url: http://spanflame.example
  alertmanager: ["{AM}"]
  webhook: ["{HOOK_URL}/ours"]
  pack: false
  rules:
    - name: errors
      traceql: '{{ status = error }} | count_over_time() by (resource.service.name)'
      above: 2
      window: 10s
      labels: {{severity: page}}
      annotations: {{summary: '{{{{ $value }}}} errors'}}
    - {{name: slow, ledger: {{q: '{{ name = "parent" }}', part: child}}, above: 1h, window: 1h}}
scrape: [{{url: 'http://127.0.0.1:1/debug/pprof/profile', service: down, interval: 1s}}]
""")
PROCESSES = []


def wait_for(condition, what, seconds=180):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = condition()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(what)


def ask(url, body=None):
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def start(program, name, text, *args):
    path = os.path.join(SERVER.home, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    PROCESSES.append(subprocess.Popen([program, f"--config.file={path}", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def listed(**want):
    """Alertmanager's alerts."""
    return [a for a in ask(f"{AM}/api/v2/alerts") if all(a["labels"].get(k) == v for k, v in want.items())]


def send_errors():
    SERVER.send([make_span(service="shop", error=True) for _ in range(5)])


def test_1_alertmanager_lists_what_fires_and_forgets_what_is_over():
    start(MANAGER, "alertmanager.yml", f"route: {{receiver: hook, group_wait: 0s}}\nreceivers:\n  - name: hook\n    webhook_configs: [{{url: '{HOOK_URL}/theirs'}}]\n",
          f"--storage.path={SERVER.home}/am", "--web.listen-address=" + AM[7:], "--cluster.listen-address=")
    wait_for(lambda: ask(f"{AM}/api/v2/alerts") == [], "Alertmanager is ready")
    SERVER.start()
    send_errors()
    alert = wait_for(lambda: listed(alertname="errors"), "Alertmanager has it")[0]
    assert alert["labels"] == {"alertname": "errors", "severity": "page", "resource_service_name": "shop"}, alert
    assert alert["annotations"]["summary"] == "5 errors" and alert["annotations"]["why"], alert
    assert alert["generatorURL"].startswith("http://spanflame.example/?view=search"), alert
    wait_for(lambda: not listed(alertname="errors"), "it is over")


def test_2_its_webhook_and_ours_have_the_same_fields():
    theirs, ours = (wait_for(lambda p=p: HOOKS.get(p), p) for p in ("/theirs", "/ours"))
    assert set(theirs) <= set(ours), (set(theirs) ^ set(ours), ours)
    assert set(theirs["alerts"][0]) <= set(ours["alerts"][0]), (theirs["alerts"][0], ours["alerts"][0])
    assert theirs["version"] == ours["version"] == "4"
    for key, value in theirs.items():
        assert type(value) is type(ours[key]), (key, value, ours[key])


def test_3_a_silence_of_alertmanagers_holds_of_our_alerts():
    now = time.time()
    moment = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + s)) for s in (0, 3600)]
    made = ask(f"{AM}/api/v2/silences", {"matchers": [{"name": "alertname", "value": "errors", "isRegex": False, "isEqual": True}],
                                         "startsAt": moment[0], "endsAt": moment[1], "createdBy": "t", "comment": "c"})
    assert made["silenceID"], made
    send_errors()
    wait_for(lambda: [a for a in listed(alertname="errors") if a["status"]["state"] == "suppressed"], "it is suppressed there")


def test_4_prometheus_scrapes_evaluates_and_has_no_field_that_we_lack():
    with open(os.path.join(SERVER.home, "rules.yml"), "w", encoding="utf-8") as f:
        f.write("groups: [{name: g, interval: 1s, rules: ["
                "{alert: TargetDown, expr: 'spanflame_scrape_up == 0', annotations: {summary: s}}, "
                "{alert: RuleValue, expr: 'spanflame_alert_rule_value{rule=\"slow\"} >= 0'}]}]\n")
    start(PROMETHEUS, "prometheus.yml", f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{SERVER.home}/rules.yml']\n"
          f"alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{AM[7:]}']}}]}}]}}\n"
          f"scrape_configs: [{{job_name: spanflame, static_configs: [{{targets: ['127.0.0.1:{SERVER.port}']}}]}}]\n",
          f"--storage.tsdb.path={SERVER.home}/tsdb", "--web.listen-address=" + PROM[7:])
    for i in range(8):
        parent = make_span(service="shop", name="parent", ms=100, ago_ms=5000 + i)
        SERVER.send([parent, dict(make_span(trace=parent["trace_id"], parent=parent["span_id"], service="shop"), start=parent["start"],
                                  end=parent["start"] + 5 * 10**7)])
    fired = wait_for(lambda: (lambda a: len(a) >= 2 and a)({a["labels"]["alertname"]: a for a in ask(f"{PROM}/api/v1/alerts")["data"]["alerts"]
                                                             if a["state"] == "firing"}), "Prometheus' own alerts")
    assert fired["TargetDown"]["labels"]["service"] == "down" and fired["RuleValue"]["labels"]["rule"] == "slow", fired
    assert 4e7 < float(fired["RuleValue"]["value"]) < 6e7, fired["RuleValue"]  # 50 of the parent's 100 ms
    wait_for(lambda: listed(alertname="TargetDown"), "and Alertmanager has them beside ours")
    wait_for(lambda: SERVER.json("/api/v1/alerts")["data"]["alerts"] or send_errors(), "one of ours")

    def lacks(path, get):
        theirs, ours = ask(PROM + path), SERVER.json(path)
        assert theirs["status"] == ours["status"] == "success" and set(theirs["data"]) <= set(ours["data"]), (theirs, ours)
        return set(get(theirs["data"])) - set(get(ours["data"]))
    assert not lacks("/api/v1/rules", lambda d: d["groups"][0]), "fields of a group"
    assert not lacks("/api/v1/rules", lambda d: d["groups"][0]["rules"][0]), "fields of a rule"
    assert not lacks("/api/v1/alerts", lambda d: d["alerts"][0]), "fields of an alert"
    # What a target's labels were before relabelling, and the name of this host, are not kept.
    assert lacks("/api/v1/targets", lambda d: d["activeTargets"][0]) <= {"discoveredLabels", "globalUrl"}


def test_5_promtool_has_nothing_to_say_of_our_metrics():
    if not TOOL:
        raise tap.Skip("there is no promtool here")
    done = subprocess.run([TOOL, "check", "metrics"], input=SERVER.metrics(), capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if "alert" in line or "scrape" in line or "error while" in line]
    assert not wrong, wrong


if __name__ == "__main__":
    if MANAGER and PROMETHEUS:
        try:
            tap.run(sys.modules[__name__])
        finally:
            for process in PROCESSES:
                process.kill()
                process.wait()
            SERVER.stop()
    else:
        print("1..0 # SKIP prometheus or prometheus-alertmanager is not installed")
