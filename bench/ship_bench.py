#!/usr/bin/env python3
"""What does a span cost on its way to ClickHouse: in the node, in ClickHouse, on the wire and on disk?

Sends spans of 11 attributes in traces of 9 to a node that ships to one shard, and the same to a node that does not ship;
the difference is shipping. CPU times of the processes, so a busy machine only makes it take longer. Needs
tests/flow/clickhouse_bed.py's library. SPANS=200000, INTERVAL=5s."""
import os
import random
import sys
import time

ROOT = os.environ.setdefault("SOURCE_ROOT", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
sys.path.insert(0, os.path.join(ROOT, "tests", "flow"))
import clickhouse_bed  # noqa: E402
from server import Server, attribute, field, fixed64  # noqa: E402

INTERVAL = os.environ.get("INTERVAL", "5s")
SPANS = int(os.environ.get("SPANS", "200000"))
PER_REQUEST, PER_TRACE = 1800, 9
SERVICES = ["frontend", "cart", "checkout", "payment", "catalog", "search", "user", "ship", "email", "quote"]


def requests(seed):
    """Bodies of OTLP: the same for the same seed."""
    rng = random.Random(seed)
    now = time.time_ns() - 60 * 10**9
    fixed = (attribute(9, "http.request.method", "GET") + attribute(9, "http.route", "/api/products/{id}")
             + attribute(9, "network.protocol.version", "1.1") + attribute(9, "feature.flag", "on"))
    for n in range(0, SPANS, PER_REQUEST):
        spans = {s: b"" for s in SERVICES}
        for t in range(PER_REQUEST // PER_TRACE):
            trace, user, request = rng.randbytes(16), f"u-{rng.randrange(200000)}", rng.randbytes(16).hex()
            start = now + n * 100000 + t * 900000
            parent = b""
            for i in range(PER_TRACE):
                span = rng.randbytes(8)
                at = start + i * 1000000 + rng.randrange(900000)
                body = field(1, trace) + field(2, span) + (field(4, parent) if parent else b"")
                body += field(5, "GET /api/products/{id}" if i == 0 else f"step{i}") + field(6, 2 if i == 0 else 1)
                body += fixed64(7, at) + fixed64(8, at + rng.randrange(20000000)) + fixed
                body += attribute(9, "url.full", f"https://shop.example.com/api/products/{rng.randrange(100000)}?ref={rng.randrange(65536):x}")
                body += attribute(9, "client.address", f"10.{rng.randrange(4)}.{rng.randrange(256)}.{rng.randrange(256)}")
                body += attribute(9, "user.id", user) + attribute(9, "request.id", request)
                body += attribute(9, "http.response.status_code", 200) + attribute(9, "client.port", 32768 + rng.randrange(28000))
                body += attribute(9, "thread.id", rng.randrange(64))
                spans[SERVICES[(i + t) % len(SERVICES)]] += field(2, body)
                parent = span
        yield b"".join(field(1, field(1, attribute(1, "service.name", s) + attribute(1, "host.name", "node-1")
                                      + attribute(1, "service.version", "1.4.2")) + field(2, field(1, field(1, "http")) + body))
                       for s, body in spans.items())


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        parts = f.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def send_all(s, seed):
    n = 0
    for body in requests(seed):
        while True:
            answer = s.post("/v1/traces", body)
            if answer.status == 200:
                break
            assert answer.status in (429, 503), (answer.status, answer.text)
            time.sleep(0.2)
        n += PER_REQUEST
    return n


def main():
    if not clickhouse_bed.library():
        sys.exit("ship_bench: no ClickHouse here; tools/libchdb gets its library")
    with Server() as alone:
        before = cpu(alone.process.pid)
        n = send_all(alone, 1)
        alone.request("POST", "/api/v1/flush", b"{}", {"Content-Type": "application/json"})
        local_us = (cpu(alone.process.pid) - before) / n * 1e6
    with clickhouse_bed.Bed(1) as bed:
        shard = bed.shards[0]
        with Server(f"store:\n  remote:\n    url: {bed.url()}\n    interval: {INTERVAL}\n") as s:
            while not s.json("/api/v1/store")["shards"][0].get("schema"):
                time.sleep(0.1)
            node, click = cpu(s.process.pid), cpu(shard.process.pid)
            n = send_all(s, 1)
            s.request("POST", "/api/v1/flush", b"{}", {"Content-Type": "application/json"})
            while True:
                state = s.json("/api/v1/store")
                if state["shipped_record"] == state["newest_record"]:
                    break
                time.sleep(0.2)
            node_us = (cpu(s.process.pid) - node) / n * 1e6
            insert_us = (cpu(shard.process.pid) - click) / n * 1e6
            shard.ask("OPTIMIZE TABLE spanflame.spans FINAL", timeout=300)
            shard.ask("OPTIMIZE TABLE spanflame.traces FINAL", timeout=300)
            merged_us = (cpu(shard.process.pid) - click) / n * 1e6
            size = {t: int(shard.ask(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{t}'"))
                    for t in ("spans", "traces")}
            trace = shard.ask("SELECT lower(hex(trace_id)) FROM spanflame.spans LIMIT 1 OFFSET 5000")
            before = cpu(s.process.pid), cpu(shard.process.pid)
            for _ in range(20):
                assert s.get(f"/api/v2/traces/{trace}").status == 200
            trace_ms = [(cpu(p) - b) / 20 * 1000 for p, b in zip((s.process.pid, shard.process.pid), before)]
            assert shard.count("spanflame.spans") == n
    for name, value, unit in (("spans", n, "rows"), ("batches", state["batches"], "batches"), ("node_without_shipping", local_us, "us/span"), ("node_with_shipping", node_us, "us/span"),
                              ("clickhouse_insert", insert_us, "us/span"), ("clickhouse_with_final_merge", merged_us, "us/span"),
                              ("disk_spans", size["spans"] / n, "B/span"), ("disk_traces", size["traces"] / n, "B/span"),
                              ("trace_by_id_node", trace_ms[0], "ms"), ("trace_by_id_clickhouse", trace_ms[1], "ms")):
        print(f"{name} {value:.2f} {unit}" if isinstance(value, float) else f"{name} {value} {unit}")


main()
