#!/usr/bin/env python3
"""What explain says first about traces that are unlike a plain request: children that outlive their parent, spans without length,
children side by side, services without profiles, very many children; and about sets that differ by more than one cause: other
requests, more calls. A wrong or too certain first sentence is a failure."""
import os
import re
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import Server, tap  # noqa: E402

server = Server().start()
MS = 1000000
BEGAN = time.time_ns() - 60 * 10**9


class Trace:
    """Spans by name, times in ms after BEGAN."""
    count = 0

    def __init__(self, service=None, at=0):
        Trace.count += 1
        self.service, self.id, self.spans, self.at = service or f"service{Trace.count}", os.urandom(16), [], at

    def span(self, name, begin, end, parent=None, of=None, kind=1, **more):
        begin, end = begin + self.at, end + self.at
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


def test_the_longest_of_several_is_said_by_its_own_duration_too():
    """"50 ms 1 of 50 x part (100 ms unknown)" of children side by side: 100 of 50 ms."""
    t = Trace()
    root = t.span("fan out", 0, 100, kind=2)
    for i in range(50):
        t.span("part", 50 if i == 7 else 0, 5050 if i == 7 else 1, root)
    t.send()
    said = t.why(root)["sentence"]
    assert "1 of 50 x part (of its 5 s: 5 s unknown" in said, said


def test_parts_of_centuries_still_add_up():
    """From 104 days on a double is no longer exact to the nanosecond: parts differed by two from the duration."""
    t = Trace()
    t.span("ages", 0, 1, kind=2)
    t.spans[0].update(start=1, end=2**63 - 2)
    t.span("short", 0, 1, t.spans[0])
    t.send()
    assert t.why()["duration_ns"] == 2**63 - 3
    for more in ("", "&split=p95"):
        answer = server.json("/api/v1/explain?" + urllib.parse.urlencode({"q": '{ resource.service.name = "%s" }' % t.service}) + more)
        assert sum(part["ns"] for part in answer["parts"]) == answer["duration_ns"], answer


def test_a_trace_beyond_the_memory_of_a_query_says_so():
    """An explanation of the spans that were read did not say that there are more, and "the query does not fit its memory" not what helps."""
    with Server("limits: {query_memory: 1MiB}") as small:
        trace, ids = os.urandom(16), [os.urandom(8) for _ in range(4000)]
        spans = [{"trace_id": trace, "span_id": own, "parent": ids[(i - 1) // 7] if i else None, "name": f"step {i % 500}", "service": f"s{i % 40}",
                  "kind": 1, "start": BEGAN + i * MS // 10, "end": BEGAN + (i + 50 if i else 4000) * MS // 10} for i, own in enumerate(ids)]
        for at in range(0, len(spans), 500):
            small.send(spans[at:at + 500])
        answer = small.json(f"/api/v1/explain?trace={trace.hex()}")
        assert answer["partial"] and answer["sentence"].endswith("(part of the trace was not read)"), answer
        stacks = {(f"main;f{i};g{i * 7}", (("span_id", ids[i].hex()),)): 10 * MS for i in range(4000)}
        for i in range(4):
            body = pprof(stacks, when=BEGAN, seconds=30)
            assert small.post(f"/api/v1/profile?service=s{i}", body, "application/octet-stream").status == 200
        answer = small.get(f"/api/v1/explain?trace={trace.hex()}")
        assert answer.status == 413 and "query: needs more than 1 MiB of memory" in answer.text and "raise limits.query_memory" in answer.text, answer.text[:300]


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


def deploy(service, until=120):
    """The answer about v2 of a service; traces stand in the two minutes after BEGAN."""
    asked = {"service": service, "version": "v2", "from": (BEGAN - 10**9 * 60) // MS, "until": (BEGAN + until * 10**9) // MS}
    answer = server.json("/api/v1/explain?" + urllib.parse.urlencode(asked))
    assert sum(part["ns"] for part in answer["parts"]) == answer["duration_ns"], answer
    return answer


def send_all(traces):
    """A request to the server has one resource for each service."""
    for version in ("v1", "v2"):
        spans = [span for trace in traces for span in trace.spans if span["resource"]["service.version"] == version]
        for at in range(0, len(spans), 1000):
            server.send(spans[at:at + 1000])


def test_one_of_many_that_takes_the_time_is_said_to_be_one():
    t = Trace()
    fan = t.span("fan", 0, 310, kind=2)
    shards = [t.span("shard", 2, 307 if n == 7 else 12, fan) for n in range(20)]
    t.send(("main;merge", fan, 10), ("main;shard;scan", shards[7], 280))
    assert "305 ms in child spans: 1 of 20 x shard (280 ms running" in t.why(fan)["sentence"], t.why(fan)


def test_a_call_that_is_longer_than_what_it_called_says_so():
    """It said "490 ms unknown (samples of caller name only span ..., not its child spans)"."""
    t = Trace()
    root = t.span("GET /", 0, 520, kind=2)
    call = t.span("call", 10, 510, root, kind=3)
    t.span("serve", 250, 260, call, of=t.service + "-far", kind=2)
    t.send(("main;x", root, 10))
    reason = f"unknown (the call lasted longer than the span of {t.service}-far: network, or a queue there)"
    assert reason in t.why(call)["sentence"] and reason in t.why()["sentence"], (t.why(call), t.why())


def test_what_is_unknown_names_the_service_that_has_it():
    """It named the root's service when no span had a fiftieth of the time."""
    t = Trace()
    root = t.span("batch", 0, 1000, kind=2)
    for number in range(100):
        t.span(f"step {number}", number * 10, number * 10 + 10, root, of=t.service + "-steps")
    t.send()
    assert f"unknown (no profiles of {t.service}-steps were received for its time)" in t.why()["sentence"], t.why()


def test_a_very_long_span_has_its_reason():
    t = Trace()
    span = t.span("huge", 0, 10**12, kind=2)
    t.send()
    assert f"unknown (no profiles of {t.service} were received for its time)" in t.why(span)["sentence"], t.why(span)


def test_other_requests_are_not_taken_for_slower_code():
    """v2 serves more of what is dear; each request is as before. It said "90 ms running, of that 95 ms heavy"."""
    traces = []
    for version, share in (("v1", 1), ("v2", 6)):
        for n in range(100):
            t = Trace("mixed", at=n * 100 + (0 if version == "v1" else 30e3))
            is_heavy = n % 10 < share
            t.span("GET /heavy" if is_heavy else "GET /light", 0, (200 if is_heavy else 20) + n % 7, kind=2, resource={"service.version": version})
            traces.append(t)
    send_all(traces)
    answer = deploy("mixed")
    assert re.search(r"\b(89|90)(\.\d)? ms of it because GET /heavy is 60 % of these spans, and 10 % of the others", answer["sentence"]), answer["sentence"]
    assert answer["mix"]["name"] == "GET /heavy" and abs(answer["mix"]["ns"] - answer["duration_ns"]) < MS, answer["mix"]


def test_more_calls_are_told_from_slower_calls():
    """Each request retries twice; it said only that there is more time in the calls."""
    traces = []
    for version, calls in (("v1", 1), ("v2", 3)):
        for n in range(40):
            t = Trace("retries", at=n * 300 + (0 if version == "v1" else 30e3))
            root = t.span("POST /pay", 0, 20 + calls * 50 + n % 5, kind=2, resource={"service.version": version})
            for call in range(calls):
                t.span("POST bank", 10 + call * 50, 55 + call * 50, root, kind=3, resource={"service.version": version})
            traces.append(t)
    send_all(traces)
    answer = deploy("retries")
    assert " ms in child spans: POST bank (3 per request instead of 1)" in answer["sentence"] and answer["mix"] is None, answer["sentence"]
    for query in ('{ resource.service.name = "retries" && kind = server }', '{resource.service.name=`retries` && (kind = server || name = "}")}'):
        split = {"q": query, "split": "p50", "from": (BEGAN - 10**9 * 60) // MS, "until": (BEGAN + 10**9 * 120) // MS}
        sentence = server.json("/api/v1/explain?" + urllib.parse.urlencode(split))["sentence"]
        assert "POST bank (3 per request instead of 1)" in sentence, sentence


def test_more_requests_than_are_compared_do_not_multiply_their_children():
    """Of 1,500 requests 1,000 are compared; their children took one and a half times the difference."""
    traces = []
    for version, length in (("v1", 10), ("v2", 40)):
        for n in range(1500):
            t = Trace("bulk", at=n * 15 + (0 if version == "v1" else 30e3))
            root = t.span("GET /", 0, 10 + length + n % 3, kind=2, resource={"service.version": version})
            t.span("step", 2, 2 + length, root, resource={"service.version": version})
            traces.append(t)
    send_all(traces)
    answer = deploy("bulk")
    part = answer["parts"][0]
    assert part["part"] == "child" and 28 * MS < part["children"][0]["ns"] <= part["ns"], part
    assert answer["note"].startswith("v1: a sample: 1000 of "), answer["note"]


def test_nothing_to_compare_is_said_once():
    t = Trace("lonely")
    t.span("one", 0, 100, kind=2)
    t.send()
    query = urllib.parse.urlencode({"q": '{ resource.service.name = "lonely" }', "split": "p95"})
    answer = server.json("/api/v1/explain?" + query)
    assert answer["sentence"] == answer["reason"] == 'no spans of "the rest" in this time: nothing to compare', answer
    assert server.get("/api/v1/explain?format=text&" + query).text.count("nothing to compare") == 1


tap.run(sys.modules[__name__])
