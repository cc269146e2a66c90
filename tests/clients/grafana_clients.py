#!/usr/bin/env python3
"""Grafana's own back ends of its Tempo and Pyroscope data sources against a running server: the plugins' programs as an
installed Grafana has them, started and asked as Grafana does. Plugins are looked for where Grafana's packages put them
and in the folders that SPANFLAME_GRAFANA_PLUGINS names (separated by colons); where there are none, nothing is built.

Written against the Tempo data source 13.1 and the Pyroscope data source of Grafana 11.2; packages no longer carry all
plugins, so the answers of both are also pinned by tempo_clients.py and connect_clients.py, which need no Grafana."""
import glob
import json
import os
import platform
import subprocess
import sys
import time
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server, tap  # noqa: E402
from traceql_spans import SPANS, T0_S, golden, send  # noqa: E402

PLACES = ["/var/lib/grafana/plugins", "/usr/share/grafana/plugins-bundled", "/usr/share/grafana/data/plugins-bundled",
          "/usr/local/share/grafana/plugins-bundled"]
MACHINE = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}.get(platform.machine(), platform.machine())
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SPAN, TRACE = "00f1a2b3c4d5e6f7", "4bf92f3577b34da6a3ce929d0e0e4736"
A = "1" * 32
NOW = time.time_ns()
START_MS, END_MS = (T0_S - 50) * 1000, (T0_S + 50) * 1000


def programs():
    """{plugin: its program} of what is installed here"""
    found = {}
    for place in os.environ.get("SPANFLAME_GRAFANA_PLUGINS", "").split(":") + PLACES:
        for path in sorted(glob.glob(os.path.join(place, "**", "plugin.json"), recursive=True)) if place else []:
            with open(path, encoding="utf-8") as f:
                about = json.load(f)
            program = os.path.join(os.path.dirname(path), f"{about.get('executable')}_linux_{MACHINE}")
            if about.get("id") in ("tempo", "grafana-pyroscope-datasource") and os.access(program, os.X_OK):
                found.setdefault(about["id"], program)
    return found


INSTALLED = programs()
if not INSTALLED:
    print("1..0 # SKIP no Grafana with the back ends of its data sources here")
    sys.exit(0)
try:
    HOST = toolchain.client("grafana")
except tap.Skip as reason:
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)

server = Server(config="limits:\n  query_time: 60s\n").start()
send(server, SPANS)


class Plugin:
    """One plugin, running for one data source; steps go in and answers come out as lines of JSON."""
    running = {}

    def __init__(self, plugin, port, secure, json_data):
        about = {"id": plugin, "url": f"http://127.0.0.1:{port}", "jsonData": json_data, "secureJsonData": secure}
        self.process = subprocess.Popen([*HOST, INSTALLED[plugin], json.dumps(about)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, **step):
        self.process.stdin.write(json.dumps(step) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the plugin ended"
        return json.loads(line)


def plugin_of(plugin, port=None, secure=None, **json_data):
    if plugin not in INSTALLED:
        raise tap.Skip(f"no plugin {plugin} here")
    key = json.dumps([plugin, port, json_data])
    if key not in Plugin.running:
        Plugin.running[key] = Plugin(plugin, port or server.port, secure, json_data)
    return Plugin.running[key]


def tempo(**step):
    told = plugin_of("tempo").ask(**step)
    assert "error" not in told, (step, told)
    return told


def columns(frame):
    return {f["name"]: values for f, values in zip(frame["schema"]["fields"], frame["data"]["values"])}


# ---- Tempo's: save & test, a trace ----

def test_tempos_back_end_finds_the_server_healthy():
    assert tempo(do="health") == {"status": "OK", "message": "Data source is working"}
    streaming = plugin_of("tempo", streamingEnabled={"search": True, "metrics": True})
    assert streaming.ask(do="health") == {"status": "OK", "message": "Data source is working. Streaming test succeeded."}


def test_tempos_back_end_opens_a_trace():
    for times in ({"from": START_MS, "to": END_MS}, {"from": 0, "to": 0}):
        frame, = tempo(do="query", query={"queryType": "traceId", "query": A}, **times)
        rows = columns(frame)
        want = {s["spanId"]: s for _, s in SPANS if s["traceId"] == A}
        assert sorted(rows["spanID"]) == sorted(want)
        for i, span in enumerate(rows["spanID"]):
            assert rows["traceID"][i] == A and rows["operationName"][i] == want[span]["name"]
            assert (rows["parentSpanID"][i] or "") == want[span].get("parentSpanId", "")
            ns = int(want[span]["endTimeUnixNano"]) - int(want[span]["startTimeUnixNano"])
            assert abs(rows["duration"][i] * 10**6 - ns) < 1000, span
        by_name = dict(zip(rows["operationName"], rows["serviceName"]))
        assert by_name["POST /items"] == "cart" and by_name["GET /cart"] == "gateway", by_name
        assert "disk full" in json.dumps(rows["logs"])


def test_tempos_back_end_says_that_nobody_sent_a_trace():
    told = plugin_of("tempo").ask(do="query", query={"queryType": "traceId", "query": "9" * 32}, **{"from": 0, "to": 0})
    assert told == [] or "error" in told or all(not any(f["data"]["values"]) for f in told), told


# ---- Tempo's: search ----

def search(query, table="traces", plugin="tempo", **more):
    told = plugin_of(plugin).ask(do="query", **{"from": START_MS, "to": END_MS}, query=dict(
        {"queryType": "traceql", "query": query, "tableType": table, "limit": 100, "spss": 100, "filters": []}, **more))
    return told


def is_beyond_its_tables(query):
    """A column of two types, or of arrays, ends this back end in a panic, Tempo's answer being the same as ours."""
    answer = server.get("/api/search?" + urllib.parse.urlencode(
        {"q": query, "limit": 100, "spss": 100, "start": T0_S - 50, "end": T0_S + 50}))
    kinds = {}
    for span in [s for t in json.loads(answer.body)["traces"] for spans in t["spanSets"] for s in spans["spans"]]:
        for attribute in span.get("attributes", []):
            kinds.setdefault(attribute["key"], set()).update(attribute["value"])
    return any("arrayValue" in k or len(k) > 1 for k in kinds.values())


def test_tempos_back_end_reads_every_worked_query():
    n_read = n_refused = 0
    for query, result in golden("traceql_search.txt"):
        for table in ("traces", "spans", "raw"):
            told = search(query, table)
            if "ERROR" in result:
                assert "400 Bad Request" in told["error"], (query, told)
                n_refused += 1
                continue
            if "interface conversion" in str(told) and is_beyond_its_tables(query):
                continue
            assert "error" not in told, (query, table, told)
            n_read += 1
    assert n_read > 300 and n_refused > 0, (n_read, n_refused)


def test_a_found_trace_shows_its_spans():
    frame, = search("{ status = error } | select(span.bytes, resource.service.name)")
    rows = columns(frame)
    assert rows["traceID"] == [A] and rows["traceName"] == ["GET /cart"] and rows["traceService"] == ["gateway"], rows
    assert rows["traceDuration"] == [500]
    nested = rows["nested"][0]
    inner = columns((json.loads(nested) if isinstance(nested, str) else nested)[0])
    assert sorted(inner["spanID"]) == [f"a00000000000000{i}" for i in (2, 3, 5)]
    assert sorted(inner["bytes"]) == [700, 1000, 2000] and set(inner["service.name"]) == {"gateway", "cart"}
    flat = columns(search("{ status = error }", "spans")[0])
    assert sorted(flat["spanID"]) == sorted(inner["spanID"])


def stream(path, query, **more):
    packets = tempo(do="stream", path=path, **{"from": START_MS, "to": END_MS}, query=dict({"query": query}, **more))
    states = [columns(p)["state"][0] for p in packets]
    assert states[-1] == "done" and set(states[:-1]) <= {"streaming"}, packets
    result = columns(packets[-1])["result"][0]
    return json.loads(result) if isinstance(result, str) else result


def test_streamed_searches_find_the_same():
    for query in ("{ }", "{ status = error }", "{ } | by(kind) | count() > 0", "{ name = `no such` }"):
        found = [t["traceID"] for t in stream("search/1", query, limit=20, spss=3) or []]
        assert found == columns(search(query)[0])["traceID"], (query, found)


def test_a_streamed_mistake_is_told():
    packets = tempo(do="stream", path="search/2", **{"from": START_MS, "to": END_MS}, query={"query": "{ name = }"})
    last = columns(packets[-1])
    assert last["state"] == ["error"] and "parse error at line 1" in last["error"][0], last


# ---- Tempo's: names, values, metrics ----

def test_tempos_back_end_completes_names_and_values():
    told = tempo(do="resource", path="tags", url=f"tags?start={T0_S - 50}&end={T0_S + 50}&limit=5000")
    scopes = {s["name"]: s["tags"] for s in told["scopes"]}
    assert "service.name" in scopes["resource"] and "db.system" in scopes["span"]
    for tag, want in (("resource.service.name", {"gateway", "cart", "db", "worker"}), ("status", {"ok", "error", "unset"})):
        told = tempo(do="resource", path="tag-values", url="tag-values?" + urllib.parse.urlencode(
            {"tag": tag, "start": T0_S - 50, "end": T0_S + 50, "q": "{ name = "}))
        assert {v["value"] for v in told["tagValues"]} == want, told


def metrics(query, **more):
    return search(query, metricsQueryType="range", step="10s", **more)


def test_tempos_back_end_draws_every_worked_metric():
    n = 0
    for query, _ in golden("traceql_metrics.txt"):
        for kind in ("range", "instant"):
            told = search(query, metricsQueryType=kind, step="10s", exemplars=10)
            assert "error" not in told, (query, kind, told)
            n += len(told)
    assert n > 40, n


def test_streamed_metrics_are_the_same():
    query = "{ } | rate() by (resource.service.name)"
    plain = {f["schema"]["name"]: columns(f) for f in metrics(query) if f["schema"]["name"] != "exemplar"}
    assert set(plain) == {"gateway", "cart", "db", "worker"}, set(plain)
    streamed = stream("metrics/1", query, step=10 * 10**9)
    assert {f["schema"]["name"]: columns(f) for f in streamed if f["schema"]["name"] != "exemplar"} == plain
    instant = stream("metrics/2", query, metricsQueryType="instant")
    assert {f["schema"]["name"] for f in instant} == set(plain)


# ---- Pyroscope's ----

def send_profiles():
    for n in range(6):
        stacks = {("main;handle;slow", (("span_id", SPAN), ("trace_id", TRACE))): 20000000,
                  "main;idle": 10000000 * (n + 1)}
        answer = server.post(f"/ingest?name=shop{{env={'prod' if n % 2 else 'test'}}}&format=pprof&from={NOW // 10**9 - 70 + 10 * n}"
                             f"&until={NOW // 10**9 - 60 + 10 * n}", pprof(stacks, when=NOW - (60 - 10 * n) * 10**9))
        assert answer.status == 200, answer.text


send_profiles()
RANGE = {"from": NOW // 10**6 - 3600000, "to": NOW // 10**6 + 60000}
MILLIS = {"start": RANGE["from"], "end": RANGE["to"]}


def pyroscope(**step):
    told = plugin_of("grafana-pyroscope-datasource", minStep="15s").ask(**step)
    assert "error" not in told, (step, told)
    return told


def resource(path, **params):
    return pyroscope(do="resource", path=path, url=path + "?" + urllib.parse.urlencode(params))


def profile(kind="profile", **more):
    return pyroscope(do="query", intervalMs=15000, **RANGE, query=dict(
        {"queryType": kind, "profileTypeId": CPU, "labelSelector": '{service_name="shop"}', "groupBy": []}, **more))


def flame(frame):
    """[(level, total, self, name)]"""
    names = next(f for f in frame["schema"]["fields"] if f["name"] == "label")["config"]["type"]["enum"]["text"]
    rows = columns(frame)
    return list(zip(rows["level"], rows["value"], rows["self"], [names[i] for i in rows["label"]]))


def test_pyroscopes_back_end_finds_the_server_healthy():
    assert pyroscope(do="health") == {"status": "OK", "message": "Data source is working"}


def test_pyroscopes_back_end_lists_types_and_labels():
    told = resource("profileTypes", **MILLIS)
    assert CPU in [t["id"] for t in told], told
    names = resource("labelNames", query=CPU + '{service_name="shop"}', **MILLIS)
    assert "env" in names and "span_id" not in names, names
    assert resource("labelValues", label="env", query=CPU + '{service_name="shop"}', **MILLIS) == ["prod", "test"]


def test_pyroscopes_back_end_draws_a_flame_graph():
    frame, = profile()
    assert flame(frame) == [(0, 330000000, 0, "total"), (1, 330000000, 0, "main"), (2, 120000000, 0, "handle"),
                            (3, 120000000, 120000000, "slow"), (2, 210000000, 210000000, "idle")]
    assert next(f for f in frame["schema"]["fields"] if f["name"] == "value")["config"]["unit"] == "ns"
    few, = profile(maxNodes=2)
    assert flame(few)[0] == (0, 330000000, 0, "total") and len(flame(few)) < 5


def test_pyroscopes_back_end_draws_a_span():
    frame, = profile(spanSelector=[SPAN])
    assert flame(frame)[-1] == (3, 120000000, 120000000, "slow") and len(flame(frame)) == 4
    two, = profile(spanSelector=[SPAN, "00000000000000aa"])
    assert flame(two) == flame(frame)
    nobody, = profile(spanSelector=["00000000000000aa"])
    assert [n[1] for n in flame(nobody)] in ([], [0]), flame(nobody)


def test_pyroscopes_back_end_draws_series():
    told = profile("metrics", groupBy=["env"])
    sums = {}
    for frame in told:
        value = next(f for f in frame["schema"]["fields"] if f["name"] != "time")
        sums[value["labels"]["env"]] = sum(columns(frame)[value["name"]])
    # It shows CPU time as cores: a second's worth for each second of a step.
    assert set(sums) == {"prod", "test"} and abs(sums["prod"] / sums["test"] - 180 / 150) < 1e-9, sums
    assert {f["schema"].get("name") for f in profile("both")} == {"series", "response"}


# ---- both, with a token ----

def test_a_token_in_a_header_opens_every_door():
    """The header that deploy/grafana/README.md tells to set is sent over HTTP and gRPC alike."""
    done = subprocess.run([os.environ["SPANFLAME"], "token", "new", "--name", "grafana", "--scopes", "read"],
                          capture_output=True, text=True, check=True)
    token, line = [text for text in done.stdout.splitlines() if text and not text.startswith("#")]
    locked = Server("auth:\n  token_file: HOME/tokens\n")
    with open(os.path.join(locked.home, "tokens"), "w", encoding="ascii") as f:
        os.chmod(f.name, 0o600)
        f.write(line + "\n")
    with locked:
        for plugin in INSTALLED:
            for secret in (token, "wrong"):
                asked = plugin_of(plugin, locked.port, {"httpHeaderValue1": "Bearer " + secret}, note=secret,
                                  httpHeaderName1="Authorization", streamingEnabled={"search": True})
                told = asked.ask(do="health")  # Tempo's asks over gRPC, Pyroscope's over HTTP
                assert told["status"] == ("OK" if secret == token else "ERROR"), (plugin, secret, told)
                if plugin == "tempo":
                    told = asked.ask(do="resource", path="tags", url="tags")
                    assert ("scopes" in told) == (secret == token), (secret, told)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
