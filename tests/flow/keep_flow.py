#!/usr/bin/env python3
"""What rules would keep of the samples of single requests: GET /api/v1/keep and `spanflame keep --dry-run`, on requests of
which it is known why each is kept."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, tap  # noqa: E402

MS, S = 10**6, 10**9
server = Server().start()
BASE = (time.time_ns() // S - 600) * S
RANGE = f"from={BASE // S - 5}&until={BASE // S + 300}"
SAMPLES = 3  # of each span


def send(number, length, service="shop", name="op", at=BASE, is_failed=False, attributes=None, cpu=0):
    span = {"trace_id": number.to_bytes(16, "big"), "span_id": (number + 1).to_bytes(8, "big"), "name": name, "service": service,
            "start": at + number * MS, "end": at + number * MS + length, "kind": 2, "attributes": attributes or {}, "error": is_failed}
    stacks = {(f"main;work{i}", (("span_id", f"{number + 1:016x}"),)): cpu // SAMPLES for i in range(SAMPLES)} if cpu else {}
    return span, stacks


def fill():
    made = [send(n, 50 * MS, cpu=3 * MS) for n in range(1, 41)]                      # ordinary
    made += [send(n, 2 * S, cpu=3 * MS) for n in range(100, 105)]                    # slow
    made += [send(n, 50 * MS, is_failed=True, cpu=3 * MS) for n in range(200, 203)]        # failed
    made += [send(300, 3 * S, is_failed=True, cpu=3 * MS)]                                 # both
    made += [send(n, 50 * MS, cpu=45 * MS) for n in range(400, 402)]                 # CPU
    made += [send(500, 50 * MS, attributes={"profile.keep": True}, cpu=3 * MS)]      # flagged
    made += [send(600, 50 * MS, attributes={"profile.keep": False}, cpu=3 * MS)]     # not so
    # A day's worth of quick calls, and one that is not: under a second.
    usual = [send(n, 20 * MS, name="quick", at=BASE - 3600 * S) for n in range(1000, 1200)]
    made += [send(700, 400 * MS, name="quick", cpu=3 * MS)]
    server.send([span for span, _ in made + usual])
    stacks = {}
    for _, more in made:
        stacks.update(more)
    answer = server.post("/api/v1/profile?service=shop", pprof(stacks, when=BASE, seconds=10), "application/octet-stream")
    assert answer.status == 200, answer.text
    for _ in range(600):
        if ask("baseline=0")["all"]["traces"] == len(made):
            return len(made)
        time.sleep(0.05)
    raise AssertionError(ask("baseline=0"))


def ask(more=""):
    return server.json(f"/api/v1/keep?{RANGE}&{more}")


def by(answer):
    return {row["rule"]: (row["traces"], row["alone"]["traces"]) for row in answer["by"]}


N = fill()


def test_each_rule_keeps_its_requests():
    told = ask("baseline=0")
    assert told["all"] == {"traces": N, "samples": N * SAMPLES, "bytesEstimate": N * SAMPLES * 7}, told
    assert by(told) == {"errors": (4, 3), "slow": (6, 5), "unusual": (1, 1), "cpu": (2, 2), "flagged": (1, 1), "baseline": (0, 0)}, told
    assert told["kept"]["traces"] == 13 and told["kept"]["samples"] == 13 * SAMPLES, told
    assert told["isDryRun"] and not told["isPartial"] and told["reason"] == "", told
    assert told["rules"] == {"slowNs": S, "cpuPercent": 80, "errors": True, "baselinePercent": 0}, told


def test_rules_can_be_tried():
    assert by(ask("baseline=0&slow=3s"))["slow"] == (1, 0)
    assert by(ask("baseline=0&slow=1h"))["slow"] == (0, 0)
    assert by(ask("baseline=0&errors=false"))["errors"] == (0, 0)
    assert by(ask("baseline=0&cpu=95"))["cpu"] == (0, 0)
    assert by(ask("baseline=100"))["baseline"] == (N, N - 13)
    assert ask("baseline=100")["kept"]["traces"] == N
    some = by(ask("baseline=50%25"))["baseline"][0]
    assert 5 < some < N - 5 and by(ask("baseline=50"))["baseline"][0] == some, some  # by the ids: the same ones


def test_what_is_no_rule_is_an_error():
    for bad in ("baseline=101", "baseline=x", "baseline=1.234", "baseline=100.5", "baseline=.", "cpu=x", "cpu=100001", "slow=much", "slow=0s",
                "errors=perhaps", "from=5&until=4"):
        assert server.get(f"/api/v1/keep?{bad}").status == 400, bad


def test_times_without_traces_have_nothing():
    told = server.json("/api/v1/keep?from=1000&until=2000")
    assert told["all"]["traces"] == 0 and told["kept"]["traces"] == 0, told


def test_the_command_says_it_and_asks_for_dry_run():
    def run(*args):
        return subprocess.run([PROGRAM, "keep", *args, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True,
                              timeout=60)
    done = run("--dry-run", "--since", "15m", "--baseline", "0")
    print("# " + done.stdout.replace("\n", "\n# "))
    assert done.returncode == 0 and done.stdout.splitlines()[1].split()[:2] == ["errors", "4"], (done.stdout, done.stderr)
    assert json.loads(run("--dry-run", "--since", "15m", "--baseline", "0", "--output", "json").stdout)["kept"]["traces"] == 13
    told = json.loads(run("--dry-run", "--since", "15m", "--no-errors", "--slow", "3s", "--baseline", "0", "--output", "json").stdout)
    assert told["kept"]["traces"] == 5 and told["rules"]["errors"] is False, told
    assert run("--since", "15m").returncode == 2


tap.run(sys.modules[__name__])
