#!/usr/bin/env python3
"""What samples do not say is not concluded from them: Go's profiler tags the request's first span, without times."""
import base64
import gzip
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, tap  # noqa: E402

server = Server().start()
MS = 1000000
N = 24
NOW = time.time_ns() - 60000 * MS
os.environ["COLUMNS"] = "120"


def requests(service):
    """N requests: a root of 120 ms (the first: 130 ms, so 10 ms of its own) with spanA (50 ms, runs workA) and spanB (70 ms, runs workC); every other one also
    runs slowWork in spanB. Gives [(trace, root, spanA, spanB)]."""
    spans, stacks, ids = [], {}, []
    for i in range(N):
        trace, start = b"\xa0" + os.urandom(15), NOW + i * 1000 * MS

        def span(name, first, last, parent=None):
            spans.append({"trace_id": trace, "span_id": os.urandom(8), "parent": parent, "name": name, "service": service,
                          "start": start + first * MS, "end": start + last * MS, "attributes": {"slow": i % 2},
                          "resource": {"telemetry.sdk.language": "go"}})
            return spans[-1]["span_id"]
        root = span("handle", 0, 120 if i else 130)
        a, b = span("spanA", 0, 50, root), span("spanB", 50, 120, root)
        tag = (("span_id", root.hex()),)
        stacks[("main;workA", tag)] = 50 * MS
        stacks[("main;workC", tag)] = 20 * MS
        if i % 2:
            stacks[("main;slowWork", tag)] = (40 + i % 5) * MS
        ids.append((trace.hex(), root.hex(), a.hex(), b.hex()))
    server.send(spans)
    answer = server.post(f"/api/v1/profile?service={service}", pprof(stacks, when=NOW, seconds=N))
    assert answer.status == 200, answer.text
    query = urllib.parse.quote('{ resource.service.name = "%s" }' % service)
    for _ in range(600):
        if len(server.json(f"/api/search?q={query}&limit=1000").get("traces", [])) >= N:
            return ids
        time.sleep(0.1)
    raise AssertionError(service)


IDS = requests("go")
TRACE, ROOT, A, B = IDS[0]


def run(*args):
    done = subprocess.run([PROGRAM, *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def test_a_shared_estimate_has_no_interval_and_no_hot_path():
    for span, is_self in ((A, "false"), (B, "false"), (ROOT, "true")):
        answer = server.json(f"/api/v1/spans/{TRACE}/{span}/profile?self={is_self}")
        assert answer["isEstimate"] and answer["grades"]["shared"]["samples"] == 2, answer
        assert answer["shares"] == [] and answer["top"]["function"] == "" and answer["trust"] == "none", answer
        of = answer["known"].pop("of")
        assert answer["known"] == {"samples": 0, "estimatedSamples": 2, "value": 0}, answer["known"]
        assert of == {"service": "go", "spanId": ROOT, "name": "handle", "command": f"spanflame flame --span {ROOT}"}, of
        text = server.get(f"/api/v1/spans/{TRACE}/{span}/profile?format=text&self={is_self}").text
        assert "HOT PATH" not in text and "95 % interval" not in text, text
        svg = server.get(f"/api/v1/spans/{TRACE}/{span}/profile?format=svg&self={is_self}").text
        assert ", ~" in svg and "workA" in svg, svg
        assert "~ estimate; 0 known" in text and " ~" in text and f"--span {ROOT}" in text, text


def test_the_root_is_known():
    answer = server.json(f"/api/v1/spans/{TRACE}/{ROOT}/profile")
    assert not answer["isEstimate"] and "of" not in answer["known"], answer["known"]
    assert answer["known"] == {"samples": 2, "estimatedSamples": 0, "value": answer["profile"]["total"]}, answer["known"]
    assert answer["top"]["function"] == "workA" and 0.6 < answer["top"]["share"] < 0.8, answer["top"]
    assert "~" not in server.get(f"/api/v1/spans/{TRACE}/{ROOT}/profile?format=svg").text.split("<script>")[0]
    text = run("flame", "--span", ROOT)
    assert "HOT PATH" in text and "workA by itself: 71 %, 95 % interval" in text and "~" not in text, text


def test_findings_of_a_span_are_what_is_known_of_it():
    for span in (A, B):
        answer = server.json(f"/api/v1/findings?trace={TRACE}&span={span}")
        assert answer["findings"] == [] and answer["samples"] == 0 and answer["estimatedSamples"] == 2, answer
        assert f"spanflame findings --span {ROOT}" in answer["reason"], answer["reason"]
        assert "workC" not in run("findings", "--span", span)
    found = server.json(f"/api/v1/findings?trace={TRACE}&span={ROOT}")["findings"]
    assert [f["subject"] for f in found if f["kind"] == "hot_function"] == ["workA", "workC"], found
    found = server.json(f"/api/v1/findings?trace={TRACE}")["findings"]
    assert found[0]["subject"] == "workA", found
    answer = server.json("/api/v1/findings?q=" + urllib.parse.quote('{ name = "spanA" }'))
    assert answer["findings"] == [] and answer["estimatedSamples"] > 0 and "left out" in answer["reason"], answer


def test_a_trace_names_no_hottest_function_that_is_a_guess():
    rows = {s["spanId"]: s for s in server.json(f"/api/v1/trace/{TRACE}")["spans"]}
    for span in (A, B):
        assert "hot" not in rows[span] and rows[span]["estimatedSamples"] == 2 and rows[span]["knownSpanId"] == ROOT, rows[span]
    hot = rows[ROOT]["hot"]
    assert hot["function"] == "workA" and hot["isWithChildren"] and hot["samples"] == 2, hot
    trace, root, a, _ = IDS[1]  # whose root has no time of its own: all of it is its children's
    rows = {s["spanId"]: s for s in server.json(f"/api/v1/trace/{trace}")["spans"]}
    assert rows[root]["hot"]["function"] == "workA" and rows[root]["hot"]["isWithChildren"], rows[root]
    assert "estimatedSamples" not in rows[root] and rows[a]["knownSpanId"] == root, rows[root]
    text = run("trace", TRACE)
    said = " ".join(run("why", TRACE).split())
    assert f"samples of go name only span {ROOT}, not its child spans" in said, said
    assert "~3 samples" in text and "~4 samples" in text and "workA 50 ms, 71 % with children" in text and "~ estimate" in text, text


def test_a_trace_flame_graph_marks_no_hot_path_in_spans_that_share():
    answer = server.json(f"/api/v1/traces/{TRACE}/flame")
    assert answer["isEstimate"] and answer["known"]["estimatedSamples"] == 2, answer["known"]
    assert answer["known"]["of"]["spanId"] == ROOT, answer["known"]
    text = server.get(f"/api/v1/traces/{TRACE}/flame?format=text").text
    assert "HOT PATH" not in text and "estimate" in text, text


def test_estimates_are_not_compared():
    left, right = (urllib.parse.quote('{ name = "%s" }' % n) for n in ("spanA", "spanB"))
    answer = server.json(f"/api/v1/compare?left={left}&right={right}")
    assert answer["significant"] == 0 and answer["functions"] == [], answer
    assert "estimates are not compared" in answer["reason"], answer["reason"]
    answer = server.json(f"/api/v1/findings?left={left}&right={right}")
    assert answer["findings"] == [] and answer["estimatedSamples"] > 0, answer
    fast, slow = (urllib.parse.quote('{ name = "handle" && span.slow = %d }' % n) for n in (0, 1))
    answer = server.json(f"/api/v1/compare?left={fast}&right={slow}")
    assert answer["significant"] == 1 and answer["functions"][0]["function"] == "slowWork", answer


def test_a_cohort_of_estimates_says_so():
    query = urllib.parse.quote('{ name = "spanA" }')
    answer = server.json("/api/v1/cohort?q=" + query)
    assert answer["isEstimate"] and answer["known"]["samples"] == 0 and answer["trust"] == "none", answer
    text = run("flame", "--q", '{ name = "spanA" }')
    assert "HOT PATH" not in text and "~ estimate" in text, text
    text = run("flame", "--q", '{ name = "handle" }')
    assert "HOT PATH" in text and "~" not in text, text


def strings_of(body):
    """The string table of a pprof or OTLP profile, or of any message: what a reader sees as text."""
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


def test_every_form_marks_an_estimate():
    """Of spanA, which shares its request's samples, and of the request, which is known."""
    for name, span, is_marked in (("spanA", A, True), ("handle", ROOT, False)):
        for path in (f"/api/v1/spans/{TRACE}/{span}/profile?", f"/api/v1/profile?app=go&span_id={span}&", "/api/v1/cohort?q=" + urllib.parse.quote('{ name = "%s" }' % name) + "&"):
            forms = {f: server.get(f"{path}format={f}") for f in ("json", "pprof", "otlp", "folded", "speedscope", "svg", "flamegraph")}
            for form, answer in forms.items():
                assert answer.status == 200 and (answer.getheader("x-spanflame-estimate") == "true") == (is_marked and (
                    form != "json" or path.startswith("/api/v1/profile"))), (path, form, answer.headers)
            body = json.loads(forms["json"].text)
            assert body.get("profile", body)["isEstimate"] == is_marked, (path, body)
            assert (b"~ estimate: other spans share" in strings_of(forms["pprof"].body)) == is_marked, path
            assert (b"~ estimate: other spans share" in strings_of(forms["otlp"].body)) == is_marked, path
            stacks = forms["folded"].text.splitlines()
            assert stacks and all(s.startswith("~ estimate;main;") == is_marked for s in stacks), (path, stacks)
            scope = json.loads(forms["speedscope"].text)
            assert ("~ estimate" in scope["name"]) == is_marked and ("~ estimate" in scope["profiles"][0]["name"]) == is_marked, scope
            assert (", ~" in forms["svg"].text.split("<script>")[0]) == is_marked, path
            assert ("~" in forms["flamegraph"].text) == is_marked, path
    # Values are the same in all of them.
    total = sum(int(line.rsplit(" ", 1)[1]) for line in server.get(
        f"/api/v1/spans/{TRACE}/{A}/profile?format=folded").text.splitlines())
    assert total == server.json(f"/api/v1/spans/{TRACE}/{A}/profile")["profile"]["total"] > 0


def test_a_saved_estimate_stays_one():
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, "a.pb.gz")
        with open(saved, "wb") as f:
            f.write(server.get(f"/api/v1/spans/{TRACE}/{A}/profile?format=pprof").body)
        for args in (("flame", saved), ("top", saved), ("top", saved, "--tree")):
            text = run(*args)
            assert "~" in text and "~ estimate" in text and "HOT PATH" not in text, (args, text)
        assert json.loads(run("top", saved, "--output", "json"))["isEstimate"]
        assert run("export", saved, "--format", "folded").startswith("~ estimate;main;")


def test_top_marks_what_spans_share():
    text = run("top", "--q", '{ name = "spanA" }')
    assert "~ estimate" in text and "~100.0 %" in text, text
    assert json.loads(run("top", "--q", '{ name = "spanA" }', "--output", "json"))["isEstimate"]
    text = run("top", "--q", '{ name = "handle" }')
    assert "~" not in text and "workA" in text, text


def test_pyroscopes_answers_mark_what_spans_share():
    """Grafana asks for a span's profile this way; its answers have no place for a remark."""
    path = "/querier.v1.QuerierService/"
    ask = {"profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "labelSelector": '{service_name="go"}',
           "start": NOW // MS - 60000, "end": NOW // MS + 600000}

    def post(method, **more):
        answer = server.post(path + method, json.dumps({**ask, **more}).encode(), "application/json")
        assert answer.status == 200, (method, more, answer.text)
        return json.loads(answer.text)
    for span, is_marked in ((A, True), (ROOT, False)):
        names = post("SelectMergeSpanProfile", spanSelector=[span])["flamegraph"]["names"]
        assert names[0] == "total" and ("~ estimate" in names) == is_marked, names
        names = post("SelectMergeStacktraces", spanSelector=[span])["flamegraph"]["names"]
        assert ("~ estimate" in names) == is_marked, names
        dot = post("SelectMergeStacktraces", spanSelector=[span], format="PROFILE_FORMAT_DOT")["dot"]
        assert ("(~" in dot) == is_marked, dot
        tree = base64.b64decode(post("SelectMergeStacktraces", spanSelector=[span], format="PROFILE_FORMAT_TREE")["tree"])
        assert (b"~ estimate" in tree) == is_marked, tree
        profile = post("SelectMergeStacktraces", spanSelector=[span], format="PROFILE_FORMAT_PPROF")["pprof"]["profile"]
        said = [profile["stringTable"][int(i)] for i in profile.get("comment", [])]
        assert (len(said) == 1 and said[0].startswith("~ estimate:")) == is_marked, said


def test_under_five_samples_no_form_has_times_or_a_hot_path():
    """Two samples of 10 ms in a span of 1.29 ms: how many there were is all that is known."""
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "insert", "service": "few", "start": NOW, "end": NOW + 1290000}])
    body = pprof({("main;wal", (("span_id", own.hex()),)): 20 * MS}, when=NOW)
    assert server.post("/api/v1/profile?service=few", body).status == 200
    query = urllib.parse.quote('{ name = "insert" }')
    for path in (f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile?", f"/api/v1/profile?app=few&span_id={own.hex()}&",
                 f"/api/v1/cohort?q={query}&", f"/api/v1/traces/{trace.hex()}/flame?"):
        body = server.json(path + "format=json")
        few = body.get("profile", body)
        assert few["isFew"] and few["looks"] == 2, (path, few)
        for form in ("text", "flamegraph", "svg"):
            if form == "text" and path.startswith("/api/v1/profile"):
                continue
            answer = server.get(f"{path}format={form}")
            text = answer.text.split("<script>")[0]
            assert answer.getheader("x-spanflame-few") == "2" and "HOT PATH" not in text, (path, form, text)
            assert "20 ms" not in text and "10 ms" not in text, (path, form, text)
        assert b"few samples: 2" in strings_of(server.get(path + "format=pprof").body), path
        assert "few samples: 2" in server.json(path + "format=speedscope")["name"], path
    text = run("top", "--q", '{ name = "insert" }')
    assert "2 samples" in text and " ms" not in text and "too few" in text, text
    for ask in (f"trace={trace.hex()}&span={own.hex()}", f"trace={trace.hex()}", "service=few", f"q={query}"):
        found = server.json(f"/api/v1/findings?{ask}")
        assert found["findings"] == [] and "2 samples are too few" in found["reason"], (ask, found)
    ledger = f"/api/v1/spans/{trace.hex()}/{own.hex()}/ledger"
    part = next(p for p in server.json(ledger)["parts"] if p["part"] == "cpu")
    assert part["fewSamples"] == 2 and part["ns"] <= 1290000, part
    text = server.get(ledger + "?format=text").text
    assert "running                    2 samples\n" in text and "cut to fit" not in text and "100 %" not in text, text
    text = server.get(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile?part=cpu&format=text").text
    assert "HOT PATH" not in text and "by itself" not in text and " ms in" not in text and "2 samples" in text, text
    rows = server.json("/api/v1/frames/spans?function=wal&service=few&from=now-1h")["spans"]
    assert [r["fewSamples"] for r in rows] == [2], rows
    answer = server.json("/api/v1/frames/spans?function=wal&service=few&from=now-1h")
    assert answer["fewSamples"] == 2, answer
    text = server.get("/api/v1/frames/spans?function=wal&service=few&from=now-1h&format=text").text
    assert text.startswith("2 samples in 1 span\n") and " 2 samples   100 %" in text and " ms" not in text, text
    for by in ("wall", "critical-path"):
        assert "HOT PATH" not in server.get(f"/api/v1/traces/{trace.hex()}/flame?format=text&by={by}").text


def test_one_sample_is_no_time_of_a_set_either():
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": "single", "start": NOW, "end": NOW + 100 * MS}])
    assert server.post("/api/v1/profile?service=single", pprof({("main;work", (("span_id", own.hex()),)): 10 * MS}, when=NOW)).status == 200
    wait_for(urllib.parse.quote('{ resource.service.name = "single" }'))
    query = urllib.parse.quote('{ resource.service.name = "single" }')
    parts = {p["part"]: p for p in server.json(f"/api/v1/explain?q={query}&from=now-1h")["parts"]}
    assert parts["on_cpu"]["few_samples"] == 1 and "few_samples" not in parts["unknown"], parts
    text = run("why", "--q", '{ resource.service.name = "single" }')
    assert "1 sample running (too few" in " ".join(text.split()) and text.startswith("{ resource.service.name"), text


def test_the_interval_of_a_set_of_few_spans_is_students():
    """Spans of 10 to 80 ms: mean 45 ms, standard error 8.660 ms; t of 7 degrees of freedom is 2.3646, 1.96 would be 2 of 10 too short."""
    server.send([{"trace_id": os.urandom(16), "span_id": os.urandom(8), "name": "op", "service": "eight", "start": NOW, "end": NOW + i * 10 * MS}
                 for i in range(1, 9)])
    query = urllib.parse.quote('{ resource.service.name = "eight" }')
    wait_for(query)
    answer = server.json(f"/api/v1/explain?q={query}&from=now-1h")
    assert answer["duration_ns"] == 45 * MS, answer
    for figure in (answer, answer["parts"][0]):
        assert abs(figure["low_ns"] - (45 - 2.3646 * 8.66025) * MS) < 0.01 * MS and abs(figure["high_ns"] - (45 + 2.3646 * 8.66025) * MS) < 0.01 * MS, answer


def test_no_number_of_a_span_is_longer_than_it_lasted_on_its_threads():
    """Nine samples of 10 ms on one thread, and two waits of 50 ms on two, in a span of 12 ms; a child of 3 ms with a sample."""
    trace, own, child = os.urandom(16), os.urandom(8), os.urandom(8)
    common = {"trace_id": trace, "service": "long"}
    server.send([{**common, "span_id": own, "name": "outer", "start": NOW, "end": NOW + 12 * MS},
                 {**common, "span_id": child, "parent": own, "name": "inner", "start": NOW, "end": NOW + 3 * MS}])

    def tags(span, thread):
        return (("span_id", span.hex()), ("thread_id", str(thread)))
    stacks = {("main;wal", tags(own, 7)): 60 * MS, ("main;log", tags(own, 7)[:1]): 30 * MS,  # one of them names no thread
              ("main;wal;sync", tags(child, 7)): 10 * MS}
    waits = {("main;take", tags(own, 7)): 50 * MS, ("main;give", tags(own, 8)): 50 * MS}
    for kind, body in (("cpu", pprof(stacks, when=NOW)), ("offcpu", pprof(waits, sample_type="offcpu", when=NOW))):
        answer = server.post("/api/v1/profile?service=long", body)
        assert answer.status == 200, (kind, answer.text)
    wait_for(urllib.parse.quote('{ name = "outer" && profile.cpu != nil && profile.off_cpu != nil }'))
    rows = {r["name"]: r for r in server.json("/api/v1/frames/spans?function=wal&service=long&type=cpu&from=now-1h")["spans"]}
    assert rows["outer"]["value"] == 8 * MS and rows["outer"]["isCut"] and rows["inner"]["value"] == 3 * MS, rows
    text = run("spans-with", "wal", "--service", "long", "--type", "cpu")
    assert "8 ms*" in text and "* cut to fit" in text and "60 ms" not in text, text
    for kind, most in (("cpu", 12), ("offcpu", 24)):
        total = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile?type={kind}")["profile"]["total"]
        assert total == most * MS, (kind, total)

    def found(condition):
        query = urllib.parse.quote(f'{{ resource.service.name = "long" && {condition} }}')
        return len(server.json(f"/api/search?q={query}").get("traces", []))
    assert found("profile.cpu > 11ms") and not found("profile.cpu > 12ms"), found("profile.cpu > 0ms")
    assert found("profile.off_cpu > 23ms") and not found("profile.off_cpu > 24ms")
    query = urllib.parse.quote('{ resource.service.name = "long" } | select(profile.cpu)')
    said = [a["value"] for s in server.json(f"/api/search?q={query}")["traces"][0]["spanSets"][0]["spans"]
            for a in s["attributes"] if a["key"] == "profile.cpu"]
    assert sorted(str(v) for v in said) == ["{'stringValue': '12ms'}", "{'stringValue': '3ms'}"], said
    query = urllib.parse.quote('{ resource.service.name = "long" && name = "outer" } | sum_over_time(profile.cpu)')
    series = server.json(f"/api/metrics/query?q={query}&since=1h")["series"]
    assert abs(series[0]["value"] - 0.1) < 1e-9, series  # over many spans, samples add up to what was spent


def test_samples_worth_more_than_their_span_are_cut_in_every_answer():
    """One record of nine samples of 10 ms, on one thread, in the one span of its service, of 12 ms."""
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": "tight", "start": NOW, "end": NOW + 12 * MS}])
    body = pprof({("main;wal", (("span_id", own.hex()), ("thread_id", "7"))): 90 * MS}, when=NOW)
    assert server.post("/api/v1/profile?service=tight", body).status == 200
    query = urllib.parse.quote('{ resource.service.name = "tight" }')
    wait_for(query)
    row = server.json(f"/api/v1/trace/{trace.hex()}")["spans"][0]
    assert "fewSamples" not in row and row["hot"]["value"] == 12 * MS, row  # nine samples are not one
    answer = server.json(f"/api/v1/cohort?q={query}&from=now-1h")
    assert answer["meanValue"] == answer["profile"]["total"] == 12 * MS and "cut to fit" in answer["reason"], answer
    for args in (("flame", "--q", '{ resource.service.name = "tight" }'), ("flame", "--span", own.hex())):
        text = run(*args)
        assert "9 samples, 9 exact" in text and "90 ms" not in text, text
    text = run("top", "--q", '{ resource.service.name = "tight" }')
    assert "of 12 ms cpu (9 samples)" in text and "90 ms" not in text, text
    # Of the service it is what was sampled, and no request can have had it.
    found = server.json("/api/v1/findings?service=tight&from=now-1h")["findings"]
    assert found[0]["subject"] == "wal" and found[0]["value"] == 90 * MS and found[0]["perRequestNs"] is None, found
    assert "per request" not in run("findings", "--service", "tight")


def test_a_trace_says_what_a_span_alone_has_more():
    """Samples with times and without ids or threads: a span that is asked for gets them by time, a trace does not."""
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": "untied", "start": NOW, "end": NOW + 200 * MS}])
    words = ["", "cpu", "nanoseconds", "work"]
    samples = [{"stackIndex": 1, "values": [str(10 * MS)], "timestampsUnixNano": [str(NOW + i * 10 * MS)]} for i in range(1, 10)]
    kind = {"typeStrindex": 1, "unitStrindex": 2}
    body = {"resourceProfiles": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "untied"}}]}, "scopeProfiles": [{"profiles": [
        {"sampleType": kind, "samples": samples, "timeUnixNano": str(NOW), "durationNano": str(1000 * MS), "periodType": kind, "period": str(10 * MS)}]}]}],
        "dictionary": {"stringTable": words, "linkTable": [{}], "attributeTable": [{}], "functionTable": [{}, {"nameStrindex": 3}],
                       "locationTable": [{}, {"lines": [{"functionIndex": 1}]}], "stackTable": [{}, {"locationIndices": [1]}], "mappingTable": [{}]}}
    assert server.post("/v1development/profiles", json.dumps(body), "application/json").status == 200
    parts = {p["part"]: p for p in server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/ledger")["parts"] if p["ns"]}
    assert parts["cpu"]["ns"] == 90 * MS and parts["cpu"]["source"] == "estimate", parts
    for path, key in ((f"traces/{trace.hex()}/ledgers", "note"), (f"trace/{trace.hex()}", "note"), (f"traces/{trace.hex()}/flame", "reason")):
        answer = server.json(f"/api/v1/{path}")
        assert "no thread ties them to a span of the trace alone; a span by itself" in answer[key], (path, answer[key])
    assert server.json(f"/api/v1/traces/{trace.hex()}/ledgers")["spans"][0]["parts"] == {"unknown": 200 * MS}


def wait_for(query):
    """Searches see what is acknowledged a moment later."""
    for _ in range(600):
        if server.json(f"/api/search?q={query}").get("traces"):
            return
        time.sleep(0.05)
    raise AssertionError(query)


def test_samples_that_name_no_thread_are_of_as_many_as_it_takes():
    """300 ms of CPU time in a span of 100 ms, of which nobody says on how many threads: at least three of them."""
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": "wide", "start": NOW, "end": NOW + 100 * MS}])
    assert server.post("/api/v1/profile?service=wide", pprof({("main;work", (("span_id", own.hex()),)): 300 * MS}, when=NOW)).status == 200
    path = f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile"
    answer, text = server.json(path), server.get(path + "?format=text").text
    assert (answer["threads"], answer["areThreadsNamed"], answer["mostSamples"]) == (3, False, 30), answer
    assert "30 samples of about 30 expected on at least 3 threads" in text and "at least 3 threads are needed" in answer["reason"], text


def test_no_call_names_the_runtime_as_what_to_optimise():
    """Frames of language runtimes as profilers write them: their time is that of who called them, or nobody's."""
    runtimes = {
        "go": ("runtime.asyncPreempt", "runtime.mallocgc;runtime.scanobject", "runtime.mapaccess1_faststr", "runtime.memmove"),
        "java": ("SafepointSynchronize::block", "OptoRuntime::new_instance_C", "[unknown_Java]"),
        "python": ("_PyEval_EvalFrameDefault;_PyFunction_Vectorcall", "<gc>"),
        "node": ("(garbage collector)", "(program)"),
        "ruby": ("(garbage collection)", "vm_exec_core"),
        "dotnet": ("WKS::gc_heap::mark_object_simple", "JIT_NewArr1")}
    for language, frames in runtimes.items():
        service, trace, own = "rt-" + language, os.urandom(16), os.urandom(8)
        names = {name for stack in frames for name in stack.split(";")}
        server.send([{"trace_id": trace, "span_id": own, "name": service, "service": service, "start": NOW, "end": NOW + 1000 * MS}])
        tag = (("span_id", own.hex()),)
        stacks = {(f"main;handle;{stack}", tag): 100 * MS for stack in frames}
        stacks[("main;handle;parse", tag)] = 60 * MS
        assert server.post(f"/api/v1/profile?service={service}", pprof(stacks, when=NOW)).status == 200
        path, query = f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile", urllib.parse.quote('{ name = "%s" }' % service)
        wait_for(query)
        answer = server.json(path)
        assert answer["top"]["function"] == "handle" and not names & {s["function"] for s in answer["shares"]}, (language, answer["shares"])
        hot = server.json(f"/api/v1/trace/{trace.hex()}")["spans"][0]["hot"]
        assert hot["function"] == "handle" and hot["value"] == 100 * MS * len(frames), (language, hot)
        for text in (server.get(path + "?format=text").text, server.get(f"/api/v1/profile?app={service}&from=now-1h").text,
                     run("flame", "--q", '{ name = "%s" }' % service), run("flame", service), run("trace", trace.hex()),
                     server.get(f"/api/v1/traces/{trace.hex()}/flame?format=text").text):
            marked = {line.split()[0] for line in text.splitlines() if "HOT PATH" in line}
            assert not names & marked and not any(f"{name} by itself" in text for name in names), (language, marked, text)
        assert "handle" in marked, (language, text)
        for ask in (f"trace={trace.hex()}&span={own.hex()}", f"trace={trace.hex()}", f"service={service}", f"q={query}"):
            found = server.json(f"/api/v1/findings?{ask}")["findings"]
            assert "handle" in [f["subject"] for f in found if f["kind"] == "hot_function"], (language, ask, found)
            assert not names & {f["subject"] for f in found if f["kind"] in ("hot_function", "repeated_function")}, (language, ask, found)
    # A collector's own threads are nobody's: they are drawn, and nothing is concluded from them.
    body = pprof({"runtime.gcBgMarkWorker;runtime.gcDrain;runtime.scanobject": 900 * MS, "main;work": 100 * MS}, when=NOW)
    assert server.post("/api/v1/profile?service=rt-threads", body).status == 200
    marked = [line.split()[0] for line in run("flame", "rt-threads").splitlines() if "HOT PATH" in line]
    assert marked == ["work"], marked


def test_profiles_without_ids_are_known_of_the_service():
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": "it's", "start": NOW, "end": NOW + 100 * MS}])
    assert server.post("/api/v1/profile?service=it%27s", pprof({"main;work": 500 * MS}, when=NOW)).status == 200
    answer = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile")
    of = answer["known"]["of"]
    assert answer["isEstimate"] and answer["shares"] == [] and of["service"] == "it's" and "spanId" not in of, answer
    assert int(of["fromUnixNano"]) <= NOW < int(of["untilUnixNano"]), of
    assert of["command"].startswith("spanflame flame '{service_name=\"it'\\''s\"}' --time-range "), of
    query = urllib.parse.quote('{ resource.service.name = "it\'s" }')
    wait_for(query)
    answer_of_set = server.json(f"/api/v1/cohort?q={query}&from=now-1h")
    assert answer_of_set["isEstimate"] and answer_of_set["meanValue"] == 100 * MS and "cut to fit" in answer_of_set["reason"], answer_of_set
    said = server.json(f"/api/v1/compare?left={query}&right={query}&from=now-1h")["reason"]
    assert "profiles of this type name no spans" in said and "first spans" not in said, said
    # 500 ms of the process: at most what the span lasted on one thread.
    assert answer["profile"]["total"] == 100 * MS and "cut to fit" in answer["reason"], answer["reason"]
    shown = pasted(of["command"])
    assert shown.returncode == 0 and "work" in shown.stdout, shown


def pasted(command):
    """The command as a shell runs it when somebody pastes it."""
    line = command.replace("spanflame", shlex.quote(PROGRAM), 1) + f" --server http://127.0.0.1:{server.port}"
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "cpu.folded"), "w", encoding="ascii") as f:
            f.write("main;of_a_file 5\n")
        return subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False, cwd=folder)


def test_a_service_is_no_flag_file_row_or_address_of_the_command():
    """The command names the service, whatever the sender called it."""
    for service in ("--help", "-", "--server=http://127.0.0.1:1", "cpu.folded", "http://127.0.0.1:1/profile", "../x", "com.example.shop", "12", "a{b=c}",
                    "x\"}' ; echo in_a_shell '", "plain-1"):
        trace, own = os.urandom(16), os.urandom(8)
        server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": service, "start": NOW, "end": NOW + 100 * MS}])
        assert server.post(f"/api/v1/profile?service={urllib.parse.quote(service)}", pprof({"main;of_the_service": 500 * MS}, when=NOW)).status == 200
        command = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile")["known"]["of"]["command"]
        shown = pasted(command)
        assert shown.returncode == 0 and "of_the_service" in shown.stdout and "in_a_shell\n" not in shown.stdout, (service, command, shown)
        assert (service == "plain-1") == command.startswith("spanflame flame plain-1 --"), command



def test_replicas_are_told_apart_by_any_name_of_theirs():
    """Profiles without ids, of two replicas: a span gets those of its own, whichever name both sides have."""
    both = {"service.instance.id": "i{}", "k8s.pod.name": "p{}"}
    for n, (resource, labels) in enumerate((
            (both, ("service_instance_id=i{}",)), (both, ("service.instance.id=i{}",)), (both, ("instance=i{}",)),
            (both, ("pod=p{}",)), (both, ("k8s_pod_name=p{}",)), (both, ("k8s.pod.name=p{}",)),
            # A profile keeps one name of its process, the instance; the span knows only its pod.
            ({"k8s.pod.name": "p{}"}, ("service_instance_id=x{}", "pod=p{}")),
            ({"k8s.pod.name": "p{}"}, ("instance=x{}", "k8s_pod_name=p{}")))):
        service, spans = f"replicas{n}", []
        for i in (1, 2):
            spans.append({"trace_id": os.urandom(16), "span_id": os.urandom(8), "name": "op", "service": service, "start": NOW,
                          "end": NOW + 100 * MS, "resource": {k: v.format(i) for k, v in resource.items()}})
            named = "".join("&label=" + urllib.parse.quote(label.format(i)) for label in labels)
            server.send(spans[-1:])  # one resource each
            answer = server.post(f"/api/v1/profile?service={service}{named}", pprof({f"main;work{i}": 500 * MS}, when=NOW))
            assert answer.status == 200, answer.text
        for i in (1, 2):
            path = f"/api/v1/spans/{spans[i - 1]['trace_id'].hex()}/{spans[i - 1]['span_id'].hex()}/profile"
            answer = server.json(path)
            names = {f["function"] for f in answer["profile"]["frames"]}
            assert names == {"main", f"work{i}"}, (labels, i, names, answer["grades"])
            assert "process did" in answer["reason"], (labels, names, answer["reason"])


def test_a_span_without_profiles_says_that_none_arrived():
    """Of a store without profiles the reason is not that samples could not be assigned."""
    with Server() as bare:
        span = {"trace_id": os.urandom(16), "span_id": os.urandom(8), "name": "op", "service": "bare", "start": NOW, "end": NOW + 50 * MS}
        bare.send([span])
        of = f"/api/v1/explain?trace={span['trace_id'].hex()}&span={span['span_id'].hex()}"
        unknown = next(p for p in bare.json(of)["parts"] if p["part"] == "unknown")
        assert unknown["reason"] == "no profiles of bare were received for its time", unknown


tap.run(sys.modules[__name__])
