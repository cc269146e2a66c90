#!/usr/bin/env python3
"""What samples do not say is not concluded from them: Go's profiler tags the request's first span, without times."""
import os
import subprocess
import sys
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
    assert text.count("~2 samples") == 2 and "workA 50 ms, 71 % with children" in text and "~ estimate" in text, text


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


def test_profiles_without_ids_are_known_of_the_service():
    trace, own = os.urandom(16), os.urandom(8)
    server.send([{"trace_id": trace, "span_id": own, "name": "op", "service": "it's", "start": NOW, "end": NOW + 100 * MS}])
    assert server.post("/api/v1/profile?service=it%27s", pprof({"main;work": 500 * MS}, when=NOW)).status == 200
    answer = server.json(f"/api/v1/spans/{trace.hex()}/{own.hex()}/profile")
    of = answer["known"]["of"]
    assert answer["isEstimate"] and answer["shares"] == [] and of["service"] == "it's" and "spanId" not in of, answer
    assert int(of["fromUnixNano"]) <= NOW < int(of["untilUnixNano"]), of
    assert of["command"].startswith("spanflame flame 'it'\\''s' --time-range "), of
    shown = subprocess.run([PROGRAM, "flame", "it's", "--time-range", of["command"].split()[-1], "--server",
                            f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=60)
    assert shown.returncode == 0 and "work" in shown.stdout, shown



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


tap.run(sys.modules[__name__])
