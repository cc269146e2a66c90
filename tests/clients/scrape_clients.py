#!/usr/bin/env python3
"""A Go program with net/http/pprof, scraped: every default profile is there, its CPU time meets the spans that another signal
sent, by time and exactly where samples carry ids, and totals are right over a restart of the program."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "flow"))
from server import Server, free_port, make_span, tap  # noqa: E402

if not shutil.which("go"):
    print("1..0 # SKIP no go here")
    sys.exit(0)
HOME = tempfile.mkdtemp(prefix="spanflame-scrape-")
PROGRAM = os.path.join(HOME, "service")
subprocess.run(["go", "build", "-o", PROGRAM, "."], cwd=os.path.join(HERE, "scrape_go"), check=True,
               env=dict(os.environ, GOFLAGS="-mod=mod", GOPROXY="off"))
PORT = free_port()
SERVER = Server(f"scrape:\n  - {{targets: ['127.0.0.1:{PORT}'], service: go-shop, interval: 4s, seconds: 4}}\n")
GO = []


def start_go():
    GO.append(subprocess.Popen([PROGRAM, f"127.0.0.1:{PORT}"], stdout=subprocess.DEVNULL))
    wait_for(lambda: ask("/debug/pprof/cmdline"), "the service")


def ask(path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=30) as answer:
            return answer.read() + b"."
    except OSError:
        return b""


def targets():
    return {t["scrapeUrl"].split("/")[-1].split("?")[0]: t for t in SERVER.json("/api/v1/targets")["data"]["activeTargets"]}


def wait_for(condition, what, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"{what}: {json.dumps(targets(), indent=1)}")


def total(kind, function=None):
    """Of a type of sample, "delay:nanoseconds", and of a function if that is given."""
    kinds = json.loads(SERVER.get("/pyroscope/label-values?label=__profile_type__").body)
    kind = next((k for k in kinds if f":{kind}:" in k), kind)
    path = f"/pyroscope/render?query={kind}%7Bservice_name%3D%22go-shop%22%7D&from=now-1h&until=now"
    answer = SERVER.get(path)
    flame = json.loads(answer.body)["flamebearer"] if answer.status == 200 else {"numTicks": 0, "levels": [], "names": []}
    if not function:
        return flame["numTicks"]
    return sum(level[i + 1] for level in flame["levels"] for i in range(0, len(level), 4)
               if flame["names"][level[i + 3]] == function)


def test_1_every_default_profile_is_there():
    SERVER.start()
    start_go()
    for word in ("profile", "heap", "allocs", "goroutine", "mutex", "block"):
        wait_for(lambda: targets().get(word, {}).get("health") == "up", word)  # the first pass finds them
    assert all(not t["lastError"] for t in targets().values()), targets()
    wait_for(lambda: total("goroutine:count") > 0, "goroutines")
    wait_for(lambda: total("inuse_space:bytes") > 0, "levels of memory")
    ask("/lock")
    wait_for(lambda: total("delay:nanoseconds") > 10**8, "time at locks")


def test_2_spans_have_the_code_that_ran():
    for is_exact in (False, True):
        span = make_span(service="go-shop", name="GET /work")
        ids = f"?trace={span['trace_id'].hex()}&span={span['span_id'].hex()}" if is_exact else ""
        begin = time.time_ns()
        assert ask(f"/work{ids}")
        span.update(start=begin, end=time.time_ns())
        SERVER.send([span])
        path = f"/api/v1/spans/{span['trace_id'].hex()}/{span['span_id'].hex()}/profile"

        def found():
            answer = SERVER.get(path)
            profile = json.loads(answer.body) if answer.status == 200 else {}
            return profile if "main.burn" in answer.text else None
        profile = wait_for(found, f"the span's code, exact: {is_exact}")
        grades = {k: v["samples"] for k, v in profile["grades"].items() if v["samples"]}
        assert set(grades) == {"exact" if is_exact else "window"}, grades


def test_3_totals_are_right_over_a_restart():
    def allocated():
        return total("alloc_space:bytes", "main.allocate")
    wait_for(lambda: targets()["allocs"]["succeeded"] >= 2, "a dump to subtract from")
    before = allocated()
    ask("/allocate")
    wait_for(lambda: 40e6 < allocated() - before < 75e6, "50 MB and the list of them")
    GO[0].kill()
    GO[0].wait()
    start_go()
    before = allocated()
    ask("/allocate")
    wait_for(lambda: 40e6 < allocated() - before < 75e6, "50 MB of the new process")
    GO[1].kill()
    assert SERVER.stop() == 0


if __name__ == "__main__":
    try:
        tap.run(sys.modules[__name__])
    finally:
        for process in GO:
            process.kill()
        shutil.rmtree(HOME, ignore_errors=True)
