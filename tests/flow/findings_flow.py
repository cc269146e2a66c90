#!/usr/bin/env python3
"""What stands out: of a span, a query's spans, a service, or between two; with thresholds that can be set."""
import json
import os
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, make_span, tap  # noqa: E402

server = Server().start()
MS = 1000000


def send(service, stacks, **more):
    answer = server.post("/api/v1/profile?service=" + service, pprof(stacks, **more), "application/octet-stream")
    assert answer.status == 200, answer.text


def tagged(path, span, ms):
    return {(path, (("span_id", span["span_id"].hex()),)): ms * MS}


def findings(**params):
    return server.json("/api/v1/findings?" + urllib.parse.urlencode(params))


def sentences(**params):
    return [f["sentence"] for f in findings(**params)["findings"]]


def wait_for(query, n):
    for _ in range(600):
        if len(server.json(f"/api/search?q={urllib.parse.quote(query)}&limit=1000").get("traces", [])) >= n:
            return
        time.sleep(0.1)
    raise AssertionError(f"{query}: {n} traces never came")


def run(*args):
    done = subprocess.run([PROGRAM, *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                          timeout=60)
    return done.returncode, done.stdout, done.stderr


def crowd(service, n, stacks_of):
    """n requests of a service, each with what stacks_of(i) says: {stack: ms}"""
    spans, stacks = [], {}
    for i in range(n):
        span = make_span(ms=200, ago_ms=2000, service=service, name="totals")
        spans.append(span)
        for path, ms in stacks_of(i).items():
            stacks.update(tagged(path, span, ms))
    server.send(spans)
    send(service, stacks)
    wait_for('{ resource.service.name = "%s" }' % service, n)


def test_parsing_in_every_request_is_said_of_service_and_query():
    crowd("parses", 20, lambda i: {"main;totals;loadDiscountRules;jsonParse;jsonValue": 20, "main;totals;sum": 80})
    want = ("JSON is parsed again and again: jsonParse takes 20 %% of the CPU time of %s, in most of 20 requests, "
            "in main > totals > loadDiscountRules > jsonParse: parse it once and keep the result")
    query = '{ resource.service.name = "parses" }'
    assert want % "parses" in sentences(service="parses"), sentences(service="parses")
    assert want % query in sentences(q=query), sentences(q=query)
    again = [f for f in findings(q=query)["findings"] if f["kind"] == "repeated_parse"][0]
    assert (again["value"], again["count"], again["unit"]) == (20 * MS, 20, "nanoseconds"), again


def test_parsing_in_few_requests_is_not():
    crowd("parses-seldom", 20, lambda i: {"main;totals;jsonParse" if i % 5 == 0 else "main;totals;sum": 100})
    found = sentences(service="parses-seldom")
    assert any("jsonParse takes 20 %" in s and "in JSON" in s for s in found) and not any("again and again" in s for s in found), found


def test_thresholds_come_from_the_question():
    crowd("bounds", 10, lambda i: {"main;totals;sum": 60, "main;totals;order": 40})
    assert [f["subject"] for f in findings(service="bounds")["findings"]] == ["sum", "order"]
    assert [f["subject"] for f in findings(service="bounds", leaf="50%")["findings"]] == ["sum"]
    answer = findings(service="bounds", leaf=61, repeated="61%")
    assert answer["findings"] == [] and answer["samples"] > 0, answer
    code, out, err = run("findings", "bounds", "--threshold", "leaf=50%")
    assert code == 0 and "sum takes 60 %" in out and "order" not in out, (code, out, err)
    code, out, err = run("findings", "bounds", "--threshold", "leaf=61%", "--threshold", "repeated=61%")
    assert code == 0 and "no findings in the CPU time of bounds" in out, (code, out, err)
    for bad in ("leaf", "size=3", "=3"):
        code, out, err = run("findings", "bounds", "--threshold", bad)
        assert code == 2 and "NAME=VALUE" in err, (bad, code, err)


def test_thresholds_come_from_the_configuration():
    other = Server(config="findings: {leaf: 70%, repeated: 70%, equal_spans: 3}").start()
    try:
        span = make_span(ms=100, ago_ms=1000, service="set", name="op")
        kids = [make_span(trace=span["trace_id"], ms=5, ago_ms=950, service="set", name="load", parent=span["span_id"])
                for _ in range(3)]
        other.send([span, *kids])
        other.post("/api/v1/profile?service=set", pprof({**tagged("main;a", span, 60), **tagged("main;b", span, 40)}),
                   "application/octet-stream")
        answer = other.json("/api/v1/findings?trace=" + span["trace_id"].hex())
        assert [f["kind"] for f in answer["findings"]] == ["repeated_spans"], answer
        assert "op calls load 3 times" in answer["findings"][0]["sentence"], answer
    finally:
        other.stop()


def test_a_span_is_found_by_its_id_and_its_children_are_counted():
    span = make_span(ms=100, ago_ms=1000, service="loops", name="price")
    kids = [make_span(trace=span["trace_id"], ms=5, ago_ms=950, service="loops", name="load", parent=span["span_id"])
            for _ in range(12)]
    server.send([span, *kids])
    send("loops", tagged("main;a", span, 60))
    wait_for('{ resource.service.name = "loops" }', 1)
    want = "price calls load 12 times, 60 % of its duration, in price > load: cache or batch them"
    for ask in ({"span": span["span_id"].hex()}, {"trace": span["trace_id"].hex()}):
        assert want in sentences(**ask), sentences(**ask)
    code, out, err = run("findings", "--span", span["span_id"].hex())
    assert max(map(len, out.splitlines())) <= 78, out
    out = " ".join(out.split())
    assert code == 0 and want in out and "a takes 100 %" in out, (code, out, err)
    for ask in ({"service": "loops"}, {"q": '{ name = "price" && resource.service.name = "loops" }'}):
        found = [f for f in findings(**ask)["findings"] if f["kind"] == "repeated_spans"]
        assert len(found) == 1 and found[0]["count"] == 12, (ask, found)
        assert found[0]["traceId"] == span["trace_id"].hex() and found[0]["spanId"] == span["span_id"].hex(), found
        assert "price calls load up to 12 times, 60 % of its duration, in 1 of 1 requests" in found[0]["sentence"], found
    assert not any("calls load" in s for s in sentences(span=kids[0]["span_id"].hex()))


def test_two_queries_say_what_one_has_more_of():
    crowd("before", 20, lambda i: {"main;totals;evaluate": 20 + i % 3, "main;totals;sum": 80})
    crowd("after", 20, lambda i: {"main;totals;evaluate": 70 + i % 3, "main;totals;sum": 80})
    left, right = '{ resource.service.name = "before" }', '{ resource.service.name = "after" }'
    found = findings(left=left, right=right)["findings"]
    assert len(found) == 1, found
    assert found[0]["sentence"] == (f"evaluate adds 33 % to the CPU time of {right} against {left}, in "
                                    "main > totals > evaluate: optimise that function"), found
    assert found[0]["value"] == 50 * MS, found
    assert findings(left=right, right=left)["findings"] == []
    code, out, err = run("findings", "--left", left, "--right", right)
    out = " ".join(out.split())
    assert code == 0 and "evaluate adds 33 %" in out and "(50 ms)" in out, (code, out, err)
    same = findings(left=left, right=left)
    assert same["findings"] == [] and same["reason"].startswith("no function of this type differs significantly; to see 30 % "), same


def test_two_selectors_say_what_one_has_more_of():
    for commit, ms in (("abc123", 20), ("def456", 70)):
        answer = server.post(f"/api/v1/profile?service=labelled&label=commit={commit}",
                             pprof({"main;evaluate": ms * MS, "main;sum": 80 * MS}), "application/octet-stream")
        assert answer.status == 200, answer.text
    found = findings(baseline="labelled{commit=abc123}", comparison="labelled{commit=def456}")["findings"]
    assert [f["subject"] for f in found] == ["evaluate"], found
    assert abs(found[0]["share"] - (70 / 150 - 20 / 100)) < 0.001, found
    code, out, err = run("findings", "--baseline", "labelled{commit=abc123}", "--comparison", "labelled{commit=def456}")
    out = " ".join(out.split())
    assert code == 0 and "evaluate adds 27 %" in out, (code, out, err)
    alone = findings(baseline="labelled{commit=none}", comparison="labelled{commit=def456}")
    assert alone["findings"] == [] and "nothing to compare with" in alone["reason"], alone


def test_each_service_has_what_it_has_alone():
    crowd("each", 6, lambda i: {"main;work": 90, "main;rest": 10})
    answer = findings(each="service")
    mine = next(s for s in answer["services"] if s["service"] == "each")
    assert mine["findings"] == findings(service="each")["findings"] != [], mine
    assert "error" not in mine and answer["left"] == 0, answer
    for wrong, word in (("each=span", "each expects"), ("each=service&service=each", "each=service"), ("each=service&each=service", "each")):
        refused = server.get("/api/v1/findings?" + wrong)
        assert refused.status == 400 and word in refused.text, refused.text


def test_memory_and_goroutines_that_grow_are_said_with_their_slope():
    """Twelve profiles in ten minutes; the steady service holds as much at its end as at its beginning."""
    now, mb = time.time_ns(), 1 << 20
    for i in range(12):
        when = now - (600 - i * 50) * 10**9
        wobble = (i * 7) % 3
        send("leaky", {"main;serve;remember": (10 + 5 * i + wobble) * mb, "main;load": 20 * mb}, sample_type="inuse_space", unit="bytes", when=when, seconds=1, file="leaky.go")
        send("leaky", {"main;spawn;wait": 10 + 3 * i, "main;other": 5}, sample_type="goroutine", unit="count", when=when, seconds=1)
        send("steady", {"main;serve;remember": (60 + 5 * wobble) * mb}, sample_type="inuse_space", unit="bytes", when=when, seconds=1)
    send("leaky", {"main;work": 900 * MS})
    found = {f["kind"]: f for f in findings(service="leaky")["findings"]}
    memory, threads = found["memory_growth"], found["thread_growth"]
    assert memory["subject"] == "remember" and memory["file"] == "leaky.go", memory
    assert memory["perHourLow"] < 5 * 72 * mb < memory["perHourHigh"] and memory["perHourLow"] > 0, memory  # 5 MiB in 50 s
    assert "per hour (" in memory["sentence"] and memory["sentence"].endswith("find what keeps it, and let it go"), memory
    assert threads["subject"] == "wait" and threads["perHourLow"] <= 3 * 72 <= threads["perHourHigh"], threads
    assert not [f for f in findings(service="steady")["findings"] if f["kind"].endswith("_growth")]


def test_threads_that_are_stuck_on_one_lock():
    """Six profiles: eight goroutines wait in reserve, one of which writes while it holds the lock; workers without work are no news."""
    now, lock = time.time_ns(), "sync.(*Mutex).Lock;sync.(*Mutex).lockSlow;sync.runtime_SemacquireMutex;runtime.gopark"
    for i in range(6):
        when = now - (300 - i * 15) * 10**9
        send("stuck", {f"main;handle;reserve;{lock}": 8 + i % 2, "main;handle;reserve;os.(*File).Write": 1, "main;serve": 4}, sample_type="goroutine",
             unit="count", when=when, seconds=1, file="stuck.go")
        send("busy", {f"main;handle;reserve;{lock}": 8 * (i % 2), "main;serve": 4}, sample_type="goroutine", unit="count", when=when, seconds=1)
        send("idle", {"main;worker;sync.(*Cond).Wait;runtime.gopark": 20, "main;take;runtime.chanrecv1;runtime.gopark": 9}, sample_type="goroutine",
             unit="count", when=when, seconds=1)
    found = findings(service="stuck")["findings"]
    assert found[0]["kind"] == "stuck_on_lock" and found[0]["subject"] == "reserve" and found[0]["count"] == 8, found
    assert found[0]["sentence"] == ("8 to 9 goroutines of a process of stuck wait for a lock of reserve in each of its last 5 profiles; 1 in that "
                                    "function does not: perhaps held in os.(*File).Write, in main > handle > reserve: find what holds it"), found[0]
    for service in ("busy", "idle"):
        assert "stuck_on_lock" not in [f["kind"] for f in findings(service=service)["findings"]], service


def test_who_held_the_lock_is_said_where_a_profile_knows():
    """Go's mutex profile has the stacks of those who let go; a profile of those who wait names nobody."""
    span = make_span(ms=400, ago_ms=30000, service="held", name="reserve")
    wait = ("main;reserve;sync.(*Mutex).Lock;sync.runtime_SemacquireMutex", (("span_id", span["span_id"].hex()), ("trace_id", span["trace_id"].hex())))
    server.send([span])
    send("held", {wait: 380 * MS}, sample_type="wall", when=span["start"], seconds=1, file="held.go")
    path = f"/api/v1/explain?trace={span['trace_id'].hex()}&span={span['span_id'].hex()}"

    def lock():
        return next(p for p in server.json(path)["parts"] if p["part"] == "lock")
    send("held", {"main;reserve;sync.(*Mutex).Lock": 380 * MS}, sample_type="delay", when=span["start"], seconds=1)
    assert lock()["functions"][0]["function"] == "reserve" and lock()["reason"] == "", lock()
    send("held", {"main;flush;sync.(*Mutex).Unlock": 300 * MS, "main;other;sync.(*Mutex).Unlock": 100 * MS}, sample_type="delay",
         when=span["start"], seconds=1, file="held.go")
    assert lock()["reason"] == "held in flush (held.go:7): 75 % of the lock contention of held then", lock()
    assert "waiting for a lock in reserve, held in flush (held.go:7): 75 %" in server.json(path)["sentence"], server.json(path)["sentence"]
    path = "/api/v1/explain?q=%7B%20resource.service.name%20%3D%20%22held%22%20%7D"  # of a set of spans too
    assert lock()["reason"] == "held in flush (held.go:7): 75 % of the lock contention of held then", lock()
    assert "held in flush (held.go:7): 75 %" in server.json(path)["sentence"], server.json(path)["sentence"]


def test_a_service_without_profiles_has_its_repeated_calls():
    """They are in its spans: twelve equal calls of a request, six requests"""
    spans, now = [], time.time_ns() - 60 * 10**9
    for n in range(6):
        trace, root, start = os.urandom(16), os.urandom(8), now + n * 10**9
        spans.append({"trace_id": trace, "span_id": root, "name": "GET /", "service": "bare", "kind": 2, "start": start, "end": start + 10**8})
        spans += [{"trace_id": trace, "span_id": os.urandom(8), "parent": root, "name": "SELECT x", "service": "bare", "kind": 3,
                   "start": start + k * 6000000, "end": start + k * 6000000 + 5000000} for k in range(12)]
    server.send(spans)
    wait_for('{ resource.service.name = "bare" }', 6)
    answer = findings(service="bare")
    assert [f["kind"] for f in answer["findings"]] == ["repeated_spans"] and "no profiles from bare" in answer["reason"], answer


def test_nothing_to_look_at_is_said():
    assert findings(q='{ name = "nobody" }')["reason"] == "no spans match the query in this time"
    assert "no profiles from nobody" in findings(service="nobody")["reason"]
    code, out, err = run("findings", "nobody")
    assert code == 0 and "no profiles from nobody" in out, (code, out, err)
    answer = findings(left='{ name = "nobody" }', right='{ name = "nobody else" }')
    assert "no spans" in answer["reason"], answer
    code, out, err = run("findings", "--q", "{}", "--span", "1")
    assert code == 2 and "name one of" in err, (code, err)
    assert json.loads(run("findings", "nobody", "--output", "json")[1])["findings"] == []


tap.run(sys.modules[__name__])
