#!/usr/bin/env python3
"""Our flame graphs in Grafana's own flame graph panel (@grafana/flamegraph, with @grafana/data): the answers of the querier,
of /pyroscope/render and render-diff, and of ad hoc profiles, each bar compared with our folded text."""
import base64
import json
import os
import subprocess
import sys
import time
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import JSON, Server, tap  # noqa: E402

try:
    PANEL = toolchain.client("grafana_flame")
except tap.Skip as reason:
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
NOW = time.time_ns()
RANGE = {"start": NOW // 10**6 - 600000, "end": NOW // 10**6 + 60000}
server = Server().start()
STACKS = {"main;handle;parse": 40, "main;handle;render;draw": 25, "main;handle;render": 5, "main;idle": 30, "boot": 7,
          "main;handle;parse;main": 3}
OTHER = {"main;handle;parse": 10, "main;handle;new": 60, "main;idle": 30}
for name, stacks in (("shop", STACKS), ("other", OTHER)):
    assert server.post(f"/api/v1/profile?service={name}", pprof(stacks, when=NOW - 10 * 10**9)).status == 200


def panel(names, levels, is_diff=False, sandwich=None):
    graph = json.dumps({"names": names, "levels": levels, "isDiff": is_diff, "sandwich": sandwich})
    done = subprocess.run(PANEL, input=graph, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # a package may greet on the lines before


def selfs(told):
    """{stack: self} of what the panel holds, without the root"""
    return {path.split(";", 1)[1]: own for path, _, own, _, _ in told["shown"] if own and ";" in path}


def totals(stacks):
    out = {}
    for stack, value in stacks.items():
        parts = stack.split(";")
        for n in range(len(parts) + 1):
            key = ";".join(["total"] + parts[:n])
            out[key] = out.get(key, 0) + value
    return out


def merge(**more):
    body = dict(RANGE, profileTypeID=CPU, labelSelector='{service_name="shop"}', **more)
    answer = server.post("/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps(body), JSON)
    assert answer.status == 200, answer.text
    flame = json.loads(answer.body)["flamegraph"]
    return flame["names"], [level["values"] for level in flame["levels"]]


def test_a_flame_graph_of_the_querier_is_what_was_sent():
    told = panel(*merge(), sandwich="parse")
    assert selfs(told) == STACKS and not told["isDiff"] and told["unit"] == "Time", told
    assert {path: value for path, value, _, _, _ in told["shown"]} == totals(STACKS), told
    callers, callees = told["sandwich"]
    assert ["handle", 43] in callers and ["parse", 43] in callees and ["main", 3] in callees, told["sandwich"]


def test_what_a_limit_cut_is_other_and_nothing_is_lost():
    told = panel(*merge(maxNodes=4))
    assert sum(selfs(told).values()) == sum(STACKS.values()) and any(path.endswith(";other") for path, *_ in told["shown"]), told


def test_bars_do_not_overlap():
    for told in (panel(*merge()), panel(*merge(maxNodes=4))):
        for level in range(6):
            bars = sorted((start, value) for path, value, _, _, start in told["shown"] if path.count(";") == level)
            assert all(a[0] + a[1] <= b[0] for a, b in zip(bars, bars[1:])), (level, bars)


def get(path, **params):
    answer = server.get(path + "?" + urllib.parse.urlencode(params))
    assert answer.status == 200, answer.text
    return json.loads(answer.body)


def test_render_and_the_querier_agree():
    told = get("/pyroscope/render", query=CPU + '{service_name="shop"}', **{"from": RANGE["start"], "until": RANGE["end"]}, format="json")
    assert selfs(panel(told["flamebearer"]["names"], told["flamebearer"]["levels"])) == STACKS


def test_a_comparison_has_both_sides():
    side = dict(RANGE, profileTypeID=CPU, labelSelector='{service_name="shop"}')
    answer = server.post("/querier.v1.QuerierService/Diff", json.dumps(
        {"left": side, "right": dict(side, labelSelector='{service_name="other"}')}), JSON)
    flame = json.loads(answer.body)["flamegraph"]
    told = panel(flame["names"], [level["values"] for level in flame["levels"]], True)
    assert told["isDiff"] and selfs(told) == STACKS, told
    right = {path: value for path, _, _, value, _ in told["shown"] if value}
    assert right == totals(OTHER), right


def test_an_ad_hoc_profile_is_what_was_uploaded():
    folded = "".join(f"{stack} {value}\n" for stack, value in STACKS.items()).encode()
    answer = server.post("/adhocprofiles.v1.AdHocProfileService/Upload", json.dumps(
        {"name": "x.collapsed", "profile": base64.b64encode(folded).decode()}), JSON)
    flame = json.loads(json.loads(answer.body)["flamebearerProfile"])["flamebearer"]
    assert selfs(panel(flame["names"], flame["levels"])) == STACKS


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
