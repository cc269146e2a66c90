#!/usr/bin/env python3
"""What becomes of data in ClickHouse: it gets too old, it is erased, its tables get a newer schema; whatever dies meanwhile."""
import http.client
import http.server
import json
import os
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
from fleet_flow import LONG, command, config, shipped, spans_of, wait_for  # noqa: E402
from pprof_make import otlp  # noqa: E402
from server import PROGRAM, Server, is_in_share, make_span, tap  # noqa: E402

DAY = 86400 * 10**9
QUICK = {"interval": "100ms"}  # a round of upkeep is twelve of these, and a lease three rounds


def lease(nodes):
    """The node that has it."""
    def holder():
        found = [s for s in nodes if s.metric("spanflame_upkeep_lease") == 1]
        return found[0] if len(found) == 1 else None
    return wait_for(holder)


class Gate(http.server.ThreadingHTTPServer):
    """Between a node and a shard: refuses requests that have a word in their address or body, while there is one, and waits
    before each request."""
    daemon_threads = True

    def __init__(self, port):
        gate = self
        self.word, self.n_refused, self.delay = None, 0, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                time.sleep(gate.delay)
                status, answer = 500, b"Code: 1000. refused by a test"
                if gate.word and (gate.word in self.path or gate.word.encode() in body):
                    gate.n_refused += 1
                else:
                    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                    c.request("POST", self.path, body,
                              {k: v for k, v in self.headers.items() if k.lower() in ("content-encoding", "content-type")})
                    r = c.getresponse()
                    status, answer = r.status, r.read()
                    c.close()
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.handle_error = lambda *_: None  # nodes are killed in the middle of a request
        threading.Thread(target=self.serve_forever, daemon=True).start()


def gates(bed):
    made = [Gate(shard.port) for shard in bed.shards]
    return made, "clickhouse://" + ",".join(f"127.0.0.1:{g.server_address[1]}" for g in made) + "/spanflame"


# ---- age ----

@clickhouse_bed.long
@clickhouse_bed.needed
def test_days_that_are_too_old_are_dropped_on_every_shard():
    old = time.time_ns() - 5 * DAY
    rules = "retention: {spans: 3d, profiles: 8d, detail: 4d}\n"
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), **QUICK) + rules) as a, \
            Server(config(bed.url(), **QUICK) + rules) as b:
        def send(s, n):
            trace = os.urandom(16)
            spans = [make_span(trace=trace if i == 0 else None, service="cart", start=old + i) for i in range(n)]
            s.send(spans + [make_span(service="web") for _ in range(n)])
            done = s.post("/v1development/profiles", otlp("cart", {"main;work": 3}, link=(trace, spans[0]["span_id"]), at_ns=old))
            assert done.status == 200, done.text
            shipped(s)
        send(a, 20)
        wait_for(lambda: bed.count("spanflame.spans") == 20 == bed.count("spanflame.traces"))
        assert bed.count("spanflame.spans", "service != 'web'") == 0
        wait_for(lambda: bed.count("spanflame.details") == 0 == bed.count("spanflame.undecided"))
        # Profiles may be 8 days old: they stay, with what they refer to.
        assert bed.count("spanflame.profiles") == 1 and bed.count("spanflame.aggregates") == 1
        assert bed.count("spanflame.stacks") > 0 and bed.count("spanflame.series") > 0
        assert bed.count("spanflame.resources", "day < today() - 3 AND service = 'cart'") > 0, \
            "entries of a day that still has rows stay"
        for s in (a, b):
            flame = s.get(f"/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7Bservice_name%3D%22cart%22%7D"
                          f"&from={old // 10**9 - 60}&until={old // 10**9 + 60}")
            assert flame.status == 200 and "work" in flame.text, (flame.status, flame.text[:300])
        code, text = command(a, "verify")
        assert code == 0, "what went for its age is not missing: " + text
        # The node that did it dies; another continues, and nobody had to tell it.
        holder = lease((a, b))
        other = b if holder is a else a
        holder.kill()
        send(other, 10)
        wait_for(lambda: bed.count("spanflame.spans", "service != 'web'") == 0)
        wait_for(lambda: other.metric("spanflame_upkeep_lease") == 1)
        assert bed.count("spanflame.spans") == 30 and command(other, "verify")[0] == 0
        assert other.metric("spanflame_upkeep_partitions_dropped_total") > 0
        # Verify still sees a row that is really missing: one of each batch.
        bed.ask("ALTER TABLE spanflame.spans DELETE WHERE (batch, span_id) IN (SELECT batch, max(span_id) FROM spanflame.spans "
                "GROUP BY batch) SETTINGS mutations_sync = 1")
        assert command(other, "verify")[0] == 1


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_tenant_may_have_a_shorter_age():
    with clickhouse_bed.Bed(1) as bed:
        folder = os.path.join(bed.folder, "own")
        os.makedirs(folder)
        with open(os.path.join(folder, "o.yaml"), "w", encoding="ascii") as f:
            f.write("overrides:\n  brief:\n    retention_spans: 2d\n")
        more = f"tenancy: {{enabled: true}}\nretention: {{spans: 9d}}\nlimits: {{overrides_file: {folder}/o.yaml}}\n"
        with Server(config(bed.url(), **QUICK) + more) as s:
            for name in ("brief", "long"):
                s.send([make_span(start=time.time_ns() - 4 * DAY), make_span()], headers={"X-Scope-OrgID": name})
            shipped(s)
            wait_for(lambda: bed.count("spanflame.spans", "tenant = 'brief'") == 1)
            assert bed.count("spanflame.spans", "tenant = 'long'") == 2
            assert command(s, "verify")[0] == 0


# ---- nodes ----

@clickhouse_bed.long
@clickhouse_bed.needed
def test_nodes_come_and_go_and_nobody_is_told():
    chance, sent, nodes = random.Random(3), set(), []
    with clickhouse_bed.Bed(2) as bed:
        for i in range(40):
            what = chance.choice(["come", "come", "come", "go", "die", "restart"]) if i > 1 else "come"
            if what == "come" and len(nodes) < 6:
                nodes.append(Server(config(bed.url(), interval="300ms")).start())
            elif what in ("go", "die") and len(nodes) > 1:
                s = nodes.pop(chance.randrange(len(nodes)))
                shipped(s)
                s.stop() if what == "go" else s.kill()
            elif what == "restart":
                s = chance.choice(nodes)
                s.kill()
                s.log_file.close()
                s.start()
            for s in nodes:
                spans = [make_span() for _ in range(4)]
                s.send(spans)
                sent |= {int.from_bytes(x["span_id"], "big") for x in spans}
        for s in nodes:
            shipped(s)
        rows = [int(x) for shard in bed.shards for x in shard.ask("SELECT span_id FROM spanflame.spans FORMAT TSV").split()]
        assert len(rows) == len(sent) and set(rows) == sent, (len(rows), len(sent))
        wait_for(lambda: sum(s.metric("spanflame_upkeep_lease") for s in nodes) == 1)
        now = int(time.time())
        for s in nodes:
            found = s.json(f"/api/metrics/query?start={now - 900}&end={now + 5}&q=%7B%7D%7Ccount_over_time()")["series"]
            assert [x["value"] for x in found] == [len(sent)], (found, len(sent))
            code, text = command(s, "verify")
            assert code == 0, text
            s.kill()


# ---- pins ----

def pins_of(s):
    return {p["traceId"]: p.get("note", "") for p in s.json("/api/v1/pins")["pins"]}


@clickhouse_bed.long
@clickhouse_bed.needed
def test_pins_hold_on_every_node_and_their_traces_outlive_retention():
    old = time.time_ns() - 5 * DAY
    keep = "retention: {spans: 30d, profiles: 30d, detail: 30d}\n"
    brief = "retention: {spans: 3d, profiles: 8d, detail: 4d}\n"
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), **QUICK) + keep) as a, \
            Server(config(bed.url(), **QUICK) + keep) as b:
        traces = [os.urandom(16) for _ in range(12)]
        for i, trace in enumerate(traces):
            span = make_span(trace=trace, service="cart", start=old + i * 10**9)
            child = make_span(trace=trace, parent=span["span_id"], service="db", start=old + i * 10**9 + 5)
            a.send([span])
            b.send([child])  # no node has the whole trace
            done = b.post("/v1development/profiles", otlp("cart", {"main;work": 3}, link=(trace, span["span_id"]), at_ns=old))
            assert done.status == 200, done.text
        shipped(a), shipped(b)
        pinned, ended = traces[0].hex(), traces[1].hex()
        assert a.post(f"/api/v1/pins/{pinned}?note=slow&for=2d", b"{}", "application/json").status == 200
        assert b.post(f"/api/v1/pins/{ended}?for=2d", b"{}", "application/json").status == 200
        for s in (a, b):
            wait_for(lambda s=s: pins_of(s) == {pinned: "slow", ended: ""}, seconds=10)
        # A pin is changed and taken away on any node, and the newest word counts.
        assert b.post(f"/api/v1/pins/{pinned}?note=ours&for=2d", b"{}", "application/json").status == 200
        wait_for(lambda: pins_of(a)[pinned] == "ours", seconds=10)
        assert a.request("DELETE", f"/api/v1/pins/{ended}").status == 200
        wait_for(lambda: pins_of(b) == {pinned: "ours"}, seconds=10)
        assert b.request("DELETE", f"/api/v1/pins/{ended}").status == 404
        for s in (a, b):  # now all of it is too old
            s.stop()
            s.config = config(bed.url(), **QUICK) + brief
        a.start(), b.start()
        wait_for(lambda: bed.count("spanflame.spans") == 2 and bed.count("spanflame.traces") == 2, seconds=120)
        samples = lambda: bed.count("spanflame.details") + bed.count("spanflame.undecided")  # noqa: E731
        wait_for(lambda: samples() == 1, seconds=120)
        where = f"trace_id = unhex('{pinned}')"
        assert bed.count("spanflame.spans", where) == 2 and bed.count("spanflame.details", where) + \
            bed.count("spanflame.undecided", where) == 1
        for s in (a, b):
            assert len(spans_of(s, traces[0])[1]) == 2, "the trace is whole on every node"
            assert pins_of(s) == {pinned: "ours"}, "a restart changes nothing"
            code, text = command(s, "verify")
            assert code == 0, text
        with Server(config(bed.url(), **QUICK) + brief) as c:  # a node that never heard of it
            wait_for(lambda: pins_of(c) == {pinned: "ours"}, seconds=10)
            assert len(spans_of(c, traces[0])[1]) == 2
            # An erasure goes before a pin, and takes it along for all nodes.
            assert c.request("DELETE", f"/api/v1/erase?traces={pinned}").status == 200
            for s in (a, b, c):
                wait_for(lambda s=s: pins_of(s) == {}, seconds=10)
        assert bed.count("spanflame.spans", where) == 0
        # While the first shard is away nothing is pinned, and the answer says so.
        bed.shards[0].kill()
        answer = a.post(f"/api/v1/pins/{traces[2].hex()}", b"{}", "application/json")
        assert answer.status >= 500 or answer.status == 404, (answer.status, answer.text)
        assert pins_of(a) == {}


@clickhouse_bed.long
@clickhouse_bed.needed
def test_pins_of_a_single_server_are_taken_along_into_a_fleet():
    trace = os.urandom(16)
    with clickhouse_bed.Bed(1) as bed, Server("") as a:
        a.send([make_span(trace=trace)])
        assert a.post(f"/api/v1/pins/{trace.hex()}?note=mine", b"{}", "application/json").status == 200
        a.stop()
        a.config = config(bed.url(), **QUICK)
        a.start()
        with Server(config(bed.url(), **QUICK)) as b:
            wait_for(lambda: pins_of(b) == {trace.hex(): "mine"}, seconds=20)
            assert b.request("DELETE", f"/api/v1/pins/{trace.hex()}").status == 200
            wait_for(lambda: pins_of(a) == {}, seconds=10)
            a.stop()
            a.start()  # what was taken away stays away
            shipped(a)
            assert pins_of(a) == {} == pins_of(b)


# ---- what is told to collectors, and alerts ----

JSON = {"Content-Type": "application/json"}


def document(s, service):
    return s.json(f"/api/v1/control?service={service}&instance=i").get("rate", {}).get("cpu")


@clickhouse_bed.long
@clickhouse_bed.needed
def test_documents_for_collectors_are_those_of_the_fleet():
    with clickhouse_bed.Bed(1) as bed, Server("") as a:
        def put(s, service, rate, method="POST"):
            body = b"" if method == "DELETE" else json.dumps({"rate": {"cpu": rate}}).encode()
            return s.request(method, f"/api/v1/profiling?service={service}", body, JSON)
        assert put(a, "shop", 11).status == 200  # while it is a single server
        a.stop()
        a.config = config(bed.url(), **QUICK)
        a.start()
        with Server(config(bed.url(), **QUICK)) as b:
            wait_for(lambda: document(b, "shop") == 11, seconds=20)
            # Changes on both, at the same time: none is lost.
            answers = []

            def change(s, i):
                answers.append(put(s, f"s{i}", 20 + i).status)
            threads = [threading.Thread(target=change, args=((a, b)[i % 2], i)) for i in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert answers == [200] * 8, answers
            for s in (a, b):
                wait_for(lambda s=s: [document(s, f"s{i}") for i in range(8)] == [20 + i for i in range(8)], seconds=20)
            assert put(b, "shop", 0, "DELETE").status == 200
            wait_for(lambda: document(a, "shop") is None, seconds=20)
            # A collector that waits at one node hears of a change at the other.
            tag = a.get("/api/v1/control?service=late&instance=i").headers["etag"]
            heard = []
            waits = threading.Thread(target=lambda: heard.append(a.get(
                "/api/v1/control?service=late&instance=i&wait=60s", headers={"If-None-Match": tag}, timeout=90)))
            waits.start()
            assert put(b, "late", 44).status == 200
            waits.join()
            assert heard[0].status == 200 and json.loads(heard[0].body)["rate"]["cpu"] == 44, heard[0].text
            changes = [c["what"] for c in a.json("/api/v1/profiling/audit?service=late")["changes"]]
            assert len(changes) == 1 and "44" in changes[0], changes
            bed.shards[0].kill()
            assert put(b, "late", 45).status >= 429, "what others cannot learn is not changed"
            assert document(b, "late") == 44 == document(a, "late")


class Hook(http.server.ThreadingHTTPServer):
    """A receiver of alerts."""
    daemon_threads = True

    def __init__(self):
        hook = self
        self.got = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.got += [(x["labels"]["alertname"], x["status"], x["startsAt"]) for x in body["alerts"]]
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        super().__init__(("127.0.0.1", 0), Handler)
        self.handle_error = lambda *_: None
        threading.Thread(target=self.serve_forever, daemon=True).start()


@clickhouse_bed.long
@clickhouse_bed.needed
def test_alerts_are_evaluated_by_one_node_and_by_another_when_it_dies():
    hook = Hook()
    rules = ("alerts:\n  interval: 1s\n  pack: false\n"
             f"  webhook: [\"http://127.0.0.1:{hook.server_address[1]}/hook\"]\n  rules:\n"
             "    - {name: errors, traceql: '{ status = error } | count_over_time()', above: 2, window: 1h}\n"
             "    - {name: hushed, traceql: '{ name = \"quiet\" } | count_over_time()', above: 0, window: 1h}\n")
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url(), **QUICK) + rules) as a, \
            Server(config(bed.url(), **QUICK) + rules) as b:
        def one():
            return [s for s in (a, b) if s.process.poll() is None and s.metric("spanflame_alerts_evaluates") == 1]
        holder = wait_for(lambda: one()[0] if len(one()) == 1 else None)
        other = b if holder is a else a
        silence = {"matchers": [{"name": "alertname", "value": "hushed", "isRegex": False}], "duration": "1h", "comment": "c",
                   "createdBy": "me"}
        made = other.post("/api/v1/silences", json.dumps(silence).encode(), "application/json")
        assert made.status == 200, made.text
        wait_for(lambda: len(holder.json("/api/v1/silences")) == 1, seconds=20)
        other.send([make_span(error=True) for _ in range(5)] + [make_span(name="quiet")])  # sent to the one that does not evaluate

        def firing(s):
            return {x["labels"]["alertname"]: x for x in s.json("/api/v1/alerts")["data"]["alerts"] if x["state"] == "firing"}
        for s in (a, b):
            wait_for(lambda s=s: set(firing(s)) == {"errors", "hushed"}, seconds=60)
        wait_for(lambda: hook.got, seconds=30)
        assert firing(a)["errors"]["activeAt"] == firing(b)["errors"]["activeAt"], "one evaluation, on both"
        before, n = firing(a)["errors"]["activeAt"], len(hook.got)
        assert {x[0] for x in hook.got} == {"errors"}, "a silence of another node holds"
        evaluations = other.metric("spanflame_alerts_evaluations_total")
        wait_for(lambda: other.json("/api/v1/alerts/history")["events"])  # history is everywhere
        assert evaluations == other.metric("spanflame_alerts_evaluations_total") == 0
        started = {x[2] for x in hook.got}
        holder.kill()
        wait_for(lambda: other.metric("spanflame_alerts_evaluates") == 1, seconds=60)
        wait_for(lambda: other.metric("spanflame_alerts_evaluations_total") > 2, seconds=30)
        assert firing(other)["errors"]["activeAt"] == before, "it goes on where the other one ended"
        assert {x[2] for x in hook.got} == started and {x[0] for x in hook.got} == {"errors"}, (n, hook.got)
        holder.log_file.close()
        holder.start()  # it does not take it back
        wait_for(lambda: set(firing(holder)) == {"errors", "hushed"}, seconds=30)
        assert holder.metric("spanflame_alerts_evaluates") == 0 and other.metric("spanflame_alerts_evaluates") == 1


# ---- erasing ----

@clickhouse_bed.needed
def test_erasing_reaches_every_shard_and_every_node_and_what_waits_in_logs():
    with clickhouse_bed.Bed(2) as bed:
        doors, url = gates(bed)
        with Server(config(bed.url(), **QUICK)) as a, Server(config(url, timeout="3s", **QUICK)) as b:
            traces = [os.urandom(16) for _ in range(4)]
            stays = os.urandom(16)
            for s in (a, b):
                s.send([make_span(trace=t, service="cart") for t in traces + [stays]])
                s.post("/v1development/profiles", otlp("cart", {"main;work": 3}, link=(traces[0], os.urandom(8))))
                shipped(s)
            if LONG:
                for door in doors:
                    door.word = "INSERT%20INTO"
                b.send([make_span(trace=t, service="cart") for t in traces + [stays]])
                wait_for(lambda: sum(d.n_refused for d in doors) > 0)
                b.send([make_span(trace=t, service="cart") for t in traces + [stays]])  # behind the batch that is stuck
            names = ",".join(t.hex() for t in traces)
            where = "trace_id IN (" + ",".join(f"unhex('{t.hex()}')" for t in traces) + ")"
            answer = a.request("DELETE", f"/api/v1/erase?traces={names}")
            assert answer.status == 200 and json.loads(answer.body)["erased"], (answer.status, answer.text)
            for table in ("spans", "traces", "details", "undecided"):
                assert bed.count("spanflame." + table, where) == 0, "it is gone when the answer comes: " + table
            assert all(spans_of(a, t)[1] == {} for t in traces)
            if not LONG:
                return
            assert bed.count("spanflame.spans") == 2
            wait_for(lambda: all(spans_of(b, t)[1] == {} for t in traces), seconds=10)
            wait_for(lambda: a.metric("spanflame_upkeep_erasures_open") + b.metric("spanflame_upkeep_erasures_open") == 1)
            for door in doors:
                door.word = None
            shipped(b)
            wait_for(lambda: bed.count("spanflame.erasure_acks", "is_done") > 0)
            wait_for(lambda: a.metric("spanflame_upkeep_erasures_open") + b.metric("spanflame_upkeep_erasures_open") == 0)
            for table in ("spans", "traces", "details", "undecided"):
                assert bed.count("spanflame." + table, where) == 0, table
            assert bed.count("spanflame.spans") == 4, "other traces are untouched"
            for s in (a, b):
                code, text = command(s, "verify")
                assert code == 0, text
            # What comes after an erasure is new.
            b.send([make_span(trace=traces[0], service="cart")])
            shipped(b)
            wait_for(lambda: len(spans_of(a, traces[0])[1]) == 1)
            time.sleep(1.5)  # a round of upkeep
            assert bed.count("spanflame.spans", where) == 1


@clickhouse_bed.long
@clickhouse_bed.needed
def test_an_erasure_is_finished_by_others_when_its_node_dies_in_the_middle():
    with clickhouse_bed.Bed(2) as bed:
        doors, url = gates(bed)
        with Server(config(url, timeout="3s", **QUICK)) as a, Server(config(bed.url(), **QUICK)) as b:
            for s in (a, b):
                s.send([make_span(service="gone") for _ in range(20)] + [make_span(service="stays") for _ in range(20)])
                s.post("/v1development/profiles", otlp("gone", {"main;work": 3}))
                shipped(s)
            doors[1].word = "DELETE WHERE"  # the second shard takes the order from others only
            answer = a.request("DELETE", "/api/v1/erase?service=gone")
            assert answer.status >= 500 and "where a node continues" in answer.text, (answer.status, answer.text)
            assert bed.shards[0].count("spanflame.spans", "service = 'gone'") == 0
            a.kill()
            gone = {"spans": "service = 'gone'", "profiles": "service = 'gone'", "aggregates": "service = 'gone'",
                    "traces": "has(services, 'gone')"}
            for table, where in gone.items():
                wait_for(lambda t=table, w=where: bed.count("spanflame." + t, w) == 0)
            assert bed.count("spanflame.spans") == 40
            a.log_file.close()
            a.start()  # it has learned of it before: it erases nothing twice, and ships what it has
            a.send([make_span(service="gone")])
            shipped(a)
            wait_for(lambda: bed.count("spanflame.erasure_acks", "is_done") > 0)
            assert bed.count("spanflame.spans", "service = 'gone'") == 1, "what came later stays"
            assert command(b, "verify")[0] == 0 == command(a, "verify")[0]


# ---- samples, by outcome ----

HOUR = 3600 * 10**9
FAILED = range(3, 11)
KEEP = ("retention: {tail_delay: 0s}\nprofiling: {conditional: {baseline: 10%, slow_request_threshold: 1s, "
        "cpu_threshold_percent: 95%}}\n")


class Hour:
    """Requests of an hour that is over: their roots come to one node, their children and samples to the other."""

    def __init__(self):
        self.at = (time.time_ns() // HOUR - 1) * HOUR + 600 * 10**9
        self.roots, self.children = [], []
        for i in range(24):
            trace = os.urandom(16)
            root = make_span(trace=trace, service="front", name="GET", start=self.at + i * 10**8, end=self.at + i * 10**8 + 5 * 10**7,
                             error=i in FAILED)
            child = make_span(trace=trace, parent=root["span_id"], service="shop", name="work", start=root["start"] + 10**6,
                              end=root["start"] + 4 * 10**7, resource={"service.instance.id": "one"})
            self.roots.append(root)
            self.children.append(child)
        self.kept = {x["trace_id"] for i, x in enumerate(self.roots) if i in FAILED or is_in_share(x["trace_id"], 0.1)}

    def send_samples(self, s, which=slice(None)):
        for x in self.children[which]:
            done = s.post("/v1development/profiles", otlp("shop", {"main;work": 2 * 10**6, "main;idle": 10**6},
                                                          link=(x["trace_id"], x["span_id"]), at_ns=self.at + 10 * 10**9))
            assert done.status == 200, done.text

    def sampled(self, s):
        """Traces of which a node has samples, and how much of them."""
        spans = s.json(f"/api/v1/frames/spans?function=main&limit=100&from={self.at // 10**9 - 60}&until={self.at // 10**9 + 60}")["spans"]
        return {bytes.fromhex(x["traceId"]): x["value"] for x in spans}


def judged(bed):
    """Every shard that had undecided samples has judged them, and nothing is left of them."""
    wait_for(lambda: bed.count("spanflame.undecided") == 0, seconds=240)


@clickhouse_bed.needed
def test_samples_stay_by_outcome_though_another_node_saw_the_error():
    hour = Hour()
    with clickhouse_bed.Bed(2 if LONG else 1) as bed, Server(config(bed.url(), **QUICK) + KEEP.replace("0s", "30d")) as a, \
            Server(config(bed.url(), **QUICK) + KEEP.replace("0s", "30d")) as b:
        a.send(hour.roots)
        b.send(hour.children)
        hour.send_samples(b, slice(0, 20))
        shipped(a), shipped(b)
        before = hour.sampled(a)
        assert len(before) == 20 and before == hour.sampled(b), "all are there until the hour is judged"
        assert bed.count("spanflame.undecided") == 40 and bed.count("spanflame.details") == 0
        for s in (a, b):  # the same nodes, with another delay: now the hour is over
            s.stop()
            s.config = config(bed.url(), **QUICK) + KEEP
        a.start()
        if LONG:
            b.start()
        judged(bed)
        if not LONG:  # two nodes that do upkeep cost twice as much
            b.config = config(bed.url(), interval="2s") + KEEP
            b.start()
        kept = {t for t in hour.kept if t in before}
        for s in (a, b):
            after = hour.sampled(s)
            assert set(after) == kept, (len(after), len(kept))
            assert all(after[t] == before[t] for t in after), "each sample once"
        counts = "attempt IN (SELECT attempt FROM spanflame.judged)"  # two nodes may have tried; the first counts
        assert bed.count("spanflame.details", counts) == 2 * len(kept)
        # Totals hold every sample; only those of single requests are fewer.
        assert int(bed.shards[0].ask("SELECT 1")) and sum(int(x) for x in bed.ask(
            "SELECT sum(value) FROM spanflame.aggregates")) == 20 * 3 * 10**6
        for s in (a, b):
            code, text = command(s, "verify")
            assert code == 0, text
        # What is told of a trace, and what it counts for: kept for its error, kept as one of ten, removed.
        for s in (a, b):
            for i, x in list(enumerate(hour.roots))[1:9 if LONG else 4]:
                keep = s.json(f"/api/v1/keep/{x['trace_id'].hex()}")
                is_failed, is_chosen = i in FAILED, is_in_share(x["trace_id"], 0.1)
                assert keep["keep"]["state"] == ("kept" if is_failed or is_chosen else "thinned"), keep
                assert keep["keep"]["probability"] == (1 if is_failed else 0.1), keep
                assert ("errors" in keep["keep"].get("rules", [])) == is_failed and keep["rules"]["baselinePercent"] == 10, keep
        if not LONG:
            return
        # Samples that come late are judged by the same rules, and what is there already stays once.
        hour.send_samples(b, slice(20, 24))
        shipped(b)
        judged(bed)
        after = hour.sampled(a)
        assert set(after) == hour.kept and all(after[t] == 3 * 10**6 for t in after), (len(after), len(hour.kept))
        assert command(b, "verify")[0] == 0


@clickhouse_bed.long
@clickhouse_bed.needed
def test_judging_an_hour_twice_or_not_to_its_end_neither_loses_nor_doubles():
    hour = Hour()
    with clickhouse_bed.Bed(2) as bed:
        doors, url = gates(bed)
        doors[1].word = "INSERT INTO spanflame.judged (tenant"  # a node copies samples there, and never gets to say so
        with Server(config(url, timeout="30s", **QUICK) + KEEP) as a:
            a.send(hour.roots + hour.children)
            hour.send_samples(a)
            shipped(a)
            wait_for(lambda: doors[1].n_refused > 1, seconds=240)
            second = [x["trace_id"] for x in hour.roots if bed.shards[1].count(
                "spanflame.undecided", f"trace_id = unhex('{x['trace_id'].hex()}')")]
            found = hour.sampled(a)
            assert second and all(found.get(t) == 3 * 10**6 for t in second), "what does not count changes no answer"
            a.kill()
            a.log_file.close()
            with Server(config(bed.url(), **QUICK) + KEEP) as b:  # it takes the lease, and judges the rest
                judged(bed)
                found = hour.sampled(b)
                assert set(found) == hour.kept and set(found.values()) == {3 * 10**6}, (len(found), len(hour.kept), found.values())
                doors[1].word = None
                a.start()
                assert command(a, "verify")[0] == 0
                a.stop()  # what is in its memory is its own, and not judged yet: so it is written to blocks
                a.start()
                wait_for(lambda: hour.sampled(a) == found)
                a.stop()


@clickhouse_bed.needed
def test_copies_of_attempts_that_never_counted_go_after_an_hour():
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url(), **QUICK) + KEEP) as s:
        s.send([make_span()])
        shipped(s)
        for age in (60, 7200):
            bed.ask("INSERT INTO spanflame.details (tenant, day, bucket, attempt) SELECT 'single-tenant', today(), "
                    f"toUnixTimestamp(now()), bitShiftLeft(toUInt64(toUnixTimestamp(now()) - {age}), 32) + 5")
        wait_for(lambda: bed.count("spanflame.details") == 1, seconds=240)  # the younger one may be under way


@clickhouse_bed.long
@clickhouse_bed.needed
def test_every_step_of_upkeep_runs_on_shards_so_slow_that_the_lease_ends_in_the_middle_of_a_round():
    with clickhouse_bed.Bed(1) as bed:
        doors, url = gates(bed)
        with Server(config(url, timeout="30s", **QUICK) + KEEP) as s:
            s.send([make_span()])
            shipped(s)
            doors[0].delay = 0.9  # the lease is held for 2.4 s from its request on: that and the first step are four statements
            bed.ask("INSERT INTO spanflame.details (tenant, day, bucket, attempt) SELECT 'single-tenant', today(), "
                    "toUnixTimestamp(now()), bitShiftLeft(toUInt64(toUnixTimestamp(now()) - 7200), 32) + 5")
            wait_for(lambda: bed.count("spanflame.details") == 0, seconds=120)
            doors[0].delay = 0


# ---- the schema ----

def migrate(url, *words):
    done = subprocess.run([PROGRAM, "store", "migrate", "--url", url, *words], capture_output=True, text=True, check=False,
                          timeout=60)
    return done.returncode, done.stdout + done.stderr


@clickhouse_bed.needed
def test_an_older_schema_is_brought_forward_with_its_data():
    schema = subprocess.run([PROGRAM, "store", "schema"], capture_output=True, text=True, check=True).stdout
    steps = schema.split("INSERT INTO spanflame.schema_version (version) VALUES (2);\n")
    assert len(steps) == 2, "what version 2 was"
    with clickhouse_bed.Bed(2 if LONG else 1) as bed:
        n = len(bed.shards)
        for statement in (steps[0] + "INSERT INTO spanflame.schema_version (version) VALUES (2)").split(";\n"):
            bed.ask(statement)
        assert bed.ask("SELECT max(version) FROM spanflame.schema_version") == ["2"] * n
        tables = bed.ask("SELECT count() FROM system.tables WHERE database = 'spanflame'")
        code, text = migrate(bed.url(), "--dry-run")
        assert code == 0 and text.count("schema 2, this program's is") == n and "these statements are missing" in text, text
        assert "CREATE TABLE IF NOT EXISTS spanflame.leases" in text and "spanflame.spans (" not in text, text
        assert bed.ask("SELECT count() FROM system.tables WHERE database = 'spanflame'") == tables, "nothing was changed"
        # Data of that version, as a node of that version sends it, is there under the new one.
        trace = os.urandom(16)
        with Server(config(bed.url(database="later"), **QUICK)) as s:
            s.send([make_span(trace=trace, service="cart"), make_span(service="web")])
            shipped(s)
        for table in ("spans", "traces", "resources", "scopes", "batches"):
            for shard in bed.shards:
                names = shard.ask(f"SELECT groupArray(name) FROM system.columns WHERE database = 'spanflame' AND table = '{table}'")
                columns = ", ".join(json.loads(names.replace("'", '"')))
                shard.ask(f"INSERT INTO spanflame.{table} ({columns}) SELECT {columns} FROM later.{table}")
        with Server(config(bed.url(), **QUICK)) as s:  # a node brings it forward when it starts
            s.send([make_span()])
            shipped(s)
            assert len(spans_of(s, trace)[1]) == 1
            assert bed.count("spanflame.spans") == 3
        code, text = migrate(bed.url(), "--dry-run")
        assert code == 0 and text.count("nothing to do") == n and "CREATE" not in text, text
        code, text = migrate(bed.url(database="fresh"))
        assert code == 0 and text.count("were run") == n, text
        assert migrate(bed.url(database="fresh"))[1].count("nothing to do") == n
        bed.ask("INSERT INTO fresh.schema_version (version) VALUES (999)")
        code, text = migrate(bed.url(database="fresh"))
        assert code == 1 and "newer" in text, text
    assert migrate("clickhouse://127.0.0.1:1/x")[0] == 1
    assert subprocess.run([PROGRAM, "store", "migrate"], capture_output=True, check=False).returncode == 2


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
