#!/usr/bin/env python3
"""What does a fleet cost beside a single server, and its tables beside those of others?

build/bench/load sends the same spans to a server with a data directory and to a node that ships to one shard of ClickHouse
(tests/flow/clickhouse_bed.py); samples for 600 of the spans follow; then both are asked the same queries. Every figure is
CPU time of the processes, so a busy machine only makes it take longer. Then the rows are read back and inserted, in requests
of the same size, into a copy of our table and into tables with the columns that the OpenTelemetry Collector's exporter and
Jaeger document for ClickHouse, and the three are asked the same.

SPANS=1000000, INTERVAL=5s (a batch is what comes in that time), RATE=0 (spans a second; 0: as fast as the node takes them),
PARTS=stores,queries,schemas (stores: taking in, always)."""
import os
import subprocess
import sys
import time
import urllib.parse

ROOT = os.environ.setdefault("SOURCE_ROOT", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
sys.path.insert(0, os.path.join(ROOT, "tests", "flow"))
import clickhouse_bed  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server  # noqa: E402

SPANS = int(os.environ.get("SPANS", "1000000"))
INTERVAL = os.environ.get("INTERVAL", "5s")
RATE = os.environ.get("RATE", "0")
PARTS = os.environ.get("PARTS", "stores,queries,schemas").split(",")
LOAD = os.path.join(ROOT, "build", "bench", "load")
JSON_TYPE = {"Content-Type": "application/json"}
TIMES, LONGEST = 10, 3  # that each query is asked, or as often as fits into so many seconds


def cpu(*processes):
    total = 0
    for p in processes:
        with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
            parts = f.read().rsplit(")", 1)[1].split()
        total += int(parts[11]) + int(parts[12])
    return total / os.sysconf("SC_CLK_TCK")


def say(name, *figures):
    print(f"{name:44}" + "".join(f"{value:12.2f} {unit}" for value, unit in figures), flush=True)


def load(s):
    args = [LOAD, "--url", f"http://127.0.0.1:{s.port}", "--most", str(SPANS), "--seconds", "3600s", "--per-request", "1000"]
    if RATE != "0":
        args += ["--rate", RATE]
    out = subprocess.run(args, check=True, capture_output=True, text=True).stdout
    n = next(int(line.split()[1]) for line in out.splitlines() if line.startswith("load_spans"))
    s.request("POST", "/api/v1/flush", b"{}", JSON_TYPE, timeout=600)
    return n


def disk(folder):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(os.path.join(folder, "spans")) for f in files)


def shipped(s):
    while True:
        state = s.json("/api/v1/store", timeout=120)
        if state["shipped_record"] == state["newest_record"]:
            return state
        time.sleep(0.5)


# ---- both stores ----

class Questions:
    """About what load sent: a service and an operation that both servers know, and its spans."""

    def __init__(self, s):
        now = int(time.time())
        self.times = f"start={now - 3600}&end={now + 60}"
        self.own = f"from={now - 3600}&until={now + 60}"
        self.service = s.json("/jaeger/api/services", timeout=120)["data"][0]
        names = s.json("/jaeger/api/services/" + self.service + "/operations", timeout=120)["data"]
        self.name = next(n if isinstance(n, str) else n["name"] for n in names)
        self.q = urllib.parse.quote(f'{{ resource.service.name = "{self.service}" && name = "{self.name}" }}')
        found = s.json(f"/api/search?{self.times}&q={self.q}&limit=600&spss=1", timeout=120)["traces"]
        self.spans = [(t["traceID"].rjust(32, "0"), t["spanSets"][0]["spans"][0]) for t in found]
        assert len(self.spans) > 100, len(self.spans)

    def upload(self, s):
        """Ten samples for each of the spans."""
        stacks = {"main;idle": 10**7}
        for i, (trace, span) in enumerate(self.spans):
            for k in range(10):
                stacks[(f"main;serve;handle{k};work{i % 50};leaf{i % 7}", (("span_id", span["spanID"]), ("trace_id", trace)))] = 10**7
        first = min(int(x["startTimeUnixNano"]) for _, x in self.spans)
        body = pprof(stacks, when=first - 10**9, seconds=60, period=10**7)
        answer = s.post(f"/api/v1/profile?service={self.service}", body, "application/octet-stream", timeout=60)
        assert answer.status == 200, answer.text

    def list(self):
        slow = urllib.parse.quote(f'{{ resource.service.name = "{self.service}" && name = "{self.name}" && duration > 5ms }}')
        trace, span = self.spans[50][0], self.spans[50][1]["spanID"]
        return [("a trace by its id", f"/api/v2/traces/{trace}"),
                ("search: service, name, duration; an hour", f"/api/search?{self.times}&q={slow}&limit=20"),
                ("search: an attribute that is rare", f"/api/search?{self.times}&limit=20&q=" + urllib.parse.quote('{ span.http.route = "/none" }')),
                ("rate of spans by service, an hour", f"/api/metrics/query_range?{self.times}&step=60s&q="
                 + urllib.parse.quote("{} | rate() by (resource.service.name)")),
                ("values of an attribute", f"/api/v2/search/tag/span.http.request.method/values?{self.times}"),
                ("flame graph of a span", f"/api/v1/spans/{trace}/{span}/profile"),
                ("flame graph of a trace", f"/api/v1/traces/{trace}/flame"),
                ("span set of 500", f"/api/v1/cohort?q={self.q}&{self.own}")]


def ask(s, path, processes):
    """CPU seconds of each process for one answer, and what it was."""
    for _ in range(2):  # caches are warm in both
        answer = s.get(path, {"Accept": "application/json"}, timeout=300)
        assert answer.status == 200, (path, answer.status, answer.text[:300])
    before, begun, n = [cpu(p) for p in processes], time.monotonic(), 0
    while n == 0 or (n < TIMES and time.monotonic() - begun < LONGEST):
        s.get(path, {"Accept": "application/json"}, timeout=300)
        n += 1
    return [(cpu(p) - b) / n for p, b in zip(processes, before)]


def compare_stores(bed):
    shard = bed.shards[0]
    with Server() as alone, Server(f"store:\n  remote:\n    url: {bed.url()}\n    interval: {INTERVAL}\n") as node:
        while not node.json("/api/v1/store")["shards"][0].get("schema"):
            time.sleep(0.1)
        before = cpu(alone.process)
        n = load(alone)
        alone_us = (cpu(alone.process) - before) / n * 1e6
        before = cpu(node.process), cpu(shard.process)
        load(node)
        state = shipped(node)
        node_us, insert_us = ((cpu(p) - b) / n * 1e6 for p, b in zip((node.process, shard.process), before))
        print(f"{n} spans, {state['batches']} batches\n{'':44}{'one server':>12}{'node':>18}{'ClickHouse':>19}")
        say("taking in", (alone_us, "us/span"), (node_us, "us/span"), (insert_us, "us/span, with merges so far"))
        for table in ("spans", "traces"):
            shard.ask(f"OPTIMIZE TABLE spanflame.{table} FINAL", timeout=1200)
        merged_us = (cpu(shard.process) - before[1]) / n * 1e6
        size = [int(shard.ask(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{t}' AND database = 'spanflame'")) / n
                for t in ("spans", "traces")]
        say("all in one part", (0, "-"), (0, "-"), (merged_us, "us/span"))
        say("on disk (blocks; spans + traces)", (disk(alone.data) / n, "B/span"), (disk(node.data) / n, "B/span"), (sum(size), "B/span"))
        if "queries" not in PARTS:
            return Questions(node) if "schemas" in PARTS else None
        own, questions = Questions(alone), Questions(node)  # load's traces have ids of their own in each run
        own.upload(alone)
        questions.upload(node)
        shipped(node)
        for (name, first), (_, second) in zip(own.list(), questions.list()):
            one, = ask(alone, first, [alone.process])
            both = ask(node, second, [node.process, shard.process])
            say(name, (one * 1000, "ms"), (both[0] * 1000, "ms"), (both[1] * 1000, f"ms, in all {sum(both) * 1000:.1f} ms"))
        return questions


# ---- three schemas ----

# Columns and keys as each project documents them; the mapping from our rows is ours.
COLLECTOR = """CREATE TABLE other.collector (Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)), TraceId String CODEC(ZSTD(1)),
 SpanId String CODEC(ZSTD(1)), ParentSpanId String CODEC(ZSTD(1)), TraceState String CODEC(ZSTD(1)),
 SpanName LowCardinality(String) CODEC(ZSTD(1)), SpanKind LowCardinality(String) CODEC(ZSTD(1)),
 ServiceName LowCardinality(String) CODEC(ZSTD(1)), ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
 ScopeName String CODEC(ZSTD(1)), ScopeVersion String CODEC(ZSTD(1)), SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
 Duration UInt64 CODEC(ZSTD(1)), StatusCode LowCardinality(String) CODEC(ZSTD(1)), StatusMessage String CODEC(ZSTD(1)),
 `Events.Timestamp` Array(DateTime64(9)) CODEC(ZSTD(1)), `Events.Name` Array(LowCardinality(String)) CODEC(ZSTD(1)),
 `Events.Attributes` Array(Map(LowCardinality(String), String)) CODEC(ZSTD(1)),
 INDEX by_trace TraceId TYPE bloom_filter(0.001) GRANULARITY 1, INDEX by_rk mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
 INDEX by_rv mapValues(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1, INDEX by_sk mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
 INDEX by_sv mapValues(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1, INDEX by_duration Duration TYPE minmax GRANULARITY 1)
 ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))"""
COLLECTOR_ROWS = """SELECT fromUnixTimestamp64Nano(toInt64(start_ns)) AS Timestamp, lower(hex(trace_id)) AS TraceId, lower(hex(span_id)) AS SpanId,
 if(parent_id = 0, '', lower(hex(parent_id))) AS ParentSpanId, trace_state AS TraceState, name AS SpanName, toString(kind) AS SpanKind,
 service AS ServiceName, mapFromArrays(r.keys, r.vals) AS ResourceAttributes, 'http' AS ScopeName, '' AS ScopeVersion,
 mapFromArrays(arrayConcat(sk, ik, dk, xk), arrayConcat(sv, arrayMap(x -> toString(x), iv), arrayMap(x -> toString(x), dv), xv)) AS SpanAttributes,
 toUInt64(greatest(duration_ns, 0)) AS Duration, toString(status) AS StatusCode, status_message AS StatusMessage,
 arrayMap(x -> fromUnixTimestamp64Nano(toInt64(x)), event_ns) AS `Events.Timestamp`, event_name AS `Events.Name`,
 arrayMap(x -> CAST(map(), 'Map(LowCardinality(String), String)'), event_ns) AS `Events.Attributes`"""
LISTS = ["str_attributes", "int_attributes", "double_attributes", "bool_attributes", "complex_attributes"]
TYPES = ["String", "Int64", "Float64", "Bool", "String"]
JAEGER = ("CREATE TABLE other.jaeger (id String, trace_id String, trace_state String, parent_span_id String, name String, kind String, "
          "start_time DateTime64(9), status_code String, status_message String, duration Int64, "
          + "".join(f"{p}{name} Nested (key String, value {t}), " for p in ("", "resource_", "scope_") for name, t in zip(LISTS, TYPES))
          + "events Nested (name String, timestamp DateTime64(9)), service_name String, scope_name String, scope_version String, "
          "INDEX by_trace trace_id TYPE bloom_filter GRANULARITY 1, INDEX by_start start_time TYPE minmax GRANULARITY 1, "
          "INDEX by_duration duration TYPE minmax GRANULARITY 1, INDEX by_sk str_attributes.key TYPE bloom_filter GRANULARITY 1, "
          "INDEX by_sv str_attributes.value TYPE bloom_filter GRANULARITY 1, INDEX by_rk resource_str_attributes.key TYPE bloom_filter GRANULARITY 1, "
          "INDEX by_rv resource_str_attributes.value TYPE bloom_filter GRANULARITY 1) "
          "ENGINE = MergeTree PARTITION BY toDate(start_time) ORDER BY (service_name, name, toDateTime(start_time))")
JAEGER_ROWS = """SELECT lower(hex(span_id)) AS id, lower(hex(s.trace_id)) AS trace_id, trace_state, if(parent_id = 0, '', lower(hex(parent_id))) AS parent_span_id,
 s.name AS name, toString(kind) AS kind, fromUnixTimestamp64Nano(toInt64(start_ns)) AS start_time, toString(status) AS status_code, status_message,
 duration_ns AS duration, sk AS `str_attributes.key`, sv AS `str_attributes.value`, ik AS `int_attributes.key`, iv AS `int_attributes.value`,
 dk AS `double_attributes.key`, dv AS `double_attributes.value`, xk AS `complex_attributes.key`, xv AS `complex_attributes.value`,
 r.keys AS `resource_str_attributes.key`, r.vals AS `resource_str_attributes.value`, event_name AS `events.name`,
 arrayMap(x -> fromUnixTimestamp64Nano(toInt64(x)), event_ns) AS `events.timestamp`, service AS service_name, 'http' AS scope_name, '' AS scope_version"""
BATCH = 200000
# An hour of data: each trace is moved back by one of twelve times five minutes.
SHIFT = "toUInt64(cityHash64(trace_id) % 12 * 300)"
HOUR = (f"(SELECT * REPLACE (toUInt64(start_ns - {SHIFT} * 1000000000) AS start_ns, toUInt32(bucket - {SHIFT}) AS bucket, "
        f"toDate(toUInt16(intDiv(bucket - {SHIFT}, 86400))) AS day, arrayMap(x -> toUInt64(x - {SHIFT} * 1000000000), event_ns) AS event_ns) "
        "FROM spanflame.spans)")


def http(shard, sql, body=b"", timeout=1200):
    import http.client
    c = http.client.HTTPConnection("127.0.0.1", shard.port, timeout=timeout)
    c.request("POST", "/?query=" + urllib.parse.quote(sql), body)
    r = c.getresponse()
    out = r.read()
    c.close()
    assert r.status == 200, out[:600]
    return out


def compare_schemas(bed, questions):
    shard = bed.shards[0]
    shard.ask("CREATE DATABASE IF NOT EXISTS other")
    ours = shard.ask("SHOW CREATE TABLE spanflame.spans FORMAT TSVRaw").replace("TABLE spanflame.spans", "TABLE other.ours", 1)
    joined = (f"FROM {HOUR} s ANY LEFT JOIN (SELECT resource, any(keys) AS keys, any(vals) AS vals FROM spanflame.resources "
              "GROUP BY resource) r USING (resource)")
    schemas = {"ours": (ours, f"SELECT * FROM {HOUR}"), "collector": (COLLECTOR, f"{COLLECTOR_ROWS} {joined}"),
               "jaeger": (JAEGER, f"{JAEGER_ROWS} {joined}")}
    trace = questions.spans[50][0]
    at, newest = (int(x) for x in shard.ask(f"SELECT minIf(bucket, trace_id = unhex('{trace}')), max(bucket) FROM {HOUR}", timeout=600).split("\t"))
    asked = {
        "trace by id": {"ours": f"SELECT * FROM other.ours WHERE trace_id = unhex('{trace}') AND bucket = {at}",
                        "collector": f"SELECT * FROM other.collector WHERE TraceId = '{trace}'",
                        "jaeger": f"SELECT * FROM other.jaeger WHERE trace_id = '{trace}'"},
        "service, name, duration, newest 20": {  # a node asks for the newest two buckets first; these have more than 20
            "ours": f"SELECT trace_id, min(start_ns) AS first FROM other.ours WHERE bucket >= {newest - 300} AND service = '{questions.service}' "
                    f"AND name = '{questions.name}' AND duration_ns > 5000000 GROUP BY trace_id ORDER BY first DESC LIMIT 2048",
            "collector": f"SELECT TraceId, Timestamp FROM other.collector WHERE ServiceName = '{questions.service}' AND SpanName = "
                         f"'{questions.name}' AND Duration > 5000000 ORDER BY Timestamp DESC LIMIT 20",
            "jaeger": f"SELECT trace_id, start_time FROM other.jaeger WHERE service_name = '{questions.service}' AND name = "
                      f"'{questions.name}' AND duration > 5000000 ORDER BY start_time DESC LIMIT 20"},
        "the same, all of the hour": {
            "ours": f"SELECT trace_id, start_ns FROM other.ours WHERE service = '{questions.service}' AND name = '{questions.name}' AND "
                    "duration_ns > 5000000 ORDER BY start_ns LIMIT 20",
            "collector": f"SELECT TraceId, Timestamp FROM other.collector WHERE ServiceName = '{questions.service}' AND SpanName = "
                         f"'{questions.name}' AND Duration > 5000000 ORDER BY Timestamp LIMIT 20",
            "jaeger": f"SELECT trace_id, start_time FROM other.jaeger WHERE service_name = '{questions.service}' AND name = "
                      f"'{questions.name}' AND duration > 5000000 ORDER BY start_time LIMIT 20"},
        "a rare attribute": {
            "ours": "SELECT count() FROM other.ours WHERE hasAny(arrayConcat(sv, xk), ['/none', 'http.route']) AND arrayExists((k, v) -> k = 'http.route' AND v = '/none', sk, sv)",
            "collector": "SELECT count() FROM other.collector WHERE SpanAttributes['http.route'] = '/none'",
            "jaeger": "SELECT count() FROM other.jaeger WHERE arrayExists((k, v) -> k = 'http.route' AND v = '/none', str_attributes.key, str_attributes.value)"},
        "spans by service and minute": {
            "ours": "SELECT service, intDiv(start_ns, 60000000000) AS m, count() FROM other.ours GROUP BY service, m",
            "collector": "SELECT ServiceName, toStartOfMinute(Timestamp) AS m, count() FROM other.collector GROUP BY ServiceName, m",
            "jaeger": "SELECT service_name, toStartOfMinute(start_time) AS m, count() FROM other.jaeger GROUP BY service_name, m"}}
    figures = {name: [] for name in schemas}
    n = shard.count("spanflame.spans")
    for name, (create, rows) in schemas.items():
        shard.ask(f"DROP TABLE IF EXISTS other.{name}")
        shard.ask(create)
        used, first = 0, 0
        while first < n:
            body = http(shard, f"{rows} ORDER BY start_ns, span_id LIMIT {BATCH} OFFSET {first} FORMAT Native")
            before = cpu(shard.process)
            http(shard, f"INSERT INTO other.{name} FORMAT Native", body)
            used += cpu(shard.process) - before
            first += BATCH
        before = cpu(shard.process)
        shard.ask(f"OPTIMIZE TABLE other.{name} FINAL", timeout=1200)
        merged = cpu(shard.process) - before
        assert shard.count(f"other.{name}") == n
        size = int(shard.ask(f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'other' AND table = '{name}'"))
        figures[name] = [used / n * 1e6, (used + merged) / n * 1e6, size / n]
    print(f"\n{'':44}" + "".join(f"{name:>12}        " for name in schemas))
    for i, (what, unit) in enumerate((("insert, 200,000 rows a request", "us/span"), ("insert and one merge of all", "us/span"), ("on disk", "B/span"))):
        say(what, *((figures[name][i], unit) for name in schemas))
    for what, each in asked.items():
        used = []
        for name in schemas:
            shard.ask(each[name] + " FORMAT Null", timeout=600)
            before = cpu(shard.process)
            for _ in range(TIMES):
                shard.ask(each[name] + " FORMAT Null", timeout=600)
            used.append(((cpu(shard.process) - before) / TIMES * 1000, "ms     "))
        say(what, *used)


def main():
    if not clickhouse_bed.library():
        sys.exit("fleet_bench: no ClickHouse here; tools/libchdb gets its library")
    if not os.path.exists(LOAD):
        sys.exit("fleet_bench: tools/build release bench/load first")
    with clickhouse_bed.Bed(1) as bed:
        questions = compare_stores(bed)
        if "schemas" in PARTS:
            compare_schemas(bed, questions)


main()
