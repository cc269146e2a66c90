#!/usr/bin/env python3
"""Traces and profiles that contradict themselves. Every question about them has a clear answer: never an empty page,
never a sum that does not add up, never a server that is gone."""
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, export_request, tap  # noqa: E402

server = Server().start()
MS = 1000000
SERVER, CLIENT, PRODUCER, CONSUMER = 2, 3, 4, 5


class Trace:
    """Spans by name; times are milliseconds after its beginning, two seconds ago."""

    def __init__(self):
        self.id, self.spans, self.now = os.urandom(16), [], time.time_ns() - 2000 * MS

    def add(self, name, service, start, end, parent=None, kind=SERVER, **more):
        span = dict({"trace_id": self.id, "span_id": os.urandom(8), "parent": parent, "name": name, "service": service,
                     "kind": kind, "start": self.now + int(start * MS), "end": self.now + int(end * MS)}, **more)
        self.spans.append(span)
        return span["span_id"]

    def send(self, stacks=()):
        """`stacks`: {service: {path: ms, tagged by the first of the names}}"""
        server.send(self.spans)
        for service, of_service in dict(stacks).items():
            tags = {(path, (("span_id", span.hex()),)): ms * MS for (path, span), ms in of_service.items()}
            answer = server.post("/api/v1/profile?service=" + service, pprof(tags), "application/octet-stream")
            assert answer.status == 200, answer.text
        return self


def run(*args):
    done = subprocess.run([PROGRAM, *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                          timeout=60)
    return done.returncode, done.stdout, done.stderr


def total(profile):
    return sum(node[2] for node in profile["nodes"])


def ask_everything(trace):
    """Every endpoint and command about the trace and each of its spans; what must hold of any of them."""
    told = server.json(f"/api/v1/trace/{trace.id.hex()}")
    ids = {s["span_id"].hex() for s in trace.spans}
    assert len(told["spans"]) == len({(s["span_id"], s["kind"]) for s in trace.spans}), told["spans"]
    assert told["criticalNs"] <= told["durationNs"] == max(s["startOffsetNs"] + s["durationNs"] for s in told["spans"])
    assert min(s["startOffsetNs"] for s in told["spans"]) == 0
    own, critical = 0, sum(s["criticalNs"] for s in told["spans"])
    assert critical == told["criticalNs"], (critical, told["criticalNs"])
    for by in ("samples", "wall", "critical-path"):
        flame = server.json(f"/api/v1/traces/{trace.id.hex()}/flame?by={by}")
        assert flame["samples"] > 0 or flame["reason"], flame
        assert flame["clocks"] == told["clocks"], (flame["clocks"], told["clocks"])
        own = total(flame["profile"]) if by == "wall" else own
        assert by != "critical-path" or total(flame["profile"]) == critical, (by, critical)
    assert own <= sum(s["durationNs"] for s in told["spans"])
    for span in ids:
        ledger = server.json(f"/api/v1/spans/{trace.id.hex()}/{span}/ledger")
        assert sum(p["ns"] for p in ledger["parts"]) == ledger["durationNs"], ledger
        profile = server.json(f"/api/v1/spans/{trace.id.hex()}/{span}/profile")
        assert profile["samples"] > 0 or profile["reason"], profile
        shown = [s.get("clockShiftNs", 0) for s in told["spans"] if s["spanId"] == span]
        assert profile["clockShiftNs"] == ledger["clockShiftNs"] and profile["clockShiftNs"] in shown, (profile, shown)
        assert profile["clocks"] == ledger["clocks"] and all(c in told["clocks"] for c in profile["clocks"]), profile["clocks"]
        assert profile["clockShiftNs"] == 0 or profile["clocks"], profile
        assert total(profile["profile"]) == sum(g["value"] for g in profile["grades"].values()), profile["grades"]
        cover = server.json(f"/api/v1/spans/{trace.id.hex()}/{span}/coverage")
        assert cover["link"]["spans"] == 1, cover
    findings = server.json(f"/api/v1/findings?trace={trace.id.hex()}")
    assert findings["findings"] or findings["reason"], findings
    span = trace.spans[0]["span_id"].hex()
    for args in (("trace", trace.id.hex()), ("flame", "--trace", trace.id.hex(), "--by", "critical-path"),
                 ("flame", "--span", span, "--trace", trace.id.hex()), ("ledger", span, "--trace", trace.id.hex()),
                 ("findings", "--trace", trace.id.hex()), ("coverage", "--span", span)):
        code, out, err = run(*args)
        assert code == 0 and out.strip() and not err, (args, code, out, err)
    for path in ("/api/traces/", "/api/v2/traces/", "/jaeger/api/traces/"):
        assert server.get(path + trace.id.hex()).status == 200
    return told


def by_name(told):
    return {s["name"]: s for s in told["spans"]}


# ---- clocks ----

def skewed(ahead_ms):
    t = Trace()
    root = t.add("GET /cart", "gateway", 0, 100)
    call = t.add("call", "gateway", 10, 90, root, CLIENT)
    serve = t.add("serve", "skewed", 20 + ahead_ms, 80 + ahead_ms, call)
    t.add("query", "skewed", 30 + ahead_ms, 70 + ahead_ms, serve, 1)
    stacks = {(f"main;step{i};query", t.spans[3]["span_id"]): 5 for i in range(6)}  # fewer name no hottest function
    return t.send({"skewed": {("main;serve", serve): 20, **stacks}}), call, serve


def test_a_clock_that_is_ahead_is_corrected_and_said():
    for ahead in (3000, -3000):
        t, call, serve = skewed(ahead)
        told = ask_everything(t)
        assert told["clocks"] == [{"service": "skewed", "caller": "gateway", "calls": 1, "offsetNs": ahead * MS,
                                   "slackNs": 10 * MS, "isContradictory": False}], told["clocks"]
        spans = by_name(told)
        assert told["durationNs"] == told["criticalNs"] == 100 * MS, told
        assert spans["serve"]["startOffsetNs"] == 20 * MS and spans["query"]["startOffsetNs"] == 30 * MS, spans
        assert spans["serve"]["clockShiftNs"] == -ahead * MS and "clockShiftNs" not in spans["call"], spans
        assert spans["serve"]["startTimeUnixNano"] == str(t.spans[2]["start"])
        assert [spans[n]["criticalNs"] // MS for n in ("GET /cart", "call", "serve", "query")] == [20, 20, 20, 40], spans
        # Samples are joined by their own process's clock, whatever the others say.
        assert spans["query"]["hot"]["function"] == "query", spans["query"]
        flame = server.json(f"/api/v1/traces/{t.id.hex()}/flame?by=critical-path")
        assert total(flame["profile"]) == 100 * MS
        parts = {p["part"]: p["ns"] for p in server.json(f"/api/v1/spans/{t.id.hex()}/{call.hex()}/ledger")["parts"]}
        assert parts["remote"] == 60 * MS and parts["unknown"] == 20 * MS, parts
        words = f"skewed is 3 s {'ahead of' if ahead > 0 else 'behind'} gateway, to within 10 ms (1 call)"
        for args in (("trace", t.id.hex()), ("flame", "--trace", t.id.hex(), "--by", "wall")):
            code, out, err = run(*args)
            assert code == 0 and words in out, (args, out, err)
        assert words in server.get(f"/api/v1/traces/{t.id.hex()}/flame?format=text").text


def test_clocks_that_contradict_themselves_are_said_to():
    t = Trace()
    root = t.add("batch", "gateway", 0, 1000)
    for i, ahead in enumerate((400, -400, 400)):  # a clock that jumps
        call = t.add(f"call {i}", "gateway", 100 + 300 * i, 200 + 300 * i, root, CLIENT)
        t.add(f"serve {i}", "jumping", 110 + 300 * i + ahead, 190 + 300 * i + ahead, call)
    told = ask_everything(t.send())
    assert len(told["clocks"]) == 1 and told["clocks"][0]["isContradictory"] and told["clocks"][0]["calls"] == 3, told["clocks"]
    spans = by_name(told)
    assert [spans[f"serve {i}"]["startOffsetNs"] // MS for i in range(3)] == [110, 410, 710], spans
    code, out, _ = run("trace", t.id.hex())
    assert code == 0 and "clocks of jumping and gateway contradict each other" in out, out


def test_a_message_that_came_before_it_was_sent():
    t = Trace()
    send = t.add("send", "shop", 0, 10, kind=PRODUCER)
    t.add("handle", "mailer", -50, 500, send, CONSUMER)
    told = ask_everything(t.send())
    assert told["clocks"][0]["offsetNs"] == -50 * MS and told["clocks"][0]["slackNs"] is None, told["clocks"]
    assert by_name(told)["handle"]["startOffsetNs"] == 0 and told["durationNs"] == 550 * MS
    code, out, _ = run("trace", t.id.hex())
    assert "mailer is at least 50 ms behind shop (1 call)" in out, out


def test_what_rightly_outlives_its_parent_is_no_fault_of_a_clock():
    t = Trace()
    root = t.add("POST /order", "shop", 0, 100)
    t.add("audit", "shop", 50, 400, root, 1)  # continues in the same process
    send = t.add("send", "shop", 60, 70, root, PRODUCER)
    t.add("handle", "mailer", 300, 350, send, CONSUMER)
    call = t.add("call", "shop", 70, 90, root, CLIENT, error=True)  # gave up waiting
    t.add("serve", "slow", 85, 95, call)
    told = ask_everything(t.send())
    assert told["clocks"] == [] and told["durationNs"] == 400 * MS, told["clocks"]
    # Nobody waited for what continued: the root's own end is where the path begins.
    assert told["criticalNs"] <= 100 * MS, told["criticalNs"]
    assert by_name(told)["audit"]["criticalNs"] == 0


# ---- trees that are none ----

def test_spans_whose_parents_never_came():
    t = Trace()
    t.add("orphan", "shop", 0, 30, os.urandom(8))
    lost = t.add("other orphan", "tax", 40, 90, os.urandom(8))
    t.add("child", "tax", 50, 60, lost, 1)
    told = ask_everything(t.send({"tax": {("main;tax", lost): 20}}))
    assert [s["depth"] for s in told["spans"]] == [0, 0, 1], told["spans"]
    assert told["criticalNs"] == 80 * MS
    flame = server.json(f"/api/v1/traces/{t.id.hex()}/flame?by=wall")
    assert total(flame["profile"]) == 80 * MS and flame["sampledSpans"] == 2, flame


def test_a_part_of_a_trace_is_answered_for_and_the_rest_joins_later():
    t = Trace()
    root = os.urandom(8)
    t.add("serve", "shop", 20, 80, root)
    assert ask_everything(t.send())["durationNs"] == 60 * MS
    t.spans.append(dict(t.spans[0], span_id=root, parent=None, name="GET /cart", service="gateway",
                        start=t.now, end=t.now + 100 * MS))
    told = ask_everything(t.send())
    assert [(s["name"], s["depth"]) for s in told["spans"]] == [("GET /cart", 0), ("serve", 1)], told["spans"]


def test_parents_in_circles():
    t = Trace()
    a, b = os.urandom(8), os.urandom(8)
    for i, (own, parent) in enumerate(((a, b), (b, a))):
        t.add(f"turn {i}", "circle", 10 * i, 100, parent)
        t.spans[-1]["span_id"] = own
    itself = t.add("its own parent", "circle", 20, 60)
    t.spans[-1]["parent"] = itself
    told = ask_everything(t.send({"circle": {("main;turn", a): 30, ("main;self", itself): 5}}))
    # One of the circle is taken for the root; the others lie inside it.
    assert told["durationNs"] == 100 * MS and told["criticalNs"] >= 90 * MS, told
    assert [s["depth"] for s in told["spans"] if s["name"].startswith("turn")] == [0, 1], told


def test_a_long_chain_and_a_wide_one():
    t = Trace()
    parent = None
    for i in range(300):  # in turn over services, each ahead of the last
        parent = t.add(f"hop {i}", f"hop{i % 5}", i, 1000 - i, parent, CLIENT if i % 2 else SERVER)
    told = server.json(f"/api/v1/trace/{t.send().id.hex()}")
    assert told["spans"][-1]["depth"] == 299 and told["clocks"] == [], told["clocks"]
    t = Trace()
    root = t.add("root", "wide", 0, 1000)
    for i in range(300):
        t.add("leaf", f"leaf{i % 50}", i + (5000 if i % 2 else 0), i + 1 + (5000 if i % 2 else 0), root)
    told = server.json(f"/api/v1/trace/{t.send().id.hex()}")
    assert len(told["clocks"]) == 25 and told["durationNs"] == 1000 * MS, (len(told["clocks"]), told["durationNs"])


# ---- times that are none ----

def test_spans_that_end_before_they_start():
    t = Trace()
    root = t.add("backwards", "back", 100, 20)
    t.add("child", "back", 30, 60, root, 1)
    t.add("far child", "front", 50, 40, root)
    told = ask_everything(t.send({"back": {("main;work", root): 10}}))
    spans = by_name(told)
    assert spans["backwards"]["durationNs"] == spans["far child"]["durationNs"] == 0, spans
    code, out, err = run("ledger", root.hex())
    assert code == 0, (out, err)


def test_times_at_the_ends_of_time():
    t = Trace()
    root = t.add("root", "ends", 0, 100)
    t.add("zero", "zero", 0, 0, root)
    t.spans[-1].update(start=0, end=0)
    t.add("last", "last", 0, 0, root)
    t.spans[-1].update(start=2**63 - 1, end=2**63 - 1)
    answer = server.post("/v1/traces", export_request(t.spans))
    assert answer.status == 200, answer.body
    told = server.json(f"/api/v1/trace/{t.id.hex()}")
    assert told["criticalNs"] <= told["durationNs"], told
    for by in ("wall", "critical-path"):
        assert server.get(f"/api/v1/traces/{t.id.hex()}/flame?by={by}").status == 200
    for s in told["spans"]:
        ledger = server.json(f"/api/v1/spans/{t.id.hex()}/{s['spanId']}/ledger")
        assert sum(p["ns"] for p in ledger["parts"]) == ledger["durationNs"], ledger
    assert run("trace", t.id.hex())[0] == 0


def test_samples_from_the_future():
    """They are kept, with the time they arrived at, which the answer to the upload says."""
    tomorrow = time.time_ns() + 86400 * 10**9
    t = Trace()
    own = t.add("op", "seer", 0, 100)
    t.send()
    answer = server.post("/api/v1/profile?service=seer", pprof({("main;later", (("span_id", own.hex()),)): 40 * MS}, when=tomorrow))
    assert answer.status == 200 and json.loads(answer.text)["retimed"] == 1 and json.loads(answer.text)["samples"] == 1, answer.text
    # By its id a sample is the span's, whatever time it bears.
    profile = server.json(f"/api/v1/spans/{t.id.hex()}/{own.hex()}/profile")
    assert profile["grades"]["exact"] == {"samples": 1, "value": 40 * MS} and profile["samples"] == 1, profile
    told = ask_everything(t)
    assert told["durationNs"] == 100 * MS
    series = server.json("/api/v1/profile?app=seer&format=json")  # of the last hour
    assert total(series) == 40 * MS, series
    # Without ids they have nothing to do with a span that was over when they came.
    t = Trace()
    own = t.add("op", "oracle", 0, 100)
    t.send()
    answer = server.post("/api/v1/profile?service=oracle", pprof({"main;later": 40 * MS}, when=tomorrow))
    assert answer.status == 200 and json.loads(answer.text)["retimed"] == 1, answer.text
    profile = server.json(f"/api/v1/spans/{t.id.hex()}/{own.hex()}/profile")
    assert profile["samples"] == 0 and total(profile["profile"]) == 0, profile
    assert "oracle sends profiles, but none of this type while the span ran" in profile["reason"], profile["reason"]
    ask_everything(t)
    # A little ahead is a clock, not the future: it is kept as it is.
    answer = server.post("/api/v1/profile?service=oracle", pprof({"main;soon": 40 * MS}, when=time.time_ns() + 60 * 10**9))
    assert answer.status == 200 and "retimed" not in json.loads(answer.text), answer.text
    counted = [l for l in server.get("/metrics").text.splitlines() if l.startswith('spanflame_cut_total{what="times"}')]
    assert counted and float(counted[0].split()[-1]) == 2, counted


# ---- ids of nothing ----

def test_samples_of_spans_that_nobody_knows():
    ghost = os.urandom(8).hex()
    body = pprof({("main;haunt", (("span_id", ghost),)): 40 * MS})
    assert server.post("/api/v1/profile?service=ghost", body).status == 200
    for path in (f"/api/v1/spans/-/{ghost}/profile", f"/api/v1/spans/-/{ghost}/ledger", f"/api/v1/spans/-/{ghost}/coverage"):
        answer = server.get(path)
        assert answer.status == 404 and "not found" in answer.text, (path, answer.status, answer.text)
    # Its samples are there all the same.
    assert "haunt" in server.get(f"/api/v1/profile?span_id={ghost}&format=folded").text
    told = server.json("/api/v1/frames/spans?function=haunt")
    assert told["found"] == 1 and told["spans"][0]["traceId"] == "", told
    cover = server.json("/api/v1/coverage?service=ghost")
    assert "no_spans" in [m["kind"] for m in cover["missing"]], cover


def test_ids_that_nobody_has():
    t = Trace()
    own = t.add("op", "known", 0, 10).hex()
    trace = t.send().id.hex()
    nobody, nothing = os.urandom(16).hex(), os.urandom(8).hex()
    for path in (f"trace/{nobody}", f"traces/{nobody}/flame", f"traces/{nobody}/flame?by=wall", f"spans/{nobody}/{own}/profile",
                 f"spans/{nobody}/{own}/ledger", f"spans/{nobody}/{own}/coverage", f"spans/{trace}/{nothing}/profile",
                 f"spans/{trace}/{nothing}/ledger", f"spans/{trace}/{nothing}/coverage", f"spans/-/{nothing}/profile",
                 f"findings?trace={nobody}", f"findings?span={nothing}", f"findings?trace={trace}&span={nothing}",
                 f"profile?span_id={nothing}", f"profile?trace_id={nobody}"):
        answer = server.get("/api/v1/" + path)
        assert answer.status == 404 and len(answer.text.split()) > 3, (path, answer.status, answer.text)
    for path in ("trace/xyz", "trace/" + "1" * 33, "traces/xyz/flame", f"spans/{trace}/xyz/ledger", "spans/xyz/1/ledger",
                 "spans/" + "1" * 33 + "/1/profile", f"spans/{trace}/" + "1" * 17 + "/profile", "findings?trace=xyz",
                 "findings?span=xyz", "profile?span_id=xyz"):
        answer = server.get("/api/v1/" + path)
        assert answer.status == 400 and len(answer.text.split()) > 3, (path, answer.status, answer.text)
    for args in (("trace", nobody), ("flame", "--trace", nobody, "--by", "wall"), ("flame", "--span", nothing),
                 ("flame", "--span", nothing, "--trace", trace), ("ledger", nothing), ("ledger", own, "--trace", nobody),
                 ("findings", "--trace", nobody), ("coverage", "--span", nothing)):
        code, out, err = run(*args)
        assert code == 1 and not out and len(err.split()) > 4, (args, code, out, err)
    for args in (("coverage", "nobody"), ("findings", "nobody"), ("spans-with", "nobody"),
                 ("flame", "--q", '{ name = "nobody" }'), ("top", "--q", '{ name = "nobody" }'),
                 ("compare", "--slow-vs-fast", '{ name = "nobody" }')):
        code, out, err = run(*args)
        assert len((out + err).split()) > 3 and "internal" not in err, (args, code, out, err)


def test_ids_without_any_profile():
    t = Trace()
    t.add("op", "unseen", 0, 10)
    told = ask_everything(t.send())
    assert "hotType" not in told
    profile = server.json(f"/api/v1/spans/{t.id.hex()}/{t.spans[0]['span_id'].hex()}/profile")
    assert "no profiles from unseen" in profile["reason"], profile
    cover = server.json(f"/api/v1/spans/{t.id.hex()}/{t.spans[0]['span_id'].hex()}/coverage")
    assert [m["kind"] for m in cover["missing"]] == ["no_profiles"] and cover["missing"][0]["lines"], cover
    query = urllib.parse.quote('{ resource.service.name = "unseen" }')
    for path in (f"cohort?q={query}", f"compare?q={query}", "frames/spans?service=unseen", "findings?service=unseen",
                 f"findings?q={query}"):
        told = server.json("/api/v1/" + path)
        assert told["reason"], (path, told)


class Halfway(http.server.BaseHTTPRequestHandler):
    """A server that has the trace and fails at what its spans ran, or does not know that call."""
    status = 504

    def do_GET(self):
        is_trace = self.path.startswith("/api/v2/traces/")
        body = server.get(self.path, headers={"Accept": "application/protobuf"}).body if is_trace else b"took too long"
        self.send_response(200 if is_trace else self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def test_a_waterfall_says_when_its_functions_failed():
    trace = Trace()
    trace.add("GET /", "halfway", 0, 20)
    trace.send()
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Halfway)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    for status, words in ((504, "functions of its spans are missing"), (404, "")):
        Halfway.status = status
        done = subprocess.run([PROGRAM, "trace", trace.id.hex(), "--server", f"http://127.0.0.1:{other.server_port}"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "GET /" in done.stdout, (done.stdout, done.stderr)
        assert words in done.stdout and ("missing" in done.stdout) == (words != ""), done.stdout
    other.shutdown()


def test_the_server_is_still_well():
    assert server.get("/ready").status == 200 and server.process.poll() is None
    peak = next(line for line in open(f"/proc/{server.process.pid}/status", encoding="utf-8") if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 256 << 10 or os.environ.get("SANITIZER", "none") != "none", peak


tap.run(sys.modules[__name__])
