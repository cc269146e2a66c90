#!/usr/bin/env python3
"""TraceQL metrics whose spans the shards count: the same numbers as a single server, whatever waits, was sent twice, comes late, has
a wrong clock or is erased. Queries are made at random from a seed, and the test fails if the shards counted too few of them."""
import os
import random
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
from fleet_answers import differences  # noqa: E402
from server import JSON, Server  # noqa: E402

S, MS = 10**9, 10**6
QUERIES = int(os.environ.get("FLEET_METRICS", "60"))
SEED = int(os.environ.get("FLEET_METRICS_SEED", "7"))

# A request has one resource for each service, so that copies of a span are equal; `rows` is for .rows where the span has none.
SERVICES = {"shop": {"host.name": "h1"}, "cart": {"host.name": "h2", "rows": 3}, "bank": {"host.name": "h1", "rows": 70}}


def config(url, interval="200ms"):
    return f"store:\n  remote:\n    url: {url}\n    interval: {interval}\n    timeout: 5s\n    attributes: [http.route, size]\n"


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got:
            return got
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


def shipped(s):
    def done():
        state = s.json("/api/v1/store")
        return state["shipped_record"] == state["newest_record"]
    wait_for(done)


class World:
    def __init__(self):
        self.r = random.Random(SEED)
        self.t = (time.time_ns() // S - 1200) * S
        self.n = 0

    def span(self, trace=None, at_s=None):
        r = self.r
        self.n += 1
        start = self.t + int((r.uniform(0, 900) if at_s is None else at_s) * S) + r.randrange(S)
        if r.random() < 0.1:
            start = start // (30 * S) * 30 * S  # the edge of a step
        attributes = {}
        if r.random() < 0.8:
            attributes["http.route"] = r.choice(["/a", "/b", "/c", ""])
        if r.random() < 0.8:
            attributes["size"] = r.choice([0, 1, 2, 3, 4, 5, 1000, 1024, 1025, 2**40, 7, -3, "text", 0.5])
        if r.random() < 0.7:
            attributes["rows"] = r.choice([0, 1, 2, 8, 9, 255, 256, 257, 2**33 + 1, -9, 2.5, 1e9, "many", True])
        if r.random() < 0.3:
            attributes["ratio"] = r.choice([0.25, -1.5, 1e300, 3])
        if r.random() < 0.3:
            attributes["is_cached"] = r.random() < 0.5
        service = r.choice(list(SERVICES))
        return {"trace_id": trace or r.randbytes(16), "span_id": r.randbytes(8), "parent": None, "name": r.choice(["get", "put", "list"]),
                "service": service, "kind": r.choice([1, 2, 3]), "error": r.random() < 0.2,
                "start": start, "end": start + r.choice([0, 1, 2, 3, 400 * MS, 400 * MS + 1, 512, 513, r.randrange(3 * S)]),
                "resource": SERVICES[service], "attributes": attributes}

    def requests(self, n_requests, n_spans, **more):
        """Traces continue from one request to the next."""
        traces = [self.r.randbytes(16) for _ in range(n_spans)]
        return [[self.span(self.r.choice(traces), **more) for _ in range(n_spans)] for _ in range(n_requests)]

    def query(self):
        r = self.r
        attr = ["span.http.route", ".http.route", "name", "status", "kind", "resource.service.name", "resource.host.name", "span.size",
                "span.rows", ".rows", "span.is_cached", "statusMessage", "instrumentation:name"]
        conds = ['resource.service.name = "shop"', 'name != "put"', "status = error", "kind = server", "duration > 400ms", "duration <= 400ms",
                 "duration = 512ns", "duration != 0ns", 'span.http.route = "/a"', 'span.http.route =~ "/[ab]"', "span.size > 4", "span.size = 1024",
                 ".rows >= 3", "span.rows != 8", "span.is_cached", "span.is_cached = false", 'resource.host.name = "h2"', "span.ratio < 1",
                 "span.size + 1 > 5", "span.nothing = 1", "span.rows = span.size"]
        filters = r.sample(conds, r.choice([0, 0, 1, 1, 2, 3]))
        text = "{ " + r.choice([" && ", " || "]).join(filters) + " }"
        if r.random() < 0.1:
            text = f"{text} || {{ {r.choice(conds)} }}"
        fn = r.choice(["rate()", "count_over_time()"] + [f"{f}_over_time({a})" for f in ("min", "max", "sum", "avg") for a in
                                                        ("duration", "span.size", "span.rows", ".rows", "span.ratio")]
                      + [f"quantile_over_time({a}, .5, .9, .99)" for a in ("duration", "span.size", ".rows")]
                      + [f"histogram_over_time({a})" for a in ("duration", "span.rows")])
        by = r.sample(attr, r.choice([0, 1, 1, 2]))
        return f"{text} | {fn}" + (f" by ({', '.join(by)})" if by else "")

    def questions(self, n):
        out = []
        for _ in range(n):
            at = self.t // S + self.r.choice([-10, 0, 100, 301])
            until = at + self.r.choice([60, 300, 1100])
            kind, more = self.r.choice([("query_range", "&step=30s"), ("query_range", "&step=7s"), ("query_range", "&step=300s"), ("query", "")])
            out.append(f"/api/metrics/{kind}?start={at}&end={until}{more}&q={urllib.parse.quote(self.query())}")
        return out


def check(alone, nodes, questions, least):
    """All equal, and of each node's queries the shards counted at least a share."""
    for node in nodes:
        read = []
        for question in questions:
            before = node.metric("spanflame_remote_grouped_total")
            for _, a, b in differences(alone, node, [question]):
                raise AssertionError((SEED, urllib.parse.unquote(question), a[:900], b[:900]))
            if node.metric("spanflame_remote_grouped_total") == before:
                read.append(urllib.parse.unquote(question))
        assert len(read) <= max(1, (1 - least) * len(questions)), (SEED, len(questions), read)


@clickhouse_bed.long
@clickhouse_bed.needed
def test_shards_count_every_span_once():
    w = World()
    with clickhouse_bed.Bed(2) as bed, Server() as alone, Server(config(bed.url())) as one, Server(config(bed.url())) as two, \
            Server(config(bed.url(), "10m")) as waits:
        for s in (one, two, waits):
            wait_for(lambda s=s: [x["schema"] for x in s.json("/api/v1/store")["shards"]] == [7, 7])

        def send(spans, *servers):
            for s in (alone, *servers):
                s.send(spans)
        for i, spans in enumerate(w.requests(12, 60)):
            send(spans, (one, two)[i % 2])
        shipped(one)
        shipped(two)
        check(alone, (one, two, waits), w.questions(QUERIES), 0.9)
        # Spans that one node did not ship, of new traces and of some that others have; and late ones.
        own = w.requests(2, 40) + [[w.span(x["trace_id"]) for x in spans[:20]]]
        for spans in own:
            send(spans, waits)
        check(alone, (waits,), w.questions(QUERIES), 0.9)
        # The same spans once more: in other requests to the same node, to another node, and to one that does not ship them.
        again = [spans[10:30] + [w.span()], spans[:5] + [w.span()]]
        send(again[0], one)
        send(again[1], two)
        shipped(one)
        shipped(two)
        check(alone, (waits,), w.questions(QUERIES // 2), 0.9)
        for s in again[0][:7]:
            own.append([s, w.span()])
            send(own[-1], waits)
        check(alone, (waits,), w.questions(QUERIES // 2), 0.9)
        twice = w.requests(1, 30)[0]
        send(twice, one)
        send(twice[:15] + [w.span()], two)
        send(twice[15:] + [w.span()], one)
        shipped(one)
        shipped(two)
        own = [x for spans in own for x in spans]
        # What waits has is not there yet for the others: send it to one, where it is a second copy for waits.
        for at in range(0, len(own), 50):
            send(own[at:at + 50] + [w.span()], one)
        shipped(one)
        # Wrong clocks: two hours ahead, and forty days behind.
        for at_s in (2 * 3600 + 1500, -40 * 86400):
            send([w.span(at_s=at_s) for _ in range(5)], one)
        shipped(one)
        check(alone, (one, two, waits), w.questions(QUERIES // 2), 0.9)
        # A single server does not find those by their start; reading rows does (by trace:id), and so does counting.
        ahead = w.t // S + 2 * 3600
        for s in (one, waits):
            counts = [sum(float(x.get("value", 0)) for series in s.json(
                f"/api/metrics/query_range?start={ahead}&end={ahead + 3000}&step=60s&q="
                + urllib.parse.quote(f"{{}} | count_over_time() by ({by})"))["series"] for x in series["samples"])
                for by in ("resource.service.name", "trace:id")]
            assert counts == [5, 5], counts


@clickhouse_bed.long
@clickhouse_bed.needed
def test_shards_do_not_count_what_is_erased():
    w = World()
    with clickhouse_bed.Bed(2) as bed, Server() as alone, Server(config(bed.url())) as one, Server(config(bed.url())) as two:
        for i, spans in enumerate(w.requests(6, 40)):
            alone.send(spans)
            (one, two)[i % 2].send(spans)
        shipped(one)
        shipped(two)
        questions = w.questions(QUERIES // 2)
        check(alone, (one, two), questions, 0.9)
        for s in (alone, one):
            answer = s.request("POST", "/api/v1/erase", b'{"service": "shop"}', {"Content-Type": JSON})
            assert answer.status in (200, 202), answer.text
        for s in (one, two):
            wait_for(lambda s=s: not differences(alone, s, questions[:3]))
        check(alone, (one, two), questions, 0)
        # Rows that came after it count.
        for i, spans in enumerate(w.requests(2, 30)):
            alone.send(spans)
            (one, two)[i % 2].send(spans)
        shipped(one)
        shipped(two)
        check(alone, (one, two), w.questions(QUERIES // 2), 0)


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
