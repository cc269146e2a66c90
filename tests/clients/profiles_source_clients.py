#!/usr/bin/env python3
"""Profiles Drilldown's own clients against a server: every call that they make, and what their code reads in the answers.
SPANFLAME_PROFILES_DRILLDOWN_SOURCE is the folder with a checkout of the app, which is not written to; packages beside it are
not needed. The export as pprof needs one (protobufjs): drilldown_flow.py sends those bytes."""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from toolchain import tap  # noqa: E402

SOURCE = os.environ.get("SPANFLAME_PROFILES_DRILLDOWN_SOURCE", "")
ESBUILD = os.path.join(os.environ["SOURCE_ROOT"], "web", "node_modules", "esbuild", "lib", "main.js")
if not os.path.exists(os.path.join(SOURCE or "/nowhere", "src", "pages", "ProfilesExplorerView")):
    print("1..0 # SKIP SPANFLAME_PROFILES_DRILLDOWN_SOURCE is no checkout of Profiles Drilldown")
    sys.exit(0)
if not os.path.exists(ESBUILD):
    print("1..0 # SKIP the page's esbuild is not installed")
    sys.exit(0)

import shop_data  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server  # noqa: E402

home = tempfile.TemporaryDirectory()
CLIENT = os.path.join(home.name, "profiles.cjs")
toolchain.run("bundling Profiles Drilldown", ["node", os.path.join(toolchain.HERE, "drilldown_source", "bundle.mjs"), ESBUILD, SOURCE,
                                              os.path.join(toolchain.HERE, "drilldown_source", "profiles.js"), CLIENT])
server = Server().start()
shop_data.fill(server)
CPU, SHOP = shop_data.CPU, '{service_name="shop"}'
TIMES = {"from": (int(time.time()) - 1800) * 1000, "to": (int(time.time()) + 10) * 1000}
app = subprocess.Popen(["node", CLIENT, f"http://127.0.0.1:{server.port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(do, **step):
    app.stdin.write(json.dumps({"do": do, **TIMES, **step}) + "\n")
    app.stdin.flush()
    line = app.stdout.readline()
    assert line, "the app's clients ended"
    return json.loads(line)


def answer(do, **step):
    told = ask(do, **step)
    assert "error" not in told, (do, step, told)
    return told["answer"]


def test_services_and_their_profile_types():
    told = answer("series")
    assert set(told["services"]) == {"shop", "cart"} and CPU in told["services"]["shop"], told
    assert told["metrics"][CPU] == ["cart", "shop"] and told["services"]["shop"][CPU]["type"], told


def test_labels_and_their_values():
    assert {"env", "service_name"} <= set(answer("labels", query=CPU + SHOP)["names"])
    assert answer("values", query=CPU + SHOP, label="env")["names"] == ["test"]


def test_flame_graphs_for_export_and_comparison():
    told = answer("render", query=CPU + SHOP, format="json", maxNodes=100)
    assert {"total", "main", "handle", "render"} <= set(told["flamebearer"]["names"]) and told["metadata"]["units"], told
    assert answer("render", query=CPU + SHOP, format="dot", maxNodes=100).startswith("digraph")
    told = answer("diff", query=CPU + SHOP)
    assert told["metadata"]["format"] == "double" and told["leftTicks"] == told["rightTicks"] > 0, told


def test_function_details_of_a_call_site():
    """What it makes of SelectMergeProfile as JSON: numbers are text, and names are indices."""
    told = answer("details", function="render", type=CPU, selector=SHOP, stack=["main", "handle", "render"])
    assert [d["name"] for d in told] == ["render"] and told[0]["unit"] == "nanoseconds", told
    assert sum(site["cum"] for site in told[0]["callSites"]) == sum(site["flat"] for site in told[0]["callSites"]) == 80 * shop_data.MS, told


def test_ad_hoc_profiles():
    bytes_ = base64.b64encode(pprof({"main;work": 5, "main;rest": 2})).decode()
    told = answer("upload", name="cpu.pprof", bytes=bytes_)
    assert told["id"] and told["profileTypes"] and {"main", "work"} <= set(told["profile"]["flamebearer"]["names"]), told
    again = answer("get", id=told["id"], type=told["profileTypes"][0])
    assert again["profile"]["flamebearer"]["numTicks"] == told["profile"]["flamebearer"]["numTicks"] and again["name"] == "cpu.pprof", again
    wrong = ask("upload", name="x.txt", bytes=base64.b64encode(b"no profile").decode())
    assert "400" in wrong["error"], wrong
    assert "error" in ask("get", id="nobody", type="cpu")


def test_recording_rules():
    rule = {"metricName": "profiles_recorded_of_the_app", "serviceName": "shop", "profileType": CPU, "matchers": [], "groupBy": ["env"]}
    answer("rule", rule=rule)
    mine, = [r for r in answer("rules") if r["metricName"] == rule["metricName"]]
    assert (mine["serviceName"], mine["profileType"], mine["groupBy"]) == ("shop", CPU, ["env"]) and mine["id"], mine
    answer("forget", rule=mine)
    assert not [r for r in answer("rules") if r["metricName"] == rule["metricName"]]


def test_settings_statistics_and_the_size_of_a_query():
    answer("set", settings={"maxNodes": 100, "collapsedFlamegraphs": True})
    assert answer("settings") == {"maxNodes": 100, "collapsedFlamegraphs": True}
    told = answer("stats")
    assert told["hasIngestedData"] is True and 0 < told["oldestProfileTime"] <= told["newestProfileTime"], told
    assert int(answer("analyze", query=CPU + SHOP)["queryImpact"]["totalBytesInTimeRange"]) > 0


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
