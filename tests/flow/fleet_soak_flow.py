#!/usr/bin/env python3
"""Two nodes and two shards for a while: spans and samples come to both nodes, both are asked, a shard and a node are killed
now and then. At the end every acknowledged span and sample is stored once, both nodes give the same answers, and neither
memory, descriptors nor parts have grown with time. FLEET_SOAK_SECONDS chooses how long (`make check-clickhouse`: 120; half an hour
is 1800); SOAK_SECONDS otherwise."""
import http.client
import os
import random
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from fleet_faults_flow import stored  # noqa: E402
from fleet_flow import command, config, shipped  # noqa: E402
from pprof_make import otlp  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

SECONDS = float(os.environ.get("FLEET_SOAK_SECONDS") or os.environ.get("SOAK_SECONDS") or "30")
PER_REQUEST = 20
KILL_EVERY = 97  # seconds


class Feed(threading.Thread):
    """Sends to one node, and remembers what it acknowledged."""

    def __init__(self, node, over):
        super().__init__()
        self.node, self.over, self.spans, self.samples, self.n_failed = node, over, set(), set(), 0

    def run(self):
        while not self.over.is_set():
            trace = os.urandom(16)
            spans = [make_span(trace=trace if i < 5 else None, service=f"s{i % 4}", name=f"op{i % 9}", error=i == 7,
                               attributes={"http.route": f"/r{i % 5}", "http.response.status_code": 200 + i}) for i in range(PER_REQUEST)]
            profile = otlp("s0", {"main;serve;work": 30, "main;idle": 5}, link=(trace, spans[0]["span_id"]))
            try:
                self.node.send(spans)
                self.spans.update(x["span_id"] for x in spans)
                if self.node.post("/v1development/profiles", profile).status == 200:
                    self.samples.add(spans[0]["span_id"])
            except (OSError, AssertionError, http.client.HTTPException):
                self.n_failed += 1  # its node was killed
            self.over.wait(0.25)


def questions(from_s, until_s):
    times, own = f"start={from_s}&end={until_s}", f"from={from_s}&until={until_s}"
    quote = urllib.parse.quote
    return ([f"/api/search?{times}&limit=30&q={quote(q)}" for q in ("{ status = error }", '{ span.http.route = "/r3" }')]
            + [f"/api/metrics/query_range?{times}&step=10s&q={quote(q)}" for q in ("{} | rate() by (resource.service.name)",)]
            + [f"/api/v1/profile?service=s0&type=cpu&format=folded&{own}", f"/api/v1/services?{own}"])


def figures(nodes, bed):
    out = []
    for node in nodes:
        with open(f"/proc/{node.process.pid}/status", encoding="ascii") as f:
            out.append(next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) // 1024)
        out.append(len(os.listdir(f"/proc/{node.process.pid}/fd")))
    parts = bed.ask("SELECT count() FROM system.parts WHERE active AND database = 'spanflame'")
    return {"MiB": out[0::2], "descriptors": out[1::2], "parts": [int(x) for x in parts],
            "retries": [node.json("/api/v1/store")["retries"] for node in nodes]}


@clickhouse_bed.needed
def test_two_nodes_and_two_shards_for_a_while():
    rng, over = random.Random(3), threading.Event()
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), interval="5s", timeout="20s")) as a, \
            Server(config(bed.url(), interval="5s", timeout="20s")) as b:
        nodes = (a, b)
        feeds = [Feed(node, over) for node in nodes]
        for feed in feeds:
            feed.start()
        begun, next_kill, next_look, seen, n_asked, n_kills = time.monotonic(), KILL_EVERY, 0, [], 0, 0
        try:
            while time.monotonic() - begun < SECONDS:
                now = time.monotonic() - begun
                if now >= next_kill and now < SECONDS - 20:
                    next_kill, n_kills = next_kill + KILL_EVERY, n_kills + 1
                    if n_kills % 2:
                        shard = rng.choice(bed.shards)
                        shard.kill()
                        time.sleep(3)
                        shard.start()
                    else:
                        node = rng.choice(nodes)
                        node.kill()
                        node.log_file.close()
                        node.start()
                if now >= next_look:
                    next_look += max(10, SECONDS / 20)
                    seen.append(figures(nodes, bed))
                    print(f"# {now:.0f} s: {seen[-1]}", flush=True)
                at = int(time.time())
                for question in questions(at - 120, at - 20):
                    answer = rng.choice(nodes).get(question, {"Accept": "application/json"}, timeout=120)
                    assert answer.status == 200 or "no profiles of" in answer.text, (question, answer.status, answer.text[:300])
                    n_asked += 1
                over.wait(1)
        finally:
            over.set()
            for feed in feeds:
                feed.join()
        for node in nodes:
            shipped(node)
        at = int(time.time())
        for from_s in (at - 60, at - 600):
            found = fleet_answers.differences(a, b, questions(from_s, at + 10))
            assert not found, fleet_answers.told(found)
        for table, sent, most in (("spans", feeds[0].spans | feeds[1].spans, 1), ("undecided", feeds[0].samples | feeds[1].samples, 2)):
            found = stored(bed, table)
            if table == "undecided":  # of hours that are over, some are kept and the rest is gone
                sent = sent & set(found) if bed.count("spanflame.judged") else sent
            assert not sent - set(found), (table, len(sent - set(found)), len(sent))
            assert max(found.values()) == most, (table, max(found.values()))
        for node in nodes:
            code, text = command(node, "verify")
            assert code == 0, text
        print(f"# {SECONDS:.0f} s, {n_kills} kills, {sum(len(f.spans) for f in feeds)} spans, {sum(len(f.samples) for f in feeds)} profiles, "
              f"{n_asked} queries, {sum(f.n_failed for f in feeds)} requests not acknowledged")
        if len(seen) > 6:
            early, late = seen[len(seen) // 3], seen[-1]
            assert max(late["descriptors"]) <= max(early["descriptors"]) + 32, (early, late)
            assert max(late["MiB"]) <= max(early["MiB"]) * 1.5 + 64, (early, late)
            assert max(late["parts"]) < 600, (early, late)


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
