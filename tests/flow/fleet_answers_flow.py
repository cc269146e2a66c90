#!/usr/bin/env python3
"""Nodes of a fleet give the answers of one server with a data directory, whoever is asked: with all reads remote, with half of the
data on a node, and with a shard away. That the comparison is worth something is shown by taking one row out of each table."""
import functools
import json
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
import fleet_answers  # noqa: E402
from fleet_flow import LONG, config, shipped, wait_for  # noqa: E402
from server import Server, make_span  # noqa: E402

ATTRIBUTES = "[http.response.status_code, user.id, is_cached, ratio]"


class World:
    """One server has everything in its data directory; of two nodes one has half of it and has shipped it, another the other
    half, and a third has nothing of its own. Tests share it, and leave it as it was."""

    def __init__(self):
        self.story, patient = fleet_answers.Story(), "limits: {query_time: 10m}\n"
        self.bed = clickhouse_bed.Bed(2).__enter__()
        url = self.bed.url()
        self.alone, self.other = Server().start(), Server(config(url, timeout="60s")).start()
        self.one = Server(config(url, timeout="60s") + patient).start()
        self.reader = Server(config(url, timeout="60s", attributes=ATTRIBUTES) + patient).start()
        self.story.send(self.alone)
        self.story.send(self.one, slice(0, None, 2))
        self.story.send(self.other, slice(1, None, 2))
        shipped(self.one)
        shipped(self.other)


world = functools.cache(World)


@clickhouse_bed.needed
def test_answers_are_those_of_one_server_whoever_is_asked():
    w = world()
    story, corpus = w.story, w.story.corpus_questions()
    assert len(corpus) > 150
    questions = (story.span_questions() + story.operation_questions() + story.tag_questions() + story.querier_questions()
                 + story.profile_questions() + story.door_questions())
    if not LONG:  # some of each kind
        questions, corpus = questions[::16], corpus[::30]
    for node, asked in (w.reader, questions + corpus), (w.one, questions if LONG else questions[::6]):
        found = fleet_answers.differences(w.alone, node, asked)
        assert not found, fleet_answers.told(found)


class Lost:
    """A row that is taken out of a table, on every shard, for a while. Of a dictionary: all copies of an entry."""

    def __init__(self, bed, table, where):
        self.bed, self.table, self.where = bed, f"spanflame.{table}", where

    def __enter__(self):
        assert self.bed.count(self.table, self.where) > 0, (self.table, self.where)
        for shard in self.bed.shards:
            shard.ask(f"CREATE TABLE spanflame.lost ENGINE = Memory AS SELECT * FROM {self.table} WHERE {self.where}")
            shard.ask(f"ALTER TABLE {self.table} DELETE WHERE {self.where} SETTINGS mutations_sync = 1")
        return self

    def __exit__(self, *_):
        for shard in self.bed.shards:
            shard.ask(f"INSERT INTO {self.table} SELECT * FROM spanflame.lost SETTINGS insert_deduplicate = 0")
            shard.ask("DROP TABLE spanflame.lost SYNC")


def number(some):
    return int.from_bytes(some, "big")


@clickhouse_bed.needed
def test_a_row_that_is_gone_is_noticed_in_every_table():
    w = world()
    families = fleet_answers.families(w.story)
    root, kid, pay = w.story.roots[0], w.story.kids[0], w.story.pay
    at_bank = "service = 'bank' AND type LIKE 'process_cpu%'"
    samples = f"span_id = {number(kid['span_id'])}"
    # One sample of a request as after its hour was evaluated.
    names = w.bed.shards[0].ask("SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns WHERE database = 'spanflame' AND "
                                "table = 'undecided'")
    kept = f"span_id = {number(root['span_id'])}"
    w.bed.ask(f"INSERT INTO spanflame.details ({names}, attempt) SELECT {names}, 0 FROM spanflame.undecided WHERE {kept}")
    w.bed.ask(f"ALTER TABLE spanflame.undecided DELETE WHERE {kept} SETTINGS mutations_sync = 1")
    frames = "(SELECT arrayJoin(frames) FROM spanflame.stacks WHERE stack IN (SELECT stack FROM spanflame.{} WHERE {}))"
    seen = {}
    for table, where, short in (
            ("spans", f"span_id = {number(root['span_id'])}", "tempo 0"),
            ("traces", f"trace_id = unhex('{pay['trace_id'].hex()}')", "api 0"),
            ("resources", f"resource IN (SELECT resource FROM spanflame.spans WHERE {samples})", "tempo 0"),
            ("scopes", "scope IN (SELECT scope FROM spanflame.spans WHERE name = 'refund')", "tempo 3"),
            ("profiles", f"{at_bank} AND start_ns = (SELECT min(start_ns) FROM spanflame.profiles WHERE {at_bank})", "pyroscope 1"),
            ("aggregates", f"{at_bank} AND (start_ns, stack) IN (SELECT min((start_ns, stack)) FROM spanflame.aggregates WHERE {at_bank})",
             "pyroscope 3"),
            ("undecided", samples, "link 1"), ("details", kept, "ledger 0"),
            ("series", "arrayExists(x -> x = 'test', vals)", "pyroscope 2"),
            ("stacks", f"stack IN (SELECT stack FROM spanflame.undecided WHERE {samples})", "why 2"),
            ("frames", "frame IN " + frames.format("aggregates", at_bank), "findings 1")):
        with Lost(w.bed, table, where):
            family, place = short.split()
            asked = families if LONG else {family: [families[family][int(place)]]}
            red = {k for k, v in asked.items() if fleet_answers.differences(w.alone, w.reader, v, (200, 404))}
        print(f"# {table}: {' '.join(sorted(red))}", flush=True)
        assert red, f"nobody notices a row less in {table}"
        seen[table] = red
    red = set().union(*seen.values())
    assert red == set(families) if LONG else len(red) > 5, f"what notices nothing: {set(families) - red}"
    # All are back.
    asked = families.items() if LONG else [(k, families[k][:1]) for k in ("link", "pyroscope")]
    found = fleet_answers.differences(w.alone, w.reader, [q for _, v in asked for q in v])
    assert not found, fleet_answers.told(found)


@clickhouse_bed.long
@clickhouse_bed.needed
def test_metrics_of_more_spans_in_five_minutes_than_one_answer_holds():
    n, per, slow = 56000, 2000, "limits: {query_time: 10m}\n"
    base = time.time_ns() // (300 * 10**9) * 300 * 10**9 - 250 * 10**9  # all in one bucket, over 40 s
    with clickhouse_bed.Bed(1) as bed, Server(slow) as alone, Server(config(bed.url(), timeout="300s") + slow) as one, \
            Server(config(bed.url(), timeout="300s") + slow) as reader:
        for first in range(0, n, per):
            spans = [make_span(service=f"s{i % 5}", name=f"op{i % 7}", attributes={"method": "GET" if i % 3 else "PUT", "blob": "x" * 400})
                     for i in range(first, first + per)]
            for i, x in enumerate(spans):
                x["start"] = base + (first + i) * 40 * 10**9 // n
                x["end"] = x["start"] + 10**6 * (i % 50)
            for s in (alone, one):
                s.send(spans)
        shipped(one)
        times = f"start={base // 10**9 - 10}&end={base // 10**9 + 350}&step=10s"
        for q in ("{} | count_over_time() by (resource.service.name)", "{} | count_over_time() by (span.method)",
                  '{ span.method = "PUT" } | quantile_over_time(duration, .9) by (name)'):
            path = f"/api/metrics/query_range?{times}&q={urllib.parse.quote(q)}"
            found = [x for node in (reader, one) for x in fleet_answers.differences(alone, node, [path])]
            assert not found, fleet_answers.told(found)


@clickhouse_bed.long
@clickhouse_bed.needed
def test_a_span_that_is_sent_again_with_a_later_end_counts_as_it_ended():
    base = (time.time_ns() // 10**9 - 300) * 10**9
    spans = [make_span(start=base + i * 10**9, end=base + (i + 1) * 10**9) for i in range(10)]
    later = [{**x, "end": x["end"] + 10**9, "attributes": {"extra": "1"}} for x in spans]
    with clickhouse_bed.Bed(2) as bed, Server() as alone, Server(config(bed.url())) as one, Server(config(bed.url())) as other, \
            Server(config(bed.url())) as reader:
        for first, second in ((one, one), (one, other)):
            for s in (alone, first):
                s.send(spans)
            shipped(first)
            for s in (alone, second):
                s.send(later)
            shipped(second)
        times = f"start={base // 10**9 - 10}&end={base // 10**9 + 400}"
        paths = [f"/api/metrics/query?{times}&q={urllib.parse.quote(q)}" for q in (
            *("{} | " + f + "_over_time(duration)" + by for f in ("min", "max", "avg", "sum", "histogram") for by in ("", " by (name)")),
            "{} | count_over_time()", "{ duration > 1500ms } | count_over_time()", "{ span.extra = `1` } | rate()")]
        for node in (reader, one, other):
            found = fleet_answers.differences(alone, node, paths + [f"/api/search?{times}&q=%7B%7D"])
            assert not found, fleet_answers.told(found)


@clickhouse_bed.needed
def test_a_search_finds_the_newest_in_each_window_of_time():
    hour, now = 3600 * 10**9, time.time_ns()
    # In short tests the range that has all of them, in windows of all lengths.
    ranges, limits = ((20, 62, 200, 1600, 12000, 60 * 970), (1, 3, 30)) if LONG else ((60 * 970,), (1, 30))
    ages = [0, 1, 8, 9, 11, 30, 31, 59, 61, 180, 1500, 1501, 3000, 10000]  # minutes
    alone, one, reader = world().alone, world().one, world().reader
    spans = []
    for i, age in enumerate(ages):
        trace, start = bytes([i + 1]) * 16, now - 10**9 - age * hour // 60
        spans.append(make_span(trace=trace, service="far", name="root", start=start, end=start + 10**7))
        # A trace that begins in an older window than its span that matches.
        spans.append(make_span(trace=trace, service="far", name="late" if i % 3 else "soon", start=start + i % 4 * hour // 12, end=start + i % 4 * hour // 12 + 10**6))
    # So long ago that its rows are where they were received: it begins before all others. Only the fleet gets it: a data directory
    # places it by the rows that it is stored with, and these change with each flush.
    old = make_span(trace=b"o" * 16, service="far", name="root", start=now - 960 * hour, end=now - 960 * hour + 10**7)
    alone.send(spans)
    one.send(spans + [old])
    shipped(one)
    paths = []
    queries = '{ name = "late" }', "{}", '{ resource.service.name = "far" } && { name = "soon" }', '{ name = "root" }', '{ name = "none" }'
    for minutes in ranges:
        for limit in limits:
            for q in queries if LONG else queries[:3]:
                times = f"start={(now - minutes * hour // 60) // 10**9}&end={now // 10**9 + 5}"
                paths.append(f"/api/search?{times}&limit={limit}&q={urllib.parse.quote(q)}")
    times, nodes = f"start={(now - max(ranges) * hour // 60) // 10**9}&end={now // 10**9 + 5}", (reader, one) if LONG else (reader,)
    wide = f"/api/search?{times}&limit=30&q={urllib.parse.quote(queries[3])}"
    found = [x for node in nodes for x in fleet_answers.differences(alone, node, [p for p in paths if p != wide])]
    assert not found, fleet_answers.told(found)
    for node in nodes:
        known, all_ = fleet_answers.ask(alone, wide)[0]["traces"], fleet_answers.ask(node, wide)[0]["traces"]
        assert (all_[:-1], all_[-1]["traceID"]) == (known, (b"o" * 16).hex()), (known, all_)


@clickhouse_bed.needed
def test_a_shard_that_is_away_is_named_whatever_is_asked_and_no_such_answer_is_kept():
    """The last test here: what it sends is on one node only."""
    w = world()
    story, trace = w.story, w.story.roots[0]["trace_id"].hex()
    questions = [story.span_questions()[0], story.span_questions()[-3], story.operation_questions()[0], *story.tag_questions()[:3],
                 story.profile_questions()[0], f"/api/v1/traces/{trace}/flame", f"/api/v1/traces/{trace}/flame?by=wall"]
    if LONG:
        questions += [q for family in fleet_answers.families(story).values() for q in family]
    w.bed.shards[0].kill()
    for question in questions:
        answer = fleet_answers.ask(w.reader, question, (200, 503))[1]
        says = str(answer.getheader("x-spanflame-partial")) + answer.text
        assert "shard 1 of 2 did not answer" in says or "could not be read" in says, (question, says[:400])
    w.bed.shards[0].start()
    wait_for(lambda: [x["is_up"] for x in w.reader.json("/api/v1/store")["shards"]] == [True, True])
    wait_for(lambda: not fleet_answers.differences(w.alone, w.reader, questions[:1]))
    found = fleet_answers.differences(w.alone, w.reader, questions)
    assert not found, "with the shard back: " + fleet_answers.told(found)
    w.bed.shards[0].kill()
    story.late(w.one)
    found = json.loads(w.one.get(story.late_question(), {"Accept": "application/json"}).body)["traces"]
    assert len(found) == 1, "what waits for ClickHouse is found on its node"
    assert "late_function" in w.one.get(story.late_profile()).text


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
