#!/usr/bin/env python3
"""why.py - how often the first cause that `explain` names is right. Random spans whose time is known to the microsecond (running
in one of four functions, waiting for a lock, a disk, the network or a timer at one place each, inside a child span, in pieces
of 3 to 30 ms and random order) are sampled every 10 ms, told to a real server as four kinds of senders do, and asked about.

A cause is a part of the time; of time on the CPU, a function. The answer's first cause is its largest part, and of time on the
CPU that part's first function. It is right when the truth has no cause that is larger by more than a twentieth of the span: two
that cost about the same are both an answer. It is undecided when the answer names none: too few samples, no function, or the
largest part is unknown. It is confidently wrong when it is wrong and the interval of what it names lies above that of the
largest true cause."""
import json
import os
import random
import sys
import time

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import Server  # noqa: E402

MS, S = 10**6, 10**9
PERIOD = 10 * MS
SENDERS = {  # who sends it, and what: (type, are waits told, are spans named)
    "off_cpu": "CPU samples and measured waits, spans named (libspanflame)",
    "wall": "wall clock samples, spans named",
    "host": "wall clock samples with times and threads, no span named (whole-host profilers)",
    "cpu": "CPU samples only, spans named",
}
STACKS = {"f0": "main;serve;f0", "f1": "main;serve;f1;inner", "f2": "main;serve;f2", "f3": "main;serve;rules;f3",
          "lock": "main;serve;takeStock;pthread_mutex_lock", "disk": "main;serve;writeLog;fsync",
          "net": "main;serve;askOther;epoll_wait", "sleep": "main;serve;pause;nanosleep", "child": "main;serve;step;g0"}
NAMED = {"f0": "f0", "f1": "inner", "f2": "f2", "f3": "f3"}
SPANS_PER_WORLD = 20


class Truth:
    """One span, and what its thread did in it."""

    def __init__(self, rng, start, thread):
        self.rng, self.start, self.thread = rng, start, thread
        self.trace, self.id, self.child = rng.randbytes(16), rng.randbytes(8), None
        length = rng.randint(60, 600) * MS
        causes = rng.sample(list(STACKS), rng.randint(2, 5))
        weights = [rng.expovariate(1) + 0.05 for _ in causes]
        self.pieces, at = [], start  # (cause, from, to)
        todo = []
        for cause, weight in zip(causes, weights):
            left = int(length * weight / sum(weights))
            if cause == "child":
                todo.append((cause, left))  # one child span
                continue
            while left > 0:
                one = min(left, rng.randint(3, 30) * MS)
                todo.append((cause, one))
                left -= one
        rng.shuffle(todo)
        for cause, ns in todo:
            self.pieces.append((cause, at, at + ns))
            if cause == "child":
                self.child = (rng.randbytes(8), at, at + ns)
            at += ns
        self.end = at

    def sums(self):
        out = {}
        for cause, start, end in self.pieces:
            out[cause] = out.get(cause, 0) + end - start
        return out

    def spans(self, service, resource):
        out = [{"trace_id": self.trace, "span_id": self.id, "parent": None, "name": "op", "service": service, "kind": 2,
                "start": self.start, "end": self.end, "resource": resource, "attributes": {"thread.id": self.thread}}]
        if self.child:
            child, start, end = self.child
            out.append({"trace_id": self.trace, "span_id": child, "parent": self.id, "name": "step", "service": service, "kind": 1,
                        "start": start, "end": end, "resource": resource, "attributes": {"thread.id": self.thread}})
        return out

    def moments(self):
        """(time, cause): a sampler every 10 ms, which is a little off each time."""
        at = self.start + self.rng.randrange(PERIOD)
        for cause, start, end in self.pieces:
            while at < end:
                yield at, cause
                at += PERIOD + self.rng.randrange(-MS, MS)

    def id_of(self, cause):
        return self.child[0] if cause == "child" else self.id


def samples_of(sender, truth):
    """By type: (time, value, stack, span or None)."""
    runs = ("f0", "f1", "f2", "f3", "child")
    if sender in ("wall", "host"):
        return {"wall": [(at, PERIOD, STACKS[c], None if sender == "host" else truth.id_of(c)) for at, c in truth.moments()]}
    out = {"cpu": [(at, PERIOD, STACKS[c], truth.id_of(c)) for at, c in truth.moments() if c in runs]}
    if sender == "off_cpu":
        out["off_cpu"] = [(end, end - start, STACKS[c], truth.id_of(c)) for c, start, end in truth.pieces if c not in runs]  # told at its end
    return out


def otlp(service, instance, kind, rows):
    """rows: (truth, time, value, stack, span)."""
    strings, functions, locations, stacks, links, attributes, places = [""], [{}], [{}], [{}], [{}], [{}], {}

    def word(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    def stack_of(path):
        if path not in places:
            for name in path.split(";"):
                if name not in places:
                    functions.append({"nameStrindex": word(name)})
                    locations.append({"lines": [{"functionIndex": len(functions) - 1}]})
                    places[name] = len(locations) - 1
            stacks.append({"locationIndices": [places[n] for n in reversed(path.split(";"))]})
            places[path] = len(stacks) - 1
        return places[path]
    samples = []
    for truth, at, value, stack, span in rows:
        attributes.append({"keyStrindex": word("thread.id"), "value": {"intValue": str(truth.thread)}})
        one = {"stackIndex": stack_of(stack), "values": [str(value)], "timestampsUnixNano": [str(at)],
               "attributeIndices": [len(attributes) - 1]}
        if span:
            links.append({"traceId": truth.trace.hex(), "spanId": span.hex()})
            one["linkIndex"] = len(links) - 1
        samples.append(one)
    first, last = min(r[1] for r in rows), max(r[1] for r in rows) + PERIOD
    profile = {"sampleType": {"typeStrindex": word(kind), "unitStrindex": word("nanoseconds")}, "samples": samples,
               "timeUnixNano": str(first), "durationNano": str(last - first)}
    if kind != "off_cpu":
        profile.update({"periodType": {"typeStrindex": word(kind), "unitStrindex": word("nanoseconds")}, "period": str(PERIOD)})
    resource = [{"key": k, "value": {"stringValue": v}} for k, v in {"service.name": service, "service.instance.id": instance}.items()]
    return json.dumps({"resourceProfiles": [{"resource": {"attributes": resource}, "scopeProfiles": [{"profiles": [profile]}]}],
                       "dictionary": {"stringTable": strings, "functionTable": functions, "locationTable": locations,
                                      "stackTable": stacks, "linkTable": links, "mappingTable": [{}],
                                      "attributeTable": attributes}}).encode()


def make_world(server, sender, seed, t0):
    rng = random.Random(f"why {sender} {seed}")
    service = f"why-{sender}-{seed}".replace("_", "-")
    truths = [Truth(rng, t0 + n * S, 1001 + n % 4) for n in range(SPANS_PER_WORLD)]
    server.send([s for t in truths for s in t.spans(service, {"service.instance.id": service + "-1"})])
    by_type = {}
    for truth in truths:
        for kind, rows in samples_of(sender, truth).items():
            by_type.setdefault(kind, []).extend((truth, *row) for row in rows)
    for kind, rows in by_type.items():
        if rows:
            answer = server.post("/v1development/profiles", otlp(service, service + "-1", kind, rows), "application/json")
            assert answer.status == 200 and answer.text in ("{}", ""), answer.text
    return truths


def first_cause(answer):
    """(cause, low, high), or None: undecided."""
    part = answer["parts"][0]
    if part["part"] == "unknown" or "few_samples" in part:
        return None
    if part["part"] != "on_cpu":
        return part["part"], part["low_ns"], part["high_ns"]
    if not part["functions"]:
        return None
    f = part["functions"][0]
    name = next((cause for cause, leaf in NAMED.items() if f["function"] == leaf), f["function"])
    return name, f["low_ns"], f["high_ns"]


def bounds_of(answer, cause):
    for part in answer["parts"]:
        if part["part"] == cause:
            return part["low_ns"], part["high_ns"]
        for f in part["functions"]:
            if part["part"] == "on_cpu" and f["function"] == NAMED.get(cause):
                return f["low_ns"], f["high_ns"]
    return 0, next((p["high_ns"] for p in answer["parts"] if p["part"] == "unknown"), 0)


def judge(answer, truth):
    assert sum(p["ns"] for p in answer["parts"]) == answer["duration_ns"] == truth.end - truth.start, answer
    sums, named = truth.sums(), first_cause(answer)
    if not named:
        return "undecided"
    largest = max(sums, key=sums.get)
    # Running is one part: where it is the largest, its functions are the causes; a wait counts against all of it.
    running = sum(sums.get(f, 0) for f in NAMED)
    most = max(running, max((v for c, v in sums.items() if c not in NAMED), default=0))
    near = (truth.end - truth.start) // 20
    if named[0] in NAMED:
        is_right = running >= most - near and sums.get(named[0], 0) >= max(sums.get(f, 0) for f in NAMED) - near
        largest = max(NAMED, key=lambda f: sums.get(f, 0)) if running >= most - near else largest
    else:
        is_right = sums.get(named[0], 0) >= most - near
    if is_right:
        return "right"
    _, high = bounds_of(answer, largest)
    is_sure = named[1] is not None and high is not None and named[1] > high
    if os.environ.get("WHY_SHOW"):
        print(named, sums, answer["sentence"], file=sys.stderr)
    return "confidently wrong" if is_sure else "wrong"


def run(n_worlds, senders=None):
    """{sender: {measure: [figure, bound]}}"""
    cells = {}
    t0 = (time.time_ns() // S - 900) * S
    with Server() as server:
        for sender in senders or SENDERS:
            counts = dict.fromkeys(("right", "wrong", "confidently wrong", "undecided"), 0)
            for seed in range(n_worlds):
                for truth in make_world(server, sender, seed, t0):
                    answer = server.json(f"/api/v1/explain?trace={truth.trace.hex()}&span={truth.id.hex()}")
                    counts[judge(answer, truth)] += 1
            n = sum(counts.values())
            said = n - counts["undecided"]
            cells[sender] = {"right": [round(counts["right"] / max(1, said), 4), ">= 0.95"],
                             "confidently wrong": [round(counts["confidently wrong"] / n, 4), "<= 0.01"],
                             "undecided": [round(counts["undecided"] / n, 4), ""], "spans": [n, ""]}
    return cells


if __name__ == "__main__":
    for one, measures in run(int(sys.argv[1]) if len(sys.argv) > 1 else 2, sys.argv[2:]).items():
        print(one, measures, flush=True)
