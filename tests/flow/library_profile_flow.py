#!/usr/bin/env python3
"""A program that is traced and profiled by the library: the server knows which code each of its spans ran."""
import json
import os
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from server import Server, free_port, tap  # noqa: E402

SOURCE, BUILD = os.environ["SOURCE_ROOT"], os.environ["BUILD_ROOT"]
HOME = library_home.folder("library-profile")
ENV = library_home.clean_env()
LIBRARY = os.path.join(BUILD, "collect")
SERVER = Server().start()
IS_MEASURED = "MEASURED" in os.environ  # the suite truth sets it: nothing else runs, so lengths of time mean something


def build(name):
    out = os.path.join(HOME, name)
    subprocess.run(["cc", "-O1", "-g", "-I" + os.path.join(SOURCE, "include"),
                    os.path.join(SOURCE, "tests", "flow", "library", name + ".c"), "-o", out, "-L" + LIBRARY,
                    "-lspanflame", "-Wl,-rpath," + LIBRARY, "-pthread"], check=True)
    return out


PROFILED = build("profiled")


def tell(story, service, url=None, program=PROFILED, **env):
    """What the program said: word -> [rest of the line]"""
    usual = dict(ENV, OTEL_SERVICE_NAME=service, OTEL_EXPORTER_OTLP_ENDPOINT=url or f"http://127.0.0.1:{SERVER.port}",
                 SPANFLAME_PROFILING_ADAPTIVE_BUDGET="100%")  # rates are as configured, however busy the host is
    env = dict(usual, **env)
    done = subprocess.run([program, story], capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode == 0, done
    said = {}
    for line in done.stdout.splitlines():
        word, rest = line.split(" ", 1)
        said.setdefault(word, []).append(rest)
    return said


def profile_of(span, kind="cpu"):
    """The server's answer for a span it may not have yet."""
    trace, span = span.split()
    for _ in range(100):
        got = SERVER.get(f"/api/v1/spans/{trace}/{span}/profile?type={kind}")
        if got.status == 200:
            answer = json.loads(got.body)
            if answer.get("samples"):
                return answer
        time.sleep(0.05)
    return json.loads(got.body)


def test_a_span_has_the_code_that_ran_in_it():
    said = tell("hot", "hot")
    inner = profile_of(said["inner"][0])
    assert inner["grades"]["exact"]["samples"] == inner["samples"] > 20, inner
    text = str(inner["profile"])
    assert "planted_hot" in text and "planted_cool" not in text, text
    outer = str(profile_of(said["outer"][0])["profile"])
    assert "planted_cool" in outer, outer
    taken, sent, dropped, refused = map(int, said["counters"][0].split())
    assert taken > 40 and sent >= 1 and not dropped and not refused, said


def test_grpc_brings_the_same():
    said = tell("hot", "hot-grpc", OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    inner = profile_of(said["inner"][0])
    assert inner["grades"]["exact"]["samples"] == inner["samples"] > 20 and "planted_hot" in str(inner["profile"]), inner


def test_profilers_go_on_and_off_while_the_program_runs():
    said = tell("run-time", "run-time", SPANFLAME_PROFILES="none")
    assert said["on"] == ["0", "1", "0"], said
    answer = profile_of(said["profiled"][0])
    assert "planted_hot" in str(answer["profile"]), answer
    trace, span = said["unprofiled"][0].split()
    got = json.loads(SERVER.get(f"/api/v1/spans/{trace}/{span}/profile?type=cpu").body)
    assert not got["grades"]["exact"]["samples"], got


def test_a_forked_child_is_profiled_with_its_first_span():
    said = tell("fork", "forked-profile")
    answer = profile_of(said["child"][0])
    assert answer["grades"]["exact"]["samples"] > 15 and "planted_hot" in str(answer["profile"]), answer


def value_of(profile, function):
    """What the stacks with that function are worth, in the profile's unit."""
    frames, nodes = profile["frames"], profile["nodes"]
    total = 0
    for parent, frame, own in nodes:
        while frame >= 0:
            if frames[frame]["function"] == function:
                total += own
                break
            parent, frame, _ = nodes[parent]
    return total


def test_wall_time_shows_where_a_thread_waits_and_interrupts_nothing():
    said = tell("waits", "waiting", SPANFLAME_PROFILES="wall,threads", SPANFLAME_PROFILING_WALL_SAMPLE_RATE="100")
    assert "interrupted" not in said, said
    wall = profile_of(said["waits"][0], "wall")
    nap, hot = (value_of(wall["profile"], name) / 1e9 for name in ("planted_nap", "planted_hot"))
    assert wall["grades"]["exact"]["samples"] == wall["samples"], wall
    # How much each has is left to the suite truth: a sampler that gets no CPU for a while takes no samples. There 150 and
    # 50 samples are expected, at even distances, so that the bounds leave space for 30 and 15 late ones; none is usual.
    duration = wall["durationNs"] / 1e9
    assert nap > 0 and hot > 0, (nap, hot, wall)
    if IS_MEASURED:
        assert nap >= 1.2 and hot >= 0.35 and abs(nap + hot - duration) <= 0.15 * duration, (nap, hot, wall)
    trace, span = said["waits"][0].split()
    ledger = SERVER.json(f"/api/v1/spans/{trace}/{span}/ledger")
    parts = {part["part"]: part["ns"] / 1e9 for part in ledger["parts"]}
    assert parts["sleep"] > 0 and parts["cpu"] > 0, parts
    if IS_MEASURED:
        assert parts["sleep"] >= 1.2 and parts["cpu"] >= 0.35 and parts["unknown"] <= 0.15 * duration, parts


def test_threads_are_counted_by_state():
    tell("waits", "counted", SPANFLAME_PROFILES="threads")
    for _ in range(100):
        got = SERVER.get("/api/v1/profile?app=counted&type=threads&format=json")
        if got.status == 200:
            break
        time.sleep(0.05)
    profile = json.loads(got.body)
    assert value_of(profile, "reads") >= 1 and value_of(profile, "main") >= 1, profile


def test_record_sends_what_a_program_does_that_knows_nothing_of_it():
    code = "sum(i * i for i in range(6000000))"
    done = subprocess.run([os.environ["SPANFLAME"], "record", "--server", f"http://127.0.0.1:{SERVER.port}", "--",
                           sys.executable, "-c", code + "; print('done')"], capture_output=True, text=True, check=False,
                          timeout=120, env=dict(ENV, OTEL_SERVICE_NAME="recorded"))
    assert (done.returncode, done.stdout) == (0, "done\n") and "profiles sent" in done.stderr, done
    for _ in range(100):
        got = SERVER.get("/api/v1/profile?app=recorded&type=cpu&format=folded")
        if got.status == 200:
            break
        time.sleep(0.05)
    assert "PyEval" in got.text or "python" in got.text, got.text[:500]


def attributes_of(trace):
    """By the names of its spans."""
    for _ in range(100):
        got = SERVER.get(f"/api/traces/{trace}")
        if got.status == 200:
            break
        time.sleep(0.05)
    return {s["name"]: {a["key"]: a["value"].get("stringValue") or int(a["value"].get("intValue", 0))
                        for a in s["attributes"]}
            for b in json.loads(got.body)["batches"] for ss in b["scopeSpans"] for s in ss["spans"]}


def test_memory_and_samples_are_on_the_span_when_asked_for():
    said = tell("memory", "holds", SPANFLAME_SPAN_COST="allocations,heap,profile", SPANFLAME_PROFILES="cpu,heap",
                SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE="4KB")
    trace, span = said["held"][0].split()
    spans = attributes_of(trace)
    outer, child = spans["held"], spans["brief"]
    assert (child["thread.allocated_bytes"], child["thread.allocated_objects"]) == (100000, 100), child
    assert 3100000 <= outer["thread.allocated_bytes"] < 3200000, outer
    assert 400 <= outer["thread.allocated_objects"] < 500, outer
    # 300 objects of 10,000 bytes, each seen with p = 0.913: the standard error is 53,000 bytes and 5.3 objects, so that
    # the lower bounds are 5.6 and 9 of them away. By chance once in 10^8 runs.
    assert 2.7e6 <= outer["runtime.heap_alloc"] < 3.5e6 and 250 <= outer["runtime.heap_objects"] < 2000, outer
    assert (outer["profile.type"], outer["pyroscope.profile.id"]) == ("cpu,heap", span), outer
    assert outer["profile.sample_count"] >= 20 and 2e5 < outer["profile.duration_us"] < 6e5, outer
    assert child["pyroscope.profile.id"] != span and "runtime.heap_alloc" not in child, child
    assert "thread.cpu_time_ns" not in outer, outer
    bare = attributes_of(tell("memory", "holds", SPANFLAME_PROFILES="cpu,heap")["held"][0].split()[0])
    assert bare["held"].pop("thread.id") > 0, bare
    assert not any(key.startswith(("thread.", "runtime.", "profile.")) for key in bare["held"]), bare


def test_exact_cost_on_short_spans_reaches_their_ledger():
    said = tell("costs", "costly", SPANFLAME_SPAN_COST="all", SPANFLAME_PROFILES="none")
    trace, span = said["short"][0].split()
    spans = attributes_of(trace)
    outer, child = spans["short"], spans["child"]
    assert 8e6 <= outer["thread.cpu_time_ns"] < 12e6 and 4e6 <= child["thread.cpu_time_ns"] < 6e6, spans
    assert outer["thread.switches.voluntary"] >= 1 and outer["thread.run_queue_ns"] >= 0, outer
    assert outer["runtime.threads"] >= 1 and outer["process.memory_bytes"] > 500000, outer
    assert "runtime.threads" not in child and outer["thread.id"] == child["thread.id"], spans
    parts = {p["part"]: p for p in SERVER.json(f"/api/v1/spans/{trace}/{span}/ledger")["parts"]}
    own = outer["thread.cpu_time_ns"] - child["thread.cpu_time_ns"]
    assert parts["cpu"]["source"] == "exact" and parts["cpu"]["ns"] == own, (parts, own)
    assert parts["child"]["ns"] >= child["thread.cpu_time_ns"], parts


def test_an_explanation_has_the_runnable_threads_of_the_host():
    """Four threads that only run share the CPU of two spans, which wait for it: the host had these four and the span's own at least."""
    said = tell("crowd", "crowded", SPANFLAME_SPAN_COST="run_queue", SPANFLAME_PROFILES="cpu")
    counts = []
    for trace, span in map(str.split, said["crowded"]):
        (attributes,) = attributes_of(trace).values()
        counts.append(attributes["host.runnable_threads"])
        assert counts[-1] >= 4 and attributes["thread.run_queue_ns"] >= 20e6, attributes
        for asked in (f"trace={trace}&span={span}", f"trace={trace}"):
            answer = SERVER.json(f"/api/v1/explain?{asked}")
            (part,) = [p for p in answer["parts"] if p["part"] == "run_queue"]
            assert part.get("runnable_threads") == counts[-1] and part["ns"] == attributes["thread.run_queue_ns"], (answer, attributes)
            assert all("runnable_threads" not in p for p in answer["parts"] if p != part), answer
            assert part["reason"] == f"host had {counts[-1]} runnable threads", part
            assert f"waiting for a CPU ({part['reason']})" in answer["sentence"], answer["sentence"]
            text = SERVER.get(f"/api/v1/explain?{asked}&format=text").text
            assert text.count(f"host had {counts[-1]} runnable threads") == 2, text
    query = urllib.parse.quote('{ resource.service.name = "crowded" }')
    answer = SERVER.json(f"/api/v1/explain?q={query}&from=now-1h")
    (part,) = [p for p in answer["parts"] if p["part"] == "run_queue"]
    assert min(counts) <= part["runnable_threads"] <= max(counts), (answer, counts)
    assert "waiting for a CPU (host had " in answer["sentence"], answer["sentence"]
    without = tell("crowd", "uncounted", SPANFLAME_SPAN_COST="cpu", SPANFLAME_PROFILES="wall")
    trace, span = without["crowded"][0].split()
    assert "host.runnable_threads" not in attributes_of(trace)["crowded"], trace
    answer = SERVER.json(f"/api/v1/explain?trace={trace}&span={span}")
    assert "runnable" not in answer["sentence"] and all("runnable_threads" not in p for p in answer["parts"]), answer


def test_waits_too_short_to_be_sampled_are_exact_on_the_span_and_in_its_ledger():
    said = tell("naps", "napping", SPANFLAME_SPAN_COST="cpu,run_queue,waits", SPANFLAME_PROFILES="mutex,block")
    trace, span = said["naps"][0].split()
    before, inside = (int(ns) for ns in said["watched"][0].split())
    spans = attributes_of(trace)
    outer, child = spans["naps"], spans["child"]
    # The hook's watch runs inside of the program's; what lies between the two is some instructions, or a turn of others.
    for ns, watched in ((child["thread.wait.sleep_ns"], inside), (outer["thread.wait.sleep_ns"], before + inside)):
        assert (0.5 * watched if IS_MEASURED else 0) < ns <= watched, (spans, said)
    # It only sleeps; a page of it that was not in memory is waited for as a disk, on a machine that others use.
    of_kinds = {k: v for k, v in outer.items() if k.startswith("thread.wait.")}
    assert outer["thread.wait_ns"] == sum(of_kinds.values()), outer
    assert set(of_kinds) <= {"thread.wait.sleep_ns", "thread.wait.disk_ns"}, outer
    parts = {p["part"]: p for p in SERVER.json(f"/api/v1/spans/{trace}/{span}/ledger")["parts"]}
    own = outer["thread.wait.sleep_ns"] - child["thread.wait.sleep_ns"]
    # Waiting for a CPU after the alarm is part of the hook's figure, and comes first in the ledger.
    assert parts["sleep"]["source"] == "exact" and 0 < parts["sleep"]["ns"] <= own, (parts, own)
    assert parts["sleep"]["ns"] + parts["run_queue"]["ns"] + parts["cpu"]["ns"] >= own, (parts, own)
    alone = attributes_of(tell("naps", "dozing", SPANFLAME_SPAN_COST="waits", SPANFLAME_PROFILES="block")["naps"][0].split()[0])
    assert "thread.wait_ns" not in alone["naps"], alone  # waits for locks are not measured then


def test_a_configuration_file_chooses_and_the_environment_overrides_it():
    path = os.path.join(HOME, "spanflame.yaml")
    with open(path, "w", encoding="ascii") as f:
        f.write("retention: {spans: 7d}\nprofiling:\n  cpu: {enabled: false}\n  memory: {enabled: false}\n"
                "  threads:\n    enabled: true\n")
    checked = subprocess.run([os.environ["SPANFLAME"], "check-config", "--config", path], capture_output=True, text=True,
                             check=False, timeout=60)
    assert checked.returncode == 0, checked  # the same file is the server's
    assert tell("run-time", "by-file", SPANFLAME_CONFIG=path)["on"][0] == "32"
    assert tell("run-time", "by-env", SPANFLAME_CONFIG=path, SPANFLAME_PROFILES="none")["on"][0] == "0"
    assert tell("run-time", "by-key", SPANFLAME_CONFIG=path, SPANFLAME_PROFILING_THREADS_ENABLED="false")["on"][0] == "0"


def watch(service, what, until, **keys):
    """What the program's counters said last: [times paused, ms paused, rate, own CPU ns, mean of heap samples, of waits]; keys of the
    profiling block"""
    profiles = {"mean": "cpu,heap", "wait": "cpu,mutex,block"}.get(what, "cpu")
    env = {"SPANFLAME_PROFILING_" + key.upper(): value for key, value in keys.items()}
    said = tell("watch", service, WATCH=what, WATCH_IS=until, SPANFLAME_PROFILES=profiles,
                SPANFLAME_PROFILING_ADAPTIVE_INTERVAL="100ms", **env)
    return [int(n) for n in said["watched"][0].split()]


def test_profiling_pauses_while_the_host_is_overloaded_and_coverage_says_so():
    times, _, rate, own, *_ = watch("shed", "paused", "1", load_shedding_enabled="true", load_shedding_cpu_threshold="0%",
                                upload_interval="200ms")
    assert (times, rate) == (1, 0) and own > 0
    for _ in range(100):
        told = SERVER.json("/api/v1/coverage?service=shed")
        if "profiling_paused" in [n["kind"] for n in told["notes"]]:
            break
        time.sleep(0.1)
    assert "profiling_paused" in [n["kind"] for n in told["notes"]], told
    assert any(t["type"].startswith("profiling_paused") for t in told["types"]), told


def test_the_rate_falls_above_a_threshold_to_an_eighth_and_not_below():
    assert watch("slower", "rate", "13", adaptive_enabled="true", adaptive_cpu_threshold="0%")[2] == 13
    assert watch("less", "rate", "25", adaptive_enabled="true", adaptive_memory_threshold="1KB", adaptive_base_rate="200",
                 adaptive_cpu_threshold="100%")[2] == 25
    assert watch("capped", "rate", "50", adaptive_enabled="true", adaptive_base_rate="200", adaptive_max_rate="50",
                 adaptive_memory_threshold="0", adaptive_budget="100%", adaptive_cpu_threshold="100%")[2] == 50


def test_the_heap_is_sampled_less_with_the_cpu():
    rate, _, mean = watch("heap", "mean", "800000", adaptive_enabled="true", adaptive_cpu_threshold="0%", memory_sample_rate="100KB")[2:5]
    assert (rate, mean) == (13, 800000)


def test_waits_are_sampled_less_with_the_cpu():
    rate, _, _, mean = watch("waits", "wait", "8000000", adaptive_enabled="true", adaptive_cpu_threshold="0%", adaptive_budget="100%")[2:]
    assert (rate, mean) == (13, 8000000)


def test_a_budget_that_waits_exceed_lowers_their_rate():
    """With a budget of zero to the lowest one: 1 / 65,536."""
    assert watch("waits-cost", "wait", "65536000000", adaptive_budget="0%")[5] == 65536000000


def test_without_a_server_the_program_ends_all_the_same():
    begin = time.monotonic()
    said = tell("hot", "gone", url=f"http://127.0.0.1:{free_port()}")
    assert time.monotonic() - begin < 40 and int(said["counters"][0].split()[1]) == 0, said


tap.run(sys.modules[__name__])
