#!/usr/bin/env python3
"""Shards and nodes that are killed, and answers that are lost: every acknowledged span and sample is in ClickHouse once,
what nodes agree on stays agreed, and `store verify` notices whatever is missing."""
import http.client
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import clickhouse_bed  # noqa: E402
from fleet_flow import KILLS, LONG, Proxy, command, config, shipped, spans_of, wait_for  # noqa: E402
from fleet_life_flow import KEEP, QUICK, Hour, gates, judged, pins_of  # noqa: E402
from pprof_make import otlp  # noqa: E402
from server import PROGRAM, Server, make_span, tap  # noqa: E402


# ---- one kill, at the worst moment ----

class KilledShard(Proxy):
    """Kills its shard in the middle of the first insert into a table, as it may happen between the two steps of an insert:
    ClickHouse logs the token of a partition and adds its rows, in this order or in the other, depending on its version."""

    def __init__(self, shard, table, lost):
        super().__init__(shard.port, share=0)
        self.shard, self.table, self.lost, self.n_killed = shard, table, lost, 0
        self.handle_error = lambda *_: None  # requests of other threads while the shard is away

    def spoils(self, request):
        if self.n_killed or not self.table or f"INTO {self.table} (" not in request.replace("%20", " ").replace("%28", "("):
            return False
        self.n_killed = 1
        database, name = self.table.split(".")
        newest = self.shard.ask(f"SELECT path FROM system.parts WHERE database = '{database}' AND table = '{name}' AND active "
                                "ORDER BY max_block_number DESC, path LIMIT 1 FORMAT TSV")
        self.shard.kill()
        if self.lost == "rows":
            shutil.rmtree(newest)
        else:
            logs = os.path.join(os.path.dirname(os.path.dirname(newest)), "deduplication_logs")
            assert os.listdir(logs)
            shutil.rmtree(logs)
        self.shard.start()
        return True


@clickhouse_bed.needed
def test_an_insert_into_a_shard_that_is_killed_between_its_steps_is_stored_once():
    old = time.time_ns() - 3 * 86400 * 10**9
    with clickhouse_bed.Bed(1) as bed:
        cases = [("spans", "rows", (None, old)), ("spans", "token", (None,)), ("spans", "rows", (None,)), ("traces", "rows", (None,)),
                 ("batches", "rows", (None,))]
        for number, (table, lost, starts) in enumerate(cases if LONG else cases[:1]):
            database = f"d{number}"
            proxy = KilledShard(bed.shards[0], f"{database}.{table}", lost)
            with Server(config(f"clickhouse://127.0.0.1:{proxy.server_address[1]}/{database}")) as s:
                spans = [make_span(**({"start": at} if at else {})) for at in starts for _ in range(10)]
                s.send(spans)
                state = shipped(s)
                assert proxy.n_killed == 1 and state["retries"] > 0, state
                for counted in ("traces", "spans"):
                    assert bed.count(f"{database}.{counted}") == len(spans), (table, lost, counted, bed.count(f"{database}.{counted}"))
                assert bed.count(f"{database}.batches") == 1
                code, text = command(s, "verify")
                assert code == 0, (table, lost, text)
                s.send(spans[:1])  # and it goes on
                shipped(s)
                assert bed.count(f"{database}.spans") == len(spans) + 1


def kill_at(proxy, shard, table):
    """From now on the proxy kills its shard in the middle of an insert into the table."""
    shard.ask(f"SYSTEM STOP MERGES {table}")  # its row stays a part of its own
    proxy.table, proxy.n_killed = table, 0


@clickhouse_bed.long
@clickhouse_bed.needed
def test_what_comes_while_a_batch_is_sent_waits_for_the_next_interval():
    with clickhouse_bed.Bed(1) as bed, Server(config(bed.url(), interval="1s")) as s:
        wait_for(lambda: s.json("/api/v1/store")["shards"][0].get("schema"))
        begun, n = time.monotonic(), 0
        while time.monotonic() - begun < 4:
            s.send([make_span()])
            n += 1
        shipped(s)
        batches = s.json("/api/v1/store")["batches"]
        # At most one in each second; before, one insert began when the last one had ended.
        assert batches <= time.monotonic() - begun + 2, (batches, n)
        assert bed.count("spanflame.spans") == n


@clickhouse_bed.long
@clickhouse_bed.needed
def test_what_nodes_agree_on_survives_a_shard_that_keeps_the_token_and_not_the_row():
    """Each of these is one row that counts for all nodes, and whose token was used up."""
    trace, hour = os.urandom(16), Hour()
    with clickhouse_bed.Bed(1) as bed:
        shard = bed.shards[0]
        proxy = KilledShard(shard, None, "rows")
        url = f"clickhouse://127.0.0.1:{proxy.server_address[1]}/spanflame"
        quiet = "alerts: {pack: false}\n"
        # A lease: nobody could ever take the next term.
        with Server(config(url, interval="10m") + quiet):
            wait_for(lambda: shard.count("system.tables", "database = 'spanflame' AND name = 'shared'"))
        kill_at(proxy, shard, "spanflame.leases")
        with Server(config(url, timeout="5s", **QUICK) + quiet + KEEP.replace("0s", "30d")) as s:
            wait_for(lambda: proxy.n_killed)
            wait_for(lambda: s.metric("spanflame_upkeep_lease") == 1)
            s.send([make_span(trace=trace)])
            shipped(s)
            # A pin; documents for collectors, silences and the state of alerts are stored in the same way.
            kill_at(proxy, shard, "spanflame.shared")
            path = f"/api/v1/pins/{trace.hex()}?note=mine"
            answer = s.post(path, b"{}", "application/json")
            assert answer.status >= 429 and proxy.n_killed, (answer.status, answer.text, proxy.n_killed)
            wait_for(lambda: s.post(path, b"{}", "application/json").status == 200)
            assert pins_of(s) == {trace.hex(): "mine"}
            assert shard.count("spanflame.shared", "kind = 'pin' AND NOT is_gone") == 1
            # A verdict: its hour could never be judged.
            s.send(hour.roots + hour.children)
            hour.send_samples(s)
            shipped(s)
            kill_at(proxy, shard, "spanflame.judged")
            s.stop()
            s.config = config(url, timeout="5s", **QUICK) + quiet + KEEP
            s.start()
            wait_for(lambda: proxy.n_killed, seconds=240)
            judged(bed)
            found = hour.sampled(s)
            assert set(found) == hour.kept and set(found.values()) == {3 * 10**6}, (len(found), len(hour.kept))
            assert shard.count("spanflame.judged") == 1


@clickhouse_bed.long
@clickhouse_bed.needed
def test_two_nodes_that_judge_an_hour_at_once_keep_each_sample_once():
    """Another node's verdict comes to count while this one reads what there is to judge."""
    hour = Hour()
    with clickhouse_bed.Bed(1) as bed:
        shard = bed.shards[0]
        proxy, done = Proxy(shard.port, share=0), []

        def judge(question):
            if done or "* 4294967296 + (SELECT count() FROM spanflame.judged" not in question:
                return
            done.append(question)
            columns = shard.ask("SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns WHERE table = 'undecided'")
            shard.ask("INSERT INTO spanflame.judged_batches SELECT DISTINCT tenant, intDiv(bucket, 3600), 7, batch FROM spanflame.undecided")
            shard.ask(f"INSERT INTO spanflame.details ({columns}, attempt) SELECT {columns}, 7 FROM spanflame.undecided")
            shard.ask("INSERT INTO spanflame.judged (tenant, day, hour, round, attempt, is_whole, counts_at) SELECT DISTINCT tenant, "
                      "toDate(toUInt16(intDiv(bucket, 86400))), intDiv(bucket, 3600), 1, 7, 1, now() FROM spanflame.undecided")
        proxy.before = judge
        url = f"clickhouse://127.0.0.1:{proxy.server_address[1]}/spanflame"
        with Server(config(url, timeout="30s", **QUICK) + KEEP) as s:
            s.send(hour.roots + hour.children)
            hour.send_samples(s)
            shipped(s)
            wait_for(lambda: done, seconds=240)
            judged(bed)
            time.sleep(3)
            assert shard.count("spanflame.judged") == 1
            with Server(config(bed.url(), **QUICK) + KEEP) as other:
                found = hour.sampled(other)
                assert len(found) == 24 and set(found.values()) == {3 * 10**6}, found


# ---- what verify notices ----

@clickhouse_bed.long
@clickhouse_bed.needed
def test_verify_notices_every_missing_batch_the_first_and_the_last_too():
    more = "retention: {spans: 3d, profiles: 3d, detail: 3d}\n"
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), **QUICK) + more) as s:
        for _ in range(4):
            s.send([make_span() for _ in range(3)])
            shipped(s)
        firsts = [int(x) for x in bed.shards[1].ask("SELECT first_record FROM spanflame.batches ORDER BY 1 FORMAT TSV").split()]
        assert len(firsts) == 4 and command(s, "verify")[0] == 0
        bed.ask("CREATE TABLE spanflame.copy ENGINE = Memory AS SELECT * FROM spanflame.batches")

        def without(shard, where):
            shard.ask(f"ALTER TABLE spanflame.batches DELETE WHERE {where} SETTINGS mutations_sync = 2")
            code, text = command(s, "verify")
            assert code == 1 and "the shard has no batch with them" in text, (where, text)
            assert f"shard {bed.shards.index(shard) + 1}" in text, text
            return text

        def back(shard):
            shard.ask("INSERT INTO spanflame.batches SELECT * FROM spanflame.copy WHERE batch NOT IN (SELECT batch FROM "
                      "spanflame.batches) SETTINGS insert_deduplicate = 0")
            assert command(s, "verify")[0] == 0
        for first in firsts:
            text = without(bed.shards[1], f"first_record = {first}")
            assert text.count("no batch") == 1 and f"records {first} to" in text, text
            back(bed.shards[1])
        for shard in bed.shards:
            without(shard, "1")
            back(shard)
        assert s.json("/api/v1/store/verify?since=1ms")["faults"] == 0, "nothing was received since then"
        s.stop()
        s.start()  # the node knows by its own files what must be there
        without(bed.shards[0], f"first_record = {firsts[-1]}")
        back(bed.shards[0])
        without(bed.shards[0], f"first_record = {firsts[0]}")
        back(bed.shards[0])
        # Batches that are too old are dropped with their day, and are not missing.
        for shard in bed.shards:
            shard.ask(f"ALTER TABLE spanflame.batches DELETE WHERE first_record = {firsts[0]} SETTINGS mutations_sync = 2")
            for table in ("spans", "traces"):
                shard.ask(f"ALTER TABLE spanflame.{table} DELETE WHERE batch IN (SELECT batch FROM spanflame.copy WHERE "
                          f"first_record = {firsts[0]}) SETTINGS mutations_sync = 2")
            shard.ask("INSERT INTO spanflame.batches SELECT * REPLACE (today() - 20 AS day, today() - 20 AS from_day, today() - 20 "
                      f"AS to_day) FROM spanflame.copy WHERE first_record = {firsts[0]} SETTINGS insert_deduplicate = 0")
        wait_for(lambda: bed.count("spanflame.batches", "day < today()") == 0)
        code, text = command(s, "verify")
        assert code == 0, text
        # A shard that is added later has only later batches.
        s.stop()
        with clickhouse_bed.Bed(1) as more_shards:
            s.config = config(bed.url().replace("/spanflame", "," + more_shards.url().split("//")[1]), **QUICK) + more
            s.start()
            s.send([make_span() for _ in range(30)])
            shipped(s)
            assert more_shards.count("spanflame.spans") > 0
            code, text = command(s, "verify")
            assert code == 0, text
            more_shards.ask("ALTER TABLE spanflame.batches DELETE WHERE 1 SETTINGS mutations_sync = 2")
            code, text = command(s, "verify")
            assert code == 1 and "shard 3" in text, text


# ---- erasing ----

@clickhouse_bed.long
@clickhouse_bed.needed
def test_an_erasure_is_open_until_every_shard_has_what_was_being_sent():
    """A batch reaches one shard after the other: rows that come to the second one later are erased, too."""
    with clickhouse_bed.Bed(2) as bed:
        doors, url = gates(bed)
        with Server(config(bed.url(), **QUICK)) as a, Server(config(url, timeout="3s", **QUICK)) as b:
            for s in (a, b):
                s.send([make_span(service="web")])
                shipped(s)
            doors[1].word = "INSERT%20INTO"
            b.send([make_span(service="gone") for _ in range(40)])
            wait_for(lambda: doors[1].n_refused)
            assert a.request("DELETE", "/api/v1/erase?service=gone").status == 200
            wait_for(lambda: a.metric("spanflame_upkeep_erasures_open") + b.metric("spanflame_upkeep_erasures_open") == 1)
            time.sleep(5)  # rounds of upkeep: the first shard has the batch, the second has not
            assert bed.count("spanflame.erasure_acks", "is_done") == 0, "it may still send some"
            a.send([make_span(service="gone", name="later")])  # this node knows of the erasure: it is new data
            shipped(a)
            time.sleep(5)
            assert bed.count("spanflame.spans", "name = 'later'") == 1, "an erasure that is open does not erase it"
            doors[1].word = None
            shipped(b)
            wait_for(lambda: bed.count("spanflame.erasure_acks", "is_done") > 0)
            assert bed.count("spanflame.spans", "service = 'gone' AND name != 'later'") == 0
            assert bed.count("spanflame.spans", "name = 'later'") == 1
            assert command(b, "verify")[0] == 0 == command(a, "verify")[0]


@clickhouse_bed.long
@clickhouse_bed.needed
def test_erasing_a_service_leaves_the_other_spans_of_its_traces():
    trace = os.urandom(16)
    with clickhouse_bed.Bed(2) as bed, Server(config(bed.url(), **QUICK)) as a, Server(config(bed.url(), **QUICK)) as b:
        root = make_span(trace=trace, service="gone", name="secret operation")
        a.send([root, make_span(trace=trace, parent=root["span_id"], service="stays", name="kept")])
        a.send([make_span(service="gone") for _ in range(10)])
        shipped(a)
        assert len(spans_of(b, trace)[1]) == 2
        assert b.request("DELETE", "/api/v1/erase?service=gone").status == 200
        for s in (a, b):
            wait_for(lambda s=s: [x["name"] for x in spans_of(s, trace)[1].values()] == ["kept"])
            found = s.get("/api/search?q=" + urllib.parse.quote('{ name = "kept" }'), {"Accept": "application/json"})
            assert len(json.loads(found.body)["traces"]) == 1, found.text
        assert bed.count("spanflame.traces") == 1
        assert bed.count("spanflame.traces", "has(services, 'gone') OR root_service = 'gone' OR root_name != ''") == 0
        assert command(a, "verify")[0] == 0


# ---- a server that is too old ----

def test_a_server_that_is_too_old_is_named_and_data_waits():
    if not clickhouse_bed.OldServer.program():
        raise tap.Skip("no clickhouse-server here: Debian's 18.16 is too old to ship to, which is tested")
    with clickhouse_bed.OldServer() as old:
        url = f"clickhouse://127.0.0.1:{old.port}/spanflame"
        for password, words in ((old.PASSWORD, "18.16"), ("wrong-4711", "assword")):
            path = os.path.join(old.folder, "password")
            with open(path, "w", encoding="ascii") as f:
                f.write(password + "\n")
            with Server(config(url, user=old.USER, password_file=path)) as s:
                s.send([make_span(name="waits")])
                error = wait_for(lambda s=s, words=words: words in s.json("/api/v1/store").get("last_error", "") and s.json("/api/v1/store"))
                assert words == "assword" or "22.2 or newer is needed" in error["last_error"], error
                assert error["shipped_record"] == 0 and password not in s.log() + json.dumps(error)
                found = s.get("/api/search?q=" + urllib.parse.quote('{ name = "waits" }'), {"Accept": "application/json"})
                assert found.status == 200 and len(json.loads(found.body)["traces"]) == 1, "the node's own data is there"


def schema_of_program():
    done = subprocess.run([PROGRAM, "store", "schema"], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout


def test_replication_cannot_be_tried_on_a_server_that_is_too_old():
    """Debian's 18.16 is the only ClickHouse at hand with ZooKeeper and ON CLUSTER. It does not know what the tables are made of,
    replicated or not: docs/fleet.md says so, and this fails when there is another one."""
    if not clickhouse_bed.OldServer.program():
        raise tap.Skip("no clickhouse-server here: Debian's 18.16 has replication, and refuses the tables, which is tested")
    code, schema = schema_of_program()
    assert code == 0 and "CREATE TABLE" in schema
    with clickhouse_bed.OldServer() as old:
        wait_for(lambda: old.ask("SELECT 1")[0] == 200)
        assert old.ask("SELECT version()")[1].startswith("18.16")
        assert old.ask("CREATE DATABASE spanflame")[0] == 200
        refused = {}
        for statement in schema.split(";\n"):
            if statement.startswith("CREATE TABLE"):
                status, text = old.ask(statement)
                refused[re.search(r"spanflame\.(\w+)", statement)[1]] = text if status != 200 else ""
        for table in ("traces", "spans", "profiles", "aggregates", "details", "undecided", "stacks", "frames"):
            assert "CODEC" in refused[table], (table, refused[table])
        assert "non_replicated_deduplication_window" in refused["batches"] and "DateTime64" in refused["leases"], refused


# ---- hundreds of kills ----

def stored(bed, table="spans"):
    """How often each span id is stored."""
    rows = [r for shard in bed.shards
            for r in shard.ask(f"SELECT span_id, count() FROM spanflame.{table} GROUP BY span_id FORMAT TSV").split("\n")]
    return {struct.pack(">Q", int(r.split("\t")[0])): int(r.split("\t")[1]) for r in rows if r}


def why_missing(bed, s, sent, missing):
    """All that tells a batch that was lost in a shard from one that the node never sent, and from one that is late."""
    faults = []
    for shard in bed.shards:
        for r in shard.ask("SELECT shard, hex(b.batch), first_record, last_record, traces, b.spans, t.n, s.n FROM spanflame.batches b "
                           "LEFT JOIN (SELECT batch, count() AS n FROM spanflame.spans GROUP BY batch) s ON s.batch = b.batch "
                           "LEFT JOIN (SELECT batch, count() AS n FROM spanflame.traces GROUP BY batch) t ON t.batch = b.batch "
                           "WHERE b.spans != s.n OR b.traces != t.n FORMAT TSV").split("\n"):
            if r:
                faults.append("shard {} batch {}: records {} to {}, sent {} traces and {} spans, has {} and {}".format(*r.split("\t")))
    state, verified = s.json("/api/v1/store"), command(s, "verify")
    time.sleep(10)
    late = len(missing) - len(sent - set(stored(bed)))
    return "\n".join([f"{late} of these came within 10 s", *faults, f"store: {json.dumps(state)}", f"verify: {verified}",
                      f"log: {s.log()[-3000:]}"])


@clickhouse_bed.needed
def test_kills_of_node_and_shards_keep_every_span_and_sample_once():
    rng = random.Random(int(os.environ.get("FLEET_SEED", "7")))
    with clickhouse_bed.Bed(2) as bed:
        s = Server(config(bed.url(), interval="100ms", timeout="3s"))
        s.start()
        spans, samples = set(), set()
        over = threading.Event()

        def feed():
            while not over.is_set():
                some = [make_span() for _ in range(10)]
                profile = otlp("cart", {"main;work": 30}, link=(some[0]["trace_id"], some[0]["span_id"]))
                try:
                    s.send(some)
                    spans.update(x["span_id"] for x in some)
                    if s.post("/v1development/profiles", profile).status == 200:
                        samples.add(some[0]["span_id"])
                except (OSError, AssertionError, http.client.HTTPException):
                    time.sleep(0.05)  # not acknowledged: may be there, need not
                time.sleep(0.01)
        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            for _ in range(KILLS):
                time.sleep(rng.uniform(0.2, 0.8))
                what = rng.choice(["node", "shard", "both"])
                if what != "node":
                    shard = rng.choice(bed.shards)
                    shard.kill()
                if what != "shard":
                    s.kill()
                    s.log_file.close()
                    s.start()
                if what != "node":
                    shard.start()
        finally:
            over.set()
            feeder.join()
        shipped(s)
        for table, sent in (("spans", spans), ("undecided", samples)):
            found = stored(bed, table)
            missing = sent - set(found)
            assert not missing, f"{len(missing)} of {len(sent)} acknowledged rows of {table} are missing\n" + \
                why_missing(bed, s, sent, missing)
            twice = sum(n > 1 for n in found.values())
            assert not twice, f"{twice} rows of {table} are there twice"
        n = bed.count("spanflame.undecided")
        assert bed.count("spanflame.profiles") == n == bed.count("spanflame.aggregates"), "one each, also of what was not acknowledged"
        code, text = command(s, "verify")
        assert code == 0, text
        print(f"# {KILLS} kills, {len(spans)} acknowledged spans and {len(samples)} samples, each there once")
        s.kill()


if __name__ == "__main__":
    clickhouse_bed.run(sys.modules[__name__])
