#!/usr/bin/env python3
"""A node ships its spans and profiles to ClickHouse: every acknowledged one once, whatever dies in between."""
import base64
import http.client
import http.server
import json
import os
import random
import re
import signal
import ssl
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from pprof_make import otlp  # noqa: E402
from server import PROGRAM, Server, export_request, make_span, tap  # noqa: E402

KILLS, LONG = clickhouse_bed.KILLS, clickhouse_bed.IS_LONG


def config(url, **more):
    lines = {"interval": "200ms", "timeout": "5s", **more}
    return f"store:\n  remote:\n    url: {url}\n" + "".join(f"    {k}: {v}\n" for k, v in lines.items())


def wait_for(what, seconds=60):
    end, pause = time.monotonic() + seconds, 0.03
    while True:
        try:
            got = what()
            if got:
                return got
        except (OSError, RuntimeError, http.client.HTTPException):
            pass
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(pause)
        pause = min(pause * 1.4, 0.4)  # a question costs ClickHouse 5 ms of CPU time or more


def shipped(s):
    """All that is acknowledged so far is confirmed by every shard."""
    def done():
        state = s.json("/api/v1/store")
        return state if state["shipped_record"] == state["newest_record"] else None
    return wait_for(done)


def command(s, *words):
    done = subprocess.run([PROGRAM, "store", *words, "--server", f"http://127.0.0.1:{s.port}"], capture_output=True,
                          text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def rich_span(**more):
    return make_span(name="GET /cart", service="cart", resource={"host.name": "h1", "process.pid": 7}, attributes={
        "http.route": "/cart", "http.response.status_code": 200, "ratio": 0.25, "is_cached": True}, **more)


# ---- what arrives ----

@clickhouse_bed.needed
def test_spans_and_profiles_arrive_in_every_column():
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url())) as s:
        trace = os.urandom(16)
        root = rich_span(trace=trace, error=True)
        child = make_span(trace=trace, parent=root["span_id"], service="db", name="SELECT")
        s.send([root, child] + [make_span(service="web") for _ in range(50)])
        answer = s.post("/v1development/profiles", otlp("cart", {"main;work": 30, "main;idle": 5},
                                                        link=(trace, root["span_id"])))
        assert answer.status == 200, answer.text
        shipped(s)
        assert bed.count("spanflame.spans") == 52
        assert bed.count("spanflame.traces") == 51
        assert all(s.count("spanflame.spans") > 5 for s in bed.shards), "both shards have some"
        where = f"trace_id = unhex('{trace.hex()}') AND service = 'cart'"
        shard = next(x for x in bed.shards if x.count("spanflame.spans", where))
        row = json.loads(shard.ask(
            "SELECT tenant, name, start_ns, duration_ns, hex(trace_id) AS trace, span_id, parent_id, kind, status, sk, sv, "
            f"ik, iv, dk, dv, xk, attr_types FROM spanflame.spans WHERE {where} FORMAT JSONEachRow"))
        assert row == {"tenant": "single-tenant", "name": "GET /cart", "start_ns": root["start"], "duration_ns": 10000000,
                       "trace": trace.hex().upper(), "span_id": int.from_bytes(root["span_id"], "big"), "parent_id": 0,
                       "kind": 2, "status": 2, "sk": ["http.route"], "sv": ["/cart"],
                       "ik": ["http.response.status_code"], "iv": [200], "dk": ["ratio"], "dv": [0.25],
                       "xk": ["is_cached"], "attr_types": "sidx"}, row
        keys = shard.ask("SELECT r.keys, r.vals FROM spanflame.spans s JOIN spanflame.resources r USING (tenant, resource) "
                         f"WHERE {where.replace('service', 's.service')} LIMIT 1 FORMAT JSONCompactEachRow")
        assert json.loads(keys) == [["service.name", "host.name", "process.pid"], ["cart", "h1", "7"]], keys
        index = shard.ask("SELECT spans, errors, root_service, root_name, arraySort(services) FROM spanflame.traces WHERE "
                          f"trace_id = unhex('{trace.hex()}') FORMAT JSONCompactEachRow")
        assert json.loads(index) == [2, 1, "cart", "GET /cart", ["cart", "db"]], index
        # The flame graph of the span, by hand: samples, stacks, frames.
        flame = shard.ask(
            "SELECT arrayStringConcat(arrayReverse(arrayMap(f -> dictionary[f], frames)), ';') AS stack, sum(value) FROM "
            f"(SELECT stack, value FROM spanflame.undecided WHERE span_id = {int.from_bytes(root['span_id'], 'big')}) d "
            "JOIN (SELECT stack, any(frames) AS frames FROM spanflame.stacks GROUP BY stack) k USING stack CROSS JOIN "
            "(SELECT CAST((groupArray(frame), groupArray(functions[1])), 'Map(UInt64, String)') AS dictionary FROM "
            "spanflame.frames) f GROUP BY stack ORDER BY stack FORMAT TSV")
        samples = {line.split("\t")[0] for line in flame.splitlines()}
        assert samples == {"main;work", "main;idle"}, flame
        totals = bed.count("spanflame.profiles"), bed.count("spanflame.aggregates"), bed.count("spanflame.undecided")
        assert totals == (1, 2, 2), totals
        state = s.json("/api/v1/store")
        assert state["rows"] == {"traces": 51, "spans": 52, "profiles": 1, "aggregates": 2, "details": 2}, state
        assert [x["is_up"] for x in state["shards"]] == [True, True] and state["shards"][0]["schema"] == 7, state
        code, text = command(s, "status")
        assert code == 0 and "lag 0.0 s" in text and "schema 7" in text, text
        assert s.metric("spanflame_ship_shards_up") == 2 and s.metric('spanflame_ship_rows_total{table="spans"}') == 52
        code, text = command(s, "verify")
        assert code == 0 and "every row is stored exactly once" in text, text
        assert s.json("/api/v1/store/verify?since=24h")["batches"] > 0 == s.json("/api/v1/store/verify?since=1ms")["batches"]
        for bad in ("/api/v1/store?format=x", "/api/v1/store/verify?format=x", "/api/v1/store/verify?since=x"):
            assert s.get(bad).status == 400, bad
        # What the dashboard shows, and docs/fleet.md names, is there.
        with open(os.path.join(os.environ["SOURCE_ROOT"], "deploy", "fleet", "dashboard.json"), encoding="utf-8") as f:
            wanted = {m for p in json.load(f)["panels"] for t in p["targets"] for m in re.findall(r"spanflame_\w+", t["expr"])}
        with open(os.path.join(os.environ["SOURCE_ROOT"], "docs", "fleet.md"), encoding="utf-8") as f:
            named = set(re.findall(r"spanflame_[a-z_]+", re.sub(r"spanflame_\w+\.\w+", "", f.read())))
        there = s.get("/metrics").text
        assert len(wanted) > 15 and not wanted - named, f"docs/fleet.md does not name {wanted - named}"
        absent = {m for m in named if not re.search(rf"^{m}[ {{]", there, re.M)}
        assert not absent and named == wanted, (absent, named ^ wanted)
        # The queries in docs/fleet.md work.
        with open(os.path.join(os.environ["SOURCE_ROOT"], "docs", "fleet.md"), encoding="utf-8") as f:
            examples = f.read().split("```sql\n")[1].split("```")[0].split(";\n")[:-1]
        assert len(examples) == 2
        for example in examples:
            assert any(bed.ask(example)), example
        # Verify fails when one row is gone, and when one is there twice.
        shard.ask(f"ALTER TABLE spanflame.spans DELETE WHERE {where} SETTINGS mutations_sync = 1")
        code, text = command(s, "verify")
        assert code == 1 and "spans has" in text, text
        assert "1 faults" in text, text


# ---- several nodes ----

def spans_of(s, trace, **more):
    answer = s.get(f"/api/v2/traces/{trace.hex()}", {"Accept": "application/json"}, **more)
    assert answer.status == 200, (answer.status, answer.text)
    found = json.loads(answer.body)["trace"].get("resourceSpans", [])
    return answer, {base64.b64decode(x["spanId"]): x for r in found for scope in r["scopeSpans"] for x in scope["spans"]}


def resources_of(answer):
    return sorted({a["value"]["stringValue"] for r in json.loads(answer.body)["trace"]["resourceSpans"]
                   for a in r["resource"]["attributes"] if a["key"] == "service.name"})


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_trace_is_whole_on_every_node():
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url())) as a, Server(config(bed.url())) as b:
        trace, other = os.urandom(16), os.urandom(16)
        root = rich_span(trace=trace, error=True)
        children = [make_span(trace=trace, parent=root["span_id"], service="db", name=f"SELECT {i}",
                              attributes={"rows": i, "share": i / 7, "ok": i % 2 == 0}) for i in range(30)]
        a.send([root] + children[:10])
        b.send(children[10:] + children[:1])  # one of them both have
        b.send([make_span(trace=other, service="web")])
        for s in (a, b):
            wait_for(lambda s=s: len(spans_of(s, trace)[1]) == 31)
        shipped(a), shipped(b)
        first, second = spans_of(a, trace), spans_of(b, trace)
        assert first[1] == second[1], "both nodes give the same spans"
        assert resources_of(first[0]) == resources_of(second[0]) == ["cart", "db"]
        assert len(spans_of(a, other)[1]) == 1, "a trace that this node never saw"
        assert spans_of(a, os.urandom(16))[1] == {}
        # What ClickHouse gives is what was sent, to the last attribute.
        with Server() as alone:
            alone.send([root] + children)
            assert spans_of(alone, trace)[1] == first[1]
        # A shard that is away is named, and the node's own spans are there.
        bed.shards[0].kill()
        bed.shards[1].kill()
        answer, spans = spans_of(a, trace)
        assert len(spans) == 11 and root["span_id"] in spans, len(spans)
        told = " ".join(f"{k}: {v}" for k, v in answer.getheaders()) + answer.text
        assert "shard 1 of 2 did not answer" in told, told[:800]


@clickhouse_bed.needed
def test_an_answer_takes_few_round_trips():
    story = fleet_answers.Story(500)
    at = story.t // fleet_answers.S
    trace, span = (story.roots[0][k].hex() for k in ("trace_id", "span_id"))
    query = urllib.parse.quote('{ resource.service.name = "shop" && name = "GET /cart" }')
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), timeout="60s")) as one:
        story.send(one)
        shipped(one)
        proxies = [Proxy(shard.port, share=0) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        with Server(config(url, timeout="60s", interval="10m") + "alerts: {pack: false}\n") as reader:
            def round_trips(path):
                before, n = [len(p.questions) for p in proxies], reader.metric("spanflame_remote_round_trips_total")
                answer = reader.get(path, {"Accept": "application/json"}, timeout=60)
                assert answer.status == 200, (path, answer.text)
                n = reader.metric("spanflame_remote_round_trips_total") - n
                print(f"# {path.split('?')[0]}: {n} round trips, {max(len(p.questions) - b for p, b in zip(proxies, before))} questions")
                return n, answer
            # Every shard is seen to be there, and the upkeep of the start is over.
            wait_for(lambda: [x.get("schema") for x in reader.json("/api/v1/store")["shards"]].count(None) == 0)
            n = -1
            while n != sum(len(p.questions) for p in proxies):
                n = sum(len(p.questions) for p in proxies)
                time.sleep(0.5)
            for most, path in ((4, f"/api/v2/traces/{trace}"), (6, f"/api/v1/trace/{trace}"), (8, f"/api/v1/spans/{trace}/{span}/profile"),
                               (8, f"/api/v1/spans/{trace}/{span}/ledger"), (8, f"/api/v1/traces/{trace}/flame"),
                               (20, f"/api/v1/cohort?q={query}&from={at - 10}&until={at + 2300}")):
                n, answer = round_trips(path)
                assert 0 < n <= most, (path, n, most)
            assert json.loads(answer.text)["found"] == 500, "and the span set has 500 spans"
            asked = [p for x in proxies for p, q in zip(x.paths, x.questions) if "RowBinary" in q]
            assert asked and all("&max_execution_time=" in p for p in asked), "a shard knows how long an answer is waited for"
            if not LONG:
                return
            # Lists of names: the shards count, and send neither spans nor traces.
            times, shop = f"start={at - 10}&end={at + 2300}", urllib.parse.quote('{ resource.service.name = "shop" }')
            for most, path in ((1, "/jaeger/api/services"), (1, "/jaeger/api/services/shop/operations"), (6, "/jaeger/api/operations?service=shop"),
                               (1, "/jaeger/api/operations?service=shop&spanKind=server"), (1, f"/api/v2/search/tag/name/values?{times}"),
                               (1, f"/api/v2/search/tag/name/values?{times}&q={shop}"), (5, f"/api/v2/search/tags?{times}"),
                               (1, f"/api/v2/search/tag/resource.service.name/values?{times}"), (1, f"/api/v2/search/tag/span.user.id/values?{times}"),
                               (1, f"/api/v2/search/tag/span.user.id/values?{times}&q={shop}"), (1, f"/api/v2/search/tag/name/values?{times}&q=%7B%7D"),
                               (1, "/pyroscope/label-values?label=service_name"), (2, f"/api/v1/services?from={at - 10}&until={at + 2300}")):
                n, answer = round_trips(path)
                assert 0 < n <= most, (path, n, most)


@clickhouse_bed.needed
def test_tenants_are_the_same_on_every_node_whatever_their_numbers():
    more = "tenancy: {enabled: true}\n"
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url()) + more) as a, Server(config(bed.url()) + more) as b:
        trace = os.urandom(16)
        for s, names in ((a, ("red", "blue")), (b, ("blue", "red"))):  # each is number 2 on one node, 3 on the other
            for name in names:
                s.send([make_span()], headers={"X-Scope-OrgID": name})
        b.send([make_span(trace=trace)], headers={"X-Scope-OrgID": "blue"})
        shipped(b)

        def spans(name):
            answer = a.get(f"/api/v2/traces/{trace.hex()}", {"Accept": "application/json", "X-Scope-OrgID": name})
            return len(json.loads(answer.body)["trace"].get("resourceSpans", []))
        assert (spans("blue"), spans("red")) == (1, 0)
        # A node that nobody sent anything to knows them, too; and no others.
        with Server(config(bed.url()) + more) as c:
            def found(name):
                answer = c.get(f"/api/v2/traces/{trace.hex()}", {"Accept": "application/json", "X-Scope-OrgID": name})
                return answer.status, len(json.loads(answer.body).get("trace", {}).get("resourceSpans", [])) if answer.status == 200 else 0
            assert found("blue") == (200, 1)
            assert found("red|blue")[1] == 1
            assert found("green")[1] == 0
            bed.shards[0].kill()
            assert found("yellow")[0] >= 500, "a shard that is away may know the tenant"


# ---- what goes wrong ----

@clickhouse_bed.long
@clickhouse_bed.needed
def test_what_a_shard_that_is_away_may_have_is_not_called_missing():
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url())) as a, Server(config(bed.url())) as b:
        roots = [make_span(service="cart") for _ in range(24)]
        a.send(roots)
        for root in roots:
            answer = a.post("/v1development/profiles", otlp("cart", {"main;work": 30}, link=(root["trace_id"], root["span_id"])))
            assert answer.status == 200, answer.text
        shipped(a)
        away = bed.shards[0]
        there = {away.ask(f"SELECT lower(hex(trace_id)) FROM spanflame.spans WHERE span_id = {int.from_bytes(x['span_id'], 'big')}"): x
                 for x in roots}
        there.pop("", None)
        assert 2 < len(there) < 22, "both shards have some"
        trace, root = next(iter(there.items()))
        span, no_trace, no_span = root["span_id"].hex(), os.urandom(16).hex(), os.urandom(8).hex()

        def paths(trace, span):
            return (f"/api/traces/{trace}", f"/jaeger/api/traces/{trace}", f"/api/v3/traces/{trace}", f"/api/v1/trace/{trace}",
                    f"/api/v1/traces/{trace}/flame", f"/api/v1/traces/{trace}/ledgers", f"/api/v1/keep/{trace}",
                    f"/api/v1/spans/{trace}/{span}/profile", f"/api/v1/spans/{trace}/{span}/ledger",
                    f"/api/v1/spans/{trace}/{span}/coverage", f"/api/v1/spans/-/{span}/profile")

        def statuses(trace, span):
            return {p.replace(trace, "T").replace(span, "S"): b.get(p, {"Accept": "application/json"}, timeout=60).status for p in paths(trace, span)}
        assert set(statuses(trace, span).values()) == {200}, statuses(trace, span)
        absent = statuses(no_trace, no_span)
        assert set(absent.values()) <= {404, 200}, absent
        away.kill()
        # 503 with the reason, whether the shard had it or nobody has: that is not known.
        for t, s in ((trace, span), (no_trace, no_span)):
            for path, status in statuses(t, s).items():
                # What is 200 without data was 200 before; then a header or a field says what is missing.
                assert status == 503 or (t == no_trace and absent[path] == 200), (path, status, t == trace)
        answer = b.get(f"/api/traces/{trace}", {"Accept": "application/json"})
        assert "shard 1 of 2 did not answer" in answer.text and answer.getheader("Retry-After"), answer.text
        assert b.post(f"/api/v1/pins/{trace}", b"{}", "application/json").status >= 500
        found = json.loads(b.get(f"/jaeger/api/traces?traceID={trace}").text)["errors"]
        assert found[0]["code"] == 503, found
        whole = b.get(f"/api/v2/traces/{trace}", {"Accept": "application/json"})
        assert whole.status == 200 and "could not be read" in whole.text, "Tempo's second form has a field for it"
        query = urllib.parse.quote('{ resource.service.name = "cart" }')
        at = roots[0]["start"] // 10**9
        every = (f"/api/search?q={query}", f"/api/v1/cohort?q={query}&from={at - 60}&until={at + 60}", "/api/v2/search/tags",
                     f"/pyroscope/render?query=process_cpu:cpu:nanoseconds:cpu:nanoseconds%7Bservice_name%3D%22cart%22%7D&from={at - 60}&until={at + 60}",
                     f"/api/v1/services?from={at - 60}&until={at + 60}", f"/api/metrics/query_range?q={query}%7Crate()&start={at - 60}&end={at + 60}",
                 "/pyroscope/label-values?label=service_name", "/jaeger/api/services", f"/api/v1/findings?q={query}&from={at - 60}&until={at + 60}")
        for path in every:
            answer = b.get(path, {"Accept": "application/json"}, timeout=60)
            says = str(answer.getheader("x-spanflame-partial")) + answer.text
            assert answer.status in (200, 503), (path, answer.status, says[:300])
            assert "did not answer" in says or "could not be read" in says, (path, answer.status, says[:300])
        away.start()
        wait_for(lambda: set(statuses(trace, span).values()) == {200})
        assert statuses(no_trace, no_span) == absent


@clickhouse_bed.long
@clickhouse_bed.needed
def test_nothing_is_lost_while_clickhouse_is_away():
    with clickhouse_bed.Bed(2) as bed:
        url = bed.url()
        bed.shards[1].kill()
        with Server(config(url)) as s:
            for _ in range(5):
                s.send([make_span() for _ in range(20)])
            wait_for(lambda: s.json("/api/v1/store").get("last_error"))
            state = s.json("/api/v1/store")
            assert state["lag_seconds"] > 0 and [x["is_up"] for x in state["shards"]] == [True, False], state
            assert "password" not in s.log()
            s.stop(signal.SIGKILL)
            s.start()  # the log still has what was not shipped
            s.send([make_span() for _ in range(20)])
            bed.shards[1].start()
            shipped(s)
            assert bed.count("spanflame.spans") == 120
            assert command(s, "verify")[0] == 0
            assert s.json("/api/search?limit=1")["traces"], "reads are this node's own"
            assert s.stop() == 0
        bed.ask("SELECT 1")


@clickhouse_bed.long
@clickhouse_bed.needed
def test_nothing_is_lost_by_restarts_before_the_first_batch_was_shipped():
    with clickhouse_bed.Bed(1) as bed:
        bed.shards[0].kill()
        with Server(config(bed.url())) as s:
            for _ in range(2):
                s.send([make_span() for _ in range(20)])
                s.stop(), s.start()  # a stop writes them to blocks
            s.send([make_span()])
            bed.shards[0].start()
            assert shipped(s)["records_lost"] == 0 and bed.count("spanflame.spans") == 41, bed.count("spanflame.spans")


# Threads of a node read and write these by themselves, whether or not there are requests: what nodes share, and leases.
BACKGROUND_TABLES = (b".shared ", b".leases ", b".schema_version ")


class Proxy(http.server.ThreadingHTTPServer):
    """Between node and shard: stores, and then drops the answer, says 500 instead, or waits too long."""
    daemon_threads = True

    def __init__(self, port, seed=1, share=0.5, certificate=None):
        proxy = self
        self.random = random.Random(seed)
        self.share, self.n_spoiled, self.seen, self.questions, self.paths = share, 0, set(), [], []
        self.before = lambda question: None  # called with each question before it is passed on

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                proxy.seen.add((self.headers["X-ClickHouse-User"], self.headers["X-ClickHouse-Key"]))
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not any(table in body for table in BACKGROUND_TABLES):
                    proxy.paths.append(self.path)
                    proxy.questions.append(body.decode("utf-8", "replace"))
                    proxy.before(proxy.questions[-1])
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                headers = {k: v for k, v in self.headers.items() if k.lower() in ("content-encoding", "content-type")}
                c.request("POST", self.path, body, headers)
                r = c.getresponse()
                answer = r.read()
                c.close()
                if proxy.spoils(self.path + " " + body.decode("utf-8", "replace")):
                    self.close_connection = True
                    return
                spoil = "INSERT" in self.path and proxy.random.random() < proxy.share
                if spoil:
                    proxy.n_spoiled += 1
                    way = proxy.random.choice(["drop", "500", "late"])
                    if way == "drop":
                        self.close_connection = True
                        return
                    if way == "late":
                        time.sleep(1.6)  # the node's timeout is 1 s
                    elif way == "500":
                        answer, r.status = b"Code: 1000. stored all the same", 500
                try:
                    self.send_response(r.status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass

        super().__init__(("127.0.0.1", 0), Handler)
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(*certificate)
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spoils(self, request):
        """Called with address and body of each request after it was passed on; true: its answer is dropped."""
        return False


def is_partial(answer):
    return "did not answer" in str(answer.getheader("x-spanflame-partial")) + answer.text


@clickhouse_bed.long
@clickhouse_bed.needed
def test_shards_are_queried_at_once():
    """Each shard answers a question only when the other one has been asked, too."""
    story = fleet_answers.Story()
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), timeout="60s")) as one:
        story.send(one)
        shipped(one)
        proxies = [Proxy(shard.port, share=0) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        with Server(config(url, timeout="60s", interval="10m") + "alerts: {pack: false}\n") as reader:
            wait_for(lambda: [x.get("schema") for x in reader.json("/api/v1/store")["shards"]].count(None) == 0)
            changed, asked, alone = threading.Condition(), [set(), set()], []

            def meet(i, question):
                # Entries are asked of shards that have rows. Other questions are the same for all shards.
                if question.startswith(("SELECT toUInt8(0)", "SELECT 1 ")) or "system." in question:
                    return
                with changed:
                    asked[i].add(question)
                    changed.notify_all()
                    if not changed.wait_for(lambda: question in asked[1 - i], 10):
                        alone.append(question)
            for i, p in enumerate(proxies):
                p.before = lambda question, i=i: meet(i, question)
            for question in (story.span_questions()[:3] + story.operation_questions()[:1] + story.tag_questions()[:2]
                             + story.profile_questions()[:2]):
                answer = fleet_answers.ask(reader, question)[1]
                assert answer.status == 200 and not is_partial(answer), (question, answer.text[:300])
                assert not alone, (question, alone)
            assert len(asked[0] & asked[1]) >= 5, asked


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_shard_that_hangs_does_not_hold_up_later_requests():
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url())) as one:
        spans = [make_span(service="web") for _ in range(40)]
        one.send(spans)
        shipped(one)
        proxies = [Proxy(shard.port, share=0) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        with Server(config(url, timeout="60s", interval="10m") + "alerts: {pack: false}\nlimits: {query_time: 12s}\n") as reader:
            wait_for(lambda: [x.get("schema") for x in reader.json("/api/v1/store")["shards"]].count(None) == 0)
            goes_on = threading.Event()
            proxies[1].before = lambda question: goes_on.wait(120)
            path = "/api/search?limit=100&q=" + urllib.parse.quote('{ resource.service.name = "web" }')
            n = []
            for _ in range(4):
                before = len(proxies[1].questions)
                answer = reader.get(path, {"Accept": "application/json"}, timeout=60)
                assert answer.status == 200 and "shard 2 of 2 did not answer" in str(answer.getheader("x-spanflame-partial")), \
                    (answer.status, answer.text[:300])
                assert 0 < len(json.loads(answer.body)["traces"]) < 40, "what the other shard has"
                n.append([q for q in proxies[1].questions[before:] if not q.startswith(("SELECT 1 ", "KILL"))])
            assert len(n[0]) == 1 and not any(n[1:]), n  # only probes
            state = reader.json("/api/v1/store")["shards"]
            assert state[0]["schema"] == 7 and "timed out" in state[1]["error"], state
            goes_on.set()

            def whole():
                answer = reader.get(path, {"Accept": "application/json"}, timeout=60)
                return answer.status == 200 and not is_partial(answer) and len(json.loads(answer.body)["traces"]) == 40
            wait_for(whole)


@clickhouse_bed.needed
def test_answers_that_are_lost_after_storing_change_no_total():
    with clickhouse_bed.Bed(2) as bed:
        proxies = [Proxy(shard.port, seed) for seed, shard in enumerate(bed.shards)]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        with Server(config(url, timeout="1s")) as s:
            n = 0
            end = time.monotonic() + 120
            while sum(p.n_spoiled for p in proxies) < (40 if LONG else 5):
                assert time.monotonic() < end, "the proxies spoil answers"
                spans = [make_span(service=f"s{i % 3}") for i in range(25)]
                s.send(spans)
                n += len(spans)
                time.sleep(0.25)
            for proxy in proxies:
                proxy.share = 0.1
            shipped(s)
            assert bed.count("spanflame.spans") == n, (bed.count("spanflame.spans"), n)
            for proxy in proxies:
                proxy.share = 0
            code, text = command(s, "verify")
            assert code == 0, text
            assert s.json("/api/v1/store")["retries"] > 0


class LateProxy(Proxy):
    """Stores some inserts, and answers them a minute later."""

    def __init__(self, port, n):
        super().__init__(port, share=0)
        self.handle_error = lambda *_: None  # the node has gone on
        self.n_left, self.n_late, self.lock = n, 0, threading.Lock()

    def spoils(self, request):
        with self.lock:
            is_late = "INSERT%20INTO" in request and self.n_left > 0 and self.random.random() < 0.5
            self.n_left, self.n_late = self.n_left - is_late, self.n_late + is_late
        if is_late:
            time.sleep(61)
        return False


@clickhouse_bed.long
@clickhouse_bed.needed
def test_answers_that_come_a_minute_late_change_no_total():
    with clickhouse_bed.Bed(2) as bed:
        proxies = [LateProxy(shard.port, 3) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        with Server(config(url, timeout="20s", interval="1s")) as s:
            n = 0
            end = time.monotonic() + 600
            while sum(p.n_late for p in proxies) < 6:
                assert time.monotonic() < end, [p.n_late for p in proxies]
                spans = [make_span(service=f"s{i % 3}") for i in range(25)]
                s.send(spans)
                link = (spans[0]["trace_id"], spans[0]["span_id"])
                assert s.post("/v1development/profiles", otlp("cart", {"main;work": 30}, link=link)).status == 200
                n += 1
                time.sleep(1)
            wait_for(lambda: (x := s.json("/api/v1/store"))["shipped_record"] == x["newest_record"], 300)
            counts = [bed.count("spanflame." + table) for table in ("spans", "undecided", "profiles")]
            assert counts == [25 * n, n, n], (counts, n)
            code, text = command(s, "verify")
            assert code == 0, text


@clickhouse_bed.long
@clickhouse_bed.needed
def test_verify_waits_longer_than_a_batch_does():
    with clickhouse_bed.Bed(1) as bed:
        proxy = Proxy(bed.shards[0].port, share=0)
        with Server(config(f"clickhouse://127.0.0.1:{proxy.server_address[1]}/spanflame", timeout="1s")) as s:
            s.send([make_span()])
            shipped(s)
            proxy.before = lambda question: time.sleep(1.5 if "rows_of = 'spans'" in question else 0)
            code, text = command(s, "verify")
            assert code == 0, text


@clickhouse_bed.needed
def test_an_acknowledgement_can_wait_for_clickhouse():
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), ack="remote")) as s:
        for n in range(1, 4):
            s.send([make_span() for _ in range(20)])
            assert bed.count("spanflame.spans") == 20 * n, "it is there when the sender is told so"
        body = export_request([make_span()])
        assert s.post("/v1/traces", body).status == 200 == s.post("/v1/traces", body).status, "a repeat, too"
        bed.shards[1].kill()
        answers = []
        late = export_request([make_span() for _ in range(20)])

        def send_until_taken():  # as an exporter does
            while 200 not in answers:
                answers.append(s.post("/v1/traces", late, timeout=60).status)
                time.sleep(0.2)
        sender = threading.Thread(target=send_until_taken)
        sender.start()
        wait_for(lambda: s.json("/api/v1/store").get("last_error"))
        assert 200 not in answers, "no acknowledgement while a shard has not confirmed"
        if LONG:
            time.sleep(11)  # FAILING_NS of shipper.c
            assert s.post("/v1/traces", export_request([make_span()]), timeout=10).status == 429
        bed.shards[1].start()
        sender.join(60)
        assert answers[-1] == 200 and set(answers) <= {200, 429, 503}, answers
        shipped(s)
        assert bed.count("spanflame.spans") == 81
        bed.shards[1].kill()
        sender = threading.Thread(target=lambda: answers.append(s.post("/v1/traces", export_request([make_span()])).status))
        sender.start()
        wait_for(lambda: s.json("/api/v1/store").get("last_error"))
        assert s.stop(seconds=40) == 0, "a server that stops does not wait for a shard"
        sender.join(30)
        assert answers[-1] in (429, 503), answers


@clickhouse_bed.needed
def test_refused_rows_are_set_aside_and_the_rest_goes_on():
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url())) as s:
        s.send([make_span()])
        shipped(s)
        bed.ask("ALTER TABLE spanflame.spans ADD CONSTRAINT c CHECK name != 'bad'")
        s.send([make_span(name="bad")])
        shipped(s)
        bed.ask("ALTER TABLE spanflame.spans DROP CONSTRAINT c")
        s.send([make_span(name="good")])
        state = shipped(s)
        assert state["refused"] == 1, state
        assert bed.count("spanflame.spans") == 2
        assert len(os.listdir(os.path.join(s.data, "ship.refused"))) == 1
        assert command(s, "verify")[0] == 0


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_full_spool_slows_senders_down_and_then_refuses():
    with clickhouse_bed.Bed(1) as bed:
        bed.shards[0].kill()
        more = "retention: {min_free: 1MB}\n"
        with Server(config(bed.url(), spool_max="256MiB") + more) as s:
            n, seen = 0, set()

            def send():
                spans = [make_span(attributes={"blob": random.randbytes(22000).hex()}) for _ in range(100)]
                answer = s.post("/v1/traces", export_request(spans), timeout=60)
                seen.add(answer.status)
                return len(spans) if answer.status == 200 else 0
            end = time.monotonic() + 240
            while 503 not in seen:
                assert time.monotonic() < end, (seen, s.json("/api/v1/store"))
                n += send()
            state = s.json("/api/v1/store")
            assert state["spool_bytes"] >= 256 << 20, state
            assert s.metric("spanflame_ship_spool_bytes") >= 256 << 20
            ready = s.get("/ready")
            assert ready.status == 503 and "wait for ClickHouse" in ready.text, (ready.status, ready.text)
            bed.shards[0].start()
            state = shipped(s)
            assert bed.count("spanflame.spans") >= n, "a request that was refused may be there in part: see docs/overload.md"
            assert state["spool_bytes"] == 0 and send() == 100, "and it takes data again"
            assert command(s, "verify")[0] == 0


# ---- configuration ----

def test_bad_configuration_is_refused_before_anything_starts():
    def refused(text, words):
        s = Server(text, wait=False).start()
        code = s.process.wait(20)
        assert code != 0 and words in s.log(), (code, s.log())
        assert not os.path.exists(s.data), "nothing was made"
    refused("store: {remote: {url: 'mysql://h:1/x'}}", "must be clickhouse://")
    refused("store: {remote: {url: 'clickhouse://h/x'}}", "is not HOST:PORT")
    refused("store: {remote: {url: 'clickhouse://h:8123'}}", "DATABASE")
    refused("store: {remote: {url: 'clickhouse://h:8123/a-b'}}", "name of a database")
    refused("store: {remote: {url: 'clickhouse://u:p@h:8123/x'}}", "must not hold a user or password")
    refused("store: {remote: {url: 'clickhouse://h:1,h:1/x'}}", "twice")
    refused("store: {remote: {user: x}}", "needs store.remote.url")
    refused("store: {remote: {attributes: [x]}}", "needs store.remote.url")
    for names, words in (("a b", "must have 1 to 100 letters"), ("x, x", "listed twice"),
                         (", ".join(f"n{i}" for i in range(17)), "more than 16")):
        refused(f"store: {{remote: {{url: 'clickhouse://h:1/x', attributes: [{names}]}}}}", words)
    refused("store: {remote: {url: 'clickhouse://h:1/x', user: x, password_file: /nowhere}}", "password_file")
    refused("store: {remote: {url: 'clickhouse://h:1/system'}}", "ClickHouse's own database")
    for key in ("ack: remote", "interval: 1s", "timeout: 1s", "spool_max: 1GB", "memory: 1GB", "password_file: /x", "ca_file: /x"):
        refused(f"store: {{remote: {{{key}}}}}", f"{key.split(':')[0]} needs store.remote.url")
    url = "store: {remote: {url: 'https://h:1/x', "
    refused(url + "user: \"a\\nX-Other: b\"}}", "store.remote.user: a control character")
    refused(url + "ca_file: /nowhere}}", "store.remote.ca_file: ")
    refused(url + f"ca_file: {__file__}}}}}", "has no certificate in PEM format")
    for content, words in ((b"", "the first line is empty"), (b"\nx", "the first line is empty"), (b"a\0b\n", "a control character"),
                           (b"x" * 5000, "longer than 4096 bytes")):
        with tempfile.NamedTemporaryFile() as f:
            f.write(content)
            f.flush()
            refused(url + f"user: x, password_file: {f.name}}}}}", "store.remote.password_file: " + ("" if b"x" * 9 in content else words))
            refused(url + f"user: x, password_file: {f.name}}}}}", words)


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_server_that_is_listed_twice_or_in_another_place_is_refused():
    with clickhouse_bed.Bed(2) as bed:
        ports = [shard.port for shard in bed.shards]
        with Server(config(f"clickhouse://127.0.0.1:{ports[0]},localhost:{ports[0]}/spanflame")) as s:
            s.send([make_span()])
            wait_for(lambda: s.json("/api/v1/store")["batches"] or s.json("/api/v1/store").get("last_error"))  # seen now, or later
            s.send([make_span()])
            wait_for(lambda: "no server may be listed twice" in s.json("/api/v1/store").get("last_error", ""))
        with Server(config(bed.url("other"))) as s:
            for _ in range(2):
                s.send([make_span() for _ in range(20)])
                shipped(s)
            assert command(s, "verify")[0] == 0
        with Server(config(f"clickhouse://127.0.0.1:{ports[1]},127.0.0.1:{ports[0]}/other")) as s:
            s.send([make_span()])
            wait_for(lambda: "is number 1 in the list of shards, but has data of number 2" in s.json("/api/v1/store").get("last_error", ""))
            assert bed.count("other.spans") == 40


@clickhouse_bed.needed
def test_user_password_and_certificates_reach_the_shard_and_no_log():
    with clickhouse_bed.Bed(1) as bed:
        key, cert = (os.path.join(bed.folder, name) for name in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        password = os.path.join(bed.folder, "password")
        with open(password, "w", encoding="ascii") as f:
            f.write("hush-7391\nnot this\n")
        proxy = Proxy(bed.shards[0].port, share=0, certificate=(cert, key))
        url = f"https://127.0.0.1:{proxy.server_address[1]}/spanflame"
        with Server(config(url, user="writer", password_file=password, ca_file=cert)) as s:
            s.send([make_span()])
            state = shipped(s)
            assert bed.count("spanflame.spans") == 1 and proxy.seen == {("writer", "hush-7391")}, proxy.seen
            told = s.log() + json.dumps(state) + s.get("/status/config").text + command(s, "status")[1]
            assert "hush-7391" not in told
        with Server(config(url, user="writer", password_file=password)) as s:  # nobody vouches for the certificate
            s.send([make_span()])
            wait_for(lambda: "certificate" in s.json("/api/v1/store").get("last_error", "").lower())
            assert bed.count("spanflame.spans") == 1
        with Server(config(bed.url(), interval="10m")) as s:
            wait_for(lambda: s.metric("spanflame_ship_shards_up") == 1)  # it has looked for batches once, and found none
            s.send([make_span()])
            time.sleep(7)  # longer than the default
            assert s.json("/api/v1/store")["batches"] == 0, "it waits for its interval"


def test_a_shard_that_hangs_is_given_up_after_the_timeout():
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/spanflame"
        with Server(config(url, timeout="1s", spool_max="300MiB")) as s:
            s.send([make_span()])
            wait_for(lambda: s.json("/api/v1/store").get("last_error"), 40)  # the default is 60 s
            assert s.metric("spanflame_ship_spool_max_bytes") == 300 << 20


@clickhouse_bed.needed
def test_a_newer_schema_is_not_touched():
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url())) as s:
        s.send([make_span()])
        shipped(s)
        bed.ask("INSERT INTO spanflame.schema_version (version) VALUES (999)")
        s.stop()
        s.start()
        s.send([make_span()])
        wait_for(lambda: "schema 999" in s.json("/api/v1/store").get("last_error", ""))
        assert bed.count("spanflame.spans") == 1
        assert s.json("/api/search?limit=5")["traces"], "the local side works"


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
