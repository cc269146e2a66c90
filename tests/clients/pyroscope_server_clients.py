#!/usr/bin/env python3
"""The same profiles in a real Pyroscope and here: totals, ranges that follow each other, series, merges, comparisons, labels.
SPANFLAME_PYROSCOPE is its program, which is started on loopback with a directory of its own; nothing is built."""
import base64
import json
import os
import random
import sys
import time
import uuid

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
PROGRAM = os.environ.get("SPANFLAME_PYROSCOPE", "")
if not os.access(PROGRAM or "/nowhere", os.X_OK):
    print("1..0 # SKIP SPANFLAME_PYROSCOPE names no program of Pyroscope")
    sys.exit(0)

from pprof_make import pprof  # noqa: E402
from pyroscope_server import Pyroscope, request  # noqa: E402
from server import Server, tap  # noqa: E402

CPU, HEAP = "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "memory:inuse_space:bytes:inuse_space:bytes"
SECONDS = 1800
BEGIN = (int(time.time()) - 2700) // 300 * 300
RANGE = {"start": BEGIN * 1000, "end": (BEGIN + SECONDS) * 1000 - 1}
SHOP = {"profileTypeID": CPU, "labelSelector": '{service_name="shop"}'}
chance = random.Random(20261117)
theirs = Pyroscope(PROGRAM)
ours = Server().start()
theirs.wait_until_ready()


def series(service, pod, name, raw):
    labels = {"__name__": name, "service_name": service, "pod": pod}
    return {"labels": [{"name": k, "value": v} for k, v in labels.items()],
            "samples": [{"ID": str(uuid.UUID(int=chance.getrandbits(128))), "rawProfile": base64.b64encode(raw).decode()}]}


def push(all_series):
    """Pyroscope answers a request when its segment is written, twice a second: many profiles in each."""
    for i in range(0, len(all_series), 60):
        for port in (theirs.port, ours.port):
            status, told = request(port, "POST", "/push.v1.PusherService/Push", {"series": all_series[i:i + 60]})
            assert status == 200, (port == ours.port, status, told)


def make():
    """Four processes, a profile every ten seconds: the first exactly on the tens, the others anywhere."""
    made = []
    for pod, service in (("p0", "shop"), ("p1", "shop"), ("p2", "cart"), ("p3", "pay")):
        for at_s in range(BEGIN, BEGIN + SECONDS, 10):
            at_ms = at_s * 1000 + (0 if pod == "p0" else chance.randrange(10_000))
            stacks = {path: chance.randrange(1, 50) * 10**7 for path in ("main;handle;parse", "main;handle;render;parse", "main;idle")
                      if chance.random() < 0.8}
            if chance.random() < 0.2:
                stacks[(f"main;handle;{chance.choice('abcdefgh')}", (("span_id", "00f1a2b3c4d5e6f7"),))] = 10**7
            made.append(series(service, pod, "process_cpu", pprof(stacks or {"main": 10**7}, when=at_ms * 10**6)))
            if at_s % 60 == 0:
                heap = pprof({"main;cache": chance.randrange(10**9)}, "inuse_space", "bytes", when=at_ms * 10**6, period=1)
                made.append(series(service, pod, "memory", heap))
    chance.shuffle(made)
    return made


push(make())


def both(method, **body):
    """(theirs, ours)"""
    told = []
    for port in (theirs.port, ours.port):
        status, answer = request(port, "POST", "/querier.v1.QuerierService/" + method, body)
        assert status == 200, (port == ours.port, method, body, status, answer)
        told.append(json.loads(answer))
    return told


def same(method, key=lambda answer: answer, **body):
    a, b = (key(answer) for answer in both(method, **body))
    assert a == b, (method, body, a, b)
    return a


def bars(answer, width=4):
    """{path of names: numbers}: how the names are numbered and the children ordered is each server's own affair."""
    flame, found, above = answer.get("flamegraph", {}), {}, [(0, 0, 10**30, ())]
    sides = 1 if width == 4 else 2
    for level in flame.get("levels", []):
        values, row, at = [int(v) for v in level["values"]], [], [0] * sides
        for i in range(0, len(values), width):
            bar, low, numbers = values[i:i + width], 0, []
            for side in range(sides):
                offset, total, self = bar[side * 3:side * 3 + 3]
                low, at[side] = (at[side] + offset, at[side] + offset + total) if side == 0 else (low, at[side] + offset + total)
                numbers += [total, self]
            high = at[0] if sides == 1 else at[0] + at[1]
            low = low if sides == 1 else low + at[1] - bar[4]
            path = next(p for _, start, end, p in above if start <= low and high <= end) + (flame["names"][bar[-1]],)
            found[path] = tuple(a + b for a, b in zip(found.get(path, (0,) * len(numbers)), numbers))
            row.append((0, low, high, path))
        above = row
    return found


def total(answer):
    return int(answer.get("flamegraph", {}).get("total", 0))


def points(answer):
    return {tuple(sorted((l["name"], l["value"]) for l in s.get("labels", []))): {int(p["timestamp"]): p["value"] for p in s["points"]}
            for s in answer.get("series", [])}


def names(answer):
    return sorted(answer.get("names", []))


def label_sets(answer):
    """Theirs orders labels by name, ours as they were asked for."""
    return sorted(sorted((l["name"], l["value"]) for l in s["labels"]) for s in answer.get("labelsSet", []))


def test_types_and_labels():
    assert {t["ID"] for t in same("ProfileTypes", lambda a: sorted(a["profileTypes"], key=lambda t: t["ID"]), **RANGE)} == {CPU, HEAP}
    for matchers in ([], ['{service_name="shop"}'], [f'{{__profile_type__="{HEAP}"}}'], ['{service_name=~"s.*|pay", pod!="p0"}'], ['{pod="none"}']):
        same("LabelNames", names, matchers=matchers, **RANGE)
        for label in ("pod", "service_name", "__profile_type__", "__name__", "nothing"):
            same("LabelValues", names, name=label, matchers=matchers, **RANGE)
        for keys in ([], ["service_name"], ["service_name", "pod"], ["pod", "nothing"], ["__profile_type__", "pod"]):
            same("Series", label_sets, labelNames=keys, matchers=matchers, **RANGE)


def test_merges_have_the_same_stacks():
    for selector in ("{}", '{service_name="shop"}', '{pod=~"p[12]"}', '{service_name!="shop"}', '{service_name="nobody"}'):
        for kind in (CPU, HEAP):
            body = {"profileTypeID": kind, "labelSelector": selector, **RANGE}
            whole = same("SelectMergeStacktraces", bars, **body)
            # Pyroscope cuts each of its blocks by itself: which nodes stay depends on them, what those have does not grow.
            same("SelectMergeStacktraces", total, **body, maxNodes=4)
            for told in both("SelectMergeStacktraces", **body, maxNodes=4):
                assert all(numbers[0] <= whole[path][0] for path, numbers in bars(told).items() if path[-1] != "other"), (told, whole)
    site = {"callSite": [{"name": "main"}, {"name": "handle"}]}
    assert total(both("SelectMergeStacktraces", **SHOP, **RANGE)[0]) > same("SelectMergeStacktraces", total, **SHOP, **RANGE, stackTraceSelector=site) > 0
    same("SelectMergeStacktraces", bars, **SHOP, **RANGE, stackTraceSelector=site)


def stacks_of_pprof(answer):
    text, found = answer.get("stringTable", []), {}
    functions = {f["id"]: text[int(f["name"])] for f in answer.get("function", [])}
    locations = {l["id"]: [functions[line["functionId"]] for line in l["line"]] for l in answer.get("location", [])}
    for sample in answer.get("sample", []):
        path = tuple(name for place in sample["locationId"] for name in locations[place])
        found[path] = found.get(path, 0) + int(sample["value"][0])
    return found


def test_merged_profiles_have_the_same_samples():
    assert sum(same("SelectMergeProfile", stacks_of_pprof, **SHOP, **RANGE).values()) == total(both("SelectMergeStacktraces", **SHOP, **RANGE)[0])
    same("SelectMergeProfile", stacks_of_pprof, profileTypeID=HEAP, labelSelector="{}", **RANGE)


def test_ranges_that_follow_each_other():
    """An end is part of its range: those that end a millisecond before the next begins add up to the whole, those that meet
    have what lies on the edge twice. Both servers agree on each."""
    whole = same("SelectMergeStacktraces", total, **SHOP, **RANGE)
    for step in (10, 60, 300):
        sums = [0, 0]
        for at in range(BEGIN, BEGIN + SECONDS, step):
            for i, end in enumerate(((at + step) * 1000 - 1, (at + step) * 1000)):
                sums[i] += same("SelectMergeStacktraces", total, **SHOP, start=at * 1000, end=end)
        assert sums[0] == whole < sums[1], (step, sums, whole)


def test_points_of_time_series():
    """Theirs ends with the last whole step; ours has a point at the end for the rest."""
    for step in (10, 15, 60, 300, 700):
        for keys in ([], ["pod"], ["service_name"], ["service_name", "pod"]):
            for kind in (CPU, HEAP):
                a, b = (points(answer) for answer in both("SelectSeries", profileTypeID=kind, labelSelector="{}", **RANGE, step=step, groupBy=keys))
                last = RANGE["start"] + (SECONDS * 1000 - 1) // (step * 1000) * step * 1000
                whole = {group: {at: v for at, v in found.items() if at <= last} for group, found in b.items()}
                assert a == {group: found for group, found in whole.items() if found}, (step, keys, kind, a, b)
                assert all(set(found) - set(whole[group]) <= {RANGE["end"]} for group, found in b.items()), (step, keys, b)
        merged = total(both("SelectMergeStacktraces", **SHOP, **RANGE)[1])
        assert sum(sum(p.values()) for p in points(both("SelectSeries", **SHOP, **RANGE, step=step)[1]).values()) == merged, step
    aligned = dict(RANGE, end=RANGE["end"] + 1)
    assert same("SelectSeries", points, **SHOP, **aligned, step=60, groupBy=["pod"])


def test_comparisons():
    middle = (BEGIN + 700) * 1000
    sides = {"left": dict(SHOP, start=RANGE["start"], end=middle - 1), "right": dict(SHOP, start=middle, end=RANGE["end"])}
    same("Diff", lambda a: bars(a, 7), **sides)
    same("Diff", lambda a: [a["flamegraph"].get(k, "0") for k in ("total", "maxSelf", "leftTicks", "rightTicks")], **sides)
    empty = dict(sides, right=dict(sides["right"], labelSelector='{service_name="nobody"}'))
    same("Diff", lambda a: [a["flamegraph"].get(k, "0") for k in ("total", "leftTicks", "rightTicks")], **empty)


def test_samples_of_one_span():
    assert same("SelectMergeSpanProfile", total, **SHOP, **RANGE, spanSelector=["00f1a2b3c4d5e6f7"]) > 0
    same("SelectMergeSpanProfile", bars, **SHOP, **RANGE, spanSelector=["00f1a2b3c4d5e6f7"])


def test_when_there_is_data():
    """Ours is said to the minute; theirs comes some time after the data."""
    end = time.monotonic() + 300
    while "dataIngested" not in both("GetProfileStats")[0] and time.monotonic() < end:
        time.sleep(1)
    a, b = both("GetProfileStats")
    assert a["dataIngested"] is b["dataIngested"] is True
    for key in ("oldestProfileTime", "newestProfileTime"):
        assert abs(int(a[key]) - int(b[key])) <= 60_000, (a, b)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
