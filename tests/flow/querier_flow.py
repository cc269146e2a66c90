#!/usr/bin/env python3
"""What Grafana's Pyroscope data source asks, over Connect in JSON and protobuf and over gRPC."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, Server, field, tap  # noqa: E402

server = Server().start()
QUERIER = "/querier.v1.QuerierService/"
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SPAN = "00f1a2b3c4d5e6f7"
NOW = time.time_ns()
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
