#!/usr/bin/env python3
"""deploy/grafana: every query of every panel is asked of a running server, and of a Prometheus that scrapes it where one is
installed; each has an answer with data in it. Beside that the shape of the files: what Grafana would not take, or show."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(__file__))
import shop_data  # noqa: E402
from server import JSON, Server, free_port, tap  # noqa: E402

try:
    import yaml
except ImportError:
    print("1..0 # SKIP there is no python3-yaml here")
    sys.exit(0)

GRAFANA = os.path.join(os.environ["SOURCE_ROOT"], "deploy", "grafana")
KINDS = {"timeseries", "table", "nodeGraph", "heatmap", "flamegraph", "stat", "row"}
VARIABLES = {"service": "shop", "__rate_interval": "10s", "__range": "60s"}
QUERIER = "/querier.v1.QuerierService/"
server = Server().start()


def read_yaml(*path):
    with open(os.path.join(GRAFANA, *path), encoding="utf-8") as f:
        return yaml.safe_load(f)


def read_boards():
    boards = {}
    for path in sorted(glob.glob(os.path.join(GRAFANA, "provisioning", "dashboards", "*.json"))):
        with open(path, encoding="utf-8") as f:
            boards[os.path.basename(path)] = json.load(f)
    return boards


BOARDS = read_boards()
SOURCES = {s["uid"]: s["type"] for s in read_yaml("provisioning", "datasources", "spanflame.yaml")["datasources"]}


def targets(kind):
    """(where it stands, target) of all targets of a type of data source"""
    found = [(f"{name}: {panel['title']}", target) for name, board in BOARDS.items() for panel in board["panels"]
             for target in panel.get("targets", []) if target["datasource"]["type"] == kind]
    assert found, kind
    return found


def fill_in(text):
    for name, value in VARIABLES.items():
        text = text.replace("$" + name, value)
    assert "$" not in text, text
    return text


# ---- the files ----

def test_dashboards_are_provisioned_and_whole():
    provider, = read_yaml("provisioning", "dashboards", "spanflame.yaml")["providers"]
    assert provider["type"] == "file" and provider["options"]["path"] == "$SPANFLAME_DASHBOARDS"
    assert set(BOARDS) == {"services.json", "service.json", "spanflame.json"}
    uids = [b["uid"] for b in BOARDS.values()]
    assert len(uids) == len(set(uids)) and all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", u) for u in uids), uids
    for name, board in BOARDS.items():
        assert board["title"] and board["schemaVersion"] >= 39 and "id" not in board, name
        ids = [p["id"] for p in board["panels"]]
        assert len(ids) == len(set(ids)), name
        cells = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            assert panel["type"] in KINDS and panel["title"], panel
            assert 0 <= place["x"] and 0 < place["w"] and place["x"] + place["w"] <= 24 and place["h"] > 0, panel
            own = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            assert not own & cells, (name, panel["title"])
            cells |= own
            for target in panel.get("targets", []):
                assert SOURCES[target["datasource"]["uid"]] == target["datasource"]["type"], target
            refs = [t["refId"] for t in panel.get("targets", [])]
            assert len(refs) == len(set(refs)), panel
        for link in re.findall(r"/d/([\w-]+)", json.dumps(board)):
            assert link in uids, link
        for variable in re.findall(r"\$(\w+)", json.dumps([p.get("targets", []) for p in board["panels"]])):
            assert variable.startswith("__") or variable in {v["name"] for v in board["templating"]["list"]}, variable


def test_data_sources_are_joined():
    sources = {s["uid"]: s for s in read_yaml("provisioning", "datasources", "spanflame.yaml")["datasources"]}
    metrics = sources[sources["spanflame-traces"]["jsonData"]["serviceMap"]["datasourceUid"]]
    assert metrics["type"] == "prometheus"
    destination, = metrics["jsonData"]["exemplarTraceIdDestinations"]
    assert destination == {"name": "traceID", "datasourceUid": "spanflame-traces"}
    job, = read_yaml("prometheus.yml")["scrape_configs"]
    assert job["job_name"] == "spanflame" and job["honor_labels"] is True and job["static_configs"][0]["targets"] == ["localhost:3200"]


# ---- traces and profiles ----

def times(s=3600):
    return {"start": int(time.time()) - s, "end": int(time.time()) + 10}


def test_every_query_of_traces_finds_some():
    shop_data.fill(server)
    n = 0
    for where, target in targets("tempo"):
        if target["queryType"] == "serviceMap":
            continue  # PromQL, below
        query, is_metric = fill_in(target["query"]), "metricsQueryType" in target
        path = "/api/metrics/query_range?" if is_metric else "/api/search?"
        more = {"step": "15s", "exemplars": 100} if is_metric else {"limit": target["limit"], "spss": target["spss"]}
        answer = server.get(path + urllib.parse.urlencode({"q": query, **times(), **more}))
        assert answer.status == 200, (where, answer.text)
        told = json.loads(answer.body)
        found = [s for series in told["series"] for s in series["samples"] if s.get("value")] if is_metric else told["traces"]
        assert found, (where, query, told)
        n += 1
    assert n >= 4, n


def test_every_query_of_profiles_finds_some():
    ms = {k: v * 1000 for k, v in times().items()}
    for where, target in targets("grafana-pyroscope-datasource"):
        body = dict(ms, profileTypeID=target["profileTypeId"], labelSelector=fill_in(target["labelSelector"]))
        if target["queryType"] == "metrics":
            answer = server.post(QUERIER + "SelectSeries", json.dumps(dict(
                body, step=15, groupBy=target["groupBy"], exemplarType="EXEMPLAR_TYPE_INDIVIDUAL")), JSON)
            assert answer.status == 200 and json.loads(answer.body)["series"][0]["points"][0]["value"] > 0, (where, answer.text)
        else:
            answer = server.post(QUERIER + "SelectMergeStacktraces", json.dumps(dict(body, maxNodes=target["maxNodes"])), JSON)
            assert answer.status == 200 and "render" in json.loads(answer.body)["flamegraph"]["names"], (where, answer.text)


# ---- metrics ----

def names_of(text):
    """{metric: its labels} of /metrics"""
    found = {}
    for line in text.splitlines():
        if line and line[0] != "#":
            name, _, rest = line.partition("{")
            name = name.split(" ")[0]
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', rest.rsplit("}", 1)[0]))
    return found


def test_every_metric_and_label_of_the_panels_is_there():
    there = names_of(server.metrics())
    n = 0
    for where, target in targets("prometheus"):
        plain = re.sub(r'"[^"]*"', '""', target["expr"])
        for name, matchers in re.findall(r"\b((?:traces|spanflame|process)_\w+)(?:\{([^}]*)\})?", plain):
            assert name in there, (where, name)
            labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)) - {"job"}
            assert labels <= there[name], (where, name, labels)
            n += 1
        by = {label.strip() for group in re.findall(r"by \(([^)]*)\)", plain) for label in group.split(",")}
        assert by <= set().union(*(there[m] for m in re.findall(r"\b(?:traces|spanflame)_\w+", plain))), (where, by)
    assert n > 25, n


class Prometheus:
    """One that scrapes the server every second, by the file that people copy."""

    def __init__(self):
        program = shutil.which("prometheus")
        if not program:
            raise tap.Skip("no Prometheus here")
        self.port = free_port()
        home = os.path.join(server.home, "prometheus")
        os.makedirs(home)
        with open(os.path.join(GRAFANA, "prometheus.yml"), encoding="utf-8") as f:
            config = f.read()
        for before, after in (("localhost:3200", f"127.0.0.1:{server.port}"), ("scrape_interval: 15s", "scrape_interval: 1s")):
            assert before in config
            config = config.replace(before, after)
        if server.token:
            config += f"    authorization: {{credentials: {server.token}}}\n"
        with open(os.path.join(home, "prometheus.yml"), "w", encoding="utf-8") as f:
            f.write(config)
        self.process = subprocess.Popen([program, "--config.file=" + f.name, "--storage.tsdb.path=" + os.path.join(home, "data"),
                                         "--enable-feature=exemplar-storage", f"--web.listen-address=127.0.0.1:{self.port}"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path, **params):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(params, doseq=True), timeout=10) as f:
            told = json.load(f)
        assert told["status"] == "success", told
        return told["data"]

    def value(self, expr):
        return self.ask("query", query=expr)["result"]

    def waits_for(self, expr, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                if self.value(expr):
                    return
            except OSError:
                pass  # it is not up yet
            assert time.monotonic() < end, expr
            shop_data.send_requests(server)
            time.sleep(0.5)


def test_a_prometheus_answers_every_query_of_the_panels():
    prometheus = Prometheus()
    try:
        # Until every rate has two scrapes to be made of, requests and failures alike.
        prometheus.waits_for('rate(traces_spanmetrics_calls_total{service="cart",status_code="STATUS_CODE_ERROR"}[10s]) > 0')
        prometheus.waits_for("rate(traces_service_graph_request_total[10s]) > 0")
        assert server.post("/api/v1/flush", b"", JSON).status == 200
        prometheus.waits_for("spanflame_block_bytes > 0")
        for where, target in targets("prometheus"):
            found = prometheus.value(fill_in(target["expr"]))
            assert found, (where, target["expr"])
            if "spanmetrics" in target["expr"]:
                assert any(float(r["value"][1]) > 0 for r in found), (where, found)
            if target.get("exemplar"):
                dots = prometheus.ask("query_exemplars", query=fill_in(target["expr"]), **times(300))
                traces = {e["labels"]["traceID"] for series in dots for e in series["exemplars"]}
                assert traces and server.get("/api/v2/traces/" + sorted(traces)[0]).status == 200, (where, dots)
        # What the node graph and its table ask, and the list of the variable.
        of_graph = "traces_service_graph_request_"
        for expr in (f"sum by (client, server) (rate({of_graph}total[60s]))", f"sum by (client, server) (rate({of_graph}failed_total[60s]))",
                     f"sum by (client, server) (rate({of_graph}server_seconds_sum[60s]))",
                     f"histogram_quantile(.9, sum(rate({of_graph}server_seconds_bucket[60s])) by (le, client, server))",
                     f"group by (client, connection_type, server) ({of_graph}total)",
                     'topk(5, sum(rate(traces_spanmetrics_calls_total{span_kind="SPAN_KIND_SERVER"}[60s])) by (span_name))'):
            assert prometheus.value(expr), expr
        edges = {(r["metric"]["client"], r["metric"]["server"]) for r in prometheus.value(f"group by (client, server) ({of_graph}total)")}
        assert ("shop", "cart") in edges, edges
        assert prometheus.ask("series", **{"match[]": of_graph + "server_seconds_count"})
        assert {"shop", "cart"} <= set(prometheus.ask("label/service/values", **{"match[]": "traces_spanmetrics_calls_total"}))
    finally:
        prometheus.process.terminate()
        prometheus.process.wait(30)


STUB = """#!/bin/sh
# In the place of Grafana: what it was given, and the end.
env | grep -E '^(GF_|SPANFLAME_)' >"$OUT/env"
cp -r "$GF_PATHS_PROVISIONING" "$OUT/provisioning"
echo "$@" >"$OUT/arguments"
"""


def test_start_gives_grafana_all_it_needs():
    home = os.path.join(server.home, "start")
    os.makedirs(os.path.join(home, "bin"))
    for name in ("dirname", "mktemp", "mkdir", "sed", "cp", "rm", "env", "grep", "cat"):
        os.symlink(shutil.which(name), os.path.join(home, "bin", name))
    where = {"PATH": os.path.join(home, "bin"), "OUT": home, "TMPDIR": home, "SPANFLAME_URL": "http://there:1234", "GRAFANA_PORT": "3999"}
    command = ["/bin/sh", os.path.join(GRAFANA, "start")]
    done = subprocess.run(command, env=where, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Grafana is not installed" in done.stderr, done
    with open(os.path.join(home, "bin", "grafana"), "w", encoding="utf-8") as f:
        f.write(STUB)
        os.chmod(f.name, 0o755)
    done = subprocess.run(command, env=where, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "Prometheus is not installed" in done.stderr and ":3999" in done.stderr, done
    with open(os.path.join(home, "env"), encoding="utf-8") as f:
        env = dict(line.rstrip("\n").split("=", 1) for line in f)
    assert env["SPANFLAME_DASHBOARDS"].startswith(env["GF_PATHS_PROVISIONING"]) and env["GF_SERVER_HTTP_PORT"] == "3999", env
    assert not os.path.exists(env["GF_PATHS_PROVISIONING"])  # it was ours, and is gone
    with open(os.path.join(home, "provisioning", "datasources", "spanflame.yaml"), encoding="utf-8") as f:
        assert [s["url"] for s in yaml.safe_load(f)["datasources"]] == ["http://there:1234", "http://localhost:4040", "http://localhost:9090"]
    assert sorted(os.listdir(os.path.join(home, "provisioning", "dashboards"))) == sorted([*BOARDS, "spanflame.yaml"])
    with open(os.path.join(home, "arguments"), encoding="utf-8") as f:
        assert f.read().startswith("server --homepath"), env


tap.run(sys.modules[__name__])
