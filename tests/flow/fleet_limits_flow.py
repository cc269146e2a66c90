#!/usr/bin/env python3
"""Every statement of a node, of queries, shipping, upkeep and migration, carries limits of its time and memory on the shard; every
query one of its result. One that exceeds them is an error, not a partial response."""
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from fleet_flow import Proxy, config, shipped, wait_for  # noqa: E402
from server import JSON, PROGRAM, Server, make_span  # noqa: E402


class Recorder(Proxy):
    """A proxy that keeps all statements, those of the background too."""

    def __init__(self, port):
        self.all = []
        super().__init__(port, share=0)

    def spoils(self, request):
        self.all.append(request)
        return False


def check(requests, memory):
    """Fails when a statement lacks a limit. The kinds of statements that there were."""
    kinds = set()
    for request in requests:
        path, _, body = request.partition(" ")
        settings = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
        statement = settings.get("query", body)
        words = re.findall(r"[A-Z]+", statement[:60])
        kinds.add(words[0] + (" SELECT" if words[0] == "INSERT" and "query" not in settings else ""))
        assert settings.get("max_memory_usage") == str(memory), (path, statement[:300])
        assert 0 < int(settings["max_execution_time"]) <= 3602, (path, statement[:300])
        if statement.rstrip().endswith("FORMAT RowBinary") and words[0] == "SELECT":
            assert int(settings["max_result_bytes"]) > 0 and settings["result_overflow_mode"] == "throw", (path, statement[:300])
    return kinds


@clickhouse_bed.needed
def test_every_statement_carries_limits():
    story = fleet_answers.Story()
    with clickhouse_bed.Bed(2) as bed:
        proxies = [Recorder(shard.port) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        more = "retention: {detail_by_outcome: true, tail_delay: 1s}\n"
        with Server(config(url, timeout="60s", memory="900MiB") + more) as one:
            story.send(one)
            shipped(one)
            for questions in (story.span_questions(), story.operation_questions(), story.tag_questions(), story.profile_questions(),
                              story.querier_questions()):
                for question in questions:
                    fleet_answers.ask(one, question)
            trace = story.roots[0]["trace_id"].hex()
            answer = one.post(f"/api/v1/pins/{trace}", b"{}", JSON)
            assert answer.status == 200, answer.text
            for path in ("/api/v1/store", "/api/v1/store/verify?since=24h", f"/api/v1/keep/{trace}", "/api/v1/traces/" + "9" * 32,
                         "/api/v1/pins"):
                one.get(path)
            answer = one.post("/api/v1/erase", json.dumps({"service": "bank"}).encode(), JSON)
            assert answer.status in (200, 202), answer.text
            wait_for(lambda: one.metric("spanflame_upkeep_lease") == 1)
            time.sleep(3)  # some rounds of upkeep
        kinds = set.union(*(check(p.all, 900 << 20) for p in proxies))
        assert {"SELECT", "INSERT", "INSERT SELECT", "CREATE", "ALTER"} <= kinds, kinds
        # Migration by the command, which has no configuration.
        for p in proxies:
            p.all.clear()
        url = url.replace("/spanflame", "/another")
        subprocess.run([PROGRAM, "store", "migrate", "--url", url], check=True, capture_output=True, timeout=120)
        assert {"SELECT", "CREATE"} <= check(proxies[0].all, 4 << 30)


@clickhouse_bed.needed
def test_what_exceeds_the_memory_is_an_error():
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url(), timeout="60s", memory="64MiB")) as one:
        one.send([make_span(name=f"n{i}") for i in range(50)])
        shipped(one)
        # A condition on resources makes a set of their ids, which cannot be written to disk as groups can.
        bed.shards[0].ask("INSERT INTO spanflame.resources (tenant, day, resource, service, keys, vals) SELECT 'single-tenant', today(), number, "
                          "'web', ['host.name'], ['h1'] FROM numbers(6000000)", timeout=120)
        now = int(time.time())
        times = f"start={now - 600}&end={now + 60}"
        for path in ("/api/search?limit=5&", "/api/metrics/query_range?step=60s&"):
            query = urllib.parse.quote('{ resource.host.name = "h1" }' + (" | rate()" if "metrics" in path else ""))
            answer = one.get(f"{path}{times}&q={query}", {"Accept": "application/json"})
            assert answer.status >= 400 and "store.remote.memory" in answer.text, (answer.status, answer.text[:400])
        answer = one.get(f"/api/search?limit=5&{times}&q=" + urllib.parse.quote("{ name = `n7` }"), {"Accept": "application/json"})
        assert answer.status == 200 and len(json.loads(answer.text)["traces"]) == 1, answer.text


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
