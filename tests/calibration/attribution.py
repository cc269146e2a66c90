#!/usr/bin/env python3
"""attribution.py - how much cost lands in the right span, by what a sender says. Worlds in which the code that runs at each
moment on each thread is known are sampled every 10 ms of a running thread, told to a real server as each sender does, and
asked through the API. Every span's code has a function of its own name, so that a flame graph says what is in the wrong one.

In a world requests run on the threads of a pool, one at a time on each. Children run on their parent's thread, while it
waits, or are handed to another thread, while it goes on; some outlive their parent. Processes are replicas of one service;
the second half of the time has new ones (a restart). A caller on another host, whose clock is off by up to 300 ms, is each
request's parent."""
import os
import subprocess
import sys
import time
import urllib.parse

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import Server  # noqa: E402
from world import MS, S, US, Sample, Span, World  # noqa: E402

KINDS = {  # kind: (who sends it, grade of most of it, the least share that must be right)
    "tagged": ("libspanflame, SDKs that tag every span", "exact", 0.999),
    "labels": ("Node: labels around code, lost after an await", "exact", 0.999),
    "root": ("SDKs that tag the request's first span, with times", "inherited", 0.99),
    "root_lost": ("SDKs that lose it while the request runs, with times", "window", 0.99),
    "java": ("Java's agents: JFR, the request's first span until its first child ends", "window", 0.99),
    "java_each": ("Java's agents, told to name each span: none after a child ended", "exact", 0.99),
    "timed": ("whole-host profilers: times and threads", "window", 0.99),
    "timed_unnamed": ("times without threads", "window", None),
    "root_untimed": ("Go, Python, Ruby, .NET: the request's first span", "shared", None),
    "untimed": ("pprof that is scraped", "window", None),
}
ALL_GIVEN = ("tagged", "root", "root_lost", "java", "java_each", "timed")  # what spans have, or their threads, leaves nothing out but what is cut
THREADS = range(1001, 1009)
JFR_WRITE = os.environ.get("JFR_WRITE", os.path.join(SOURCE, "build", "tests", "calibration", "jfr_write"))
KERNEL = 40000  # Java's spans name Java's number of a thread; the kernel's, which is on samples too, is another


class Caller:
    """A span of another host."""

    def __init__(self, span_id):
        self.id = span_id


class TrueWorld(World):
    def __init__(self, seed, kind, name, t0, n_replicas=4):
        self.busy = {}
        super().__init__(seed, kind, name, t0, n_replicas=n_replicas, is_alloc=False, has_threads=True, n_requests=10)

    def make_request(self, process):
        rng, index = self.rng, self.processes.index(process)
        half = self.length // 2
        low = self.t0 + (index // 2) * half  # two replicas, then two new ones
        start = self.moment(low, low + half - 420 * MS)
        end = start + rng.randint(40, 400) * MS
        thread = self.take_thread(process, start, end)
        if thread:
            self.make_children(Span(self, process, None, start, end, thread), 3)

    def take_thread(self, process, start, end):
        taken = self.busy.setdefault(process.instance, [])
        free = [t for t in THREADS if all(t != u or end <= a or start >= b for u, a, b in taken)]
        if not free:
            return 0
        taken.append((self.rng.choice(free), start, end))
        return taken[-1][0]

    def make_children(self, span, levels):
        at = span.start
        while levels and at < span.end - 6 * MS and self.rng.random() < 0.7:
            start = self.moment(at, min(at + 40 * MS, span.end - 4 * MS))
            end = self.moment(start + 2 * MS, span.end)
            if self.rng.random() < 0.3:  # handed over
                end += self.rng.randint(0, 20) * MS
                thread = self.take_thread(span.process, start, end)
                at = start + MS
            else:
                thread, at = span.thread, end
            if thread:
                self.make_children(Span(self, span.process, span, start, end, thread), levels - 1)

    def make_samples(self, process):
        for thread in THREADS:
            at = self.t0 + self.rng.randrange(10 * MS) // US * US
            while at < self.t0 + self.length + 500 * MS:
                running = [s for s in process.spans if s.thread == thread and s.start <= at < s.end]
                if running:
                    process.samples.append(self.sample_of(max(running, key=lambda s: (s.depth, s.start)), at))
                at += 10 * MS + self.rng.randrange(-MS, MS) // US * US

    def sample_of(self, span, at):
        sample = Sample(at, 10 * MS, f"main;serve;of_{span.id.hex()}", span.thread, span)
        sample.profile = (at - (at - self.t0) % S, S)
        if self.kind in ("tagged", "labels"):
            sample.says = span
        elif self.kind in ("root", "root_untimed"):
            sample.says = span.root
        elif self.kind in ("java", "root_lost") and self.has_context(span, at):
            sample.says = span.root
        elif self.kind == "java_each" and not any(
                s.thread == span.thread and span.start < s.end <= at for s in span.process.spans):
            sample.says = span
        if self.kind == "labels" and self.rng.random() < 0.4:
            sample.says = None  # after the first await
        return sample

    def has_context(self, span, at):
        """The extension sets the first span's id on its thread, and whichever span ends there first takes it away."""
        root = span.root
        return span.thread == root.thread and not any(
            s.thread == root.thread and root.start < s.end <= at for s in root.process.spans if s.root is root)

    def send_jfr(self, server, process):
        """As the agent uploads: a recording of whole seconds, whose samples have the runtime's and the kernel's thread."""
        for start, length in sorted({s.profile for s in process.samples}):
            lines = [f"{start} {length}"] + [
                f"{s.at} {s.thread + KERNEL} {s.thread} {s.says.id.hex() if s.says else '0'} {s.stack}"
                for s in process.samples if s.profile == (start, length)]
            body = subprocess.run([JFR_WRITE], input="\n".join(lines).encode() + b"\n", capture_output=True, check=True).stdout
            labels = [f"service.instance.id={process.instance}"] if process.has_profile_name else []
            labels += [f"zone={process.zone}"] if process.zone else []
            name = process.service + ("{" + ",".join(labels) + "}" if labels else "")
            answer = server.post("/ingest?" + urllib.parse.urlencode(
                {"name": name, "units": "samples", "aggregationType": "sum", "sampleRate": 100, "from": start // S,
                 "until": (start + length) // S, "spyName": "javaspy", "format": "jfr"}),
                b'--x\r\nContent-Disposition: form-data; name="jfr"; filename="jfr"\r\n\r\n' + body + b"\r\n--x--\r\n",
                "multipart/form-data; boundary=x")
            assert answer.status == 200, answer.text

    def send_samples(self, server, process):
        if self.kind in ("java", "java_each"):
            self.send_jfr(server, process)
        else:
            super().send_samples(server, process)

    def send(self, server):
        for process in self.processes:
            skew = self.rng.randint(-300, 300) * MS
            caller = []
            for root in process.roots():
                root.called_by = Caller(self.rng.randbytes(8))
                caller.append({"trace_id": root.trace, "span_id": root.called_by.id, "parent": None, "name": "call", "kind": 3,
                               "service": "caller", "start": root.start + skew - MS, "end": root.end + skew + MS,
                               "resource": {"service.instance.id": "caller-1"}})
            if caller:
                server.send(caller)
        super().send(server)


def check_sets(server, world, known):
    """A set of spans, a waterfall and a trace's flame graph have the known samples of their spans, no more and no fewer."""
    if world.kind != "timed":  # a set of which no sample has an id is asked for span by span, 200 of them
        query = urllib.parse.quote('{ resource.service.name = "%s" }' % world.name)
        answer = server.json(f"/api/v1/cohort?q={query}&self=true&per=all&type=cpu")
        assert not answer["isSample"] and answer["spans"] == len(known), (world.name, answer["note"], answer["spans"], len(known))
        assert answer["known"]["samples"] == sum(known.values()), (world.name, answer["known"], sum(known.values()), answer["grades"])
    for process in world.processes[:2]:
        trace = process.spans[0].trace.hex()
        spans = {s.id.hex(): known[s.id] for s in process.spans if s.trace.hex() == trace}
        rows = {r["spanId"]: r for r in server.json(f"/api/v1/trace/{trace}?type=cpu")["spans"]}
        for span, n in spans.items():
            got = rows[span].get("hot", {}).get("samples", rows[span].get("fewSamples", 0))
            assert got == n, (world.name, span, rows[span], n)
        flame = server.json(f"/api/v1/traces/{trace}/flame?type=cpu")
        assert flame["known"]["samples"] == sum(spans.values()), (world.name, flame["known"], spans)


def ask(server, world, tally):
    known = {}
    for process in world.processes:
        for span in process.spans:
            answer = server.json(f"/api/v1/spans/{span.trace.hex()}/{span.id.hex()}/profile?self=true&type=cpu")
            true = sum(s.value for s in process.samples if s.truth is span)
            values = functions_of(answer)
            got, right = sum(values.values()), values.get(f"of_{span.id.hex()}", 0)
            is_child = span.depth > 0 and span.end - span.start >= 5 * MS
            for key in ("all", "child") if is_child else ("all",):
                tally[key]["got"] += got
                tally[key]["right"] += right
                tally[key]["true"] += true
                tally[key]["off"] += abs(got - true)
            for grade, row in answer["grades"].items():
                tally["grades"][grade] = tally["grades"].get(grade, 0) + row["value"]
            known[span.id] = answer["known"]["samples"]
    if world.kind in ALL_GIVEN:
        check_sets(server, world, known)


def functions_of(answer):
    values = {}
    for _, frame, value in answer["profile"]["nodes"][1:]:
        name = answer["profile"]["frames"][frame]["function"].rsplit(".", 1)[-1]  # of Java with its class
        values[name] = values.get(name, 0) + value
    return values


def check_unnamed(server, kind, has_name, n_replicas, n_hidden, has_zone, seed, t0):
    """Profiles do not say which process they are of, as Java's agents do not by default; of the last `n_hidden` replicas no
    request was traced. One process is joined as if it were named. Of several nothing that is given to a span as known is of
    another, sets have what their spans have, and coverage says what is missing. `has_zone`: uploads of a replica have a label
    of its own that is no name of a process, and begin and end at the same nanosecond as those of the others."""
    told = (kind, has_name, n_replicas, n_hidden, has_zone)
    world = TrueWorld(seed, kind, "unnamed-" + "-".join(map(str, told)).replace("_", "-").lower(), t0, n_replicas)
    for process in world.processes:
        process.has_name, process.has_profile_name = has_name, False
        process.language = world.processes[0].language
        process.zone = "z-" + process.instance if has_zone else ""
    for process in world.processes[n_replicas - n_hidden:]:
        process.spans = []
    world.send(server)
    got = true = n_known = n_left = 0
    for process in world.processes:
        for span in process.spans:
            answer = server.json(f"/api/v1/spans/{span.trace.hex()}/{span.id.hex()}/profile?self=true&type=cpu")
            values = {k: v for k, v in functions_of(answer).items() if v}
            assert answer.get("isEstimate") or not values or list(values) == [f"of_{span.id.hex()}"], (told, span.key(), answer["reason"], values)
            got, n_known = got + (0 if answer.get("isEstimate") else sum(values.values())), n_known + answer["known"]["samples"]
            n_left += "profiles do not identify the process" in answer["reason"]
            true += sum(s.value for s in process.samples if s.truth is span)
        for trace in {s.trace.hex() for s in process.spans}:
            for row in server.json(f"/api/v1/trace/{trace}?type=cpu")["spans"]:
                assert "hot" not in row or row["hot"].get("isWithChildren") or row["hot"]["function"].endswith(f"of_{row['spanId']}"), (told, row)
    span_range = f"from={t0 // S - 5}&until={t0 // S + 10}"
    coverage = server.json(f"/api/v1/coverage?service={world.name}&type=cpu&{span_range}")
    missing = {m["kind"] for m in coverage["missing"]} & {"no_instance", "no_profile_instance", "no_span_ids"}
    query = urllib.parse.quote('{ resource.service.name = "%s" }' % world.name)
    cohort = server.json(f"/api/v1/cohort?q={query}&self=true&per=all&type=cpu&{span_range}")
    assert cohort["known"]["samples"] <= n_known, (told, cohort["known"], n_known)
    if n_replicas == 1:
        assert got >= 0.9 * true and n_left == 0 and cohort["known"]["samples"] == n_known, (told, got, true, n_left, cohort["known"], n_known)
    else:
        assert missing and (n_left > 0 or kind == "timed"), (told, coverage["missing"], n_left)
        assert kind == "timed" or "profiles do not identify the process" in cohort["note"] + coverage["link"]["note"], (told, cohort["note"])


def run_unnamed(is_short):
    t0, number = (time.time_ns() // S - 600) * S, 5000
    with Server() as server:
        for kind in ("java",) if is_short else ("java", "java_each", "root_lost", "timed"):
            for has_name in (True, False):
                for n_replicas, n_hidden in ((1, 0), (2, 1)) if is_short else ((1, 0), (2, 0), (2, 1), (3, 2)):
                    for has_zone in (False, True):
                        check_unnamed(server, kind, has_name, n_replicas, n_hidden, has_zone, number, t0)
                        number += 1


def run(n_worlds, kinds=None):
    """{kind: {measure: [figure, bound]}}"""
    cells = {}
    t0 = (time.time_ns() // S - 600) * S
    with Server() as server:
        for kind in kinds or KINDS:
            tally = {"grades": {}, "all": dict.fromkeys(("got", "right", "true", "off"), 0),
                     "child": dict.fromkeys(("got", "right", "true", "off"), 0)}
            for seed in range(n_worlds):
                world = TrueWorld(seed, kind, f"true-{kind}-{seed}".replace("_", "-"), t0)
                world.send(server)
                ask(server, world, tally)
            least = KINDS[kind][2]
            bound = f">= {least}" if least else ""
            every, child = tally["all"], tally["child"]
            grade = max(tally["grades"], key=tally["grades"].get)
            assert grade == KINDS[kind][1], (kind, tally["grades"])
            if kind in ALL_GIVEN:
                assert every["got"] >= 0.9 * every["true"], (kind, every)
            cells[kind] = {"right": [round(every["right"] / max(1, every["got"]), 4), bound],
                           "right in children": [round(child["right"] / max(1, child["got"]), 4), bound],
                           "given": [round(every["got"] / every["true"], 4), "<= 1.0001"],
                           "off": [round(every["off"] / every["true"], 4), ""]}
    return cells


if __name__ == "__main__":
    for kind, measures in run(int(sys.argv[1]) if len(sys.argv) > 1 else 2, sys.argv[2:]).items():
        print(kind, measures, flush=True)
