#!/usr/bin/env python3
"""From a span to its code: flame graph, ledger, the whole trace, findings, over HTTP."""
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, make_span, tap  # noqa: E402

server = Server().start()
MS = 1000000


def request(service):
    """gateway 100 ms > the service 80 ms > its child 40 ms"""
    now = time.time_ns() - 200 * MS
    trace = b"\xb0" + os.urandom(15)  # Tempo's answers leave out leading zeros

    def span(name, start, end, parent=None, of=service):
        return {"trace_id": trace, "span_id": os.urandom(8), "parent": parent, "name": name, "service": of,
                "start": now + start * MS, "end": now + end * MS}
    root = span("GET /cart", 0, 100, of="gateway")
    own = span("order.calculate_totals", 10, 90, root["span_id"])
    child = span("pay", 40, 80, own["span_id"])
    server.send([root, own, child])
    return trace.hex(), own["span_id"].hex(), child["span_id"].hex()


def send(service, stacks, **more):
    answer = server.post("/api/v1/profile?service=" + service, pprof(stacks, **more), "application/octet-stream")
    assert answer.status == 200, answer.text


def tagged(stacks, span):
    return {(path, (("span_id", span),)): value for path, value in stacks.items()}


def total(profile):
    return sum(node[2] for node in profile["nodes"])


def test_a_tenant_without_data_is_told_so():
    everything = urllib.parse.quote("{}")
    with Server("tenancy:\n  enabled: true\n") as s:
        for path in (f"cohort?q={everything}", f"compare?q={everything}", f"compare?left={everything}&right={everything}",
                     "frames/spans?function=f", "findings?service=s", "coverage?service=s", "spans/-/1/profile",
                     "spans/1/1/ledger"):
            answer = s.get("/api/v1/" + path, headers={"X-Scope-OrgID": "nobody"})
            assert answer.status == 404 and "nothing was sent" in answer.text, (path, answer.status, answer.text)
        assert s.get("/api/v1/cohort", headers={"X-Scope-OrgID": "nobody"}).status == 400


def test_samples_that_name_their_span_are_its_own():
    trace, own, child = request("exact")
    send("exact", {**tagged({"main;rules;regex.match": 30 * MS, "main;sum": 10 * MS}, own),
                   **tagged({"main;sign": 20 * MS}, child)})
    answer = server.json(f"/api/v1/spans/{trace}/{own}/profile")
    assert answer["name"] == "order.calculate_totals" and answer["service"] == "exact"
    assert answer["grades"]["exact"] == {"samples": 2, "value": 40 * MS}, answer["grades"]
    assert answer["grades"]["subtree"] == {"samples": 1, "value": 20 * MS}, answer["grades"]
    assert total(answer["profile"]) == 60 * MS
    assert answer["top"]["function"] == "regex.match" and answer["trust"] == "thin", answer["top"]
    assert answer["looks"] == 6 and "6 samples are few" in answer["reason"] and "--q" in answer["reason"], answer["reason"]
    assert [s["function"] for s in answer["shares"]] == ["regex.match", "sign", "sum"], answer["shares"]
    assert all(0 <= s["shareLow"] < s["share"] < s["shareHigh"] <= 1 for s in answer["shares"]), answer["shares"]
    assert answer["threads"] == 1
    assert answer["mostSamples"] == 8, answer["mostSamples"]  # 80 ms at 100 Hz
    only = server.json(f"/api/v1/spans/{trace}/{own}/profile?self=true&type=cpu")
    assert total(only["profile"]) == 40 * MS and only["isSelf"]


def test_what_may_be_expected_grows_with_the_threads():
    trace, own, _ = request("threads")
    send("threads", {("main;work", (("span_id", own), ("thread_id", str(7 + i % 2)))): 400 * MS for i in range(2)})
    answer = server.json(f"/api/v1/spans/{trace}/{own}/profile")
    assert answer["threads"] == 2 and answer["mostSamples"] == 16, answer  # 80 ms at 100 Hz, twice
    assert answer["looks"] == 80 and answer["trust"] == "fair" and "few" not in answer["reason"], answer
    text = server.get(f"/api/v1/spans/{trace}/{own}/profile?format=text").text
    assert "160 ms in 80 samples on 2 threads" in text and "cut to fit" in text and "work by itself: 100 %, 95 % interval 95 to 100 %" in text, text


def test_every_type_has_its_unit_and_none_is_mixed():
    trace, own, _ = request("types")
    types = {"cpu": "nanoseconds", "wall": "nanoseconds", "alloc_space": "bytes", "alloc_objects": "count", "inuse_space": "bytes",
             "inuse_objects": "count", "goroutine": "count", "mutex": "nanoseconds", "block": "nanoseconds",
             "off_cpu": "nanoseconds", "gpu_cycles": "cycles"}
    for i, (kind, unit) in enumerate(types.items()):
        send("types", tagged({f"main;in_{kind}": 1000 + i}, own), sample_type=kind, unit=unit)
    for i, (kind, unit) in enumerate(types.items()):
        answer = server.json(f"/api/v1/spans/{trace}/{own}/profile?type={kind}")
        assert answer["profile"]["unit"] == unit and f":{kind}:{unit}:" in answer["profile"]["type"], (kind, answer["profile"])
        # One look of a profiler of time says nothing of where the time went; what was measured does.
        top = "" if answer["isFew"] else f"in_{kind}"
        assert answer["isFew"] == (kind in ("cpu", "wall")), (kind, answer)
        assert total(answer["profile"]) == 1000 + i and answer["top"]["function"] == top, (kind, answer["profile"])
        assert len(answer["types"]) == len(types), answer["types"]
    text = server.get(f"/api/v1/spans/{trace}/{own}/profile?type=alloc_space&format=text").text
    assert "1 KB" in text and " s in" not in text, text
    answer = server.get(f"/api/v1/spans/{trace}/{own}/profile?type=exceptions")
    assert answer.status == 404 and "gpu_cycles" in answer.text, answer.text


def test_without_a_type_a_span_shows_what_it_has():
    """One that waited has no sample of CPU time: the default is wall time then, and says so."""
    trace, own, child = request("waiting")
    send("waiting", tagged({"main;compute": 40 * MS}, child))
    send("waiting", tagged({"main;await": 70 * MS}, own), sample_type="wall")
    send("waiting", tagged({"main;alloc": 4096}, own), sample_type="alloc_space", unit="bytes")
    answer = server.json(f"/api/v1/spans/{trace}/{own}/profile?self=true")
    assert ":wall:nanoseconds:" in answer["profile"]["type"] and answer["profile"]["unit"] == "nanoseconds", answer
    assert "no sample of cpu fell into this span; this is wall" in answer["reason"], answer["reason"]
    assert 0 < total(answer["profile"]) <= 70 * MS, answer
    assert ":cpu:" in server.json(f"/api/v1/spans/{trace}/{child}/profile?self=true")["profile"]["type"]
    asked = server.json(f"/api/v1/spans/{trace}/{own}/profile?self=true&type=cpu")
    assert asked["samples"] == 0 and ":cpu:" in asked["profile"]["type"], asked
    code, out, _ = run("flame", "--span", own, "--self")
    assert code == 0 and "await" in out and "this is wall" in out, out
    # the same as a table, of the span and of the trace
    code, out, _ = run("top", "--span", own, "--trace", trace, "--type", "wall")
    assert code == 0 and "await" in out and "compute" not in out, out
    code, out, _ = run("top", "--trace", trace)
    assert code == 0 and "compute" in out, out
    for wrong, words in ((("--span", "zz"), "zz"), (("--trace", "0" * 31 + "1"), "no such trace"), (("--span", own, "--q", "{}"), "remove --span"),
                         (("x.pprof", "--span", own), "name one profile")):
        code, out, err = run("top", *wrong)
        assert code != 0 and words in err, (wrong, err)


def test_a_local_roots_samples_are_shared_by_self_time():
    trace, own, child = request("shared")
    send("shared", tagged({"main;work": 80 * MS}, own))
    answer = server.json(f"/api/v1/spans/{trace}/{child}/profile")
    assert answer["grades"]["shared"]["samples"] == 1 and total(answer["profile"]) == 40 * MS, answer
    assert "estimate" in answer["reason"]


def test_a_whole_process_uploaded_for_a_span_is_exact_for_its_threads_only():
    now, trace, own = time.time_ns() - 200 * MS, os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "pay", "service": "whole", "start": now,
                  "end": now + 100 * MS, "attributes": {"thread.id": 7}}])
    body = pprof({("main;mine", (("thread_id", "7"),)): 30 * MS, ("main;theirs", (("thread_id", "8"),)): 50 * MS})
    path = f"service=whole&trace_id={trace.hex()}&span_id={own.hex()}"
    assert server.post("/api/v1/profile?" + path, body).status == 200
    answer = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile")
    assert answer["grades"]["exact"] == {"samples": 1, "value": 30 * MS}, answer["grades"]
    assert answer["grades"]["window"] == {"samples": 1, "value": 50 * MS}, answer["grades"]
    assert "cannot be assigned" in answer["reason"], answer["reason"]
    # The other call says the same of a stored span: what nothing ties to it is an estimate.
    answer = server.get("/api/v1/profile?format=folded&" + path)
    assert answer.text == "~ estimate;main;mine 30000000\n~ estimate;main;theirs 50000000\n", answer.text
    assert answer.getheader("x-spanflame-estimate") == "true" and not answer.getheader("x-spanflame-exact")
    # Without it it is not known whose threads they are: all of it, and said to be inexact.
    alone = path.replace(trace.hex(), os.urandom(16).hex()).replace(own.hex(), os.urandom(8).hex()).replace("whole", "unspanned")
    assert server.post("/api/v1/profile?" + alone, body).status == 200
    answer = server.get("/api/v1/profile?format=folded&" + alone)
    assert answer.text == "main;mine 30000000\nmain;theirs 50000000\n", answer.text
    assert answer.getheader("x-spanflame-exact") == "false"
    # A sample with the span's own id ties its thread.
    body = pprof({("main;mine", (("thread_id", "7"), ("span_id", own.hex()))): 20 * MS,
                  ("main;theirs", (("thread_id", "8"),)): 50 * MS}, when=now)
    assert server.post("/api/v1/profile?" + path, body).status == 200
    answer = server.get("/api/v1/profile?format=folded&" + path)
    same = server.get(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile?format=folded")
    assert answer.text == same.text == "~ estimate;main;mine 50000000\n~ estimate;main;theirs 100000000\n", (answer.text, same.text)
    # Samples that a range or a label chooses are those that carry the id.
    answer = server.get(f"/api/v1/profile?format=folded&{path}&from={now // 10**9 - 60}")
    assert answer.text == "main;mine 20000000\n" and not answer.getheader("x-spanflame-exact"), answer.text


def test_a_profile_that_a_span_names_is_its_own():
    for i, (key, value) in enumerate((("pyroscope.profile.id", "{}"), ("profile.id", "{}"), ("profile.file", "/profiles/{}.pb.gz"))):
        now, trace, own, name = time.time_ns() - 200 * MS, os.urandom(16), os.urandom(8), os.urandom(8).hex()
        service = f"named-{i}"
        server.send([{"trace_id": trace, "span_id": own, "name": "pay", "service": service, "start": now, "end": now + 100 * MS,
                      "attributes": {key: value.format(name)}}])
        body = pprof({("main;mine", (("profile_id", name),)): 60 * MS, ("main;theirs", (("profile_id", "f" * 16),)): 50 * MS})
        assert server.post("/api/v1/profile?service=" + service, body).status == 200
        answer = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile")
        assert answer["grades"]["exact"] == {"samples": 1, "value": 60 * MS} and answer["top"]["function"] == "mine", (key, answer)
    # An upload under the trace's id alone is found whatever its file is called.
    now, trace, own = time.time_ns() - 200 * MS, os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "pay", "service": "filed", "start": now, "end": now + 100 * MS,
                  "attributes": {"profile.file": "request profile.pb.gz"}}])
    assert server.post(f"/api/v1/profile?service=filed&trace_id={trace.hex()}", pprof({"main;mine": 60 * MS})).status == 200
    answer = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile")
    assert answer["samples"] == 1 and answer["top"]["function"] == "mine", answer


def test_profiles_that_spans_name_count_in_cohorts():
    """Each request uploads its profile under an id of its own, which its span names; or under its trace's id alone."""
    keys = (("pyroscope.profile.id", "{}"), ("profile.id", "{}"), ("profile.file", "/profiles/{}.pb.gz"), (None, ""))
    for i in range(48):
        now, trace, own, name = time.time_ns() - 9000 * MS + i * 100 * MS, os.urandom(16), os.urandom(8), os.urandom(8).hex()
        key, value = keys[i % 4]
        slow = i % 8 >= 4
        server.send([{"trace_id": trace, "span_id": own, "name": "pay", "service": "calls-it", "start": now,
                      "end": now + (90 if slow else 30) * MS, "attributes": {key: value.format(name)} if key else {}}])
        stacks = {"main;usual": 20 * MS + i, **({"main;applyLegacyTax": 60 * MS} if slow else {})}
        if key:
            body = pprof({(path, (("profile_id", name),)): value for path, value in stacks.items()}, when=now)
            assert server.post("/api/v1/profile?service=calls-it", body).status == 200
        else:
            answer = server.post(f"/api/v1/profile?service=calls-it&trace_id={trace.hex()}", pprof(stacks, when=now))
            assert answer.status == 200, answer.text
    wait_for("calls-it", 48)
    query = '{ resource.service.name = "calls-it" }'
    cohort = server.json("/api/v1/cohort?per=all&q=" + urllib.parse.quote(query))
    assert cohort["spans"] == cohort["sampledSpans"] == 48, cohort
    assert total(cohort["profile"]) == 48 * 20 * MS + sum(range(48)) + 24 * 60 * MS, total(cohort["profile"])
    answer = server.json("/api/v1/compare?split=p50&q=" + urllib.parse.quote(query))
    assert answer["left"]["sampledSpans"] == answer["right"]["sampledSpans"] == 24, answer
    first = answer["functions"][0]
    assert answer["significant"] == 1 and first["function"] == "applyLegacyTax" and first["delta"] == 60 * MS, answer


def test_profiles_without_ids_show_the_service_meanwhile():
    trace, own, _ = request("plain")
    send("plain", {"main;work": 500 * MS})
    answer = server.json(f"/api/v1/spans/{trace}/{own}/profile")
    assert answer["grades"]["window"]["samples"] == 1, answer["grades"]
    assert 0 < total(answer["profile"]) <= 500 * MS
    assert "carry no span ids" in answer["reason"]


def test_the_ledger_adds_up():
    trace, own, child = request("ledger")
    send("ledger", {**tagged({"main;sum": 10 * MS}, own), **tagged({"main;sign": 25 * MS}, child)})
    answer = server.json(f"/api/v1/spans/{trace}/{own}/ledger")
    parts = {p["part"]: p["ns"] for p in answer["parts"]}
    assert sum(parts.values()) == answer["durationNs"] == 80 * MS
    assert parts["cpu"] == 10 * MS and parts["child"] == 40 * MS and parts["unknown"] == 30 * MS, parts
    assert "off-CPU" in answer["reason"]
    text = server.get(f"/api/v1/spans/{trace}/{own}/ledger?format=text").text
    assert "child spans" in text and "50 %" in text, text


def test_a_trace_is_one_flame_graph():
    trace, own, child = request("whole")
    send("whole", {**tagged({"main;sum": 10 * MS}, own), **tagged({"main;sign": 25 * MS}, child)})
    for by, want in (("samples", 35 * MS), ("wall", 100 * MS), ("critical-path", 100 * MS)):
        answer = server.json(f"/api/v1/traces/{trace}/flame?by={by}")
        assert total(answer["profile"]) == want, (by, total(answer["profile"]))
        kinds = {f["function"]: f.get("kind") for f in answer["profile"]["frames"]}
        assert kinds["whole"] == "service" and kinds["pay"] == "span", kinds
    assert answer["spans"] == 3 and answer["sampledSpans"] == 2


def test_a_spans_profile_comes_in_every_form():
    trace, own, child = request("forms")
    send("forms", {**tagged({"main;rules;regex.match": 30 * MS, "main;sum": 20 * MS}, own), **tagged({"main;sign": 1 * MS}, child)})
    path = f"/api/v1/spans/{trace}/{own}/profile?format="
    assert "main;rules;regex.match 30000000" in server.get(path + "folded").text
    assert "HOT PATH" in server.get(path + "flamegraph").text
    assert server.get(path + "svg").text.startswith("<")
    assert server.get(path + "pprof").body[:2] == b"\x1f\x8b"
    assert "speedscope" in server.get(path + "speedscope").text
    assert "HOT PATH" in server.get(f"/api/v1/traces/{trace}/flame?format=text").text
    answer = server.get(path + "gif")
    assert answer.status == 400 and "speedscope" in answer.text, answer.text


def test_findings_name_the_function():
    trace, own, _ = request("finds")
    send("finds", tagged({"main;rules;regex.match": 60 * MS, "main;sum": 20 * MS}, own))
    for query in (f"trace={trace}&span={own}", f"trace={trace}"):
        answer = server.json("/api/v1/findings?" + query)
        assert answer["findings"][0]["subject"] == "regex.match", answer
        assert answer["findings"][0]["path"] == "main > rules > regex.match"
    text = server.get("/api/v1/findings?service=finds&format=text").text
    assert "regex.match takes 75 %" in text, text


def test_a_trace_shows_each_spans_hottest_function():
    trace, own, child = request("hottest")
    send("hottest", {**tagged({"main;rules;regex.match": 30 * MS, "main;sum": 20 * MS}, own),
                     **tagged({"main;sign": 20 * MS}, child)})
    answer = server.json(f"/api/v1/trace/{trace}")
    hot = {s["spanId"]: s.get("hot") for s in answer["spans"]}
    assert 0.1 < hot[own].pop("shareLow") < 0.6 < hot[own].pop("shareHigh") < 1, hot
    assert hot[own] == {"function": "regex.match", "file": "", "line": 0, "value": 30 * MS, "share": 0.6, "samples": 2}, hot
    # Two samples of 10 ms are too few to say where the child's time went.
    assert hot[child] is None and {s.get("fewSamples") for s in answer["spans"]} == {None, 2}, answer
    assert answer["hotUnit"] == "nanoseconds" and ":cpu:" in answer["hotType"], answer["hotType"]
    assert server.get(f"/api/v1/trace/{trace}?type=inuse_space").status == 404
    os.environ["COLUMNS"] = "120"
    code, out, err = run("trace", trace)
    assert code == 0 and "regex.match 30 ms, 60 %" in out and "  2 samples" in out, (code, out, err)
    untold = request("untold")[0]
    assert "hotType" not in server.json(f"/api/v1/trace/{untold}")


def crowd(service, n, is_slow):
    """n requests of one service; slow ones take longer and run other code"""
    spans, stacks = [], {}
    for i in range(n):
        span = make_span(ms=300 if is_slow else 20 + i % 7, ago_ms=2000, service=service, name="tax")
        spans.append(span)
        stacks[("main;tax", (("span_id", span["span_id"].hex()),))] = (10 + i % 5) * MS
        if is_slow:
            stacks[("main;tax;applyLegacyTax", (("span_id", span["span_id"].hex()),))] = (180 + i % 9) * MS
    server.send(spans)
    send(service, stacks)


def wait_for(service, n):
    """searches see what is acknowledged a moment later"""
    query = urllib.parse.quote('{ resource.service.name = "%s" }' % service)
    for _ in range(600):
        if len(server.json(f"/api/search?q={query}&limit=1000").get("traces", [])) >= n:
            return
        time.sleep(0.1)
    raise AssertionError(f"{service}: {n} traces never came")


def check_parts(answer):
    """The parts are the whole duration, on both sides, and so are their differences."""
    time_ = answer["time"]
    for side in ("left", "right"):
        assert time_[f"{side}Spans"] == answer[side]["spans"], time_
        mean = answer[side]["meanDurationNs"]
        spread = answer[side]["durationsNs"]
        assert len(spread) == 33 and spread == sorted(spread) and spread[0] <= mean <= spread[-1], (side, mean, spread)
        assert abs(sum(p[side] for p in time_["parts"]) - mean) < 1e-6 * mean, (side, time_)
        assert all(p[side] > -1 for p in time_["parts"]), (side, time_)
        assert abs(time_["duration"][side] - mean) < 1e-6 * mean, (side, time_)
    assert abs(sum(p["delta"] for p in time_["parts"]) - time_["duration"]["delta"]) < 10, time_


def test_slow_spans_are_told_from_fast_ones():
    crowd("cohort", 90, False)
    crowd("cohort", 10, True)
    wait_for("cohort", 100)
    query = urllib.parse.quote('{ resource.service.name = "cohort" && name = "tax" }')
    answer = server.json(f"/api/v1/compare?q={query}&split=p90")
    assert answer["left"]["found"] == 90 and answer["right"]["found"] == 10, answer["left"]
    first = answer["functions"][0]
    assert first["function"] == "applyLegacyTax" and first["isSignificant"], answer
    assert first["leftSpans"] == 0 and first["rightSpans"] == 10
    assert 180 * MS < first["delta"] < 190 * MS and first["low"] < first["delta"] < first["high"]
    check_parts(answer)
    # The shortest of the slow ones is where they were split, and no fast one is as long.
    assert answer["left"]["durationsNs"][-1] < answer["right"]["durationsNs"][0], (answer["left"], answer["right"])
    part = answer["time"]["parts"][0]
    assert part["part"] == "cpu" and part["isSignificant"] and not part["isEstimate"], answer["time"]
    assert part["functions"][0]["function"] == "applyLegacyTax" and part["functions"][0]["isSignificant"], part
    others = [f for f in answer["functions"] if f["function"] == "tax"]
    assert not others[0]["isSignificant"], others
    code, out, err = run("compare", "--slow-vs-fast", '{ resource.service.name = "cohort" }', "--split", "p90")
    assert code == 0 and "applyLegacyTax" in out and "not significant" in out, (code, out, err)


def test_equal_sets_are_not_told_apart():
    crowd("twins", 60, False)
    crowd("twins2", 60, False)
    wait_for("twins", 60)
    wait_for("twins2", 60)
    left, right = (urllib.parse.quote('{ resource.service.name = "%s" }' % s) for s in ("twins", "twins2"))
    answer = server.json(f"/api/v1/compare?left={left}&right={right}")
    assert answer["significant"] == 0 and answer["reason"].startswith("no function of this type differs significantly; to see 30 % more of "), answer
    check_parts(answer)
    for path, words in (("q=%7B", "TraceQL"), ("left=%7B%7D", "two queries"), ("q=%7B%7D&split=95", "quantile"),
                        ("", "two queries")):
        answer = server.get("/api/v1/compare?" + path)
        assert answer.status == 400 and words in answer.text, (path, answer.status, answer.text)


def test_sides_with_nothing_are_named():
    crowd("one-sided", 20, False)
    server.send([make_span(ms=30, ago_ms=2000, service="unprofiled", name="op") for _ in range(10)])
    wait_for("one-sided", 20)
    wait_for("unprofiled", 10)
    some, bare, none = (urllib.parse.quote('{ resource.service.name = "%s" }' % s) for s in ("one-sided", "unprofiled", "nobody"))
    for path, reason in ((f"q={none}", "no spans match in this time: nothing to compare"),
                         (f"left={some}&right={none}", "no spans match on the right: nothing to compare"),
                         (f"left={none}&right={some}", "no spans match on the left: nothing to compare with"),
                         (f"q={some}&split=errors", "no spans match on the right: nothing to compare"),
                         (f"q={some}&by=span.nothing&left=a&right=b", "no spans match in this time: nothing to compare"),
                         (f"left={some}&right={bare}", "no span on the right has samples: no functions to compare"),
                         (f"q={bare}", "none of these spans' services sent profiles around this time: no functions to compare")):
        answer = server.json("/api/v1/compare?" + path)
        assert answer["reason"] == reason, (path, answer["reason"])
        # Everything differs from nothing: no list of that.
        assert answer["functions"] == [] and answer["significant"] == 0, (path, answer["functions"])
    # Durations compare without any profile, and the answer says that there is none.
    answer = server.json(f"/api/v1/compare?left={some}&right={bare}")
    check_parts(answer)
    answer = server.json(f"/api/v1/compare?split=p50&q={bare}")
    check_parts(answer)
    assert [p["part"] for p in answer["time"]["parts"]] == ["unknown"], answer["time"]
    assert answer["time"]["reason"].startswith("no profiles of time from these spans' services"), answer["time"]["reason"]
    code, out, err = run("compare", "--slow-vs-fast", '{ resource.service.name = "unprofiled" }', "--split", "p50")
    text = " ".join(out.split())
    assert code == 0 and "no profiles of time" in text and "differ" in text and "duration" in text, (code, out, err)
    code, out, err = run("compare", "--slow-vs-fast", '{ name = "nobody" }')
    assert code == 0 and "no spans match" in out and "0 ms" not in out, (code, out, err)
    code, out, err = run("top", "--q", '{ name = "nobody" }')
    assert code != 0 and "no samples" in err and "/api/" not in err, (code, out, err)


def test_slow_spans_that_only_wait_are_told_apart_from_those_that_work():
    spans, stacks = [], {}
    for i in range(80):
        span = make_span(ms=300 if i % 4 == 0 else 20, ago_ms=2000, service="waits", name="wait")
        spans.append(span)
        stacks[("main;work", (("span_id", span["span_id"].hex()),))] = (10 + i % 7) * MS
    server.send(spans)
    send("waits", stacks)
    wait_for("waits", 80)
    answer = server.json("/api/v1/compare?split=p75&q=" + urllib.parse.quote('{ resource.service.name = "waits" }'))
    assert answer["significant"] == 0, answer
    # Nothing of the difference is on the CPU, and none of it is stated to be.
    check_parts(answer)
    assert answer["time"]["summary"].startswith("right spans take 280 ms more (95 % interval "), answer["time"]["summary"]
    first = answer["time"]["parts"][0]
    assert first["part"] == "unknown" and first["isSignificant"] and first["share"] > 0.9, answer["time"]
    assert "wall clock or off-CPU profiles" in answer["time"]["reason"], answer["time"]["reason"]
    code, out, err = run("compare", "--slow-vs-fast", '{ resource.service.name = "waits" }', "--split", "p75")
    assert code == 0 and "at least" in out and "unknown +28" in " ".join(out.split()), (code, out, err)


def test_a_query_is_one_flame_graph_per_span():
    crowd("merged", 40, False)
    crowd("merged", 10, True)
    wait_for("merged", 50)
    query = '{ resource.service.name = "merged" && name = "tax" }'
    path = "/api/v1/cohort?q=" + urllib.parse.quote(query)
    sums, means = server.json(path + "&per=all"), server.json(path)
    assert means["found"] == means["spans"] == means["sampledSpans"] == 50, means
    assert means["per"] == "span" and sums["per"] == "all" and means["query"] == query
    assert means["grades"]["exact"]["samples"] == means["samples"] == 60, means["grades"]
    assert total(sums["profile"]) == sums["grades"]["exact"]["value"], sums["grades"]
    assert abs(total(means["profile"]) - total(sums["profile"]) / 50) < 1, (total(means["profile"]))
    assert means["meanValue"] == total(sums["profile"]) / 50
    assert "applyLegacyTax" in server.get(path + "&format=folded").text
    code, out, err = run("flame", "--q", query)
    assert code == 0 and "applyLegacyTax" in out and "50 spans (50 with samples)" in out, (code, out, err)
    code, out, err = run("top", "--q", query, "--limit", "1")
    assert code == 0 and "applyLegacyTax" in out and "main" not in out.splitlines()[-1], (code, out, err)
    answer = server.json("/api/v1/cohort?q=" + urllib.parse.quote('{ name = "nobody" }'))
    assert answer["reason"] == "no spans match the query in this time", answer
    for more, words in (("", "TraceQL"), ("?q=%7B", "TraceQL"), ("?q=%7B%7D&per=day", "span or all")):
        answer = server.get("/api/v1/cohort" + more)
        assert answer.status == 400 and words in answer.text, (more, answer.text)
    assert server.get(path + "&type=inuse_space").status == 404


def test_a_crowd_is_sampled_and_that_is_said():
    crowd("crowded", 1100, False)
    crowd("crowded", 60, True)
    query = '{ resource.service.name = "crowded" }'
    path = "/api/v1/cohort?q=" + urllib.parse.quote(query)
    for _ in range(600):
        answer = server.json(path)
        if answer["found"] == 1160:
            break
        time.sleep(0.1)
    assert answer["isSample"] and 800 < answer["spans"] <= 1000, answer
    assert f"a sample: {answer['spans']} of 1160 spans" in answer["note"], answer["note"]
    assert server.json(path)["profile"] == answer["profile"]
    text = server.get(path + "&format=text").text
    assert f"{answer['spans']} spans of 1160" in text and "a sample: " in text, text
    answer = server.json("/api/v1/compare?split=p95&q=" + urllib.parse.quote(query))
    assert answer["isSample"] and answer["left"]["found"] == 1102 and "left: a sample: " in answer["note"], answer["note"]
    assert "right: " not in answer["note"] and answer["right"]["spans"] == answer["right"]["found"] == 58, answer["right"]
    code, out, err = run("compare", "--slow-vs-fast", query)
    assert code == 0 and "left: a sample: " in out and "applyLegacyTax" in out, (code, out, err)
    code, out, err = run("flame", "--q", query)
    assert code == 0 and "a sample: " in out, (code, out, err)


def test_spans_below_others_of_the_set_count_once():
    trace, own, child = request("nested")
    send("nested", {**tagged({"main;sum": 10 * MS}, own), **tagged({"main;sign": 25 * MS}, child)})
    wait_for("nested", 1)
    query = urllib.parse.quote('{ resource.service.name = "nested" }')
    answer = server.json(f"/api/v1/cohort?q={query}&per=all")
    assert answer["spans"] == 2 and total(answer["profile"]) == 35 * MS, answer
    query = urllib.parse.quote('{ name = "order.calculate_totals" && resource.service.name = "nested" }')
    answer = server.json(f"/api/v1/cohort?q={query}&per=all")
    assert answer["grades"]["subtree"]["value"] == 25 * MS and total(answer["profile"]) == 35 * MS, answer
    answer = server.json(f"/api/v1/cohort?q={query}&per=all&self=true")
    assert total(answer["profile"]) == 10 * MS, answer


def test_a_cohort_without_ids_is_estimated():
    trace, own, _ = request("crowdless")
    send("crowdless", {"main;work": 500 * MS})
    wait_for("crowdless", 1)
    answer = server.json("/api/v1/cohort?q=" + urllib.parse.quote('{ resource.service.name = "crowdless" }'))
    assert answer["grades"]["window"]["samples"] > 0 and "carry no span ids" in answer["reason"], answer
    assert answer["sampledSpans"] == 2


def test_one_query_is_split_by_outcome_and_by_attribute():
    spans, stacks = [], {}
    for i in range(60):
        is_bad = i % 2 == 1
        span = make_span(ms=20, ago_ms=2000, service="outcome", name="pay")
        span.update({"attributes": {"tier": "gold" if is_bad else "tin", "shard": i % 2}, "error": is_bad})
        spans.append(span)
        stacks[("main;retry" if is_bad else "main;pay", (("span_id", span["span_id"].hex()),))] = (5 + i % 3) * MS
    server.send(spans)
    send("outcome", stacks)
    wait_for("outcome", 60)
    query = urllib.parse.quote('{ resource.service.name = "outcome" }')
    for more in ("split=errors", "by=span.tier&left=tin&right=gold", "by=span.shard&left=0&right=1",
                 "by=status&left=unset&right=error"):
        answer = server.json(f"/api/v1/compare?q={query}&{more}")
        assert answer["left"]["found"] == answer["right"]["found"] == 30, (more, answer)
        found = {f["function"]: f for f in answer["functions"]}
        assert found["retry"]["isSignificant"] and found["retry"]["delta"] > 0, (more, found)
        assert found["pay"]["isSignificant"] and found["pay"]["delta"] < 0, (more, found)
    answer = server.json(f"/api/v1/compare?q={query}&by=span.tier&left=" + urllib.parse.quote('a"} | {"') + "&right=gold")
    assert answer["left"]["found"] == 0, answer
    code, out, err = run("compare", "--errors-vs-ok", '{ resource.service.name = "outcome" }')
    assert code == 0 and "retry" in out, (code, out, err)
    code, out, err = run("compare", "--q", '{ resource.service.name = "outcome" }', "--by", "span.tier", "--left", "tin",
                         "--right", "gold")
    assert code == 0 and "retry" in out, (code, out, err)
    for args in (("--by", "span.tier", "--left", "a", "--right", "b"), ("--q", "{}"), ("--errors-vs-ok", "{}", "--left", "a"),
                 ("--slow-vs-fast", "{}", "--errors-vs-ok", "{}")):
        code, out, err = run("compare", *args)
        assert code == 2 and "--errors-vs-ok" in err, (args, code, err)


def test_coverage_says_what_is_missing():
    trace, own, child = request("covered")
    send("covered", {**tagged({"main;sum": 60 * MS}, own), **tagged({"main;sign": 30 * MS}, child), "main;idle": 10 * MS})
    wait_for("covered", 1)
    answer = server.json("/api/v1/coverage?service=covered")
    assert answer["spans"] == 2 and answer["types"][0]["profiles"] == 1, answer
    link = answer["link"]
    assert link["spans"] == link["sampledSpans"] == 2 and link["receivedSamples"] == 9, link
    assert abs(link["taggedShare"] - 0.9) < 0.01 and link["symbolisedShare"] == 1, link
    assert link["expectedSamples"] == 8, link
    assert [m["kind"] for m in answer["missing"]] == [], answer["missing"]
    for path in (f"/api/v1/spans/{trace}/{own}/coverage", f"/api/v1/spans/-/{own}/coverage"):
        answer = server.json(path)
        assert answer["span"] == "order.calculate_totals" and answer["link"]["grades"]["exact"]["samples"] == 1, answer
    code, out, err = run("coverage", "covered")
    assert code == 0 and "90 % of the samples name a span" in out and "nothing is missing" in out, (code, out, err)
    code, out, err = run("coverage", "--span", own)
    assert code == 0 and "order.calculate_totals" in out, (code, out, err)


def test_coverage_names_the_lines_to_add():
    span = make_span(ms=50, ago_ms=2000, service="bare", name="op", resource={"telemetry.sdk.language": "go"})
    server.send([span])
    wait_for("bare", 1)
    missing = {m["kind"]: m for m in server.json("/api/v1/coverage?service=bare")["missing"]}
    assert list(missing) == ["no_profiles"], missing
    assert "pyroscope" in missing["no_profiles"]["lines"][1] + missing["no_profiles"]["lines"][0], missing
    assert any("bare" in line or "service=bare" in line for line in missing["no_profiles"]["lines"]), missing
    send("bare", {"main;work": 50 * MS})
    missing = {m["kind"]: m for m in server.json("/api/v1/coverage?service=bare")["missing"]}
    assert "no_span_ids" in missing and len(missing["no_span_ids"]["lines"]) == 2, missing
    nobody = server.json("/api/v1/coverage?service=nobody")
    assert [m["kind"] for m in nobody["missing"]] == ["no_profiles", "no_spans"], nobody
    assert server.get("/api/v1/coverage").status == 400


def test_coverage_sees_clocks_that_contradict_each_other():
    now = time.time_ns() - 2000 * MS
    spans = []
    for i in range(5):
        trace, client = os.urandom(16), os.urandom(8)
        spans += [{"trace_id": trace, "span_id": client, "name": "call", "service": "caller", "kind": 3,
                   "start": now, "end": now + 100 * MS},
                  {"trace_id": trace, "span_id": os.urandom(8), "parent": client, "name": "serve", "service": "drifting",
                   "kind": 2, "start": now + 310 * MS, "end": now + 390 * MS}]
    server.send(spans)
    wait_for("drifting", 5)
    answer = server.json("/api/v1/coverage?service=drifting")
    assert answer["skew"] == [{"caller": "caller", "calls": 5, "offsetNs": 300 * MS}], answer["skew"]
    assert "clock_skew" in [m["kind"] for m in answer["missing"]]
    assert "300 ms ahead of caller" in server.get("/api/v1/coverage?service=drifting&format=text").text


def test_a_span_is_found_without_its_trace():
    trace, own, _ = request("lonely")
    wait_for("lonely", 1)
    code, out, err = run("ledger", own)
    assert code == 0 and "unknown" in out, (code, out, err)
    send("lonely", tagged({"main;sum": 10 * MS}, own))
    code, out, err = run("flame", "--span", own)
    assert code == 0 and "sum" in out, (code, out, err)
    code, out, err = run("ledger", "00000000000000fe")
    assert code != 0 and "span 00000000000000fe not found" in err, (code, err)
    now = time.time_ns()
    server.send([{"trace_id": os.urandom(16), "span_id": bytes.fromhex("00000000000000fd"), "name": "twice",
                  "service": "lonely", "start": now, "end": now + MS} for _ in range(2)])
    wait_for("lonely", 3)
    code, out, err = run("ledger", "fd")
    assert code != 0 and "several traces" in err, (code, err)


def test_a_function_leads_to_its_spans():
    trace, own, child = request("reverse")
    send("reverse", {**tagged({"main;rules;rev.match": 30 * MS, "main;sum": 10 * MS}, own),
                     **tagged({"main;rules;rev.match;rev.step": 5 * MS}, child)})
    wait_for("reverse", 1)
    for query in ("function=rev.match", "pattern=" + urllib.parse.quote("rev\\.ma.*")):
        answer = server.json(f"/api/v1/frames/spans?{query}")
        assert answer["found"] == 2 and answer["value"] == 35 * MS, answer
        first, second = answer["spans"]
        assert (first["spanId"], first["traceId"], first["name"]) == (own, trace, "order.calculate_totals"), first
        assert first["value"] == 30 * MS and first["share"] == 0.75 and first["durationNs"] == 80 * MS, first
        assert second["spanId"] == child and second["share"] == 1 and second["service"] == "reverse", second
    answer = server.json("/api/v1/frames/spans?service=reverse&limit=1")  # what a point of a series is made of
    assert answer["found"] == 2 and len(answer["spans"]) == 1 and answer["spans"][0]["value"] == 40 * MS, answer
    answer = server.json("/api/v1/frames/spans?function=match&service=reverse")  # a word of its name is enough when none is called so
    assert answer["found"] == 2 and answer["value"] == 35 * MS, answer
    assert answer["note"] == "no function is named match; these spans ran rev.match", answer
    assert server.json("/api/v1/frames/spans?function=matc")["spans"] == []
    answer = server.json("/api/v1/frames/spans?function=rev.never")
    assert answer["spans"] == [] and "did not run" in answer["reason"], answer
    _, other, _ = request("reverse-go")
    send("reverse-go", tagged({"main;regexp.(*Regexp).RegexMatch": 30 * MS}, other))
    wait_for("reverse-go", 1)
    code, out, err = run("spans-with", "RegexMatch")
    assert code == 0 and other in out and "regexp.(*Regexp).RegexMatch" in out + err, (code, out, err)
    code, out, err = run("spans-with", "rev.match")
    assert code == 0 and own in out and trace in out and "75 %" in out, (code, out, err)
    code, out, err = run("spans-with", "rev.*", "--regex", "--service", "reverse", "--output", "json")
    assert code == 0 and json.loads(out)["found"] == 2, (code, out, err)
    for path in ("", "?function=a&pattern=b", "?function=a&limit=0", "?pattern=("):
        assert server.get("/api/v1/frames/spans" + path).status == 400, path


def test_searches_ask_what_samples_say():
    trace, own, child = request("asked")
    send("asked", {**tagged({"main;asked.parse": 40 * MS, "main;sum": 10 * MS}, own),
                   **tagged({"main;sign": 20 * MS}, child)})
    other, _, _ = request("asked")
    wait_for("asked", 2)

    def found(query):
        answer = server.json("/api/search?spss=10&q=" + urllib.parse.quote(query))
        return {t["traceID"].zfill(32): sorted(s["spanID"] for s in t["spanSet"]["spans"]) for t in answer.get("traces", [])}
    assert found('{ profile.frame =~ "asked.*" && profile.cpu > 50ms }') == {trace: [own]}
    assert found('{ resource.service.name = "asked" && profile.cpu < 50ms }') == {trace: [child]}
    assert found('{ profile.frame = "sign" && resource.service.name = "asked" }') == {trace: sorted([own, child])}
    assert found('{ resource.service.name = "asked" && profile.frame != "sum" }') == {trace: [child]}
    assert sorted(found('{ resource.service.name = "asked" && profile.cpu = nil }')) == [other]
    # In structure, where either side may say it, negated too.
    assert found('{ } >> { resource.service.name = "asked" && profile.cpu > 10ms }') == {trace: sorted([own, child])}
    assert found('{ profile.frame = "asked.parse" } > { profile.cpu > 10ms }') == {trace: [child]}
    assert found('{ profile.frame = "asked.parse" } < { resource.service.name = "gateway" }').keys() == {trace}
    assert found('{ profile.cpu > 1s } >> { resource.service.name = "asked" }') == {}
    assert sorted(found('{ profile.cpu > 10ms } !>> { resource.service.name = "asked" && name = "pay" }')) == [other]
    assert found('{ profile.frame = "asked.parse" } && { resource.service.name = "gateway" && profile.cpu = nil }').keys() == {trace}
    # In aggregates and groups.
    assert found('{ resource.service.name = "asked" } | sum(profile.cpu) > 80ms').keys() == {trace}
    assert found('{ resource.service.name = "asked" } | sum(profile.cpu) > 100ms') == {}
    assert found('{ resource.service.name = "asked" } | max(profile.cpu) = 70ms').keys() == {trace}
    assert found('{ resource.service.name = "asked" } | by(profile.cpu) | count() > 1').keys() == {other}
    assert found('{ resource.service.name = "asked" } | { profile.cpu > 50ms } | count() = 1').keys() == {trace}
    answer = server.json("/api/search?q=" + urllib.parse.quote('{ profile.frame = "asked.parse" } | select(profile.cpu)'))
    shown = answer["traces"][0]["spanSet"]["spans"][0]["attributes"]
    assert [a["key"] for a in shown] == ["profile.cpu"], shown
    query = '{ profile.frame =~ "asked.*" && profile.cpu > 50ms }'
    code, out, err = run("search", query)
    assert code == 0 and trace in out and other not in out, (code, out, err)
    code, out, err = run("flame", "--q", query)
    assert code == 0 and "asked.parse" in out, (code, out, err)
    answer = server.json(f"/api/v1/compare?left={urllib.parse.quote(query)}&right=" + urllib.parse.quote(
        '{ profile.frame = "sign" && profile.frame != "asked.parse" && resource.service.name = "asked" }'))
    assert answer["left"]["found"] == answer["right"]["found"] == 1, answer
    names = server.json("/api/v2/search/tags?scope=intrinsic")["scopes"][0]["tags"]
    assert "profile.frame" in names and "profile.cpu" in names, names
    values = server.json("/api/v2/search/tag/name/values?q=" + urllib.parse.quote('{ profile.frame = "asked.parse" }'))
    assert [v["value"] for v in values["tagValues"]] == ["order.calculate_totals"], values
    now = time.time()
    rate = server.json(f"/api/metrics/query?start={now - 600}&end={now + 5}&q=" + urllib.parse.quote(
        '{ profile.frame = "asked.parse" } | max_over_time(profile.cpu)'))
    assert abs(rate["series"][0]["value"] - 0.07) < 1e-9, rate

    def metric(query):
        answer = server.json(f"/api/metrics/query?start={now - 600}&end={now + 5}&q=" + urllib.parse.quote(query))
        return {tuple(next(iter(l["value"].values())) for l in s["labels"] if l["key"] != "__name__"): s["value"]
                for s in answer["series"]}
    of_asked = '{ resource.service.name = "asked" && profile.cpu > 10ms }'
    assert metric(of_asked + " | count_over_time()") == {(): 2}, metric(of_asked + " | count_over_time()")
    assert metric(of_asked + " | count_over_time() by(name)") == {("pay",): 1, ("order.calculate_totals",): 1}
    assert metric('{ } >> ' + of_asked + " | count_over_time()") == {(): 2}
    assert abs(metric(of_asked + " | sum_over_time(profile.cpu)")[()] - 0.09) < 1e-9
    for bad in ("{ profile.frame > 5 }", "{ profile.what = 5 }", "{ } >> { profile.frame > 5 }",
                "{ } | by(profile.frame) | count() > 1", "{ } | select(profile.frame)"):
        answer = server.get("/api/search?q=" + urllib.parse.quote(bad))
        assert answer.status == 400 and "profile." in answer.text and "col" in answer.text, (bad, answer.text)
    answer = server.get("/api/search?q=" + urllib.parse.quote("{ } | avg(profile.frame) > 1"))
    assert answer.status == 400 and "must resolve to a number" in answer.text, answer.text
    for bad in ("{ } | rate() by(profile.frame)", "{ } | max_over_time(profile.frame)", "{ profile.what = 5 } | rate()"):
        answer = server.get("/api/metrics/query_range?q=" + urllib.parse.quote(bad))
        assert answer.status == 400 and "profile." in answer.text and "col" in answer.text, (bad, answer.text)


def test_grafanas_span_profiles_know_children_of_tagged_spans():
    trace, own, child = request("grafana")
    send("grafana", tagged({"main;work": 80 * MS}, own))
    wait_for("grafana", 1)
    now = int(time.time() * 1000)

    def ask(span):
        body = json.dumps({"profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                           "labelSelector": '{service_name="grafana"}', "spanSelector": [span],
                           "start": now - 600000, "end": now + 60000})
        answer = server.post("/querier.v1.QuerierService/SelectMergeSpanProfile", body.encode(), "application/json")
        assert answer.status == 200, answer.text
        return int(json.loads(answer.text)["flamegraph"].get("total", 0))
    assert ask(own) == 80 * MS and ask(child) == 40 * MS, (ask(own), ask(child))
    assert ask("00000000000000aa") == 0


def test_spans_of_services_with_profiles_carry_a_profile_id():
    trace, own, child = request("offered")
    send("offered", {"main;work": 50 * MS})
    server.send([make_span(trace=bytes.fromhex(trace), ms=1, service="offered", name="client's own",
                           attributes={"pyroscope.profile.id": "mine"})])

    def ids(path, key):
        answer = server.json(path + trace)
        batches = answer["batches"] if key == "batches" else answer["trace"]["resourceSpans"]
        return {s["name"]: next((a["value"]["stringValue"] for a in s.get("attributes", [])
                                 if a["key"] == "pyroscope.profile.id"), None)
                for b in batches for scope in b["scopeSpans"] for s in scope["spans"]}
    want = {"GET /cart": None, "order.calculate_totals": own, "pay": child, "client's own": "mine"}
    assert ids("/api/traces/", "batches") == want, ids("/api/traces/", "batches")
    assert ids("/api/v2/traces/", "trace") == want
    wait_for("offered", 1)
    query = urllib.parse.quote('{ resource.service.name = "offered" && name = "pay" && span."pyroscope.profile.id" != nil }')
    assert server.json(f"/api/search?q={query}").get("traces", []) == []


def run(*args):
    done = subprocess.run([PROGRAM, *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_the_commands_ask_for_the_same():
    trace, own, child = request("asks")
    send("asks", {**tagged({"main;rules;regex.match": 50 * MS}, own), **tagged({"main;sign": 25 * MS}, child)})
    code, out, err = run("ledger", own, "--trace", trace)
    assert code == 0 and re.search("running +40 ms +50 %", out), (code, out, err)
    code, out, err = run("ledger", own, "--trace", trace, "--output", "json")
    assert code == 0 and json.loads(out)["durationNs"] == 80 * MS, (code, out, err)
    code, out, err = run("findings", "--trace", trace)
    assert code == 0 and "regex.match takes 67 %" in out, (code, out, err)
    code, out, err = run("findings", "--service", "asks", "--since", "10m")
    assert code == 0 and "regex.match" in out, (code, out, err)
    code, out, err = run("flame", "--span", own, "--trace", trace)
    assert code == 0 and "regex.match" in out and "67%" in out and "8 samples of about 8 expected, 5 exact, 3 subtree" in out, (code, out, err)
    code, out, err = run("flame", "--span", own, "--trace", trace, "--self")
    assert code == 0 and "100%" in out and "sign" not in out, (code, out, err)
    code, out, err = run("flame", "--trace", trace, "--by", "critical-path")
    assert code == 0 and "order.calculate_totals" in out and "2 of 3 spans" in out, (code, out, err)
    for args, words in ((("ledger",), "name one span"), (("flame", "x", "--trace", trace), "name one profile"),
                        (("findings",), "SERVICE"), (("coverage",), "one service")):
        code, out, err = run(*args)
        assert code == 2 and words in err, (args, code, err)
    code, out, err = run("ledger", "ff", "--trace", trace)
    assert code != 0 and "no span" in err, (code, err)


def test_what_is_missing_is_said():
    trace, own, _ = request("silent")
    answer = server.json(f"/api/v1/spans/{trace}/{own}/profile")
    assert answer["samples"] == 0 and "no profiles from silent" in answer["reason"]
    for path, status, words in (
            (f"/api/v1/spans/{trace}/00000000000000ff/profile", 404, "no span"),
            (f"/api/v1/spans/{'0' * 31}1/{own}/ledger", 404, "no such trace"),
            (f"/api/v1/spans/{trace}/xyz/profile", 400, "hex"),
            (f"/api/v1/spans/{trace}/profile", 400, "TRACE/SPAN"),
            (f"/api/v1/spans/{trace}/{own}/profile?self=maybe", 400, "true or false"),
            (f"/api/v1/traces/{trace}/flame?by=cost", 400, "critical-path"),
            ("/api/v1/findings", 400, "service=NAME"),
            (f"/api/v1/findings?span={own}&service=silent", 400, "one of"),
            ("/api/v1/findings?span=00000000000000fa", 404, "not found"),
            ("/api/v1/findings?left={}", 400, "two sides"),
            ("/api/v1/findings?service=silent&leaf=much", 400, "percentage"),
            ("/api/v1/findings?service=silent&callers=0", 400, "from 1 on"),
            ("/api/v1/findings?q={", 400, "TraceQL"),
            ("/api/v1/findings?baseline={&comparison=b", 400, ""),
            ("/api/v1/findings?baseline=a&comparison=nobody", 404, "no profiles of nobody")):
        answer = server.get(path)
        assert answer.status == status and words in answer.text, (path, answer.status, answer.text)


tap.run(sys.modules[__name__])
