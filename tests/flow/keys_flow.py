#!/usr/bin/env python3
"""Every key of the configuration changes something: keys of the profiling block are changed here and the difference is
observed; of every other key the table says which test changes it. A key without a line in it fails."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from server import PROGRAM, Server, is_in_share, tap  # noqa: E402

SOURCE, BUILD = os.environ["SOURCE_ROOT"], os.environ["BUILD_ROOT"]
HOME = library_home.folder("keys")
LIBRARY = os.path.join(BUILD, "collect")
PROFILED = os.path.join(HOME, "profiled")
# To it the host is idle: others who use this machine decide nothing.
subprocess.run(["cc", "-O1", "-g", "-I" + os.path.join(SOURCE, "include"),
                *(os.path.join(SOURCE, "tests", "flow", "library", name) for name in ("profiled.c", "still_host.c")),
                "-o", PROFILED, "-L" + LIBRARY, "-lspanflame", "-Wl,-rpath," + LIBRARY, "-pthread", "-ldl"], check=True)
SERVER = Server().start()
RUNS = [0]
IGNORED = set()  # keys that are not told


def variable(key):
    return "SPANFLAME_" + key.replace(".", "_").upper()


def tell(story, env, **keys):
    """(service, word -> rest of the line) of one run with those keys of the profiling block"""
    RUNS[0] += 1
    keys = {key: value for key, value in keys.items() if "profiling." + key.replace("__", ".") not in IGNORED}
    service = f"run{RUNS[0]}"
    env = dict(library_home.clean_env(), OTEL_SERVICE_NAME=service,
               OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{SERVER.port}", **env,
               **{variable("profiling." + key.replace("__", ".")): value for key, value in keys.items()})
    done = subprocess.run([PROFILED, story], capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode == 0, done
    said = {}
    for line in done.stdout.splitlines():
        said.setdefault(*line.split(" ", 1))  # what it said first
    said["lines"] = done.stdout.splitlines()
    return service, said


def profilers(**keys):
    return int(tell("run-time", {}, **keys)[1]["on"])


def rate(until, turns=500, **keys):
    """CPU samples a second in effect when that is `until`, or after so many turns"""
    said = tell("watch", {"WATCH": "rate", "WATCH_IS": str(until), "WATCH_FOR": str(turns), "SPANFLAME_PROFILES": "cpu"},
                **dict({"adaptive__interval": "100ms", "adaptive__budget": "100%"}, **keys))[1]
    return int(said["watched"].split()[2])


def pauses(until, turns=500, **keys):
    said = tell("watch", {"WATCH": "paused", "WATCH_IS": str(until), "WATCH_FOR": str(turns), "SPANFLAME_PROFILES": "cpu"},
                **dict({"adaptive__interval": "100ms"}, **keys))[1]
    return int(said["watched"].split()[0])


def counters(story, profiles, **keys):
    """samples taken, profiles sent, dropped, refused"""
    return [int(n) for n in tell(story, {"SPANFLAME_PROFILES": profiles}, **keys)[1]["counters"].split()]


def named(**keys):
    """The requests whose samples name their spans"""
    # One window, which no check of the budget closes: a window that ends during a request keeps its ids.
    keys = dict({"cpu__sample_rate": "1000", "upload_interval": "1h", "adaptive__interval": "1h", "adaptive__budget": "100%",
                 "conditional__share": "0%", "conditional__baseline": "0%",
                 "conditional__slow_request_threshold": "5s", "conditional__cpu_threshold_percent": "90%"}, **keys)
    _, said = tell("requests", {"SPANFLAME_PROFILES": "cpu"}, **keys)
    found = set()
    for _ in range(40):  # all of it came with one request: one that has samples, and the others are there, too
        for name in ("quick", "slow", "failed", "heavy", "asked", "never"):
            trace, span = said[name].split()
            got = SERVER.get(f"/api/v1/spans/{trace}/{span}/profile?type=cpu")
            if got.status == 200 and json.loads(got.body).get("grades", {}).get("exact", {}).get("samples", 0):
                found.add(name)
        if "asked" in found:
            break
        time.sleep(0.05)
    return found


def depth(**keys):
    service, said = tell("hot", {"SPANFLAME_PROFILES": "cpu"}, **keys)
    for _ in range(600):
        got = SERVER.get(f"/api/v1/profile?service={service}&type=cpu&format=folded")
        if got.status == 200 and got.body:
            return max(line.rsplit(" ", 1)[0].count(";") + 1 for line in got.body.decode().splitlines())
        time.sleep(0.1)
    raise AssertionError((got.body, said["lines"]))


def is_asked(**keys):
    service, _ = tell("watch", {"WATCH": "rate", "WATCH_IS": "0", "WATCH_FOR": "100", "SPANFLAME_PROFILES": "cpu"}, **keys)
    return bool(SERVER.json(f"/api/v1/collectors?service={service}")["collectors"])


CASES = {
    "profiling.cpu.enabled": lambda: profilers(cpu__enabled="false") & 1 == 0 < profilers() & 1,
    "profiling.memory.enabled": lambda: profilers(memory__enabled="false") & 4 == 0 < profilers() & 4,
    "profiling.wall.enabled": lambda: profilers(wall__enabled="true") & 2 > 0 == profilers() & 2,
    "profiling.mutex.enabled": lambda: profilers(mutex__enabled="true") & 8 > 0 == profilers() & 8,
    "profiling.block.enabled": lambda: profilers(block__enabled="true") & 16 > 0 == profilers() & 16,
    "profiling.threads.enabled": lambda: profilers(threads__enabled="true") & 32 > 0 == profilers() & 32,
    "profiling.cpu.sample_rate": lambda: rate(250, cpu__sample_rate="250") == 250 and rate(100) == 100,
    "profiling.wall.sample_rate": lambda: counters("waits", "wall", wall__sample_rate="1000")[0]
    > 5 * counters("waits", "wall", wall__sample_rate="1")[0],
    "profiling.memory.sample_rate": lambda: counters("memory", "heap", memory__sample_rate="4KB")[0]
    > 50 + 5 * counters("memory", "heap", memory__sample_rate="1GiB")[0],
    "profiling.max_stack_depth": lambda: depth(max_stack_depth="2") < depth(),
    # One window: where the budget lowers the rate another begins.
    "profiling.max_profile_size": lambda: [counters("varied", "cpu", cpu__sample_rate="1000", upload_interval="1h", adaptive__interval="1h", adaptive__budget="100%",
                                                    max_profile_size=size)[1:3] for size in ("64KiB", "10MB")] == [[0, 1], [1, 0]],
    "profiling.upload_interval": lambda: counters("hot", "cpu", upload_interval="100ms", adaptive__budget="100%")[1] > 2
    and counters("hot", "cpu", upload_interval="1h", adaptive__budget="100%")[1] == 1,
    "profiling.conditional.share": lambda: "quick" in named(conditional__share="100%") and "quick" not in named(),
    # Twice: one request in a hundred is in the default.
    "profiling.conditional.baseline": lambda: all("quick" in named(conditional__baseline="100%") for _ in range(2)),
    "profiling.conditional.slow_request_threshold": lambda: "slow" in named()
    and "slow" not in named(conditional__slow_request_threshold="1h"),
    "profiling.conditional.profile_errors": lambda: "failed" in named()
    and "failed" not in named(conditional__profile_errors="false"),
    "profiling.conditional.cpu_threshold_percent": lambda: named() == {"slow", "failed", "heavy", "asked"}
    and "quick" in named(conditional__cpu_threshold_percent="1%"),
    "profiling.conditional.escalate": lambda: counters("hot", "cpu", conditional__escalate="true",
                                                       conditional__slow_request_threshold="1ms")[0]
    > 1.5 * counters("hot", "cpu")[0],
    "profiling.adaptive.enabled": lambda: rate(13, adaptive__enabled="true", adaptive__cpu_threshold="0%") == 13,
    "profiling.adaptive.base_rate": lambda: rate(30, adaptive__enabled="true", adaptive__base_rate="240",
                                                 adaptive__cpu_threshold="0%") == 30,  # 100 is halved to 50, 25, 13
    "profiling.adaptive.max_rate": lambda: rate(5, adaptive__enabled="true", adaptive__max_rate="40",
                                                adaptive__cpu_threshold="0%") == 5,
    "profiling.adaptive.cpu_threshold": lambda: rate(13, adaptive__enabled="true", adaptive__cpu_threshold="0%") == 13,
    "profiling.adaptive.memory_threshold": lambda: rate(13, adaptive__enabled="true", adaptive__memory_threshold="1KB") == 13,
    # Also while adaptive is off. Whatever 1 % allows here, it cannot be both.
    "profiling.adaptive.budget": lambda: [rate(125, turns=250, cpu__sample_rate="1000", adaptive__budget=budget)
                                          for budget in ("0%", "100%")] == [125, 1000],
    "profiling.adaptive.interval": lambda: [rate(13, adaptive__enabled="true", adaptive__cpu_threshold="0%", adaptive__interval=interval,
                                                 turns=400) for interval in ("100ms", "1h")] == [13, 100],
    "profiling.load_shedding.enabled": lambda: [pauses(1, load_shedding__enabled=is_on, load_shedding__cpu_threshold="0%", turns=100)
                                                for is_on in ("true", "false")] == [1, 0],
    "profiling.load_shedding.cpu_threshold": lambda: pauses(1, load_shedding__enabled="true",
                                                            load_shedding__cpu_threshold="0%") == 1,
    "profiling.control.enabled": lambda: is_asked(control__enabled="true") and not is_asked(control__enabled="false"),
}

# Of the others: the tests that change it and see a difference.
ELSEWHERE = {
    "listen": "flow config, auth",
    "auth.token_file": "flow auth", "auth.header": "flow auth", "auth.proxy.user_header": "flow auth",
    "auth.proxy.groups_header": "flow auth", "auth.proxy.peers": "flow auth", "auth.proxy.users_file": "flow auth",
    "server.hosts": "flow browser", "server.sandbox": "flow deploy",
    "cors.origins": "flow auth, browser", "tenancy.enabled": "flow auth", "other_signals": "flow otlp",
    "limits.connections": "flow hostile", "limits.header_timeout": "flow hostile",
    "limits.total_timeout": "flow hostile, lanes",
    "limits.overrides_file": "flow overrides", "limits.query_memory": "flow hostile_query", "limits.query_time": "flow hostile_query, lanes",
    "redact.enabled": "flow redact", "redact.patterns": "flow redact", "redact.functions": "flow redact",
    "redact.hash_key_file": "flow redact",
    "retention.profiles": "flow adhoc",
    "retention.max_bytes": "flow adhoc", "retention.min_free": "flow shed",
    "retention.detail_by_outcome": "flow keep, unit keep", "retention.tail_delay": "flow keep", "retention.spans_by_outcome": "flow keep, unit retain",
    "profiling.conditional.flagged": "flow keep", "profiling.conditional.rules": "flow keep",
    "symbols.debuginfod": "flow symbols", "symbols.max_file": "flow symbols",
    "store.remote.url": "flow fleet", "store.remote.user": "flow fleet", "store.remote.password_file": "flow fleet",
    "store.remote.ca_file": "flow fleet", "store.remote.ack": "flow fleet", "store.remote.interval": "flow fleet",
    "store.remote.timeout": "flow fleet", "store.remote.spool_max": "flow fleet", "store.remote.attributes": "flow fleet_columns",
    "store.remote.memory": "flow fleet_limits",
    "metrics.service_graph.enabled": "flow service_graph",
    "metrics.service_graph.dimensions": "flow service_graph",
    "metrics.target_info.enabled": "flow service_graph", "metrics.recording_rules.interval": "flow recording",
    "alerts.interval": "flow alerts", "alerts.alertmanager": "flow alerts", "alerts.webhook": "flow alerts",
    "alerts.url": "flow alerts", "alerts.rules_files": "flow alerts", "alerts.rules": "flow alerts",
    "scrape": "flow scrape",
    "page.source_link": "unit config, flow server_keys", "page.source_root": "flow server_keys", "page.source_folder": "flow server_keys", "page.logs_link": "unit config, flow server_keys",
    "findings.leaf": "flow findings", "findings.equal_spans": "flow findings",
}
# Each has a test of its name in flow server_keys.
SERVER_KEYS = ("data memory log.level store.flush_interval retention.spans retention.detail alerts.pack symbols.max_total "
               "redact.replace metrics.service_graph.wait limits.body limits.body_timeout limits.inflated limits.idle_timeout limits.attributes limits.series limits.value limits.stack_depth redact.builtin redact.match "
               "redact.keys redact.values redact.names redact.files redact.allow auth.allow_public_without_auth retention.full_resolution symbols.timeout symbols.cache symbols.wait store.flush_log "
               "log.format metrics.span_metrics.enabled metrics.span_metrics.dimensions metrics.span_metrics.max_series metrics.service_graph.max_series metrics.service_graph.max_items findings.stack_depth "
               "findings.callers findings.repeated findings.gc findings.lock findings.theme").split()


def keys():
    env = {k: v for k, v in os.environ.items() if not k.startswith("SPANFLAME_")}
    done = subprocess.run([PROGRAM, "check-config", "--output", "json"], capture_output=True, text=True, check=True, env=env)
    return [s["key"] for s in json.loads(done.stdout)["settings"]]


def test_every_key_has_a_case_or_a_reason():
    with open(os.path.join(SOURCE, "tests", "flow", "server_keys_flow.py"), encoding="utf-8") as f:
        text = f.read()
    for key in SERVER_KEYS:
        assert f"def test_{key.replace('.', '_')}():" in text, key
    known = set(CASES) | set(ELSEWHERE) | set(SERVER_KEYS)
    unknown = [key for key in keys() if key not in known]
    assert not unknown, f"say in keys_flow.py what changes with {unknown}"
    gone = known - set(keys())
    assert not gone, f"no such keys any more: {gone}"


def test_the_selected_requests_are_those_of_the_outcome():
    assert named() == {"slow", "failed", "heavy", "asked"}
    assert named(conditional__cpu_threshold_percent="0%", conditional__slow_request_threshold="0") == {"failed", "asked"}  # 0: none


def test_the_library_chooses_by_the_hash_that_the_server_uses_and_totals_are_whole():
    share = 0.2
    service, said = tell("alike", {"SPANFLAME_PROFILES": "cpu"}, cpu__sample_rate="1000", upload_interval="1h", adaptive__interval="1h",
                         adaptive__budget="100%", conditional__share=f"{share:.0%}",
                         conditional__baseline="0%", conditional__slow_request_threshold="5s", conditional__cpu_threshold_percent="90%")
    ids = [line.split()[1:] for line in said["lines"] if line.startswith("alike ")]
    taken = int(said["counters"].split()[0])
    for _ in range(100):
        got = SERVER.get(f"/api/v1/profile?service={service}&type=cpu&format=json")
        if got.status == 200 and json.loads(got.body)["samples"] >= taken:
            break
        time.sleep(0.05)
    assert json.loads(got.body)["samples"] == taken, (got.body[:300], taken)  # those that name nothing count, too

    def is_named(trace, span):
        got = SERVER.get(f"/api/v1/spans/{trace}/{span}/profile?type=cpu")
        return got.status == 200 and bool(json.loads(got.body).get("grades", {}).get("exact", {}).get("samples", 0))
    chosen = {trace for trace, _ in ids if is_in_share(bytes.fromhex(trace), share)}
    named_ones = {trace for trace, span in ids if is_named(trace, span)}
    print(f"# {len(ids)} requests, {len(chosen)} in the share, {len(named_ones)} named")
    # 3 ms at 1,000 Hz: most have a sample. 150 requests with p = 0.2: fewer than 5 once in 10^8.
    assert named_ones <= chosen and len(named_ones) > len(chosen) / 2 and len(chosen) >= 5, (named_ones, chosen)


def test_escalation_ends_with_the_request():
    _, said = tell("escalated", {"SPANFLAME_PROFILES": "cpu"}, adaptive__budget="100%", conditional__escalate="true",
                   conditional__slow_request_threshold="100ms")
    slow, after = (int(n) for n in said["samples"].split())
    print(f"# samples in 0.5 CPU seconds: {slow} while the request is slow, {after} after it")
    assert slow > 3 * after > 0, (slow, after)


IS_SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1


def add(key, case):
    def test():
        assert case(), key

    def mutant():
        """The case can fail: a library that ignores the key is noticed."""
        IGNORED.add(key)
        try:
            is_noticed = not case()
        except AssertionError:
            is_noticed = True
        finally:
            IGNORED.discard(key)
        assert is_noticed, key
    mutant.__name__ = "test_" + key.replace(".", "_") + "_is_missed_when_it_is_ignored"
    if not IS_SHORT:
        globals()[mutant.__name__] = mutant
    test.__name__ = "test_" + key.replace(".", "_") + "_changes_something"
    globals()[test.__name__] = test


if IS_SHORT:
    del test_escalation_ends_with_the_request  # a thread that gets no CPU time finds out late
SHORT = ("profiling.cpu.sample_rate", "profiling.max_stack_depth")
for one, its_case in CASES.items():
    if not IS_SHORT or one in SHORT:
        add(one, its_case)

tap.run(sys.modules[__name__])
