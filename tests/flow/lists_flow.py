#!/usr/bin/env python3
"""Every list that the API and the commands print has all there is, or says how many it leaves out. Each line of the tables is
one list, with how many there are, what stands in it, and where the rest is told; a list that ends in silence fails."""
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, PROGRAM, Server, tap  # noqa: E402

S, MS = 10**9, 10**6
NOW = time.time_ns()
SERVICES, OPERATIONS, TYPES, PODS, VERSIONS, CLOCKS, FUNCTIONS, CHILDREN, RUNS, TRACES, PINS = 45, 120, 70, 42, 30, 40, 14, 9, 30, 130, 35
ids = {"n": 0}
server = Server().start()


def span(service, name="op", trace=None, parent=None, start=NOW - 60 * S, ms=100, **more):
    ids["n"] += 1
    return {"service": service, "name": name, "trace_id": trace or ids["n"].to_bytes(16, "big"), "span_id": ids["n"].to_bytes(8, "big"),
            "parent": parent and parent["span_id"], "start": start, "end": start + ms * MS, **more}


def send():
    """One of everything there are many of."""
    out = [span(f"service-{i:03}") for i in range(SERVICES)]
    out += [span("wide", f"op-{i:03}") for i in range(OPERATIONS)]
    server.send(out)
    for i in range(VERSIONS):
        server.send([span("rolled", start=NOW - 300 * S + 4 * i * S, resource={"service.version": f"v{i:02}"})])
    root = span("caller", ms=200)
    trace = [root] + [span(f"clock-{i:02}", trace=root["trace_id"], parent=root, start=root["start"] - 5 * S, ms=50,
                           resource={"service.instance.id": f"c{i}"}) for i in range(CLOCKS)]
    server.send(trace)
    busy = span("busy", "request", ms=4000, attributes={"pyroscope.profile.id": "1"})
    stacks = {(f"fn{i:02}", (("span_id", busy["span_id"].hex()),)): (20 - i) * 10 * MS for i in range(FUNCTIONS)}
    parent = span("parent", "request", ms=2000)
    children = [span("parent", f"child-{i}", trace=parent["trace_id"], parent=parent, start=parent["start"] + 200 * i * MS, ms=190, kind=1)
                for i in range(CHILDREN)]
    server.send([busy, parent] + children)
    upload("busy", pprof(stacks, when=busy["start"], seconds=5))
    spread = span("spread", "request", ms=4000)
    server.send([spread])
    upload("spread", pprof({(f"half{i % 2};fn{i:02}", (("span_id", spread["span_id"].hex()),)): 300 * MS for i in range(10)}, when=spread["start"], seconds=5))
    runs = [span("runner", "run", start=NOW - (400 - 4 * i) * S, ms=900, resource={"service.version": f"r{i * 2 // RUNS}"}) for i in range(RUNS)]
    for half in (runs[:RUNS // 2], runs[RUNS // 2:]):
        server.send(half)
    stacks = {(f"main;part{k:02}", (("span_id", r["span_id"].hex()),)): 10 * MS for r in runs for k in range(60)}
    upload("runner", pprof(stacks, when=NOW - 400 * S, seconds=120))
    for i in range(TYPES):
        upload("wide", b"main;work 7\n", f"&type=t{i:02}:s{i:02}:count:t:count")
    for i in range(PODS):
        upload("pods", pprof({"main;work": S}, when=NOW - 60 * S), f"&label=pod=pod-{i:02}")
    server.send([span("many", f"GET /{i}") for i in range(TRACES)])
    deep = span("deep", ms=1000)
    server.send([deep] + [span("deep", f"step-{i:03}", trace=deep["trace_id"], parent=deep, start=deep["start"] + i * MS, ms=1, kind=1) for i in range(300)])
    for i in range(3):
        for what in ({"rate": 50 + i}, {"enabled": True}):
            answer = server.post("/api/v1/profiling?service=wide", json.dumps(what), JSON)
            assert answer.status == 200, answer.text
    for i in range(SERVICES):
        server.get(f"/api/v1/control?service=polled&instance=i{i:02}&host=h&pid={i + 1}&agent=x")
    for i in range(PINS):
        trace = (SERVICES + i + 1).to_bytes(16, "big").hex()
        assert server.post(f"/api/v1/pins/{trace}?for=1d", b"", JSON).status == 200
        assert server.post("/api/v1/deploys", json.dumps({"service": "posted", "version": f"p{i}"}), JSON).status == 200
    return {"busy": busy, "parent": parent, "root": root, "spread": spread, "deep": deep}


def upload(service, body, more=""):
    answer = server.post(f"/api/v1/profile?service={service}{more}", body, "application/octet-stream")
    assert answer.status == 200, answer.text


SENT = send()
QUERY = urllib.parse.quote('{ resource.service.name = "runner" }')
SPLIT = f"q={QUERY}&by=resource.service.version&left=r0&right=r1"


def path_of(s):
    return f"/api/v1/spans/{s['trace_id'].hex()}/{s['span_id'].hex()}"


def named(answer, part):
    return next(p for p in answer["parts"] if p["part"] == part)


# What is asked, how many there are, those listed, those that are told to be left out.
LISTS = [
    ("/api/v1/services", None, lambda a: len([s for s in a["services"] if s["service"].startswith("service-")]), SERVICES, lambda a: 0),
    ("/api/v1/services?service=wide", None, lambda a: len(a["services"][0]["operations"]), OPERATIONS, lambda a: 0),
    ("/api/v1/findings?each=service", None, lambda a: len(a["services"]), SERVICES + CLOCKS + 9, lambda a: a["left"]),
    ("/api/v1/coverage?service=wide", None, lambda a: len(a["types"]), TYPES, lambda a: a["moreTypes"]),
    (path_of(SENT["busy"]) + "/profile", None, lambda a: len(a["shares"]), FUNCTIONS, lambda a: a["moreShares"]),
    (f"/api/v1/trace/{SENT['root']['trace_id'].hex()}", None, lambda a: len(a["clocks"]), CLOCKS, lambda a: a["moreClocks"]),
    (f"/api/v1/trace/{SENT['deep']['trace_id'].hex()}", None, lambda a: len(a["spans"]), 301, lambda a: 0),
    (f"/api/v1/explain?span={SENT['spread']['span_id'].hex()}", None, lambda a: len(named(a, "on_cpu")["functions"]), 10, lambda a: named(a, "on_cpu")["more_functions"]),
    (f"/api/v1/explain?span={SENT['parent']['span_id'].hex()}", None, lambda a: len(named(a, "child")["children"]), CHILDREN, lambda a: named(a, "child")["more_children"]),
    ("/api/v1/explain?q=" + urllib.parse.quote('{ name = "request" && resource.service.name = "parent" }'), None,
     lambda a: len(named(a, "child")["children"]), CHILDREN, lambda a: named(a, "child")["more_children"]),
    ("/api/v1/frames/spans?function=main&service=runner&limit=20", None, lambda a: len(a["spans"]), RUNS, lambda a: a["found"] - len(a["spans"])),
    ("/api/v1/compare?" + SPLIT, None, lambda a: len(a["functions"]), 60, lambda a: 0),
    ("/api/v1/compare?" + SPLIT, None, lambda a: len(named(a["time"], "cpu")["functions"]), 60, lambda a: named(a["time"], "cpu")["moreFunctions"]),
    ("/api/v1/deploys?service=rolled&from=now-10m&until=now", None, lambda a: len(a["deploys"]), VERSIONS - 1, lambda a: 0),
    ("/api/v1/deploys?service=posted&from=now-10m&until=now", None, lambda a: len(a["deploys"]), PINS, lambda a: 0),
    ("/api/v1/pins", None, lambda a: len(a["pins"]), PINS, lambda a: 0),
    ("/api/v1/collectors?service=polled", None, lambda a: len(a["collectors"]), SERVICES, lambda a: 0),
    ("/api/v1/profiling/audit?service=wide", None, lambda a: len(a["changes"]), 6, lambda a: 0),
    ("/api/services", None, lambda a: len([s for s in a["data"] if s.startswith("service-")]), SERVICES, lambda a: 0),
    ("/api/operations?service=wide", None, lambda a: len(a["data"]), OPERATIONS, lambda a: 0),
    ("/querier.v1.QuerierService/ProfileTypes", {"start": NOW // MS - 3600000, "end": NOW // MS + 60000}, lambda a: len([t for t in a["profileTypes"] if t["ID"].startswith("t")]), TYPES, lambda a: 0),
    ("/querier.v1.QuerierService/LabelValues", {"name": "pod", "start": NOW // MS - 3600000, "end": NOW // MS + 60000}, lambda a: len(a["names"]), PODS, lambda a: 0),
]


def test_every_list_of_the_api_is_whole_or_says_what_is_left():
    for path, body, listed, sent, left in LISTS:
        answer = server.get(path) if body is None else server.post(path, json.dumps(body), JSON)
        assert answer.status == 200, (path, answer.text)
        answer = json.loads(answer.body)
        assert listed(answer) + left(answer) == sent, (path, listed(answer), left(answer), sent)


def test_searches_and_completion_say_it_in_a_header():
    for path, header in ((f"/api/search?limit=20&q={urllib.parse.quote('{ resource.service.name = `many` }')}", "x-spanflame-limit"),
                         ("/api/v2/search/tag/resource.service.name/values?limit=20", "x-spanflame-partial"),
                         ("/api/traces?service=many&limit=20", "x-spanflame-limit"), ("/api/v2/search/tags?limit=1", "x-spanflame-partial"), ("/api/search/tag/service.name/values?limit=20", "x-spanflame-partial")):
        assert server.get(path).getheader(header), path
        whole = re.sub(r"limit=\d+", "limit=1000", path)
        assert not server.get(whole).getheader(header), whole
    answer = server.json("/api/metrics/query_range?maxSeries=10&q=" + urllib.parse.quote("{} | rate() by (resource.service.name)"))
    assert answer["status"] == "PARTIAL" and "10" in answer["message"], answer["message"]


# A command, what a line of its list has, how many there are.
COMMANDS = [
    (["services"], r"^service-\d+ ", SERVICES),
    (["services", "--service", "wide"], r"op-\d+ ", OPERATIONS),
    (["coverage", "wide"], r"\bs\d\d\b", TYPES),
    (["top", "runner"], r"part\d\d|main$", 61),
    (["diff", "busy", "runner"], r"(?:part|fn)\d\d", 60 + FUNCTIONS),
    (["spans-with", "main", "--limit", "20"], r"\brun\b", RUNS),
    (["compare", "--by", "resource.service.version", "--left", "r0", "--right", "r1", "--q", '{ resource.service.name = "runner" }'], r"^ *part\d\d", 2 * 60),
    (["search", '{ resource.service.name = "many" }'], r"GET /\d", TRACES),
    (["tags", "resource.service.name", "--limit", "20"], r"^ *\S+$", None),
    (["labels", "pod"], r"pod-\d\d", PODS),
    (["series", "pods", "--by", "pod"], r"pod-\d\d", PODS),
    (["metrics", "{} | rate() by (resource.service.name)"], r"^[\w-]+ +[▁█]", SERVICES + CLOCKS + 9),
    (["deploys", "--service", "rolled"], r" rolled v\d\d", VERSIONS - 1),
    (["keep", "list"], r"\b[0-9a-f]{32}\b", PINS),
    (["control", "collectors", "polled"], r"\bi\d\d\b", SERVICES),
    (["trace", SENT["deep"]["trace_id"].hex()], r"step-\d\d\d", 300),
    (["trace", SENT["root"]["trace_id"].hex()], r"clocks corrected: ", CLOCKS),
]


def command(args):
    done = subprocess.run([PROGRAM, *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_list_of_a_command_is_whole_or_says_what_is_left():
    for args, line, sent in COMMANDS:
        code, text = command(args)
        assert code == 0, (args, text)
        listed = len({m[0] for m in re.finditer(line + ".*", text, re.M)})
        text = re.sub(r"in (\d+) spans, the first (\d+)", lambda m: f"{int(m[1]) - int(m[2])} more", text)
        said = re.findall(r"(\d+) more", text)
        is_said = said or re.search("there may be more|more than the limit", text)
        assert listed == sent or is_said, (args, listed, sent, text)
        if said and sent:
            assert listed + sum(map(int, said)) == sent, (args, listed, said, sent, text)


tap.run(sys.modules[__name__])
