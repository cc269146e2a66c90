#!/usr/bin/env python3
"""What Grafana's Pyroscope data source and Profiles Drilldown ask, asked by Pyroscope's own generated client: over
Connect in protobuf and JSON, gzip, gRPC and gRPC-Web, all with the same answer and no field it does not know.

The data source's back end itself is no module of its own that a Go program could be built with; the client below it
is, and the requests are those that it makes."""
import base64
import json
import os
import re
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

try:
    CLIENT = toolchain.client("pyroscope_connect")
except tap.Skip as why:
    print(f"1..0 # SKIP {why}")
    sys.exit(0)

server = Server().start()
URL = f"http://127.0.0.1:{server.port}"
PROTOCOLS = ("connect", "json", "zipped", "grpc", "grpc-web")
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SPAN, TRACE = "00f1a2b3c4d5e6f7", "4bf92f3577b34da6a3ce929d0e0e4736"
NOW = time.time_ns()
RANGE = {"start": str(NOW // 10**6 - 3600000), "end": str(NOW // 10**6 + 60000)}


def run(protocol, method, request, *accept):
    return subprocess.run([*CLIENT, URL, protocol, method, json.dumps(request), *accept], capture_output=True, text=True,
                          timeout=60, check=False)


def ask(method, has_range=True, accept=(), protocols=PROTOCOLS, **request):
    """The same by every protocol."""
    told = []
    for protocol in protocols:
        done = run(protocol, method, {**(RANGE if has_range else {}), **request}, *accept)
        assert done.returncode == 0, (protocol, method, done.stderr)
        told.append(json.loads(done.stdout))
    assert all(t == told[0] for t in told), (method, told)
    return told[0]


def refused(method, request):
    told = {run(p, method, request).stderr for p in PROTOCOLS}
    assert len(told) == 1, told
    return told.pop()


def push(n, protocol):
    """A profile with a span, as SDKs push it."""
    stacks = {("main;handle;slow", (("span_id", SPAN), ("trace_id", TRACE))): 20000000, "main;idle": 10000000 * (n + 1)}
    profile = base64.b64encode(pprof(stacks, when=NOW - (60 - 10 * n) * 10**9)).decode()
    labels = {"__name__": "process_cpu", "service_name": "shop", "env": "prod" if n % 2 else "test", "otel.scope.name": "x"}
    done = run(protocol, "Push", {"series": [{"labels": [{"name": k, "value": v} for k, v in labels.items()],
                                              "samples": [{"rawProfile": profile, "ID": ""}]}]})
    assert (done.returncode, done.stdout) == (0, "{}\n"), (protocol, done.stderr)


for number in range(6):
    push(number, PROTOCOLS[number % len(PROTOCOLS)])


def nodes(flame):
    """[(level, total, self, name)] as Grafana reads a flame graph: a child lies inside its parent's range."""
    assert flame["names"][int(flame["levels"][0]["values"][0])] == "total"
    out, above = [], [(0, None)]
    for depth, level in enumerate(flame["levels"]):
        values, end, row = [int(v) for v in level["values"]], 0, []
        for i in range(0, len(values), 4):
            start = end + values[i]
            end = start + values[i + 1]
            assert depth == 0 or any(a <= start and end <= b for a, b in above), (depth, start, end)
            row.append((start, end))
            out.append((depth, values[i + 1], values[i + 2], flame["names"][values[i + 3]]))
        above = row
    return out


# ---- the data source ----

def test_health_is_a_question_about_1970():
    assert ask("ProfileTypes", has_range=False, start="1000", end="4000") == {}


def test_profile_types():
    assert ask("ProfileTypes") == {"profileTypes": [{
        "ID": CPU, "name": "process_cpu", "sampleType": "cpu", "sampleUnit": "nanoseconds", "periodType": "cpu",
        "periodUnit": "nanoseconds"}]}
    assert ask("ProfileTypes", has_range=False) == ask("ProfileTypes")


def test_labels_of_a_type():
    matchers = [f'{{__profile_type__="{CPU}",service_name="shop"}}']
    names = ask("LabelNames", matchers=matchers)["names"]
    assert "env" in names and "otel.scope.name" not in names and "span_id" not in names, names
    names = ask("LabelNames", matchers=matchers, accept=("*/*; allow-utf8-labelnames=true",))["names"]
    assert "otel.scope.name" in names, names
    assert ask("LabelValues", name="env", matchers=matchers) == {"names": ["prod", "test"]}
    assert ask("LabelValues", name="env", matchers=[CPU + "{}"]) == {"names": ["prod", "test"]}
    assert ask("LabelValues", name="env", matchers=['{"otel.scope.name"="x",env="prod"}']) == {"names": ["prod"]}


def test_flame_graph():
    flame = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="shop"}', maxNodes="16384")
    assert nodes(flame["flamegraph"]) == [(0, 330000000, 0, "total"), (1, 330000000, 0, "main"), (2, 120000000, 0, "handle"),
                                          (2, 210000000, 210000000, "idle"), (3, 120000000, 120000000, "slow")]
    empty = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="nobody"}')
    assert empty["flamegraph"]["names"] == ["total"]


def test_span_profile_of_the_trace_view():
    told = ask("SelectMergeSpanProfile", profileTypeID=CPU, labelSelector='{service_name="shop"}', spanSelector=[SPAN],
               start=str(NOW // 10**6 - 90000), end=str(NOW // 10**6 + 30000))
    assert nodes(told["flamegraph"])[-1] == (3, 120000000, 120000000, "slow") and len(nodes(told["flamegraph"])) == 4
    told = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", traceIdSelector=[TRACE])
    assert nodes(told["flamegraph"])[-1] == (3, 120000000, 120000000, "slow")


def provisioned(key):
    """What deploy/grafana sets, as Grafana reads it: $$ is a $."""
    path = os.path.join(os.environ["SOURCE_ROOT"], "deploy", "grafana", "provisioning", "datasources", "spanflame.yaml")
    with open(path, encoding="utf-8") as f:
        value, = re.findall(rf"^ +{key}: (.+)$", f.read(), re.M)
    return value.strip("'").replace("$$", "$")


def test_the_provisioned_link_leads_from_a_span_to_its_flame_graph():
    span = make_span(trace=bytes.fromhex(TRACE), ms=2000, ago_ms=8000, service="shop", name="checkout",
                     span_id=bytes.fromhex(SPAN))
    server.send([span])
    scope = server.json("/api/v2/traces/" + TRACE)["trace"]["resourceSpans"][0]
    tags = {a["key"]: a["value"]["stringValue"]
            for a in scope["resource"]["attributes"] + scope["scopeSpans"][0]["spans"][0]["attributes"]}
    # Grafana's data link: the custom query with the span's tags filled in, a minute to both sides.
    selector = re.sub(r"\$\{__span\.tags\[\"([^\"]+)\"\]\}", lambda m: tags[m[1]], provisioned("query"))
    assert provisioned("customQuery") == "true" and selector == '{service_name="shop"}', selector
    told = ask("SelectMergeSpanProfile", profileTypeID=provisioned("profileTypeId"), labelSelector=selector,
               spanSelector=[tags["pyroscope.profile.id"]], start=str(span["start"] // 10**6 - 60000),
               end=str(span["end"] // 10**6 + 60000))
    assert nodes(told["flamegraph"])[-1] == (3, 120000000, 120000000, "slow"), told
    by_tags = f'{{{provisioned("value")}="{tags[provisioned("- key")]}"}}'  # what it asks with customQuery off
    assert by_tags == selector


def test_time_series_with_exemplars():
    told = ask("SelectSeries", profileTypeID=CPU, labelSelector='{service_name="shop"}', groupBy=["env"], step=15,
               limit="10", exemplarType="EXEMPLAR_TYPE_INDIVIDUAL")["series"]
    sums = {s["labels"][0]["value"]: sum(p["value"] for p in s["points"]) for s in told}
    assert sums == {"prod": 180000000, "test": 150000000}, sums
    start = int(RANGE["start"])
    for point in [p for s in told for p in s["points"]]:
        assert (int(point["timestamp"]) - start) % 15000 == 0
        exemplar, = point["exemplars"]
        one = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", profileIdSelector=[exemplar["profileId"]],
                  protocols=("connect",))
        assert one["flamegraph"]["total"] == exemplar["value"]
    assert "exemplars" not in json.dumps(ask("SelectSeries", profileTypeID=CPU, labelSelector="{}", step=15,
                                             exemplarType="EXEMPLAR_TYPE_NONE"))


def test_heat_maps():
    for query, exemplar, key in (("INDIVIDUAL", "INDIVIDUAL", "profileId"), ("SPAN", "SPAN", "spanId")):
        series, = ask("SelectHeatmap", profileTypeID=CPU, labelSelector="{}", step=60, groupBy=["service_name"],
                      queryType="HEATMAP_QUERY_TYPE_" + query, exemplarType="EXEMPLAR_TYPE_" + exemplar)["series"]
        assert sum(n for s in series["slots"] for n in s["counts"]) == 6
        assert all(len(s["yMin"]) == len(s["counts"]) == 20 and e[key] for s in series["slots"] for e in s["exemplars"])


# ---- Profiles Drilldown ----

def test_start_page():
    told = ask("Series", labelNames=["service_name", "__profile_type__"], matchers=[])
    assert told == {"labelsSet": [{"labels": [{"name": "service_name", "value": "shop"},
                                              {"name": "__profile_type__", "value": CPU}]}]}, told
    stats = ask("GetProfileStats", has_range=False)
    assert stats["dataIngested"] is True
    assert NOW // 10**6 - 60000 <= int(stats["oldestProfileTime"]) <= int(stats["newestProfileTime"]) <= NOW // 10**6 - 10000
    assert int(ask("AnalyzeQuery", query=CPU + '{service_name="shop"}')["queryImpact"]["totalQueriedSeries"]) == 2


def test_function_details_are_pprof():
    told = ask("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="shop"}',
               stackTraceSelector={"callSite": [{"name": "main"}, {"name": "handle"}]})
    assert sum(int(s["value"][0]) for s in told["sample"]) == 120000000
    names = told["stringTable"]
    assert names[0] == "" and {names[int(f["name"])] for f in told["function"]} == {"main", "handle", "slow"}
    nested = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", format="PROFILE_FORMAT_PPROF")
    assert sum(int(s["value"][0]) for s in nested["pprof"]["profile"]["sample"]) == 330000000
    tree = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector="{}", format="PROFILE_FORMAT_TREE")
    assert b"\x04slow" in base64.b64decode(tree["tree"])


def test_two_times_compare():
    middle = str(NOW // 10**6 - 30500)
    side = {"profileTypeID": CPU, "labelSelector": '{service_name="shop"}'}
    flame = ask("Diff", has_range=False, left=dict(side, start=RANGE["start"], end=middle),
                right=dict(side, start=str(int(middle) + 1), end=RANGE["end"]))["flamegraph"]
    assert (flame["leftTicks"], flame["rightTicks"], flame["total"]) == ("120000000", "210000000", "330000000")
    assert len(flame["levels"][0]["values"]) == 7


def test_settings_and_features():
    told = ask("SetSetting", has_range=False, protocols=("connect",), setting={"name": "pluginSettings", "value": "{}"})
    assert told["setting"]["name"] == "pluginSettings" and int(told["setting"]["modifiedAt"]) * 10**6 >= NOW
    assert ask("GetSettings", has_range=False)["settings"] == [told["setting"]]
    assert ask("DeleteSetting", has_range=False, name="pluginSettings") == {}
    assert ask("GetSettings", has_range=False) == {}
    flags = ask("GetFeatureFlags", has_range=False)["featureFlags"]
    assert {f["name"]: f.get("enabled", False) for f in flags}["utf8LabelNames"] is True


def test_ad_hoc_profiles():
    files = [base64.b64encode(pprof(stacks)).decode() for stacks in ({"main;a": 30, "main;b": 10}, {"main;a": 50})]
    left, right = [ask("UploadAdHoc", has_range=False, protocols=("connect",), name=f"file {i}.pprof", profile=file)
                   for i, file in enumerate(files)]
    assert left["profileTypes"] == ["cpu"] and left["name"] == "file_0.pprof", left
    assert ask("GetAdHoc", has_range=False, id=left["id"], profileType="cpu") == left
    assert [p["id"] for p in ask("ListAdHoc", has_range=False)["profiles"]] == [right["id"], left["id"]]
    told = ask("DiffAdHoc", has_range=False, leftId=left["id"], rightId=right["id"])
    flame = json.loads(told["flamebearerProfile"])
    assert (flame["leftTicks"], flame["rightTicks"]) == (40, 50) and told["profileTypes"] == ["cpu"], told
    assert refused("GetAdHoc", {"id": "no such"}).startswith("invalid_argument: id 'no such' is invalid")
    assert refused("GetAdHoc", {"id": "unknown"}).startswith("not_found: profile unknown not found")


def test_recording_rules():
    rule = {"metricName": "profiles_recorded_cpu", "matchers": ['{__profile_type__="%s"}' % CPU]}
    for protocol in PROTOCOLS:
        def call(method, request):
            done = run(protocol, method, request)
            assert done.returncode == 0, (protocol, method, done.stderr)
            return json.loads(done.stdout)
        kept = call("UpsertRecordingRule", rule)["rule"]
        assert kept["metricName"] == rule["metricName"] and kept["profileType"] == CPU, kept
        assert call("GetRecordingRule", {"id": kept["id"]})["rule"] == kept
        assert call("ListRecordingRules", {})["rules"] == [kept]
        call("DeleteRecordingRule", {"id": kept["id"]})
        assert not call("ListRecordingRules", {}).get("rules")


# ---- what goes wrong ----

def test_mistakes_have_their_codes():
    assert refused("LabelValues", {}).startswith("invalid_argument: missing time range")
    assert refused("SelectSeries", dict(RANGE, profileTypeID=CPU, labelSelector="{}")).startswith("invalid_argument: step")
    assert refused("SelectMergeStacktraces", dict(RANGE, profileTypeID=CPU, labelSelector="{x")).startswith("invalid_argument")
    assert refused("SelectMergeStacktraces", dict(RANGE, profileTypeID="bad", labelSelector="{}")).startswith("invalid_argument")
    for method in ("GetRecordingRule", "DeleteRecordingRule"):
        assert refused(method, {"id": "nobody"}).startswith("not_found: no rule with id='nobody'")
    assert refused("UpsertRecordingRule", {}).startswith("invalid_argument: invalid request: ")
    assert refused("Push", {"series": [{"labels": [{"name": "__name__", "value": "x"}],
                                        "samples": [{"rawProfile": "AAECAw=="}]}]}).startswith("invalid_argument")


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
