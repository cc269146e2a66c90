#!/usr/bin/env python3
"""`spanflame guard`: two versions of the same requests, judged; what pipelines read; what the exit codes say."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, free_port, make_span, tap  # noqa: E402

MS = 1000000
HOSTILE = 'grow<script>"&|`\ufffe'  # the last is not a character of XML


def spans_of(rng, version, n, ms, n_failed=0):
    """`n` requests of a version, over half an hour, of about `ms`."""
    out = []
    for i in range(n):
        out.append(make_span(ms=int(rng.gauss(ms, 2)), ago_ms=rng.randrange(60000, 1800000), service="shop", name="POST /orders",
                             attributes={"version": version}, error=i < n_failed))
    return out


def fill(server, rng, version, n, ms, n_failed=0, grown_ms=0):
    spans = spans_of(rng, version, n, ms, n_failed)
    server.send(spans)
    stacks = {}
    for span in spans:
        label = (("span_id", span["span_id"].hex()),)
        stacks["main;work", label] = 20 * MS
        if grown_ms:
            stacks[f"main;{HOSTILE}", label] = grown_ms * MS
    assert server.post("/api/v1/profile?service=shop", pprof(stacks)).status == 200


def fill_waits(server, rng, version, lock_ms, kilobytes):
    """Requests that run for 10 ms, wait for a lock, and allocate."""
    spans = spans_of(rng, version, 60, 100)
    server.send(spans)
    wall, allocated = {}, {}
    for span in spans:
        label = (("span_id", span["span_id"].hex()),)
        wall["main;work", label] = 10 * MS
        wall["main;reserve;sync.(*Mutex).Lock;runtime.gopark", label] = lock_ms * MS
        allocated["main;build", label] = (kilobytes + rng.randrange(5)) * 1000
    assert server.post("/api/v1/profile?service=shop", pprof(wall, sample_type="wall")).status == 200
    assert server.post("/api/v1/profile?service=shop", pprof(allocated, sample_type="alloc_space", unit="bytes")).status == 200


def guard(server, baseline, candidate, *more):
    done = subprocess.run([PROGRAM, "guard", "--server", f"http://127.0.0.1:{server.port}", "--q", '{ name = "POST /orders" }',
                           "--by", "span.version", "--baseline", baseline, "--candidate", candidate, *more], capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


SERVER = Server().start()
RNG = random.Random(7)
fill(SERVER, RNG, "1.0", 80, 50)
fill(SERVER, RNG, "1.1", 80, 50)
fill(SERVER, RNG, "1.2", 80, 80, grown_ms=30)
fill(SERVER, RNG, "1.3", 80, 50, n_failed=30)
fill(SERVER, RNG, "1.4", 5, 50)
fill_waits(SERVER, RNG, "3.0", 20, 100)
fill_waits(SERVER, RNG, "3.1", 80, 300)


def test_an_equal_version_passes():
    code, out, err = guard(SERVER, "1.0", "1.1")
    assert code == 0 and out.startswith("pass: "), (code, out, err)
    assert "80 spans" in out and "errors" in out, out


def test_a_slower_version_fails_and_names_the_function():
    code, out, err = guard(SERVER, "1.0", "1.2")
    assert code == 1 and out.startswith("regression: duration +"), (code, out, err)
    assert "grow" in out.splitlines()[0] and "lock time   not measured" in out, out


def test_an_increase_that_is_allowed_passes():
    code, out, _ = guard(SERVER, "1.0", "1.2", "--max-increase", "99%")
    assert code == 1, out  # CPU grew by 150 %
    code, out, _ = guard(SERVER, "1.2", "1.0")
    assert code == 0, out  # faster is not a regression


def test_more_failures_are_a_regression():
    code, out, _ = guard(SERVER, "1.0", "1.3")
    assert code == 1 and out.startswith("regression: errors +37.5 %") or out.startswith("regression: errors +38"), (code, out)


def test_lock_time_and_allocation_are_judged():
    code, out, err = guard(SERVER, "3.0", "3.1", "--output", "json")
    rows = {m["measure"]: m for m in json.loads(out)["measures"]}
    assert code == 1, (out, err)
    assert rows["lock time"]["verdict"] == "regression" and 50 * MS < rows["lock time"]["low"] < 60.5 * MS, rows
    assert rows["allocation"]["verdict"] == "regression" and rows["allocation"]["function"] == "build", rows
    assert rows["duration"]["verdict"] == "pass", rows


def test_too_few_spans_are_no_verdict():
    code, out, _ = guard(SERVER, "1.0", "1.4")
    assert code == 3 and out.startswith("too little data: 80 spans of the baseline, 5 of the candidate; at least 30"), (code, out)
    assert "  duration    unknown" in out and "pass" not in out, out
    code, out, _ = guard(SERVER, "1.0", "9.9", "--output", "json")
    assert code == 3 and json.loads(out)["verdict"] == "too_little_data" and not json.loads(out)["measures"], out


def test_it_waits_for_spans():
    late = subprocess.Popen([PROGRAM, "guard", "--server", f"http://127.0.0.1:{SERVER.port}", "--q", '{ name = "POST /orders" }',
                             "--by", "span.version", "--baseline", "1.0", "--candidate", "2.0", "--wait", "5m"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.2)
    fill(SERVER, RNG, "2.0", 60, 50)
    out, _ = late.communicate(timeout=300)
    assert late.returncode == 0 and out.startswith("pass: "), out


def test_json_has_the_numbers_and_a_link():
    code, out, _ = guard(SERVER, "1.0", "1.2", "--output", "json")
    told = json.loads(out)
    rows = {m["measure"]: m for m in told["measures"]}
    assert code == 1 and told["verdict"] == "regression" and set(rows) == {"duration", "CPU", "errors"}, told
    assert 25 * MS < rows["duration"]["low"] < 30.5 * MS < rows["duration"]["high"] + MS and rows["CPU"]["function"] == HOSTILE, rows
    # Whoever opens it next week sees the same time.
    link = urllib.parse.parse_qs(told["link"].split("/?")[1])
    assert told["link"].startswith(f"http://127.0.0.1:{SERVER.port}/?view=compare&"), told["link"]
    assert int(link["until"][0]) - int(link["from"][0]) == 3600000 and abs(int(link["until"][0]) / 1000 - time.time()) < 600, link
    asked = SERVER.get("/api/v1/compare?" + urllib.parse.urlencode({k: v[0] for k, v in link.items() if k != "view"}))
    assert asked.status == 200 and json.loads(asked.body)["left"]["found"] == 80, asked.text  # what the page asks


def test_junit_is_xml_whatever_a_function_is_called():
    code, out, _ = guard(SERVER, "1.0", "1.2", "--output", "junit")
    suite = xml.etree.ElementTree.fromstring(out)
    cases = {c.get("name"): c for c in suite}
    assert code == 1 and suite.get("tests") == "5" and suite.get("failures") == "2" and suite.get("skipped") == "2", out
    assert HOSTILE.replace("\ufffe", "???") in cases["CPU"].find("failure").get("message") and cases["lock time"].find("skipped") is not None


def test_markdown_stays_one_table_whatever_a_function_is_called():
    code, out, _ = guard(SERVER, "1.0", "1.2", "--output", "markdown")
    rows = [line for line in out.splitlines() if line.startswith("| ")]
    assert code == 1 and out.startswith("### Spanflame guard: Regression\n") and len(rows) == 6, out
    assert all(line.count("|") == 7 for line in rows), rows


def files(*args):
    done = subprocess.run([PROGRAM, "guard", *args], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_the_flame_graph_of_two_versions():
    with tempfile.TemporaryDirectory() as home:
        code, out, err = guard(SERVER, "1.0", "1.2", "--output", "markdown", "--svg", f"{home}/diff.svg")
        assert code == 1 and f"]({home}/diff.svg)" in out, (out, err)
        with open(f"{home}/diff.svg", encoding="utf-8") as f:
            text = f.read()
        titles = [t.text for t in xml.etree.ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}title")]
        assert any(t.startswith("grow<script>") and t.endswith("0 -> 30 ms, new") for t in titles), titles
        assert any(t.startswith("work") and "+0.0 %" in t for t in titles) and "<script>\"&|" not in text, titles


def test_commands_of_two_builds():
    with tempfile.TemporaryDirectory() as home:
        source = "volatile double x; void work(int n) { while (n--) x += n; } int main(int n, char **v) { work(n > 1 ? 40000000 : 10000000); return n > 2; }"
        with open(f"{home}/b.c", "w", encoding="ascii") as f:
            f.write(source)
        if subprocess.run(["cc", "-O1", "-g", "-o", f"{home}/b", f"{home}/b.c"], check=False).returncode:
            raise tap.Skip("no C compiler here")
        both = ("--runs", "8", "--baseline-command", f"{home}/b", "--candidate-command")
        code, out, err = files(*both, f"{home}/b x", "--max-increase", "50%")
        assert code == 1 and "mostly work" in out.splitlines()[0] and "8 runs" in out, (out, err)
        code, out, err = files(*both, f"{home}/b x y")
        assert code == 2 and "run 1 of the candidate exited with code 1" in err, err
        assert files(*both[2:], f"{home}/b", "--runs", "7")[0] == 2 and files("--baseline-command", "b")[0] == 2
        for joined in ("; true", " && true", " | cat", "\ntrue"):
            code, out, err = files(*both, f"{home}/b{joined}")
            assert code == 2 and "one program with its arguments" in out + err, (joined, code, out, err)


def test_profile_files_of_two_builds():
    with tempfile.TemporaryDirectory() as home:
        for name, extra, runs in (("old", 0, 10), ("same", 0, 10), ("slow", 40, 10), ("few", 40, 3)):
            os.mkdir(f"{home}/{name}")
            for i in range(runs):
                noise = (i * 7 + len(name)) % 5
                with open(f"{home}/{name}/{i}.pb.gz", "wb") as f:
                    f.write(pprof({"main;work": (100 + noise) * 10**7, "main;parse": (20 + extra) * 10**7}))
        def guard_files(right, *more):
            return files("--baseline-profiles", f"{home}/old", "--candidate-profiles", f"{home}/{right}", *more)
        code, out, _ = guard_files("slow")
        assert code == 1 and "regression: CPU +400 ms (+33 %), mostly parse +400 ms" in out and "10 runs" in out, out
        assert guard_files("same")[0] == 0, guard_files("same")
        assert guard_files("slow", "--max-increase", "50%")[0] == 0
        code, out, _ = guard_files("few")
        assert code == 3 and "10 runs of the baseline, 3 of the candidate; at least 8" in out, out
        code, out, _ = guard_files("slow", "--output", "markdown")
        assert code == 1 and "| CPU | **regression** |" in out and "Open the comparison" not in out and "per run" in out, out
        told = json.loads(guard_files("slow", "--output", "json")[1])
        assert told["link"] == "" and told["measures"][0]["function"] == "parse", told
        code, out, _ = guard_files("slow", "--output", "markdown", "--svg", f"{home}/diff.svg")
        with open(f"{home}/diff.svg", encoding="utf-8") as f:
            text = f.read()
        assert f"]({home}/diff.svg)" in out and "<title>parse\n200 ms -&gt; 600 ms, +200.0 %" in text.replace("->", "-&gt;"), text[:3000]
        xml.etree.ElementTree.fromstring(text)
        assert guard_files("none")[0] == 2 and guard_files("slow", "--type", "alloc_space")[0] == 2
        assert files("--baseline-profiles", f"{home}/old")[0] == 2


def test_two_profile_files_are_judged_by_their_samples():
    with tempfile.TemporaryDirectory() as home:
        def write(name, stacks, **more):
            with open(f"{home}/{name}", "wb") as f:
                f.write(pprof({k: v * 10**7 for k, v in stacks.items()}, **dict({"period": 10**7}, **more)))
        write("old", {"main;work": 300, "main;parse": 20})
        write("same", {"main;work": 310, "main;parse": 15})
        write("slow", {"main;work": 300, "main;parse": 120})
        write("few", {"main;work": 20})
        write("old-wall", {"main;work": 300}, sample_type="wall")
        write("slow-wall", {"main;work": 300, "main;wait": 300}, sample_type="wall")
        write("untold", {"main;work": 300}, period=0)

        def two(left, right, *more):
            return files("--baseline-profiles", f"{home}/{left}", "--candidate-profiles", f"{home}/{right}", *more)
        code, out, _ = two("old", "slow")
        assert code == 1 and "regression: CPU +1 s (+31 %), mostly parse +1 s" in out and "two runs of one build may differ" in out.replace("\n", " "), out
        code, out, _ = two("old", "same")
        assert code == 0 and out.startswith("pass: "), out
        code, out, _ = two("old", "few")
        assert code == 3 and "at least 30 samples of each file" in out, out
        code, out, _ = two("old", "untold")
        assert code == 3 and "at least 8" in out, out  # what a sample represents is not known
        code, out, _ = two("old-wall", "slow-wall", "--output", "markdown")
        assert code == 1 and "| `wall` | **regression** |" in out and "| CPU | not measured" not in out and "One run of each" in out, out
        told = json.loads(two("old-wall", "slow-wall", "--output", "json")[1])
        assert [m["measure"] for m in told["measures"]] == ["wall"] and "One run of each" in told["summary"], told


def test_exit_codes_of_what_cannot_be_asked():
    assert guard(SERVER, "1.0", "1.1", "--output", "yaml")[0] == 2
    assert guard(SERVER, "1.0", "1.1", "--max-increase", "lots")[0] == 2
    assert guard(SERVER, "1.0", "1.1", "--q", "{ nonsense")[0] == 2
    done = subprocess.run([PROGRAM, "guard", "--server", f"http://127.0.0.1:{free_port()}", "--q", "{}", "--baseline", "a",
                           "--candidate", "b"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4, done


tap.run(sys.modules[__name__])
