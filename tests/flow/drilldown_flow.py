#!/usr/bin/env python3
"""Every call that Grafana's Traces Drilldown and Profiles Drilldown make, spelt as they spell it (with blanks too many and
missing), against a server that has what they search for; each answer has the parts that their pages read."""
import json
import os
import re
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import shop_data  # noqa: E402
from server import JSON, Server, field, fields, first, tap  # noqa: E402

server = Server().start()
TRACES = shop_data.fill(server)
NOW = int(time.time())
START, END = NOW - 1800, NOW + 10
SIGNALS = ["nestedSetParent<0", "true", "kind=server", "kind=consumer", 'span.db.system.name!=""']
KEYS = ["resource." + key for key in ("service.name", *shop_data.RESOURCE)] + [
    "name", "kind", "rootName", "rootServiceName", "status", "statusMessage", "span.http.status_code"]
STRUCTURE = "select(status, resource.service.name, name, nestedSetParent, nestedSetLeft, nestedSetRight)"


def get(path, **params):
    answer = server.get(path + "?" + urllib.parse.urlencode(params), headers={"Accept": "application/json"})
    assert answer.status == 200, (path, params, answer.status, answer.text)
    return json.loads(answer.body)


def query_range(query, step="30s", start=START):
    return get("/api/metrics/query_range", q=query, start=start, end=END, step=step, exemplars=100)["series"]


def search(query, limit=200, spss=10):
    return get("/api/search", q=query, start=START, end=END, limit=limit, spss=spss).get("traces", [])


def labels(series):
    return {label["key"]: next(iter(label["value"].values())) for label in series["labels"]}


def spans_of(traces):
    return [span for trace in traces for spans in trace["spanSets"] for span in spans["spans"]]


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span.get("attributes", [])}


# ---- Traces Drilldown ----

def test_the_probe_and_the_three_panels():
    for signal in SIGNALS:
        for filters in ("true", 'resource.service.name="shop"', 'resource.service.name="shop"&&span.http.status_code=500'):
            f = f"{signal} && {filters}"
            for query in (f"{{{f}}} | rate()  with(sample=true)", f"{{{f} && status=error}} | rate()  with(sample=true)",
                          f"{{{f}}} | histogram_over_time(duration) with(sample=true)", f"{{{f}}} | rate() "):
                query_range(query)
    assert get("/api/metrics/query_range", q="{} | rate()", start=NOW - 60, end=END, step="60s")["series"]
    one, = query_range("{nestedSetParent<0 && true} | rate()  with(sample=true)")
    dots = [labels(e) for e in one["exemplars"]]
    assert {d["trace:id"] for d in dots} <= {t["trace"].lstrip("0") for t in TRACES} | {t["trace"] for t in TRACES} and dots
    buckets = [labels(s)["__bucket"] for s in query_range("{nestedSetParent<0 && true} | histogram_over_time(duration) with(sample=true)")]
    assert buckets and all(isinstance(b, float) and 0.1 < b < 1 for b in buckets), buckets


def test_a_breakdown_by_every_favourite_attribute():
    for key in KEYS:
        f = "nestedSetParent<0 && true"
        for query, has in ((f"{{{f} && {key} != nil}} | rate() by({key})", key != "statusMessage"),
                           (f"{{{f} && status=error && {key} != nil}} | rate() by({key})", key != "statusMessage"),
                           (f"{{{f} && {key} != nil}} | quantile_over_time(duration, 0.9) by({key})", key != "statusMessage")):
            series = query_range(query)
            assert series or not has, (query, series)
            assert all(key in labels(s) for s in series), (query, [labels(s) for s in series])
            if "quantile" in query and has:
                assert all(float(labels(s)["p"]) == 0.9 for s in series), series
    tile = query_range('{nestedSetParent<0 && true && resource.service.name="shop"} | rate() by(resource.service.name)')
    assert [labels(s)["resource.service.name"] for s in tile] == ["shop"]


def test_the_seeker_asks_for_a_day_at_once():
    query_range("{nestedSetParent<0 && true} | rate() ", start=END - 86400)


def test_the_comparison():
    span_ns = (END - START) * 10**9
    for inner in ("{status = error}, 10", f"{{duration >= 100ms && duration <= 1s}}, 10, {START * 10**9}, {START * 10**9 + span_ns}"):
        series = query_range(f"{{true && true}} | compare({inner})", step=f"{END - START}s")
        kinds = {labels(s)["__meta_type"] for s in series}
        assert {"selection", "selection_total"} <= kinds <= {"baseline", "selection", "baseline_total", "selection_total"}, kinds
        for s in series:
            own = [key for key in labels(s) if not key.startswith("__")]
            assert len(own) == 1, labels(s)
    query_range("{true && true} | compare({})", step=f"{END - START}s")


def test_the_structure():
    roots = ["nestedSetParent<0 && true", "nestedSetParent<0 && true && status = error", "nestedSetParent<0 && true && duration > 100ms"]
    for root, leaf in zip(roots, ("kind = server", "status = error", "duration > 50ms")):
        traces = search(f"({{{root} }} &>> {{ {leaf} }}) || ({{{root} }}) | {STRUCTURE}", 200, 20)
        assert traces, root
        for span in spans_of(traces):
            told = attributes(span)
            assert int(told["nestedSetLeft"]) < int(told["nestedSetRight"]) and "nestedSetParent" in told, told
            assert span["name"] and told["service.name"] in ("shop", "cart") and told["status"] in ("error", "unset", "ok"), span


def test_lists_of_spans_and_exceptions():
    assert search("{nestedSetParent<0 && true} | select(resource.service.name, name, duration)")
    assert search("{nestedSetParent<0 && true && status = error} | select(resource.service.name)")
    assert search("{nestedSetParent<0 && true&& duration >= 100ms && duration <= 1s} | select(status)")
    traces = search("{true && true && status = error} | select(resource.service.name, event.exception.message,"
                    "event.exception.stacktrace,event.exception.type) with(most_recent=true)", 400)
    told = [attributes(s) for s in spans_of(traces)]
    thrown = [a for a in told if "exception.message" in a]
    assert thrown and all(k in thrown[0] for k in ("exception.type", "exception.stacktrace", "service.name")), told
    message = json.dumps(shop_data.EXCEPTION["exception.message"])
    for condition in (f"event.exception.message = {message}", f'event.exception.message = {message} && event.exception.type = "PaymentError"',
                      'event.exception.message =~ "card .* refused"'):
        assert search(f"{{true && true && status = error && {condition}}} | select(resource.service.name,name)", 100), condition


def test_names_values_and_traces():
    scopes = {s["name"]: s["tags"] for s in get("/api/v2/search/tags", limit=5000, start=START, end=END)["scopes"]}
    assert "service.name" in scopes["resource"] and "http.status_code" in scopes["span"] and "name" in scopes["intrinsic"]
    for tag in KEYS + ["event.exception.type"]:
        values = get(f"/api/v2/search/tag/{urllib.parse.quote(tag)}/values", limit=5000, q='{resource.service.name="shop" && }', tag=tag,
                     start=START, end=END)["tagValues"]
        assert all(v["type"] and v["value"] for v in values), (tag, values)
    assert {v["value"] for v in get("/api/v2/search/tag/resource.service.name/values", q="{status=error}", start=START, end=END)["tagValues"]} \
        == {"shop", "cart"}
    answer = server.get("/api/v2/traces/" + TRACES[0]["trace"], headers={"Accept": "application/protobuf"})
    assert answer.status == 200 and first(first(answer.body, 1), 1), answer.body


def test_many_spans_are_looked_up_by_their_ids():
    """What Profiles Drilldown asks for the spans of its exemplars."""
    ids = [t["root"] for t in TRACES] + [os.urandom(8).hex() for _ in range(42)]
    query = "{" + " || ".join(f'span:id="{i}"' for i in ids) + "}"
    spans = spans_of(search(query, len(ids)))
    assert {s["spanID"] for s in spans} == {t["root"] for t in TRACES} and all(int(s["durationNanos"]) > 0 for s in spans)


def test_the_same_streamed():
    method = "/tempopb.StreamingQuerier/"
    status, _, _, messages = server.grpc_stream(method + "Search", field(8, "{}") + field(4, 1) + field(5, START) + field(6, END))
    assert status == 0 and any(n == 1 for m in messages for n, _ in fields(m)), messages
    for name, query in (("MetricsQueryRange", "{nestedSetParent<0 && true} | rate() "), ("MetricsQueryInstant", "{} | rate() by(name)")):
        status, _, _, messages = server.grpc_stream(method + name, field(1, query) + field(2, START * 10**9) + field(3, END * 10**9))
        assert status == 0 and all(first(m, 2) is not None for m in messages) and any(first(m, 1) for m in messages), (name, messages)
    assert get("/api/metrics/query", q="{} | rate() by(name)", start=START, end=END, step="30s", exemplars=5)["series"]


# ---- Profiles Drilldown ----

UTF8 = {"Accept": "application/json; allow-utf8-labelnames=true", "X-Grafana-Org-Id": "1"}
MILLIS = {"start": START * 1000, "end": END * 1000}


def post(service, **body):
    answer = server.post("/" + service, json.dumps(body), JSON, headers=UTF8)
    assert answer.status == 200, (service, body, answer.status, answer.text)
    return json.loads(answer.body)


def querier(method, **body):
    return post("querier.v1.QuerierService/" + method, **{**MILLIS, **body})


def test_the_start_page_and_the_filters():
    for matchers in ([], ['{service_name="shop"}']):
        sets = querier("Series", labelNames=["service_name", "__profile_type__"], matchers=matchers)["labelsSet"]
        found = [{x["name"]: x["value"] for x in s["labels"]} for s in sets]
        assert {"service_name": "shop", "__profile_type__": shop_data.CPU} in found, found
    matcher = [f'{{__profile_type__="{shop_data.CPU}", service_name="shop"}}']
    assert "env" in querier("LabelNames", matchers=matcher)["names"]
    assert querier("LabelValues", name="env", matchers=matcher)["names"] == ["test"]


def test_function_details_and_exports():
    told = querier("SelectMergeProfile", profile_typeID=shop_data.CPU, label_selector='{service_name="shop"}',
                   stackTraceSelector={"call_site": [{"name": "main"}, {"name": "handle"}], "frameFilter": {"includeFunctionNames": ["parse"]}},
                   maxNodes=500)
    assert [s["value"] for s in told["sample"]] == [["40000000"]] and told["sampleType"] and told["stringTable"], told
    assert told["function"][0]["id"] and told["location"][0]["line"][0]["functionId"], told
    for form, begin in (("json", "{"), ("dot", "digraph")):
        answer = server.get("/pyroscope/render?" + urllib.parse.urlencode(
            {"query": shop_data.CPU + '{service_name="shop"}', "from": MILLIS["start"], "until": MILLIS["end"], "format": form, "max-nodes": 100}))
        assert answer.status == 200 and answer.text.startswith(begin), answer.text
    body = field(1, shop_data.CPU) + field(2, '{service_name="shop"}') + field(3, MILLIS["start"]) + field(4, MILLIS["end"])
    answer = server.post("/querier.v1.QuerierService/SelectMergeProfile", body + field(6, field(3, field(1, "render"))), "application/proto")
    assert answer.status == 200 and b"render" in answer.body and b"parse" not in answer.body


def test_a_comparison_of_two_ranges():
    side = dict(MILLIS, profileTypeID=shop_data.CPU, labelSelector='{service_name="shop"}', maxNodes=16384)
    flame = querier("Diff", left=side, right=side)["flamegraph"]
    assert all(isinstance(v, str) for v in flame["levels"][0]["values"]) and flame["leftTicks"] == flame["rightTicks"], flame
    wide = dict(side, format="PROFILE_FORMAT_SANDWICH", sandwichFunction="parse")  # it requests that only without a comparison
    answer = server.post("/querier.v1.QuerierService/Diff", json.dumps({"left": wide, "right": side}), JSON)
    assert answer.status == 501 and json.loads(answer.body)["code"] == "unimplemented", answer.text


def sandwich_nodes(report, node):
    """Its half, as the app reads it: numbers are text, what is zero or empty is absent, names are in one table."""
    children = [sandwich_nodes(report, child) for child in node.get("children", [])]
    return {"name": report["names"][node.get("nameIndex", 0)], "total": int(node.get("total", 0)), "self": int(node.get("self", 0)),
            "truncated": node.get("truncated", False), "children": children}


def test_callers_and_callees_of_one_function():
    side = dict(MILLIS, profileTypeID=shop_data.CPU, labelSelector='{service_name="shop"}', maxNodes=16384)
    table = {f["name"]: f for f in querier("SelectMergeStacktraces", **side, format="PROFILE_FORMAT_FUNCTIONS")["functions"]["functions"]}
    wide = dict(side, format="PROFILE_FORMAT_SANDWICH")
    for name in ("main", "handle", "parse", "render"):
        report = querier("SelectMergeStacktraces", **wide, sandwichFunction=name)["sandwich"]
        row = table[name]
        assert (report["total"], report.get("self", "0")) == (row["total"], row.get("self", "0")), (report, row)
        callers, callees = (sandwich_nodes(report, report[half]) for half in ("callers", "callees"))
        assert callers["name"] == callees["name"] == name and len(set(report["names"])) == len(report["names"]), report
        assert callers["total"] == callees["total"] >= int(report["total"]) and callees["self"] == int(report.get("self", 0)), report
        for half in (callers, callees):
            assert half["self"] + sum(child["total"] for child in half["children"]) == half["total"], half
    few = querier("SelectMergeStacktraces", **dict(wide, maxNodes=1), sandwichFunction="handle")["sandwich"]
    callees = sandwich_nodes(few, few["callees"])
    assert [(c["name"], c["truncated"]) for c in callees["children"]] == [("other", True)], few
    assert callees["total"] == callees["self"] + callees["children"][0]["total"], few
    assert querier("SelectMergeStacktraces", **wide, sandwichFunction="nobody")["sandwich"] == {"names": ["nobody"], "callers": {}, "callees": {}}
    nothing = dict(wide, labelSelector='{service_name="nobody"}', sandwichFunction="parse")
    assert querier("SelectMergeStacktraces", **nothing)["sandwich"] == {}
    for body in (wide, dict(side, sandwichFunction="parse")):
        answer = server.post("/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(body), JSON)
        assert answer.status == 400 and "sandwich_function" in json.loads(answer.body)["message"], answer.text


def test_the_top_table():
    side = dict(MILLIS, profileTypeID=shop_data.CPU, labelSelector='{service_name="shop"}', format="PROFILE_FORMAT_FUNCTIONS", maxNodes=16384)
    told = querier("SelectMergeStacktraces", **side)["functions"]
    assert {"main", "handle", "parse", "render"} <= {f["name"] for f in told["functions"]} and int(told["total"]) > 0, told
    told = querier("Diff", left=dict(side, format=None), right=dict(side, format=None), format="PROFILE_FORMAT_FUNCTIONS", maxNodes=16384)["functions"]
    assert told["leftTotal"] == told["rightTotal"] and all(f.get("leftSelf") == f.get("rightSelf") for f in told["functions"]), told


def test_the_call_tree_opens_level_by_level():
    def ask(selection, direction, *site, depth=1):
        options = {"selection": "FUNCTION_TREE_SELECTION_" + selection, "direction": "FUNCTION_TREE_DIRECTION_" + direction, "maxDepth": depth}
        return querier("SelectMergeStacktraces", profileTypeID=shop_data.CPU, labelSelector='{service_name="shop"}', format="PROFILE_FORMAT_FUNCTION_TREE",
                       formatOptions={"functionTree": options}, stackTraceSelector={"callSite": [{"name": name} for name in site]})["functionTree"]
    path, names = [], []
    while True:  # as a person opens the heaviest row each time
        root = ask("ROOT_PATH", "CALLEES", *path)["callees"]["root"]
        names.append(root["name"])
        if not root.get("hasChildren"):
            break
        path.append(root["children"][0]["name"])
    assert names[:3] == ["total", "main", "handle"] and path == names[1:], (names, path)
    both = ask("FUNCTION_CHAIN", "BOTH", "parse")
    assert both["callers"]["root"]["total"] == both["callees"]["root"]["total"] and both["callers"]["root"]["children"][0]["name"] == "handle", both
    above = ask("FUNCTION_CHAIN", "CALLERS", "handle", "parse")["callers"]["root"]
    assert above["name"] == "handle" and above["children"][0]["name"] == "main", above


def test_parts_that_were_cut_are_asked_for_again():
    few = querier("SelectMergeStacktraces", profileTypeID=shop_data.CPU, labelSelector='{service_name="shop"}', maxNodes=3)["flamegraph"]
    assert "other" in few["names"], few
    more = querier("SelectMergeStacktraces", profileTypeID=shop_data.CPU, labelSelector='{service_name="shop"}', maxNodes=30,
                   stackTraceSelector={"callSite": [{"name": "main"}, {"name": "handle"}]})["flamegraph"]
    assert {"main", "handle", "render", "parse"} <= set(more["names"]) and "idle" not in more["names"], more


def test_the_rest_of_the_pages():
    flags = {f["name"]: f.get("enabled", False) for f in post("capabilities.v1.FeatureFlagsService/GetFeatureFlags")["featureFlags"]}
    assert flags["pyroscopeRuler"] and flags["pyroscopeRulerFunctions"] and flags["functionProjections"], flags
    assert querier("GetProfileStats")["dataIngested"] is True
    told = querier("AnalyzeQuery", query=shop_data.CPU + '{service_name="shop"}')
    assert int(told["queryImpact"]["totalQueriedSeries"]) == 1 and told["queryScopes"], told
    assert post("settings.v1.SettingsService/Get") == {}


def test_metrics_from_profiles():
    """What the app sends, and what it reads of the answers: the service from the text of a matcher."""
    rules = "settings.v1.RecordingRulesService/"
    assert post(rules + "ListRecordingRules") == {}
    made = post(rules + "UpsertRecordingRule", metricName="profiles_recorded_x", groupBy=["env"],
                matchers=['{ service_name="shop" }', '{ __profile_type__="%s"}' % shop_data.CPU])["rule"]
    rule, = post(rules + "ListRecordingRules")["rules"]
    assert rule == made and rule["metricName"] == "profiles_recorded_x" and rule["groupBy"] == ["env"], rule
    assert re.search('service_name="([^"]+)"', "".join(rule["matchers"]))[1] == "shop" and rule["profileType"] == shop_data.CPU, rule
    assert post(rules + "DeleteRecordingRule", id=rule["id"]) == {} and post(rules + "ListRecordingRules") == {}


tap.run(sys.modules[__name__])
