#!/usr/bin/env python3
"""answer_faults - queries over a store some of whose blocks are damaged.

A bit of a block flips while nobody looks. Whatever is asked then is answered, and the answer is either what it was
before or says that something is missing: search, metrics of every way of counting, tags, the whole trace, and our own
queries, which make one answer of many reads.
"""
import glob
import json
import os
import shutil
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.fault_house import House, run_parts  # noqa: E402

N_TRACES = 120
SEARCHES = ("{}", '{ name = "work 1" }', "{ span.note != nil } | count() > 3", '{ name = "work 0" } !> { name = "work 2" }')
METRICS = (
    "{} | count_over_time()",
    "{} | rate() by (name)",
    "{} | quantile_over_time(duration, 0.5)",
    '{ name = "work 1" } && { name = "work 2" } | count_over_time()',
    '{} | compare({ name = "work 1" })',
    '({ name = "work 1" } | count_over_time()) / ({} | count_over_time())',
)
TAGS = ("/api/v2/search/tags?q={}", "/api/v2/search/tag/name/values?q={}", "/api/v2/search/tag/span.note/values?q={}",
        '/api/v2/search/tag/span.note/values?q=%7B name="work 1"%7D')

# Of one trace, and of all of them.
OWN_OF_TRACE = ("/api/v1/trace/{}", "/api/v1/traces/{}/ledgers", "/api/v1/explain?trace={}")
OWN = ("/api/v1/services", "/api/v1/coverage?service=shop", "/api/v1/profile?service=shop&format=json")


class Asker:
    """Asks everything once; remembers nothing."""

    def __init__(self, house):
        self.client = house.server.client()
        self.client.timeout = 120  # others use the machine
        self.rng, self.traces = house.rng, house.traces
        self.range = {"start": house.start_s - 600, "end": house.start_s + 600}

    def get(self, path, **params):
        if params:
            path += "?" + urllib.parse.urlencode(params)
        status, headers, body = self.client.call("GET", path.replace(" ", "%20").replace('"', "%22"))
        if status == 404:
            return None, "x-spanflame-partial" in headers
        if status != 200:
            raise AssertionError(f"{path}: {status} {body[:200]!r}")
        answer = json.loads(body)
        is_partial = "x-spanflame-partial" in headers or answer.pop("status", "") == "PARTIAL"
        for name in ("metrics", "message", "link"):
            answer.pop(name, None)
        return answer, is_partial

    def all(self):
        """{question: (answer, is it said to be partial)}"""
        asks = {}
        for q in SEARCHES:
            asks["search " + q] = ("/api/search", {"q": q, "limit": 1000, "spss": 100} | self.range)
        for q in METRICS:
            asks["metrics " + q] = ("/api/metrics/query_range", {"q": q, "step": "5m", "exemplars": 1} | self.range)
            asks["instant " + q] = ("/api/metrics/query", {"q": q} | self.range)
        for path in TAGS:
            asks["tags " + path] = (path + f"&start={self.range['start']}&end={self.range['end']}", {})
        for trace in self.traces[::40]:
            for path in ("/api/traces/", "/api/v2/traces/"):
                asks["trace " + path + trace.hex()] = (path + trace.hex(), {})
            for path in OWN_OF_TRACE:
                asks["own " + path.format(trace.hex())] = (path.format(trace.hex()), {})
        for path in OWN:
            times = f"from={self.range['start']}&until={self.range['end']}"
            asks["own " + path] = (path + ("&" if "?" in path else "?") + times, {})
        order = list(asks)
        self.rng.shuffle(order)  # each is the first to meet the damage, some time
        return {name: self.get(asks[name][0], **asks[name][1]) for name in order}


def without_exemplars(answer):
    for series in (answer or {}).get("series", []):
        series.pop("exemplars", None)
    return answer


def sorted_values(answer):
    """Values of equal frequency may change places."""
    if answer and "tagValues" in answer:
        return sorted(json.dumps(v) for v in answer["tagValues"])
    return without_exemplars(answer)


def fill(house):
    """Traces whose spans lie in one block, and some that go on in the next."""
    client = house.server.client()
    traces = house.traces = [rig.new_trace(house.rng) for _ in range(N_TRACES)]
    for round_no in range(3):
        for i, trace in enumerate(traces):
            if i % 3 != round_no and i % 10:
                continue
            spans = [rig.new_span(house.rng, trace, f"work {k}") for k in range(4)]
            if not rig.post(client, rig.request_pb("shop", spans), {"Content-Type": "application/x-protobuf"}):
                raise AssertionError("a well server refuses")
        path = f"/ingest?name=shop&format=folded&sampleRate=100&from={house.start_s + round_no}&until={house.start_s + round_no + 1}"
        status, _, body = client.call("POST", path, f"main;work_{round_no} 50\nmain;other 20\n".encode())
        if status != 200:
            raise AssertionError(f"a well server refuses a profile: {status} {body[:200]!r}")
        house.flush()
    client.close()


def one_case(house, pristine, name, at, right):
    shutil.rmtree(house.data)
    shutil.copytree(pristine, house.data)
    with open(os.path.join(house.data, name), "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << house.rng.randrange(8)]))
    what = f"a bit at {at} of {name}"
    if not house.server.start():
        return [f"{what}: the server does not start\n{house.server.log_tail()}"], 0
    faults, n_told = [], 0
    try:
        for question, (answer, is_partial) in Asker(house).all().items():
            n_told += is_partial
            if not is_partial and sorted_values(answer) != right[question]:
                faults.append(f"{what}: {question}: another answer, and not a word: {json.dumps(answer)[:300]}")
    except (rig.Gone, AssertionError) as e:
        faults.append(f"{what}: {e}\n{house.server.log_tail(5)}")
    house.server.kill()
    return faults, n_told


def answers(tap, rng):
    house = House(rng, "answers")
    try:
        house.start_s = int(time.time())
        tap.check(house.server.start(), "answers: starts", house.server.log_tail())
        fill(house)
        right = {}
        for question, (answer, is_partial) in Asker(house).all().items():
            tap.check(not is_partial, f"answers: {question}: whole when all is well")
            right[question] = sorted_values(answer)
        house.server.kill()
        pristine = os.path.join(house.folder, "pristine")
        shutil.copytree(house.data, pristine)
        blocks = sorted(os.path.relpath(p, pristine)
                        for p in glob.glob(os.path.join(pristine, "**", "*.sf[sp]"), recursive=True))
        tap.check(len(blocks) > 1, "answers: several blocks", str(blocks))
        failures, n_told = [], 0
        n_cases = max(8, int(80 * rig.scale()))
        for _ in range(n_cases):
            name = rng.choice(blocks)
            at = rng.randrange(os.path.getsize(os.path.join(pristine, name)))
            more, told = one_case(house, pristine, name, at, right)
            failures += more
            n_told += told
        tap.say(f"{n_cases} damaged blocks: {n_told} of {n_cases * len(right)} answers say that something is missing")
        tap.check(not failures, "answers: right or said to be partial", "\n".join(failures[:12]))
        tap.check(n_told > n_cases, "answers: the damage was met", str(n_told))
    finally:
        house.close()


if __name__ == "__main__":
    sys.exit(run_parts({"answers": answers}))
