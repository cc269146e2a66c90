#!/usr/bin/env python3
"""What explain says first about traces that are unlike a plain request: children that outlive their parent, spans without length,
children side by side, services without profiles, very many children. A wrong or too certain first sentence is a failure."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import Server, tap  # noqa: E402

server = Server().start()
MS = 1000000
BEGAN = time.time_ns() - 60 * 10**9


class Trace:
    """Spans by name, times in ms after BEGAN."""
    count = 0

    def __init__(self):
        Trace.count += 1
        self.service, self.id, self.spans = f"service{Trace.count}", os.urandom(16), []

    def span(self, name, begin, end, parent=None, of=None, kind=1, **more):
        self.spans.append(dict({"trace_id": self.id, "span_id": os.urandom(8), "parent": parent and parent["span_id"], "name": name,
                                "service": of or self.service, "kind": kind, "start": BEGAN + int(begin * MS), "end": BEGAN + int(end * MS)}, **more))
        return self.spans[-1]

    def send(self, *samples, of=None, **more):
        """samples: (path, span, ms)"""
        for at in range(0, len(self.spans), 500):
            server.send(self.spans[at:at + 500])
        self.spans = []
        if samples:
            body = pprof({(path, (("span_id", span["span_id"].hex()),)): ms * MS for path, span, ms in samples}, when=BEGAN - 10**9, seconds=30, **more)
            answer = server.post("/api/v1/profile?service=" + (of or self.service), body, "application/octet-stream")
            assert answer.status == 200, answer.text

    def why(self, span=None):
        answer = server.json(f"/api/v1/explain?trace={self.id.hex()}" + (f"&span={span['span_id'].hex()}" if span else ""))
        assert sum(part["ns"] for part in answer["parts"]) == answer["duration_ns"], answer
        return answer


def amounts(answer):
    return {part["part"]: part["ns"] // MS for part in answer["parts"]}


def test_a_child_that_outlives_its_parent_is_not_the_parents_own_work():
    """The trace said "50 ms running, of that 50 ms (23.7 ms to 50 ms) submit" of one sample: the time beside the child was taken for
    the parent's, and its one sample stretched over it."""
    t = Trace()
    submit = t.span("POST /submit", 0, 50, kind=2)
    job = t.span("background job", 10, 5010, submit)
    t.send(("main;submit", submit, 10), ("main;job;crunch", job, 3000))
    for answer in (t.why(), t.why(submit)):
        assert amounts(answer) == {"child": 40, "on_cpu": 10}, answer
        said = answer["sentence"]
        assert said.startswith("50 ms: 40 ms in child spans: background job (of its 5 s: 3 s running, of that 3 s crunch in job; 2 s"), said
        assert said.endswith("1 sample running (too few to say how long)"), said
    assert "1 span ran on after the root span had ended" in t.why()["note"] and t.why(submit)["note"] == "", t.why()


def test_a_call_given_up_by_its_caller_names_what_the_callee_did():
    """The trace said "1 s unknown (no sample of caller could be assigned to it)", the call "slow-back: serve (7.99 s unknown)"."""
    t = Trace()
    back = t.service + "-back"
    root = t.span("GET /", 0, 1000, kind=2, error=True)
    call = t.span("call", 0, 1000, root, kind=3, error=True)
    serve = t.span("serve", 10, 8000, call, of=back, kind=2)
    t.send(("main;serve;crunch", serve, 7500), of=back)
    for answer in (t.why(), t.why(call)):
        assert amounts(answer) == {"remote": 990, "unknown": 10}, answer
        assert f"990 ms waiting for other services: {back}: serve (of its 7.99 s: 7.5 s running, of that 7.5 s crunch" in answer["sentence"], answer
    assert t.why(root)["sentence"] == "1 s: 1 s in child spans: call (990 ms waiting for other services)", t.why(root)


def test_a_service_without_profiles_still_knows_its_callees():
    """A span of a service without profiles said "80 ms unknown" of a callee whose samples were there."""
    t = Trace()
    root = t.span("root", 0, 100, kind=2)
    call = t.span("call", 10, 90, root, kind=3)
    serve = t.span("serve", 11, 89, call, of=t.service + "-callee", kind=2)
    t.send(("main;work", serve, 70), of=t.service + "-callee")
    said = t.why(root)["sentence"]
    assert said.startswith("100 ms: 80 ms in child spans: call (70 ms running, of that 70 ms ") and "work in main; 10 ms unknown" in said, said
    nothing = f"unknown (no profiles of {t.service} were received for its time)"
    assert said.endswith("20 ms " + nothing) and nothing in t.why()["sentence"], (said, t.why()["sentence"])


def test_children_side_by_side_count_by_what_the_parent_waits_for():
    """60 ms beside 90 ms: the shorter one was said to take 40 % of the time, and costs the parent 10 ms."""
    t = Trace()
    fan = t.span("fan", 0, 100, kind=2)
    t.span("short", 0, 60, fan)
    t.span("long", 10, 100, fan)
    t.send()
    answer = t.why(fan)
    assert [(c["name"], c["ns"] // MS) for c in answer["parts"][0]["children"]] == [("long", 90), ("short", 10)], answer
    assert "90 ms long" in answer["sentence"], answer["sentence"]
    t = Trace()
    fan = t.span("fan", 0, 100, kind=2)
    for _ in range(50):
        t.span("part", 0, 99, fan)
    t.send()
    child = t.why(fan)["parts"][0]["children"][0]
    assert (child["name"], child["count"], child["ns"]) == ("part", 50, 99 * MS), child


def test_five_thousand_children():
    t = Trace()
    batch = t.span("batch", 0, 5000, kind=2)
    for number in range(5000):
        t.span("row", number, number + .9, batch)
    t.send()
    assert t.why(batch)["sentence"].startswith("5 s: 4.5 s in child spans: 5000 x row"), t.why(batch)
    t = Trace()
    batch = t.span("batch", 0, 5000, kind=2)
    for number in range(5000):
        t.span(f"row {number}", number, number + .9, batch)
    t.send()
    answer = t.why(batch)
    assert answer["sentence"].startswith("5 s: 4.5 s in child spans (of many names, each with a small share); 500 ms unknown"), answer
    assert answer["parts"][0]["children"] == [] and answer["parts"][0]["more_children"] > 100, answer["parts"][0]


def test_what_is_unknown_says_which_profiles_are_missing():
    for kind, unit, missing in (("alloc_space", "bytes", "no profiles of CPU or waiting time of {} were received for its time"),
                                ("cpu", "nanoseconds", "waits of {} are not profiled"), ("wall", "nanoseconds", "no sample covers it")):
        t = Trace()
        work = t.span("work", 0, 1000, kind=2)
        t.send(("main;work;compute", work, 300), sample_type=kind, unit=unit)
        unknown = [part for part in t.why(work)["parts"] if part["part"] == "unknown"][0]
        assert unknown["reason"] == missing.format(t.service), (kind, unknown)


def test_spans_without_length_and_few_samples_claim_nothing():
    t = Trace()
    parent = t.span("parent", 0, 300, kind=2)
    points = [t.span("point", 50, 50, parent), t.span("turned", 60, 40, parent)]
    t.send(("main;work", parent, 10))
    for point in points:
        assert t.why(point)["sentence"] == "0 ns: no time to explain", t.why(point)
    answer = t.why(parent)
    assert answer["sentence"].startswith("300 ms: 290 ms unknown"), answer
    running = answer["parts"][1]
    assert running["few_samples"] == 1 and running["functions"] == [] and running["low_ns"] < 2 * MS and running["high_ns"] > 50 * MS, running


def test_a_clock_ahead_changes_nothing():
    t = Trace()
    back = t.service + "-ahead"
    root = t.span("GET /", 0, 100, kind=2)
    call = t.span("call", 5, 95, root, kind=3)
    serve = t.span("serve", 3005, 3085, call, of=back, kind=2)
    scan = t.span("db", 3010, 3080, serve, of=back)
    t.send(("main;serve;q", serve, 10), ("main;db;scan", scan, 60), of=back)
    assert t.why()["sentence"].startswith("100 ms: 70 ms running, of that 60 ms ") and "scan in db" in t.why()["sentence"], t.why()
    assert t.why()["note"] == "" and "90 ms in child spans: call" in t.why(root)["sentence"], t.why(root)


tap.run(sys.modules[__name__])
