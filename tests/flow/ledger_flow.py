#!/usr/bin/env python3
"""Each part of a span's ledger opens as a flame graph whose total is the ledger's figure."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, tap  # noqa: E402

server = Server().start()
MS = 1000000


def request(service, attributes=None, **more):
    """The service's 100 ms, with a child of 20 ms in it and one of 10 ms elsewhere."""
    now = time.time_ns() - 300 * MS
    trace = os.urandom(16)

    def span(name, start, end, parent=None, of=service, attributes=None):
        return {"trace_id": trace, "span_id": os.urandom(8), "parent": parent, "name": name, "service": of,
                "start": now + start * MS, "end": now + end * MS, "attributes": attributes or {}}
    own = span("order", 0, 100, attributes=attributes)
    child = span("tax", 10, 30, own["span_id"])
    server.send([own, child, span("pay", 80, 90, own["span_id"], of="bank")])
    # A sample of the child: this process tags every span, not only the first one of a request.
    send(service, {"main;tax": 1}, child["span_id"].hex(), **more)
    return trace.hex(), own["span_id"].hex()


def send(service, stacks, span, **more):
    body = pprof({(path, (("span_id", span),)): ms * MS for path, ms in stacks.items()}, **more)
    answer = server.post("/api/v1/profile?service=" + service, body, "application/octet-stream")
    assert answer.status == 200, answer.text


def by_name(profile):
    found = {}
    for _, frame, value in profile["nodes"][1:]:
        name = profile["frames"][frame]["function"]
        found[name] = found.get(name, 0) + value
    return {name: value for name, value in found.items() if value}


def opened(trace, span):
    """{part: (ns, {function: ns})} of all parts that can be opened; the others are null."""
    ledger = server.json(f"/api/v1/spans/{trace}/{span}/ledger")
    assert sum(p["ns"] for p in ledger["parts"]) == ledger["durationNs"], ledger
    found = {}
    for part in ledger["parts"]:
        if part["profile"] is None:
            assert part["ns"] == 0 or part["part"] in ("unknown", "run_queue"), part
            continue
        answer = server.json(part["profile"])
        assert answer["part"] == part["part"] and answer["profile"]["unit"] == "nanoseconds", answer
        assert sum(n[2] for n in answer["profile"]["nodes"]) == part["ns"], (part, answer)
        found[part["part"]] = (part["ns"], by_name(answer["profile"]))
    return found


def test_every_part_of_a_wall_clock_profile_opens():
    trace, span = request("walls", sample_type="wall")
    send("walls", {"main;sum": 15, "main;take;pthread_mutex_lock": 12, "main;ask;recv": 8, "main;save;fsync": 5,
                   "main;rest;nanosleep": 7, "main;runtime.gcBgMarkWorker": 3}, span, sample_type="wall")
    assert opened(trace, span) == {
        "cpu": (15 * MS, {"sum": 15 * MS}), "lock": (12 * MS, {"pthread_mutex_lock": 12 * MS}),
        "net": (8 * MS, {"recv": 8 * MS}), "disk": (5 * MS, {"fsync": 5 * MS}),
        "sleep": (7 * MS, {"nanosleep": 7 * MS}), "gc": (3 * MS, {"runtime.gcBgMarkWorker": 3 * MS}),
        "child": (20 * MS, {"tax": 20 * MS}), "remote": (10 * MS, {"pay": 10 * MS})}


def test_a_figure_the_span_carries_is_the_total():
    trace, span = request("exact", {"thread.cpu_time_ns": 40 * MS, "thread.run_queue_ns": 5 * MS})
    send("exact", {"main;sum": 10, "main;sort": 20}, span)
    # The child says nothing of its own time: the figure is not certain.
    assert opened(trace, span)["cpu"] == (30 * MS, {"sum": 10 * MS, "sort": 20 * MS})
    now = time.time_ns() - 300 * MS
    alone = {"trace_id": os.urandom(16), "span_id": os.urandom(8), "name": "alone", "service": "exact", "start": now,
             "end": now + 100 * MS, "attributes": {"thread.cpu_time_ns": 40 * MS, "thread.run_queue_ns": 5 * MS}}
    server.send([alone])
    send("exact", {"main;sum": 10, "main;sort": 20}, alone["span_id"].hex())
    found = opened(alone["trace_id"].hex(), alone["span_id"].hex())
    assert found["cpu"] == (40 * MS, {"sum": 10 * MS, "sort": 20 * MS, "(without a stack)": 10 * MS}), found
    queue = server.json(f"/api/v1/spans/{alone['trace_id'].hex()}/{alone['span_id'].hex()}/profile?part=run_queue")
    assert by_name(queue["profile"]) == {"(without a stack)": 5 * MS} and "an attribute of the span" in queue["reason"], queue


def test_figures_that_cannot_be_are_left_out():
    def carried(attributes):
        now = time.time_ns() - 300 * MS
        span = {"trace_id": os.urandom(16), "span_id": os.urandom(8), "name": "odd", "service": "odd", "start": now,
                "end": now + 100 * MS, "attributes": attributes}
        server.send([span])
        trace, own = span["trace_id"].hex(), span["span_id"].hex()
        ledger = server.json(f"/api/v1/spans/{trace}/{own}/ledger")
        notes = [server.json(f"/api/v1/explain?trace={trace}{more}") for more in (f"&span={own}", "")]
        exact = {p["part"]: p["ns"] for p in ledger["parts"] if p["source"] == "exact"}
        return exact, ledger["reason"], notes
    cases = (
        ({"thread.run_queue_ns": 1 << 62}, {}, "the reported run-queue time is longer than the span"),
        ({"thread.cpu_time_ns": 500 * MS, "thread.run_queue_ns": 5 * MS}, {"run_queue": 5 * MS},
         "the reported CPU time is longer than the span"),
        ({"thread.wait_ns": 9 * MS, "thread.wait.lock_ns": -1, "thread.wait.disk_ns": 9 * MS}, {"disk": 9 * MS},
         "the reported lock wait is not a number of nanoseconds"),
        ({"thread.cpu_time_ns": 70 * MS, "thread.run_queue_ns": 60 * MS}, {},
         "the reported CPU time and run-queue time together are longer than the span"),
        ({"thread.cpu_time_ns": 70 * MS, "thread.wait.network_ns": 60 * MS}, {},
         "the reported CPU time and network wait together are longer than the span"))
    for attributes, parts, words in cases:
        exact, reason, (own, whole) = carried(attributes)
        assert exact == parts and words + ", and left out" in reason, (attributes, exact, reason)
        assert words in own["note"] and "1 span reports" in whole["note"], (own, whole)
        assert not any(p["ns"] == 100 * MS and p["part"] != "unknown" for p in own["parts"]), own
    exact, reason, _ = carried({"thread.cpu_time_ns": 70 * MS, "thread.wait.lock_ns": 30 * MS, "thread.run_queue_ns": 20 * MS})
    assert exact["cpu"] == 70 * MS and "left out" not in reason, (exact, reason) # a wait may end in the run queue


def test_the_command_draws_a_part():
    trace, span = request("drawn", sample_type="wall")
    send("drawn", {"main;take;pthread_mutex_lock": 12}, span, sample_type="wall")

    def run(*args):
        done = subprocess.run([PROGRAM, "flame", *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True,
                              text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr
    code, out, err = run("--span", span, "--trace", trace, "--part", "lock")
    assert code == 0 and 'its part "lock" of 100 ms' in out and "12 ms in 1 sample, 1 exact" in out, (code, out, err)
    assert "pthread_mutex_lock" in out, out
    code, out, err = run("--span", span, "--trace", trace, "--part", "disk")
    assert code == 0 and "no time of this span is attributed to: disk" in out, (code, out, err)
    code, out, err = run("--span", span, "--trace", trace, "--part", "love")
    assert code != 0 and "run_queue, lock" in err, (code, err)
    code, out, err = run("--trace", trace, "--part", "lock")
    assert code == 2 and "--span" in err, (code, err)


def test_parts_nobody_can_open_are_refused():
    trace, span = request("refused")
    path = f"/api/v1/spans/{trace}/{span}/profile?part="
    assert "time breakdown shows what to send" in server.json(path + "unknown")["reason"]
    for more, status, words in (("love", 400, "part is cpu"), ("cpu&type=wall", 400, "all types")):
        answer = server.get(path + more)
        assert answer.status == status and words in answer.text, (more, answer.text)


tap.run(sys.modules[__name__])
