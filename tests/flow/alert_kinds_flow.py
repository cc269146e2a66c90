#!/usr/bin/env python3
"""Rules of alerts about changes, parts of time, findings and coverage: each fires on what was planted, with the sentence that
says why, and is quiet where nothing changed."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, make_span, tap  # noqa: E402

RULES = """alerts:
  interval: 10s
  rules:
    - {name: slower, change: {q: '{ name = "GET /a" }', by: resource.service.version}, significant: true}
    - {name: same-version, change: {q: '{ name = "GET /b" }', by: resource.service.version}, significant: true}
    - {name: slower-than-before, change: {q: '{ name = "GET /a" }', against: before}, significant: true, above: 20%, window: 25m}
    - {name: not-twice, change: {q: '{ name = "GET /a" }', against: before}, above: 100%, window: 25m}
    - {name: same-as-before, change: {q: '{ name = "GET /b" }'}, significant: true, window: 25m}
    - {name: yesterday, change: {q: '{ name = "GET /a" }', against: yesterday}, above: 1%, window: 25m}
    - {name: more-cpu, change: {q: '{ name = "GET /a" }', by: resource.service.version, measure: value, type: cpu}, significant: true}
    - {name: more-running, change: {q: '{ name = "GET /a" }', by: resource.service.version, measure: cpu}, significant: true}
    - {name: children, ledger: {q: '{ name = "GET /c" }', part: child}, above: 50ms, window: 1h}
    - {name: children-more, ledger: {q: '{ name = "GET /c" }', part: child}, above: 90ms, window: 1h}
    - {name: hot, finding: {service: order-service, kind: hot_function}, above: 50%, window: 1h}
    - {name: hotter, finding: {service: order-service}, above: 90%, window: 1h}
    - {name: fewer, coverage: {service: order-service, of: samples, type: cpu}, below: 50%, window: 10m}
    - {name: not-fewer, coverage: {service: order-service, of: samples, type: cpu}, below: 5%, window: 10m}
    - {name: packaged, share: {selector: order-service, package: '^encoding/json$'}, above: 30%, window: 1h}
    - {name: packaged-more, share: {selector: order-service, package: json}, above: 50%, window: 1h}
    - {name: canary, share: {selector: order-service, label: env=canary}, above: 5%, window: 1h}
    - {name: held, amount: {selector: holder, function: hold, type: inuse_space}, above: 90MB, window: 1h}
    - {name: held-more, amount: {selector: holder, function: hold, type: inuse_space}, above: 110MB, window: 1h}
    - {name: gone, traceql: '{ name = "nothing" } | count_over_time()', absent: true}
    - {name: there, traceql: '{ } | count_over_time()', absent: true, window: 1h}
    - {name: silent, amount: {selector: order-service, function: nothing}, absent: true, window: 1h}
    - {name: little, traceql: '{ name = "GET /c" } | count_over_time()', below: 41, window: 1h}
    - {name: enough, traceql: '{ name = "GET /c" } | count_over_time()', below: 40, window: 1h}
    - {name: unsampled, coverage: {service: shop}, below: 50%, window: 1h}
"""
SERVER = Server(RULES)
MINUTE = 60 * 1000


def plant():
    for version, oldest, ms in (("v1", 50, 100), ("v2", 24, 150)):
        spans = []
        for i in range(80):
            ago = int((oldest - i * 23 / 80) * MINUTE)
            spans.append(make_span(service="shop", name="GET /a", ms=int(ms * (0.8 + (i * 37 % 80) / 200)), ago_ms=ago, kind=2,
                                   resource={"service.version": version}))
            spans.append(make_span(service="shop", name="GET /b", ms=int(100 * (0.8 + (i * 53 % 80) / 200)), ago_ms=ago, kind=2,
                                   resource={"service.version": version}))
        SERVER.send(spans)
        stacks = {}
        for i, s in enumerate(spans):
            ids = (("trace_id", s["trace_id"].hex()), ("span_id", s["span_id"].hex()))
            if s["name"] == "GET /a":
                stacks[("main;handle;" + ("parse" if version == "v2" and i % 3 else "work"), ids)] = (4 + (version == "v2") * 4) * 10**7
        assert SERVER.post("/ingest?name=shop&format=pprof", pprof(stacks, when=time.time_ns() - oldest * 60 * 10**9,
                                                                   seconds=23 * 60)).status == 200
    family = []
    for i in range(40):
        parent = make_span(service="shop", name="GET /c", ms=100, ago_ms=(i + 1) * MINUTE, kind=2)
        family += [parent, dict(make_span(trace=parent["trace_id"], parent=parent["span_id"], service="shop", name="step"),
                                start=parent["start"] + 10**7, end=parent["start"] + 9 * 10**7)]
    SERVER.send(family)
    for ago, n in ((15, 200), (5, 20)):
        stacks = {"main;crunch": 10**7 * (n * 6 // 10), "main;encoding/json.read": 10**7 * (n * 4 // 10)}
        name = "order-service" + ("%7Benv%3Dcanary%7D" if ago == 5 else "")
        assert SERVER.post(f"/ingest?name={name}&format=pprof", pprof(stacks, when=time.time_ns() - ago * 60 * 10**9)).status == 200


    for i in range(6):  # levels: six times 100 MB in use are 100 MB
        body = pprof({"main;hold": 10**8}, "inuse_space", "bytes", when=time.time_ns() - (i + 1) * 60 * 10**9)
        assert SERVER.post("/ingest?name=holder&format=pprof", body).status == 200


def tried(rule):
    """What it would have done just now."""
    return SERVER.json(f"/api/v1/alerts/test?rule={rule}&from=now-1s")


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what}: {SERVER.get('/api/v1/rules').text} {SERVER.log()}")


def alerts():
    return {a["labels"]["alertname"]: a for a in SERVER.json("/api/v1/alerts")["data"]["alerts"]}


def test_1_rules_find_what_was_planted_and_nothing_else():
    SERVER.start()
    plant()
    for rule, fires in (("slower", 1), ("same-version", 0), ("slower-than-before", 1), ("not-twice", 0), ("same-as-before", 0),
                        ("yesterday", 0), ("more-cpu", 1), ("more-running", 1), ("children", 1), ("children-more", 0), ("hot", 1), ("hotter", 0),
                        ("fewer", 1), ("not-fewer", 0), ("packaged", 1), ("packaged-more", 0), ("canary", 1), ("held", 1),
                        ("held-more", 0), ("gone", 1), ("there", 0), ("silent", 1), ("little", 1), ("enough", 0), ("unsampled", 1)):
        answer = tried(rule)
        assert len(answer["fired"]) == fires and answer["unknown"] == 0, (rule, answer)
    value = float(tried("slower-than-before")["fired"][0]["value"])
    assert 0.4 < value < 0.6, value
    assert tried("slower")["fired"][0]["labels"]["candidate"] == "v2"
    why = tried("fewer")["fired"][0]["why"]
    assert why == "order-service sent 20 samples within 10 m 00 s, and 200 in the same time before", why
    why = {rule: tried(rule)["fired"][0]["why"] for rule in ("gone", "silent")}
    assert why == {"gone": 'nothing of { name = "nothing" } | count_over_time() within 5 m 00 s',
                   "silent": "no samples of nothing in order-service within 1 h 00 m"}, why
    assert " of 200 spans of shop have samples" in tried("unsampled")["fired"][0]["why"], tried("unsampled")
    assert 0.07e9 < float(tried("children")["fired"][0]["value"]) < 0.09e9
    assert tried("hot")["fired"][0]["labels"]["subject"] == "crunch", tried("hot")


def test_2_alerts_say_why():
    fired = wait_for(lambda: all(n in alerts() for n in ("slower", "slower-than-before", "children", "hot", "canary", "packaged", "more-running",
                                                           "more-cpu", "held")) and alerts(), "they fire")
    assert "ms" in fired["slower"]["annotations"]["why"], fired["slower"]
    # Of a part: that part, whatever the whole duration did, and the function that grew.
    assert re.search(r"^v2 against v1: running \+[\d.]+ ms per span \(95 % interval .*\), mostly parse$",
                     fired["more-running"]["annotations"]["why"]), fired["more-running"]
    # Of a type of samples: that type, not how long spans take.
    assert re.search(r"^v2 against v1: \S*cpu\S* per span is 80 ms, and was 40 ms; parse has [\d.]+ ms more \(95 % interval .* to .*\)$",
                     fired["more-cpu"]["annotations"]["why"]), fired["more-cpu"]
    assert "crunch" in fired["hot"]["annotations"]["why"], fired["hot"]
    assert "child" in fired["children"]["annotations"]["why"], fired["children"]
    assert fired["slower"]["annotations"]["why"].startswith("v2 against v1: spans take "), fired["slower"]
    assert "the last 25 m 00 s against the same time before: spans take " in fired["slower-than-before"]["annotations"]["why"], fired
    assert "encoding/json$ has 880 ms of 2.2 s (40 %) in order-service" in fired["packaged"]["annotations"]["why"], fired["packaged"]
    assert "env=canary has 200 ms of 2.2 s (9.09 %)" in fired["canary"]["annotations"]["why"], fired["canary"]
    assert "hold has 100 MB of 100 MB (100 %) in holder" in fired["held"]["annotations"]["why"], fired["held"]
    quiet = {"same-version", "not-twice", "same-as-before", "yesterday", "children-more", "hotter"}
    assert not quiet & set(fired), fired
    known = {r["name"]: r for g in SERVER.json("/api/v1/rules")["data"]["groups"] for r in g["rules"]}
    assert all(r["health"] in ("ok", "unknown") for r in known.values()), known
    assert known["slower"]["query"] == 'duration per span of { name = "GET /a" }, by resource.service.version, significantly'
    assert known["children"]["query"] == 'child per span of { name = "GET /c" } above 50ms'


def test_2b_deploys_are_seen_and_told():
    seen = SERVER.json("/api/v1/deploys?from=now-2h")
    assert [(d["service"], d["version"], d["against"], d["posted"], d["seen"]) for d in seen["deploys"]] == [
        ("shop", "v2", "v1", False, True)] and seen["note"] == "", seen
    assert abs(int(seen["deploys"][0]["timeUnixNano"]) / 1e9 - (time.time() - 24 * 60)) < 150, seen
    told = SERVER.post("/api/v1/deploys", b'{"service": "shop", "version": "v2", "comment": "<b>", "url": "http://ci/7"}', "application/json")
    assert told.status == 200, told.text
    assert SERVER.post("/api/v1/deploys", b'{"service": "cart", "commit": "abc"}', "application/json").status == 200
    assert SERVER.post("/api/v1/deploys", b'{"service": "cart"}', "application/json").status == 400
    assert SERVER.post("/api/v1/deploys", b'{"service": "c", "version": "' + b"1" * 65536 + b'"}', "application/json").status == 413
    assert SERVER.post("/api/v1/deploys", b'{}', "text/plain").status == 415
    both = {d["service"]: d for d in SERVER.json("/api/v1/deploys?from=now-2h")["deploys"]}
    assert both["shop"]["posted"] and both["shop"]["seen"] and both["shop"]["against"] == "v1", both
    assert both["cart"]["version"] == "abc" and not both["cart"]["seen"], both
    text = SERVER.get("/api/v1/deploys?from=now-2h&service=shop&format=text").text
    assert "shop v2, before: v1 (posted and seen in spans)  <b>" in text and "cart" not in text, text
    def command(*words):
        return subprocess.run([PROGRAM, "deploys", *words, "--server", f"http://127.0.0.1:{SERVER.port}"], capture_output=True,
                              text=True, check=False)
    assert "shop v2, before: v1 (posted and seen in spans)" in command("--since", "2h").stdout, command("--since", "2h")
    assert "cart abc" not in command("list", "--service", "shop").stdout
    posted = command("post", "--service", "mail", "--version", "3", "--comment", 'a "b"', "--url", "http://ci/8")
    assert posted.returncode == 0 and posted.stdout.startswith('{"id":"'), posted
    assert 'mail 3 (posted, not seen in spans or profiles)  a "b"' in command().stdout, command()
    said = command("compare", "--service", "shop", "--version", "v2", "--since", "2h")
    assert said.returncode == 0 and "v2" in said.stdout and " ms" in said.stdout, said
    assert command("post", "--service", "mail").returncode == 2 and command("compare").returncode == 2 and command("what").returncode == 2
    for version, ago in (("1", 40), ("2", 20), ("2", 10)):  # no span names it
        body = pprof({"main;work": 10**7}, when=time.time_ns() - ago * 60 * 10**9)
        assert SERVER.post(f"/ingest?name=worker%7Bservice_version%3D{version}%7D&format=pprof", body).status == 200
    assert "worker 2, before: 1 (seen in profiles)" in command("--since", "2h").stdout, command("--since", "2h")
    SERVER.stop()
    SERVER.start()
    listed = {d["service"]: d for d in SERVER.json("/api/v1/deploys?from=now-2h")["deploys"]}
    assert set(listed) == {"shop", "cart", "mail", "worker"} and listed["worker"]["attribute"] == "", listed


def test_3_a_trial_of_a_day_is_bounded_and_says_so():
    text = subprocess.run([PROGRAM, "alerts", "--server", f"http://127.0.0.1:{SERVER.port}", "--test", "slower-than-before",
                           "--since", "1d"], capture_output=True, text=True, check=True).stdout
    assert "would have fired 1 time; evaluated at 49 times" in text, text


def test_4_versions_of_a_month_begin_once():
    """Two versions that run beside one another for days are one deploy, on the day of the first span."""
    day = 24 * 60 * MINUTE
    for days, versions in ((4, ["v1"]), (3, ["v1", "v2"]), (2, ["v2", "v1"]), (1, ["v2"])):
        for i, version in enumerate(versions):  # a resource a request
            SERVER.send([make_span(service="roll", name="GET /r", ago_ms=days * day - i * MINUTE, kind=2, resource={"service.version": version})])
    for _ in range(100):
        listed = SERVER.json("/api/v1/deploys?from=now-30d&service=roll")
        if listed["deploys"]:
            break
        time.sleep(0.1)
    assert [(d["version"], d["against"]) for d in listed["deploys"]] == [("v2", "v1")] and listed["note"] == "", listed
    assert abs(int(listed["deploys"][0]["timeUnixNano"]) / 1e9 - (time.time() - 3 * 86400)) < 30 * 86400 / 120 + 60, listed
    longer = SERVER.json("/api/v1/deploys?from=now-400d&service=roll")
    assert longer["deploys"][0]["version"] == "v2" and "the last 31 days" in longer["note"], longer


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
