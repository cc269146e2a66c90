#!/usr/bin/env python3
"""What Grafana's Pyroscope data source asks, over Connect in JSON and protobuf and over gRPC."""
import base64
import json
import os
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, Server, field, tap, varint  # noqa: E402

server = Server().start()
QUERIER = "/querier.v1.QuerierService/"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SPAN = "00f1a2b3c4d5e6f7"
NOW = time.time_ns()
MIDDLE = (NOW - 30 * 10**9) // 10**6 - 500  # three profiles end before it, three begin after
RANGE = {"start": NOW // 10**6 - 3600000, "end": NOW // 10**6 + 60000}

for n in range(6):
    stacks = {("main;slow", (("span_id", SPAN),)): 20000000, "main;fast": 10000000 * (n + 1)}
    assert server.post(f"/api/v1/profile?service=shop&label=env={'prod' if n % 2 else 'test'}",
                       pprof(stacks, when=NOW - (60 - 10 * n) * 10**9)).status == 200


def ask(method, **body):
    answer = server.post(QUERIER + method, json.dumps({**RANGE, **body}), JSON)
    assert answer.status == 200, (method, answer.status, answer.text)
    assert answer.getheader("content-type") == JSON
    return json.loads(answer.body)


def bars(flame):
    """{name: [total, self]} of a flame graph."""
    out = {}
    for level in flame["levels"]:
        values = [int(v) for v in level["values"]]
        for i in range(0, len(values), 4):
            out[flame["names"][values[i + 3]]] = values[i + 1:i + 3]
    return out


def test_types_and_the_health_check():
    types = ask("ProfileTypes")["profileTypes"]
    assert [t["ID"] for t in types] == [CPU] and types[0]["sampleType"] == "cpu", types
    assert ask("ProfileTypes", start=1000, end=4000) == {}
    body = field(1, RANGE["start"]) + field(2, RANGE["end"])
    answer = server.post(QUERIER + "ProfileTypes", body, "application/proto")
    assert answer.status == 200 and answer.getheader("content-type") == "application/proto"
    status, _, _, message = server.grpc(QUERIER + "ProfileTypes", body)
    assert status == 0 and message == answer.body and CPU.encode() in message


def test_labels_and_series():
    names = ask("LabelNames")["names"]
    assert {"env", "service_name", "__profile_type__"} <= set(names) and "span_id" not in names, names
    assert ask("LabelValues", name="env")["names"] == ["prod", "test"]
    assert ask("LabelValues", name="env", matchers=['{env="prod"}'])["names"] == ["prod"]
    sets = ask("Series", labelNames=["service_name", "__profile_type__"])["labelsSet"]
    assert sets == [{"labels": [{"name": "service_name", "value": "shop"},
                                {"name": "__profile_type__", "value": CPU}]}], sets


def test_flame_graphs_by_selector_and_by_span():
    flame = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="shop"}')["flamegraph"]
    assert flame["total"] == "330000000", flame
    assert bars(flame)["slow"] == [120000000, 120000000] and bars(flame)["main"] == [330000000, 0]
    flame = ask("SelectMergeStacktraces", profile_typeID="process_cpu:cpu:nanoseconds",
                label_selector='{env=~"pr.*"}')["flamegraph"]
    assert flame["total"] == "180000000", flame
    flame = ask("SelectMergeSpanProfile", profileTypeID=CPU, labelSelector="{}", spanSelector=[SPAN])["flamegraph"]
    assert bars(flame)["slow"] == [120000000, 120000000] and "fast" not in bars(flame)
    none = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="nobody"}')["flamegraph"]
    assert none["names"] == ["total"], none


def test_time_series_add_up():
    series = ask("SelectSeries", profileTypeID=CPU, labelSelector="{}", groupBy=["env"], step=15)["series"]
    got = {s["labels"][0]["value"]: sum(p["value"] for p in s["points"]) for s in series}
    assert got == {"prod": 180000000, "test": 150000000}, got
    assert series[0]["labels"] == [{"name": "env", "value": "prod"}]  # largest first
    assert len(ask("SelectSeries", profileTypeID=CPU, labelSelector="{}", groupBy=["env"], step=15, limit=1)["series"]) == 1


def test_a_profile_belongs_where_it_starts():
    at = (NOW - 60 * 10**9) // 10**6  # the first profile's time; the next is 10 s later
    for start, first in ((at, 30000000), (at + 10000, 40000000)):
        points = ask("SelectSeries", profileTypeID=CPU, start=start, end=start + 1, step=10)["series"][0]["points"]
        assert points == [{"value": first, "timestamp": str(start)}], (points, first)
    # What began before the range is another range's, and the end is part of it.
    assert ask("SelectSeries", profileTypeID=CPU, start=at + 1, end=at + 9999, step=10) == {}
    # no whole step reaches it: it stands at the end, and does not make the last whole step larger
    point, = ask("SelectSeries", profileTypeID=CPU, start=at - 5000, end=at, step=10)["series"][0]["points"]
    assert (point["value"], point["timestamp"]) == (30000000, str(at)), point
    point, = ask("SelectSeries", profileTypeID=CPU, start=at - 5000, end=at + 4000, step=7)["series"][0]["points"]
    assert (point["value"], point["timestamp"]) == (30000000, str(at + 2000)), point


def test_adjacent_ranges_add_up():
    query = CPU + '{service_name="shop"}'
    for step in (10, 13, 60, 300):
        sums = dict.fromkeys(("merge", "series", "diff", "render", "timeline", "own"), 0)
        begin = NOW // 10**9 - 120
        for at in range(begin, NOW // 10**9 + 60, step):
            own = {"start": at * 1000, "end": (at + step) * 1000 - 1, "profileTypeID": CPU, "labelSelector": '{service_name="shop"}'}
            sums["merge"] += int(ask("SelectMergeStacktraces", **own)["flamegraph"].get("total", 0))
            series = ask("SelectSeries", **own, step=4).get("series", [])
            sums["series"] += sum(p["value"] for s in series for p in s["points"])
            sums["diff"] += int(ask("Diff", left=own, right=own)["flamegraph"].get("leftTicks", 0))
            told = json.loads(get("/pyroscope/render", query=query, **{"from": at * 1000, "until": (at + step) * 1000}).body)
            sums["render"] += told["flamebearer"]["numTicks"]
            sums["timeline"] += sum(told["timeline"]["samples"])
            told = get("/api/v1/profile", app="shop", type="cpu", format="folded", **{"from": at, "until": at + step})
            sums["own"] += sum(int(line.rsplit(" ", 1)[1]) for line in told.text.splitlines()) if told.status == 200 else 0
        assert set(sums.values()) == {330000000}, (step, sums)


def test_exemplars_are_single_profiles_that_can_be_asked_for():
    series = ask("SelectSeries", profileTypeID=CPU, labelSelector="{}", groupBy=["service_name"], step=120,
                 exemplarType="EXEMPLAR_TYPE_INDIVIDUAL")["series"]
    dots = [e for p in series[0]["points"] for e in p["exemplars"]]
    largest = max(dots, key=lambda e: int(e["value"]))
    assert largest["value"] == "80000000" and {"name": "env", "value": "prod"} in largest["labels"], dots
    assert not any(label["name"] == "service_name" for label in largest["labels"])
    flame = ask("SelectMergeStacktraces", profileTypeID=CPU, profileIdSelector=[largest["profileId"]])["flamegraph"]
    assert flame["total"] == "80000000" and bars(flame)["fast"][0] == 60000000
    assert "exemplars" not in json.dumps(ask("SelectSeries", profileTypeID=CPU, step=120))


def test_heat_maps_of_profiles_and_of_spans():
    series = ask("SelectHeatmap", profileTypeID=CPU, step=15, groupBy=["env"], queryType=1, exemplarType=2)["series"]
    assert [s["labels"][0]["value"] for s in series] == ["prod", "test"]
    slots = [slot for s in series for slot in s["slots"]]
    assert sum(sum(s["counts"]) for s in slots) == 6
    assert all(len(s["counts"]) == 20 and s["yMin"][0] == 30000000 and s["yMin"][19] < 80000000 for s in slots)
    assert all(len(s["exemplars"]) == sum(n > 0 for n in s["counts"]) for s in slots)
    assert max(int(e["value"]) for s in slots for e in s["exemplars"]) == 80000000
    assert all({"name": "service_name", "value": "shop"} in e["labels"] and not any(label["name"] == "env" for label in e["labels"])
               for s in slots for e in s["exemplars"]), slots
    spans = ask("SelectHeatmap", profileTypeID=CPU, step=15, queryType="HEATMAP_QUERY_TYPE_SPAN",
                exemplarType="EXEMPLAR_TYPE_SPAN")["series"][0]["slots"]
    assert sum(sum(s["counts"]) for s in spans) == 6
    assert {(e["spanId"], e["value"]) for s in spans for e in s["exemplars"]} == {(SPAN, "20000000")}


def functions(profile):
    """{function: self} of a pprof in JSON."""
    names = profile["stringTable"]
    called = {f["id"]: names[int(f.get("name", 0))] for f in profile["function"]}
    where = {x["id"]: called[x["line"][0]["functionId"]] for x in profile["location"]}
    return {where[s["locationId"][0]]: int(s["value"][0]) for s in profile["sample"]}


def test_a_merged_profile_is_pprof():
    want = {"slow": 120000000, "fast": 210000000}
    told = ask("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="shop"}')
    assert functions(told) == want, told
    assert told["periodType"] and int(told["timeNanos"]) // 10**6 == RANGE["end"]
    body = field(1, CPU) + field(2, "{}") + field(3, RANGE["start"]) + field(4, RANGE["end"])
    answer = server.post(QUERIER + "SelectMergeProfile", body, "application/proto")
    assert answer.status == 200 and b"slow" in answer.body and answer.body[:2] != b"\x1f\x8b"
    status, _, _, message = server.grpc(QUERIER + "SelectMergeProfile", body)
    assert status == 0 and message == answer.body
    again = server.post("/api/v1/profile?service=merged", answer.body)  # what was given out can be sent in
    assert again.status == 200, again.text
    assert get("/api/v1/profile", app="merged", format="folded", until=NOW // 10**9 + 3600).text == "main;fast 210000000\nmain;slow 120000000\n"
    nested = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="shop"}',
                 format="PROFILE_FORMAT_PPROF")
    assert functions(nested["pprof"]["profile"]) == want
    assert ask("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="nobody"}') == {}


def test_stack_trace_selectors():
    told = ask("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="shop"}',
               stackTraceSelector={"call_site": [{"name": "main"}, {"name": "slow"}]})
    assert functions(told) == {"slow": 120000000}
    assert ask("SelectMergeProfile", profileTypeID=CPU, stackTraceSelector={"callSite": [{"name": "slow"}]}) == {}
    told = ask("SelectMergeProfile", profileTypeID=CPU, labelSelector='{service_name="shop"}',
               stackTraceSelector={"goPgo": {"keepLocations": 1, "aggregateCallees": True}})
    assert functions(told) == {"slow": 120000000, "fast": 210000000}
    assert all(len(s["locationId"]) == 1 for s in told["sample"])


# Pyroscope's own cases: five stacks of 1, what a filter requests, and the sum of what it leaves.
FRAMES = ["root;a", "root;a;b", "root;b", "root;forbidden", "root;a;forbidden"]
FILTERS = [(dict(includeFunctionNames=["a"]), 3), (dict(includeFunctionNames=["a", "b"]), 1),
           (dict(excludeFunctionNames=["forbidden"]), 3), (dict(includeFunctionNames=["a"], excludeFunctionNames=["forbidden"]), 2),
           (dict(includeFunctionNames=["missing"]), 0), (dict(includeFunctionNameRegexes=["^a$"]), 3),
           (dict(excludeFunctionNameRegexes=["forbid"]), 3), (dict(includeFunctionNameRegexes=["^a$", "^b$"]), 1),
           (dict(includeFunctionNames=["a"], includeFunctionNameRegexes=["^b$"]), 1), ({}, 5)]
LISTS = ["includeFunctionNames", "excludeFunctionNames", "includeFunctionNameRegexes", "excludeFunctionNameRegexes"]


def filtered(server, selector):
    """The sums that all calls with this selector give, in JSON and in protobuf."""
    body = dict(profileTypeID=CPU, labelSelector='{service_name="frames"}', stackTraceSelector=selector)
    sums = [int(ask("SelectMergeStacktraces", **body)["flamegraph"].get("total", 0)),
            sum(int(s["value"][0]) for s in ask("SelectMergeProfile", **body).get("sample", [])),
            sum(p["value"] for s in ask("SelectSeries", **body, step=15).get("series", []) for p in s["points"])]
    lists = b"".join(field(LISTS.index(k) + 1, v) for k, names in selector.get("frameFilter", {}).items() for v in names)
    told = b"".join(field(1, field(1, s["name"])) for s in selector.get("callSite", [])) + field(3, lists)
    head = field(1, CPU) + field(2, '{service_name="frames"}') + field(3, RANGE["start"]) + field(4, RANGE["end"])
    answer = server.post(QUERIER + "SelectMergeStacktraces", head + field(7, told), "application/proto")
    in_json = json.dumps({**RANGE, **body})
    same = server.post(QUERIER + "SelectMergeStacktraces", in_json, JSON)
    assert answer.status == same.status == 200, (answer.status, same.text)
    names = json.loads(same.body)["flamegraph"]["names"][1:]
    assert all(name.encode() in answer.body for name in names), (selector, answer.body)
    assert not any(s.encode() in answer.body for s in {"a", "b", "forbidden", "root"} - set(names) if len(s) > 1)
    return sums


def test_frames_choose_whole_stacks_in_every_call():
    assert server.post("/api/v1/profile?service=frames", pprof({s: 1 for s in FRAMES}, when=NOW - 20 * 10**9)).status == 200
    for _ in range(2):  # in memory, and in a block
        for lists, want in FILTERS:
            assert filtered(server, {"frameFilter": lists}) == [want] * 3, lists
        both = {"callSite": [{"name": "root"}, {"name": "a"}], "frameFilter": {"includeFunctionNames": ["b"]}}
        assert filtered(server, both) == [1] * 3
        assert filtered(server, {"callSite": [{"name": "root"}, {"name": "a"}]}) == [3] * 3
        flame = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="frames"}',
                    stackTraceSelector={"frameFilter": {"includeFunctionNames": ["b"]}})["flamegraph"]
        assert bars(flame)["root"][0] == 2, flame  # from the root on
        assert server.post("/api/v1/flush", b"", JSON).status == 200
    for name, kind in (("includeFunctionNameRegexes", "include"), ("excludeFunctionNameRegexes", "exclude")):
        answer = server.post(QUERIER + "SelectSeries", json.dumps(dict(
            RANGE, profileTypeID=CPU, step=15, stackTraceSelector={"frameFilter": {name: ["["]}})), JSON)
        told = json.loads(answer.body)
        assert answer.status == 400 and told["code"] == "invalid_argument", told
        assert told["message"].startswith(f'invalid {kind} function name regex "[": '), told


def test_our_own_call_chooses_stacks_by_frames_too():
    def folded(**params):
        answer = get("/api/v1/profile", app="frames", format="folded", **params)
        assert answer.status == 200, answer.text
        return answer.text.splitlines()
    assert folded(frame="b") == ["root;a;b 1", "root;b 1"]
    assert folded(not_frame="forbidden", frame="a") == ["root;a 1", "root;a;b 1"]
    assert folded(frame_regex="forbid", not_frame_regex="^a$") == ["root;forbidden 1"]
    assert folded(call_site="root", frame="b", not_frame="a") == ["root;b 1"]
    bad = get("/api/v1/profile", app="frames", frame_regex="[")
    assert bad.status == 400 and "regex" in bad.text, bad.text


def test_a_span_selector_is_the_same_in_both_calls():
    body = dict(profileTypeID=CPU, labelSelector="{}", spanSelector=[SPAN])
    assert ask("SelectMergeStacktraces", **body) == ask("SelectMergeSpanProfile", **body)
    told = ask("SelectMergeStacktraces", **body, stackTraceSelector={"frameFilter": {"excludeFunctionNames": ["slow"]}})
    assert told["flamegraph"]["names"] == ["total"], told


def unknown(api):
    name = f'spanflame_unknown_request_fields_total{{api="{api}"}} '
    return int(next(line for line in server.get("/metrics").text.splitlines() if line.startswith(name)).split()[-1])


def test_fields_are_obeyed_refused_or_counted():
    for method, body in (("SelectMergeStacktraces", {"format": "PROFILE_FORMAT_OTHER"}), ("SelectMergeStacktraces", {"format": -2}),
                         ("SelectMergeStacktraces", {"format": "PROFILE_FORMAT_FUNCTION_TREE", "formatOptions": {"functionTree": {"direction": "ASIDE"}}}),
                         ("Diff", {"format": "PROFILE_FORMAT_FUNCTION_TREE"}),
                         ("SelectMergeStacktraces", {"format": -1}), ("SelectMergeSpanProfile", {"format": "PROFILE_FORMAT_SANDWICH", "spanSelector": [SPAN]}),
                         ("Diff", {"format": "PROFILE_FORMAT_DOT"}), ("SelectMergeSpanProfile", {"format": "PROFILE_FORMAT_FUNCTIONS", "spanSelector": [SPAN]}),
                         ("SelectMergeSpanProfile", {"format": "PROFILE_FORMAT_PPROF", "spanSelector": [SPAN]}),
                         ("SelectSeries", {"step": 15, "exemplarType": 7}),
                         ("SelectSeries", {"step": 15, "stackTraceSelector": {"goPgo": {"keepLocations": 3}}})):
        answer = server.post(QUERIER + method, json.dumps({**RANGE, "profileTypeID": CPU, **body}), JSON)
        assert answer.status == 501 and json.loads(answer.body)["code"] == "unimplemented", (method, body, answer.text)
    params = {"query": CPU + "{}", "from": RANGE["start"], "until": RANGE["end"]}
    for aggregation, status in (("sum", 200), ("avg", 200), ("max", 501)):
        assert get("/pyroscope/render", aggregation=aggregation, **params).status == status, aggregation
    before = unknown("pyroscope")
    ask("SelectSeries", profileTypeID=CPU, step=15, ofNextYear=[1, {"a": 2}], spanSelector=[SPAN])
    body = field(1, RANGE["start"]) + field(2, RANGE["end"]) + field(77, "x")
    assert server.post(QUERIER + "ProfileTypes", body, "application/proto").status == 200
    get("/pyroscope/label-values", label="env", other=1)
    assert unknown("pyroscope") == before + 4


def test_every_field_of_every_message_changes_the_answer():
    """The messages of Pyroscope's querier.proto and types.proto, field by field: with a value of its own, the answer is
    another than without; what is counted as unknown is not one of them."""
    begin, end, late = RANGE["start"], RANGE["end"], RANGE["end"] + 3600000
    times, none = (field(1, begin), field(2, end)), '{service_name="nobody"}'
    first, ids = field(1, CPU) + field(2, "{}"), ask("SelectSeries", profileTypeID=CPU, step=120, exemplarType=2)["series"][0]["points"]
    one = ids[0]["exemplars"][0]["profileId"]
    site = field(1, field(1, "main")) + field(1, field(1, "fast"))
    both = first + field(3, begin) + field(4, end)
    cases = {  # method: (the fields of a query, {field: another value})
        "ProfileTypes": (dict(enumerate(times, 1)), {1: late, 2: begin + 1}),
        "LabelNames": ({2: field(2, begin), 3: field(3, end)}, {1: none, 2: late, 3: begin + 1}),
        "LabelValues": ({1: field(1, "env"), 3: field(3, begin), 4: field(4, end)}, {1: "service_name", 2: none, 3: late, 4: begin + 1}),
        "Series": ({3: field(3, begin), 4: field(4, end)}, {1: none, 2: "env", 3: late, 4: begin + 1}),
        "SelectMergeStacktraces": ({1: field(1, CPU), 2: field(2, "{}"), 3: field(3, begin), 4: field(4, end)},
                                   {1: CPU.replace("cpu", "cpo"), 2: none, 3: late, 4: begin + 1, 5: 2, 6: 2, 7: site, 8: one,
                                    9: field(2, 1), 10: "0" * 31 + "1", 11: SPAN}),
        "SelectMergeSpanProfile": ({1: field(1, CPU), 2: field(2, "{}"), 3: field(3, SPAN), 4: field(4, begin), 5: field(5, end)},
                                   {1: CPU.replace("cpu", "cpo"), 2: none, 3: "0" * 15 + "1", 4: late, 5: begin + 1, 6: 1, 7: 2}),
        "SelectMergeProfile": ({1: field(1, CPU), 2: field(2, "{}"), 3: field(3, begin), 4: field(4, end)},
                               {1: CPU.replace("cpu", "cpo"), 2: none, 3: late, 4: begin + 1, 5: 2, 6: site, 7: one, 8: "0" * 31 + "1"}),
        "SelectSeries": ({1: field(1, CPU), 2: field(2, "{}"), 3: field(3, begin), 4: field(4, end), 6: varint(6 << 3 | 1) + struct.pack("<d", 15)},
                         {1: CPU.replace("cpu", "cpo"), 2: none, 3: late, 4: begin + 1, 5: "env", 6: struct.pack("<d", 120), 7: 1, 8: site, 10: 2}),
        "SelectHeatmap": ({1: field(1, CPU), 2: field(2, "{}"), 3: field(3, begin), 4: field(4, end), 5: varint(5 << 3 | 1) + struct.pack("<d", 15)},
                          {1: CPU.replace("cpu", "cpo"), 2: none, 3: late, 4: begin + 1, 5: struct.pack("<d", 120), 6: "env", 7: 2, 8: 2}),
        "Diff": ({1: field(1, both), 2: field(2, both)}, {1: first + field(3, begin) + field(4, MIDDLE), 2: first + field(3, MIDDLE) + field(4, end)}),
        "AnalyzeQuery": ({2: field(2, begin), 3: field(3, end), 4: field(4, CPU + "{}")}, {2: late, 3: begin + 1, 4: CPU + none})}
    before = unknown("pyroscope")
    for method, (given, others) in cases.items():
        def answer(parts):
            told = server.post(QUERIER + method, b"".join(parts.values()), "application/proto")
            return told.status, told.body
        base = answer(given)
        assert base[0] == 200, (method, base)
        for number, value in others.items():
            is_double = isinstance(value, bytes) and len(value) == 8 and method in ("SelectSeries", "SelectHeatmap")
            part = varint(number << 3 | 1) + value if is_double else field(number, value)
            assert answer({**given, number: part}) != base, (method, number)
    # Limits of series: of two groups one stays.
    for method, numbers in (("SelectSeries", (5, 6, 9)), ("SelectHeatmap", (6, 5, 9))):
        body = cases[method][0][1] + b"".join(cases[method][0].values()) + field(numbers[0], "env")
        assert server.post(QUERIER + method, body, "application/proto").body != server.post(QUERIER + method, body + field(numbers[2], 1), "application/proto").body, method
    assert unknown("pyroscope") == before


def test_fields_that_no_message_has_are_counted():
    label = field(1, field(1, "__name__") + field(2, "process_cpu") + field(3, "x")) + field(1, field(1, "service_name") + field(2, "counted"))
    sent = field(1, label + field(2, field(1, pprof({"main": 7})) + field(2, "an-id") + field(9, 1)) + field(3, b"") + field(8, 1)) + field(7, 1)
    rule = {"metricName": "profiles_recorded_x", "matchers": ['{__profile_type__="%s"}' % CPU], "groupBy": [], "externalLabels": [], "later": 1}
    for path, body, kind, n in (("/push.v1.PusherService/Push", sent, "application/proto", 4),
                                ("/settings.v1.SettingsService/Set", json.dumps({"setting": {"name": "a", "value": "b", "c": 1}, "d": 2}), JSON, 2),
                                ("/settings.v1.SettingsService/Set", field(1, field(1, "a") + field(2, "b") + field(9, 1)), "application/proto", 1),
                                ("/settings.v1.RecordingRulesService/UpsertRecordingRule", json.dumps(rule), JSON, 1)):
        before = unknown("pyroscope")
        answer = server.post(path, body, kind)
        assert answer.status == 200, (path, answer.text)
        assert unknown("pyroscope") == before + n, (path, unknown("pyroscope") - before)
    assert server.post("/settings.v1.SettingsService/Delete", json.dumps({"name": "a"}), JSON).status == 200


def test_other_forms_of_a_tree():
    told = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="shop"}', format=2)
    assert base64.b64decode(told["tree"]).startswith(b"\x00\x00\x01\x04main\x00\x02"), told
    told = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="shop"}', format="PROFILE_FORMAT_DOT")
    assert told["dot"].startswith("digraph") and "slow\\n120 ms (36.36%)" in told["dot"], told["dot"]
    traces = server.post(QUERIER + "SelectMergeStacktraces",
                         json.dumps(dict(RANGE, profileTypeID=CPU, traceIdSelector=["1" * 32], spanSelector=[SPAN])), JSON)
    assert traces.status == 400, traces.text


def test_two_ranges_compare():
    sides = {"left": {"profileTypeID": CPU, "labelSelector": '{service_name="shop"}', "start": RANGE["start"], "end": MIDDLE},
             "right": {"profile_typeID": CPU, "label_selector": '{service_name="shop"}', "start": MIDDLE + 1,
                       "end": RANGE["end"]}}
    flame = ask("Diff", **sides)["flamegraph"]
    assert (flame["leftTicks"], flame["rightTicks"], flame["total"]) == ("120000000", "210000000", "330000000"), flame
    values = [int(v) for v in flame["levels"][1]["values"]]
    assert values[:6] == [0, 120000000, 0, 0, 210000000, 0] and flame["names"][values[6]] == "main"
    answer = server.post(QUERIER + "Diff", json.dumps({"left": sides["left"]}), JSON)
    assert answer.status == 400 and "right" in json.loads(answer.body)["message"]


def get(path, **params):
    return server.get(path + "?" + urllib.parse.urlencode(params))


def test_the_older_interface_draws_and_compares():
    params = {"from": RANGE["start"], "until": RANGE["end"]}
    query = CPU + '{service_name="shop"}'
    told = json.loads(get("/pyroscope/render", query=query, groupBy="env", **params).body)
    assert told["version"] == 1 and told["flamebearer"]["numTicks"] == 330000000
    assert told["metadata"] == {"format": "single", "spyName": "", "sampleRate": 10**9, "units": "samples", "name": "cpu"}
    timeline = told["timeline"]
    assert timeline["durationDelta"] == 15 and timeline["startTime"] % 15 == 0
    assert sum(timeline["samples"]) == 330000000
    assert {k: sum(v["samples"]) for k, v in told["groups"].items()} == {"prod": 180000000, "test": 150000000}
    dot = get("/pyroscope/render", query=query, format="dot", **params)
    assert dot.text.startswith("digraph"), dot.text
    told = get("/pyroscope/render-diff", leftQuery=query, leftFrom=params["from"], leftUntil=MIDDLE, rightQuery=query,
               rightFrom=MIDDLE + 1, rightUntil=params["until"])
    told = json.loads(told.body)
    assert (told["leftTicks"], told["rightTicks"]) == (120000000, 210000000) and told["metadata"]["format"] == "double"
    assert json.loads(get("/pyroscope/label-values", label="__name__").body) == [CPU]
    assert json.loads(get("/pyroscope/label-values", label="env").body) == ["prod", "test"]
    for path, more in (("/pyroscope/render", {"query": '{service_name="shop"}'}), ("/pyroscope/render", {}),
                       ("/pyroscope/render-diff", {"leftQuery": query, "rightQuery": "a:b:c:d:e{}"})):
        answer = get(path, **more)
        assert answer.status == 400 and json.loads(answer.body)["code"] == "invalid_argument", (path, answer.text)


def test_settings_are_kept():
    def call(method, body, status=200):
        answer = server.post("/settings.v1.SettingsService/" + method, json.dumps(body), JSON)
        assert answer.status == status, (method, answer.status, answer.text)
        return json.loads(answer.body)
    assert call("Get", {}) == {}
    told = call("Set", {"setting": {"name": "pluginSettings", "value": '{"maxNodes": 100}\n'}})["setting"]
    assert told["value"] == '{"maxNodes": 100}\n' and int(told["modifiedAt"]) > 0
    call("Set", {"setting": {"name": "other", "value": "x"}})
    call("Set", {"setting": {"name": "other", "value": "y"}})
    call("Set", {"setting": {"value": "nameless"}}, 400)
    call("Set", {"setting": {"name": "other", "value": "late", "modifiedAt": "1000"}}, 409)
    told = call("Set", {"setting": {"name": "timed", "value": "1", "modifiedAt": "1000"}})["setting"]
    assert told["modifiedAt"] == "1000", told
    assert call("Set", {"setting": {"name": "timed", "value": "2", "modifiedAt": 999}}, 409)["code"] == "already_exists"
    call("Delete", {"name": "timed"})
    body = field(1, field(1, "third") + field(2, "z"))
    assert server.grpc("/settings.v1.SettingsService/Set", body)[0] == 0
    server.stop()
    server.start()
    assert {s["name"]: s["value"] for s in call("Get", {})["settings"]} == {
        "pluginSettings": '{"maxNodes": 100}\n', "other": "y", "third": "z"}
    assert call("Delete", {"name": "other"}) == {} and call("Delete", {"name": "never"}) == {}
    assert server.grpc("/settings.v1.SettingsService/Delete", field(1, "third"))[0] == 0
    assert [s["name"] for s in call("Get", {})["settings"]] == ["pluginSettings"]


def test_a_time_series_shows_the_span_with_the_most():
    told = ask("SelectSeries", profileTypeID=CPU, labelSelector='{service_name="shop"}', step=15,
               groupBy=["service_name"], exemplarType="EXEMPLAR_TYPE_SPAN")["series"]
    shown = [e for s in told for p in s["points"] for e in p.get("exemplars", [])]
    assert shown and {e["spanId"] for e in shown} == {SPAN} and all(int(e["value"]) >= 20000000 for e in shown), told
    assert all("profileId" not in e for e in shown)
    # The labels that the group leaves out, as those of profiles have them.
    assert all({"env"} == {label["name"] for label in e["labels"]} & {"env", "service_name"} for e in shown), shown


def test_tables_of_functions():
    side = dict(RANGE, profileTypeID=CPU, labelSelector='{service_name="shop"}', format="PROFILE_FORMAT_FUNCTIONS")
    table = ask("SelectMergeStacktraces", **side)["functions"]
    rows = {f["name"]: (int(f.get("total", 0)), int(f.get("self", 0))) for f in table["functions"]}
    flame = ask("SelectMergeStacktraces", profileTypeID=CPU, labelSelector='{service_name="shop"}')["flamegraph"]
    assert rows["main"] == (int(flame["total"]), 0) and table["total"] == flame["total"], table
    assert sum(own for _, own in rows.values()) == int(table["total"]) and int(table["totalFunctions"]) == len(rows), table
    order = [(-own, -total, name) for name, (total, own) in rows.items()]
    assert order == sorted(order), table
    one = ask("SelectMergeStacktraces", **dict(side, formatOptions={"functions": {"limit": "1"}}))["functions"]
    assert one == dict(table, functions=table["functions"][:1])
    assert ask("SelectMergeStacktraces", **dict(side, formatOptions={"functions": {"limit": "0"}}))["functions"] == table
    assert ask("SelectMergeStacktraces", **dict(side, maxNodes=2))["functions"]["functions"] == table["functions"][:2]
    for bad in ({"maxNodes": 5, "formatOptions": {"functions": {}}}, {"formatOptions": {"functions": {"limit": -1}}}):
        answer = server.post(QUERIER + "SelectMergeStacktraces", json.dumps(dict(side, **bad)), JSON)
        assert answer.status == 400 and json.loads(answer.body)["code"] == "invalid_argument", answer.text
    # Recursion counts once in the total.
    assert server.post("/api/v1/profile?service=recursive", pprof({"a;b;a": 3, "a": 4}, when=NOW - 10**9)).status == 200
    told = ask("SelectMergeStacktraces", **dict(side, labelSelector='{service_name="recursive"}'))["functions"]["functions"]
    assert told == [{"name": "a", "total": "7", "self": "7"}, {"name": "b", "total": "3"}], told


CALLS = {"a;b;c;d": 1, "a;b;c;e": 2, "a;c;e": 4, "x;c": 8, "a;b;a;b;c": 16, "y": 32}


def calls(selection, direction, *site, depth=None, status=200, service="calls", **more):
    """The trees of a question, as {"callers": node, "callees": node} with node = (name, total, self, [nodes])."""
    options = {"selection": "FUNCTION_TREE_SELECTION_" + selection, "direction": "FUNCTION_TREE_DIRECTION_" + direction, "maxDepth": depth}
    body = dict(RANGE, profileTypeID=CPU, labelSelector=f'{{service_name="{service}"}}', format="PROFILE_FORMAT_FUNCTION_TREE",
                formatOptions={"functionTree": options}, stackTraceSelector={"callSite": [{"name": name} for name in site]}, **more)
    answer = server.post(QUERIER + "SelectMergeStacktraces", json.dumps(body), JSON)
    assert answer.status == status, (body, answer.status, answer.text)
    told = json.loads(answer.body)
    return {side: plain_node(tree.get("root")) for side, tree in told["functionTree"].items()} if status == 200 else told


def plain_node(node):
    if not node:
        return None
    children = [plain_node(child) for child in node["children"]]
    assert not children or node["hasChildren"] is True
    return (node["name"], int(node["total"]), int(node.get("self", 0)), children or (["..."] if node.get("hasChildren") else []))


def test_trees_of_functions():
    assert server.post("/api/v1/profile?service=calls", pprof(CALLS, when=NOW - 10**9)).status == 200
    # A path from the root; without one, all there is.
    assert calls("ROOT_PATH", "CALLEES", depth=1) == {"callees": ("total", 63, 0, [("y", 32, 32, []), ("a", 23, 0, ["..."]), ("x", 8, 0, ["..."])])}
    assert calls("ROOT_PATH", "CALLEES", "a", "b") == {"callees": ("b", 19, 0, [
        ("a", 16, 0, [("b", 16, 0, [("c", 16, 16, [])])]), ("c", 3, 0, [("e", 2, 2, []), ("d", 1, 1, [])])])}
    assert calls("ROOT_PATH", "CALLEES", "b") == {"callees": None}
    # A chain anywhere: of a recursive one the outermost call counts, so that no sample counts twice.
    assert calls("FUNCTION_CHAIN", "CALLEES", "c") == {"callees": ("c", 31, 24, [("e", 6, 6, []), ("d", 1, 1, [])])}
    assert calls("FUNCTION_CHAIN", "CALLEES", "b", "c") == {"callees": ("c", 19, 16, [("e", 2, 2, []), ("d", 1, 1, [])])}
    assert calls("FUNCTION_CHAIN", "CALLEES", "a", "b", depth=1) == {"callees": ("b", 19, 0, [("a", 16, 0, ["..."]), ("c", 3, 0, ["..."])])}
    # Callers of a chain are those of its first function.
    assert calls("FUNCTION_CHAIN", "CALLERS", "c") == {"callers": ("c", 31, 0, [
        ("b", 19, 0, [("a", 19, 3, [("b", 16, 0, [("a", 16, 16, [])])])]), ("x", 8, 8, []), ("a", 4, 4, [])])}
    assert calls("FUNCTION_CHAIN", "CALLERS", "b", "c") == {"callers": ("b", 19, 0, [("a", 19, 3, [("b", 16, 0, [("a", 16, 16, [])])])])}
    both = calls("FUNCTION_CHAIN", "BOTH", "c")
    assert both == {**calls("FUNCTION_CHAIN", "CALLERS", "c"), **calls("FUNCTION_CHAIN", "CALLEES", "c")}
    assert calls("FUNCTION_CHAIN", "BOTH", "nowhere") == {"callers": None, "callees": None}
    # Samples are chosen first.
    told = querier_tree_of(frameFilter={"excludeFunctionNames": ["e"]})
    assert told["callees"] == ("c", 25, 24, [("d", 1, 1, [])]), told


def querier_tree_of(**selector):
    body = dict(profileTypeID=CPU, labelSelector='{service_name="calls"}', format="PROFILE_FORMAT_FUNCTION_TREE",
                formatOptions={"function_tree": {"selection": "FUNCTION_TREE_SELECTION_FUNCTION_CHAIN", "direction": "FUNCTION_TREE_DIRECTION_CALLEES"}},
                stackTraceSelector={"callSite": [{"name": "c"}], **selector})
    return {side: plain_node(tree.get("root")) for side, tree in ask("SelectMergeStacktraces", **body)["functionTree"].items()}


def test_trees_of_functions_say_what_does_not_go_together():
    for question, words in ((("ROOT_PATH", "CALLERS", "a"), "callees only"), (("ROOT_PATH", "BOTH", "a"), "callees only"),
                            (("FUNCTION_CHAIN", "CALLEES"), "at least one"), (("FUNCTION_CHAIN", "BOTH", "a", "b"), "exactly one function"),
                            (("FUNCTION_CHAIN", "CALLEES", "a", ""), "without a name"), (("UNSPECIFIED", "CALLEES", "a"), "a selection"),
                            (("FUNCTION_CHAIN", "UNSPECIFIED", "a"), "a direction")):
        told = calls(*question, status=400)
        assert told["code"] == "invalid_argument" and words in told["message"], told
    for depth in (-1, 129):
        assert "max_depth is 0 to 128" in calls("FUNCTION_CHAIN", "CALLEES", "a", depth=depth, status=400)["message"]
    assert "max_nodes" in calls("FUNCTION_CHAIN", "CALLEES", "a", status=400, maxNodes=5)["message"]
    deep = ";".join(f"f{i}" for i in range(300))
    assert server.post("/api/v1/profile?service=deep", pprof({deep: 1}, when=NOW - 10**9)).status == 200
    node, n = calls("ROOT_PATH", "CALLEES", "f0", depth=128, service="deep")["callees"], 0
    while node != "...":
        node, n = node[3][0], n + 1
    assert n == 129, n


def test_trees_of_functions_of_two_sides():
    options = {"format": "PROFILE_FORMAT_FUNCTION_TREE", "formatOptions": {"functionTree": {
        "selection": "FUNCTION_TREE_SELECTION_FUNCTION_CHAIN", "direction": "FUNCTION_TREE_DIRECTION_BOTH"}}}
    left = dict(RANGE, profileTypeID=CPU, labelSelector='{service_name="calls"}', stackTraceSelector={"callSite": [{"name": "b"}]}, **options)
    right = dict(RANGE, profileTypeID=CPU, labelSelector='{service_name="recursive"}', stackTraceSelector={"callSite": [{"name": "b"}]})
    told = ask("Diff", left=left, right=right)["functionTree"]
    assert plain_node(told["left"]["callees"]["root"])[:2] == ("b", 19) and plain_node(told["right"]["callees"]["root"])[:2] == ("b", 3), told
    assert plain_node(told["right"]["callers"]["root"]) == ("b", 3, 0, [("a", 3, 3, [])]), told
    answer = server.post(QUERIER + "Diff", json.dumps({"left": left, "right": dict(right, stackTraceSelector={})}), JSON)
    assert answer.status == 400 and "at least one function" in answer.text, answer.text


def test_tables_of_two_sides_have_the_same_rows():
    left = dict(RANGE, profileTypeID=CPU, labelSelector='{service_name="shop"}')
    right = dict(left, labelSelector='{service_name="recursive"}')
    whole, other = (ask("SelectMergeStacktraces", **dict(s, format="PROFILE_FORMAT_FUNCTIONS"))["functions"] for s in (left, right))
    told = ask("Diff", left=left, right=right, format="PROFILE_FORMAT_FUNCTIONS")["functions"]
    assert (told["leftTotal"], told["rightTotal"]) == (whole["total"], other["total"]), told
    rows = {f["name"]: f for f in told["functions"]}
    assert set(rows) == {f["name"] for t in (whole, other) for f in t["functions"]} and rows["a"]["rightSelf"] == "7", told
    options = {"format": "PROFILE_FORMAT_FUNCTIONS", "formatOptions": {"functions": {"limit": "0"}}}
    told = ask("Diff", left=dict(left, **options), right=dict(right, **options))["functions"]
    names = [[f["name"] for f in told[side]["functions"]] for side in ("left", "right")]
    assert names[0] == names[1] and set(names[0]) == set(rows) and told["left"]["total"] == whole["total"], told
    answer = server.post(QUERIER + "Diff", json.dumps({"left": dict(left, **options), "right": dict(right, profileTypeID="memory:alloc_space:bytes:space:bytes")}), JSON)
    assert answer.status == 400 and "same profile type" in answer.text, answer.text


def test_exemplars_of_spans_are_of_the_stacks_that_are_asked_for():
    def exemplars(method="SelectSeries", **selector):
        told = ask(method, profileTypeID=CPU, labelSelector='{service_name="shop"}', step=15, exemplarType="EXEMPLAR_TYPE_SPAN",
                   stackTraceSelector=selector).get("series", [])
        return sum(p["value"] for s in told for p in s["points"]), [e for s in told for p in s["points"] for e in p.get("exemplars", [])]
    everything, of_all = exemplars()
    total, shown = exemplars(callSite=[{"name": "main"}, {"name": "slow"}])
    assert 0 < total < everything and shown and [e["spanId"] for e in shown] == [e["spanId"] for e in of_all], shown
    slow, shown = exemplars(frameFilter={"includeFunctionNames": ["slow"]})
    assert slow and sum(int(e["value"]) for e in shown) == slow == sum(int(e["value"]) for e in of_all), (slow, shown)
    rest, shown = exemplars(frameFilter={"excludeFunctionNames": ["slow"]})
    assert rest == everything - slow and not shown, (rest, shown)


def test_a_question_can_be_asked_now_and_answered_later():
    question = dict(profileTypeID=CPU, labelSelector="{}")
    now = ask("SelectMergeStacktraces", **question)
    told = ask("SelectMergeStacktraces", **question, **{"async": {"type": "ASYNC_QUERY_TYPE_FORCE"}})
    assert set(told) == {"async"} and told["async"]["status"] == "ASYNC_QUERY_STATUS_IN_PROGRESS", told
    later = json.loads(server.post(QUERIER + "SelectMergeStacktraces",
                                   json.dumps({"async": {"requestId": told["async"]["requestId"]}}), JSON).body)
    assert later["async"]["status"] == "ASYNC_QUERY_STATUS_SUCCESS" and later["flamegraph"] == now["flamegraph"], later
    for bad in ("j.!", "x", "p.AAAA", "j." + "e30="):
        answer = server.post(QUERIER + "SelectMergeStacktraces", json.dumps({"async": {"requestId": bad}}), JSON)
        assert answer.status == 404 and json.loads(answer.body)["code"] == "not_found", (bad, answer.text)


def test_what_is_not_provided_is_said_so():
    for path in (QUERIER + "NoSuchMethod", "/settings.v1.RecordingRulesService/NoSuchMethod",
                 "/adhocprofiles.v1.AdHocProfileService/Delete", "/vcs.v1.VCSService/GithubApp"):
        answer = server.post(path, "{}", JSON)
        assert answer.status == 501 and answer.getheader("content-type") == JSON, (path, answer.status, answer.text)
        assert json.loads(answer.body)["code"] == "unimplemented"
    assert server.grpc(QUERIER + "NoSuchMethod", b"")[0] == 12
    assert server.get(QUERIER + "ProfileTypes").status == 405


def test_what_the_server_says_of_itself():
    flags = json.loads(server.post("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", "{}", JSON).body)
    assert {f["name"]: f.get("enabled", False) for f in flags["featureFlags"]}["v2StorageLayer"] is True
    assert json.loads(server.post("/version.v1.Version/Version", "{}", JSON).body) == {"QuerierAPI": "1"}
    assert server.grpc("/grpc.health.v1.Health/Check", b"")[3] == b"\x08\x01"
    assert server.json("/api/v1/status/buildinfo")["status"] == "success"
    told = ask("AnalyzeQuery", query=CPU + '{service_name="shop"}')
    assert told["queryScopes"][0]["seriesCount"] == "2" and told["queryScopes"][0]["profileCount"] == "6", told
    assert told["queryImpact"]["totalQueriedSeries"] == "2"


def test_stats_say_that_there_is_data():
    assert ask("GetProfileStats")["dataIngested"] is True


def test_what_is_wrong_is_said_in_json():
    for method, body, word in (("LabelValues", dict(RANGE), "name"), ("LabelNames", {}, "time range"),
                               ("SelectSeries", dict(RANGE, profileTypeID=CPU, step=0), "step"),
                               ("SelectMergeStacktraces", dict(RANGE, profileTypeID="a:b", labelSelector="{}"), "parts"),
                               ("SelectMergeStacktraces", dict(RANGE, profileTypeID=CPU, labelSelector="{x"), "selector"),
                               ("SelectMergeSpanProfile", dict(RANGE, profileTypeID=CPU, spanSelector=["12"]), "16")):
        answer = server.post(QUERIER + method, json.dumps(body), JSON)
        assert answer.status == 400, (method, answer.status, answer.text)
        error = json.loads(answer.body)
        assert error["code"] == "invalid_argument" and word in error["message"], (method, error)


tap.run(sys.modules[__name__])
