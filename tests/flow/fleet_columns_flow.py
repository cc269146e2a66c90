#!/usr/bin/env python3
"""Attributes with columns of their own in ClickHouse (store.remote.attributes) change no answer, whatever type a value has."""
import json
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from fleet_flow import Proxy, config, shipped, wait_for  # noqa: E402
from fleet_life_flow import gates  # noqa: E402
from server import Server, attribute, field, make_span, span_message, tap  # noqa: E402

NAMES = "[http.status, http.route, odd-name_2.x]"
VALUES = [200, 404, 500, -3, "200", "text", "", 2.5, 500.0, float("nan"), True, None, "/cart", "it's"]
CONDS = ["= 200", "= 500", ">= 404", "< 0", "> 2.4", "<= 2.5", '= "200"', '= "text"', '= ""', '= "it\'s"', "= true", "!= 200", "!= nil", "= nil",
         '=~ "te.*"', '!= "text"', '> "a"', "= 2.5"]


def spans(at):
    """One for each value of each attribute."""
    return [make_span(name=f"{key} {i}", start=at + i * 10**6, end=at + i * 10**6 + 10**5, attributes={} if v is None else {key: v})
            for key in ("http.status", "odd-name_2.x", "other") for i, v in enumerate(VALUES)]


def twice(at):
    """A request with a span that has an attribute twice."""
    span = make_span(name="twice", start=at, end=at + 10**5, attributes={"http.status": "first"})
    message = span_message(span) + attribute(9, "http.status", 404)
    return field(1, field(1, attribute(1, "service.name", "web")) + field(2, field(2, message)))


def questions(at):
    times = f"start={at // 10**9 - 60}&end={at // 10**9 + 60}"
    return [f"/api/search?{times}&limit=100&q=" + urllib.parse.quote(f"{{ {scope}{key} {cond} }}")
            for key in ("http.status", "odd-name_2.x") for cond in CONDS for scope in ("span.", ".")]


@clickhouse_bed.needed
def test_conditions_give_the_same_whatever_the_type_of_a_value():
    at = time.time_ns() - 30 * 10**9
    rows, double = spans(at), twice(at)
    with clickhouse_bed.Bed(2 if clickhouse_bed.IS_LONG else 1) as bed, Server() as alone, Server(config(bed.url())) as node:
        alone.send(rows)
        assert alone.post("/v1/traces", double).status == 200 == node.post("/v1/traces", double).status
        node.send(rows[::2])  # before there are such columns
        shipped(node)
        proxies = [Proxy(shard.port, share=0) for shard in bed.shards]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{p.server_address[1]}" for p in proxies) + "/spanflame"
        with Server(config(url, timeout="60s", attributes=NAMES)) as reader:
            wait_for(lambda: all(x == "9" for x in bed.ask("SELECT count() FROM system.columns WHERE table = 'spans' AND name LIKE '_:%'")))
            node.send(rows[1::2])  # a node that does not know of them
            shipped(node)
            wait_for(lambda: reader.metric("spanflame_ship_shards_up") == len(bed.shards))
            asked = questions(at)
            if not clickhouse_bed.IS_LONG:  # some; and those of the columns that are looked for below
                asked = asked[::12] + [x for x in asked if 'status%20%3E%3D' in x or '%22text%22' in x]
            found = fleet_answers.differences(alone, reader, asked)
            assert not found, fleet_answers.told(found)
            asked = [q for p in proxies for q in p.questions if "SELECT" in q and "http.status" in q]
            assert any("`i:http:status` >= toInt64(404)" in q for q in asked), asked[-1:]
            assert any("`s:http:status` IN ('text')" in q for q in asked)
            assert not any("sk, sv" in q.split("WHERE", 1)[1] for q in asked if "`s:http:status`" in q), "arrays are not read for it"
            # A row less is noticed through them, too.
            bed.ask("ALTER TABLE spanflame.spans DELETE WHERE name = 'http.status 5' SETTINGS mutations_sync = 2")
            q = [x for x in questions(at) if urllib.parse.quote('span.http.status = "text"') in x]
            assert fleet_answers.differences(alone, reader, q)


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_node_that_must_not_add_columns_searches_without_them():
    with clickhouse_bed.Bed(1) as bed:
        doors, url = gates(bed)
        doors[0].word = "ADD COLUMN IF NOT EXISTS `"
        with Server(config(url, attributes=NAMES)) as s:
            s.send([make_span(name="here", attributes={"http.status": 404})])
            shipped(s)
            assert doors[0].n_refused and "store.remote.attributes" in s.log()
            path = "/api/search?q=" + urllib.parse.quote("{ span.http.status >= 404 }")
            with Server(config(bed.url())) as other:
                for node in (s, other):
                    wait_for(lambda n=node: len(json.loads(n.get(path, {"Accept": "application/json"}).body)["traces"]) == 1)
            doors[0].word = None  # somebody granted it
            s.send([make_span()])
            wait_for(lambda: bed.ask("SELECT count() FROM system.columns WHERE table = 'spans' AND name LIKE '_:%'") == ["9"])


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
