#!/usr/bin/env python3
"""make.py - wrote data.tar.xz and its golden answers, once. README.md says with which commit, and why never again.

It sends with the functions of old_1's make.py; what is sent is here: detail rows as format 2 of profile blocks keeps them."""
import importlib.util
import os
import random
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("old_1", os.path.join(HERE, "..", "old_1", "make.py"))
old_1 = importlib.util.module_from_spec(spec)
spec.loader.exec_module(old_1)
import old_data  # noqa: E402  old_1 has set the path
import old_waits  # noqa: E402
from old_waits import Pool  # noqa: E402

S, MS, US, A = 10**9, 10**6, 10**3, old_data.A
WAITS = (("lock", "main;serve;take;pthread_mutex_lock"), ("disk", "main;serve;store;fsync"), ("network", "main;serve;ask;recv"),
         ("sleep", "main;serve;rest;nanosleep"))


def pool(m, place):
    """Eight threads that serve requests in turns: samples at 100 Hz, and waits that begin where the thread stopped running."""
    p, cpu, off, spans = Pool(place), [], [], []
    draw = random.Random(place)
    for thread in range(p.N_THREADS):
        at = p.base + draw.randrange(5 * MS)
        for request in range(p.N_REQUESTS):
            trace, own = p.trace(thread, request), p.span(thread, request)
            begin, link = at, {"link": (trace, own), "thread": 4000 + thread, "thread_name": f"pool-{thread}"}
            for n in range(5):
                state, stack = WAITS[draw.randrange(4)]
                run, wait = draw.randrange(50 * US, 3 * MS), int(draw.lognormvariate(12.2, 1.5))
                cpu.append({"stack": f"main;serve;work{draw.randrange(6)}", "values": [10 * MS], "times": [at + run // 2], **link})
                off.append({"stack": stack, "values": [wait], "times": [at + run + wait], "state": state, **link})
                at += run + wait
            spans.append(old_1.span(trace, own, "serve", begin, at, "", 2, {"thread.id": 4000 + thread}))
            idle = draw.randrange(1 * MS, 60 * MS)  # nobody's: between two requests
            off.append({"stack": "main;next;poll", "values": [idle], "times": [at + idle], "state": "poll", "thread": 4000 + thread})
            at += idle
    # What is rare: none at all, less than a microsecond, hours, two that overlap on one thread, another value than its length.
    edge, at = {"thread": 4900, "link": (p.trace(9, 0), p.span(9, 0))}, p.base + 2 * S
    spans.append(old_1.span(p.trace(9, 0), p.span(9, 0), "edge", at, at + S, "", 2, {"thread.id": 4900}))
    for value, end in ((1, at + 10 * MS), (999, at + 20 * MS), (1000, at + 30 * MS), (7200 * S + 1, at + 40 * MS), (5 * MS, at + 50 * MS),
                       (9 * MS + 7, at + 52 * MS)):
        off.append({"stack": "main;edge;pthread_mutex_lock", "values": [value], "times": [end], "state": "lock", **edge})
    m.spans([old_1.resource("pool", spans, **{"telemetry.sdk.language": "cpp"})])
    m.timed(old_1.otlp_profile("pool", "cpu", "nanoseconds", cpu, p.base - S, period=10 * MS))
    m.timed(old_1.otlp_profile("pool", "off_cpu", "nanoseconds", off, p.base - S))
    m.timed(old_1.otlp_profile("pool", "objects", "count", [
        {"stack": f"main;serve;make{i % 3}", "values": [i * i + 1], "times": [p.base + i * MS], "thread": 4000, "link": (p.trace(0, 0), p.span(0, 0))}
        for i in range(20)], p.base - S))
    old_1.scratch(m, p.base, 0x40 + list(old_waits.PLACES).index(place))


def make(data):
    m = old_1.Maker(data)
    pool(m, "day")
    m.flush()
    m.wait("day", lambda found: {b.level for b in found if b.kind == "prof"} == {1})
    second = Pool("day").base + 3600 * S  # another hour of the day, so that its profiles become one block of level 2
    old_1.scratch(m, second, 0x50)
    m.flush()
    m.wait("day", lambda found: {b.level for b in found if b.kind == "prof"} == {2})
    for place, level in (("hour", 1), ("fresh", 0)):
        pool(m, place)
        m.flush()
        m.wait(place, lambda found, level=level: level in {b.level for b in found if b.kind == "prof"} and
               (level == 0 or not [b for b in found if b.level == 0]))
    pool(m, "log")
    m.server.process.send_signal(signal.SIGKILL)
    m.server.process.wait()
    found = old_data.blocks(data)
    for b in found:
        print(b)
    assert {b.level for b in found if b.kind == "prof"} == {0, 1, 2}
    m.faults.close()


def main():
    archive = os.path.join(HERE, "data.tar.xz")
    if os.path.exists(archive):
        sys.exit(f"{archive} is there, and is never written again: a new format gets a folder of its own")
    with tempfile.TemporaryDirectory() as folder:
        make(os.path.join(folder, "data"))
        old_1.pack(os.path.join(folder, "data"), archive)
    print(os.path.getsize(archive), "bytes; the golden answers: tests/flow/old_data_flow.py --add")


if __name__ == "__main__":
    main()
