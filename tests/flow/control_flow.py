#!/usr/bin/env python3
"""Programs that ask the server what to do: they follow a change, say so, and send captures."""
import contextlib
import http.server
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import library_home  # noqa: E402
from server import PROGRAM, Server, make_span, tap  # noqa: E402

SOURCE, BUILD = os.environ["SOURCE_ROOT"], os.environ["BUILD_ROOT"]
HOME = library_home.folder("control")
LIBRARY = os.path.join(BUILD, "collect")
PROFILED = os.path.join(HOME, "profiled")
subprocess.run(["cc", "-O1", "-g", "-I" + os.path.join(SOURCE, "include"),
                os.path.join(SOURCE, "tests", "flow", "library", "profiled.c"), "-o", PROFILED, "-L" + LIBRARY,
                "-lspanflame", "-Wl,-rpath," + LIBRARY, "-pthread"], check=True)
SERVER = Server("""alerts:
  interval: 1s
  rules:
    - {name: caught, traceql: '{ name = "capture me" } | count_over_time() by (resource.service.name)', above: 0, window: 1h,
       capture: {seconds: 1, rate: 500}}
""").start()
JSON = {"Content-Type": "application/json"}


def start(service, what, until, port=None, before=None, **env):
    usual = dict(library_home.clean_env(), SPANFLAME_PROFILING_CONTROL_ENABLED="true", OTEL_SERVICE_NAME=service,
                 OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port or SERVER.port}", SPANFLAME_PROFILES="cpu",
                 SPANFLAME_PROFILING_ADAPTIVE_BUDGET="100%",  # rates are those that were set, however busy the host is
                 WATCH=what, WATCH_IS=until)
    return subprocess.Popen([PROFILED, "watch"], stdout=subprocess.PIPE, text=True, env=dict(usual, **env), preexec_fn=before)


def watched(program):
    said = program.communicate(timeout=120)[0]
    assert program.returncode == 0, said
    line = [line for line in said.splitlines() if line.startswith("watched ")][0]
    return dict(zip(("paused", "paused_ms", "rate", "own"), map(int, line.split()[1:])))


def collector(service, server=None, **want):
    """What the server knows of the one collector of a service, when that is what is wanted."""
    seen = []
    for _ in range(300):
        seen = (server or SERVER).json(f"/api/v1/collectors?service={service}")["collectors"]
        if seen and all(seen[0][key] == value for key, value in want.items()):
            return seen[0]
        time.sleep(0.1)
    raise AssertionError((want, seen))


def change(method, target, document=None, status=200, server=None, **more):
    got = (server or SERVER).request(method, "/api/v1/profiling?" + target,
                                     json.dumps(document).encode() if document is not None else None,
                                     JSON if document is not None else None, **more)
    assert got.status == status, (got.status, got.body)
    return json.loads(got.body) if status == 200 else got.body.decode()


def command(*argv):
    return subprocess.run([PROGRAM, "control", *argv, "--server", f"http://127.0.0.1:{SERVER.port}"], capture_output=True,
                          text=True, timeout=90)


def test_a_program_follows_a_rate_and_says_so():
    program = start("fast", "rate", "7")
    before = collector("fast", rate=100, waiting=True)
    got = change("PUT", "service=fast", {"rate": {"cpu": 200}})
    assert got["effective"]["rate"] == {"cpu": 200} and got["effective"]["rateUntilMs"] > time.time() * 1000, got
    after = collector("fast", rate=200)
    assert (after["agent"].split("/")[0], after["pid"]) == ("spanflame-c", program.pid), after
    # Who, version applied, rate in effect, own cost, last seen, problems.
    assert (after["service"], after["rate"], after["paused"], after["problem"]) == ("fast", 200, False, ""), after
    assert len(after["version"]) == 16 and after["version"] != before["version"] and after["host"], (before, after)
    assert 0 < after["ownCostPercent"] < 100 and after["secondsAgo"] < 120 and after["lastSeen"].startswith("20"), after
    assert before["version"] != "" and before["instance"] == after["instance"], (before, after)
    change("PUT", "service=fast", {"rate": 7})
    assert watched(program)["rate"] == 7


def test_a_collector_tells_its_problem():
    program = start("troubled", "rate", "7", SPANFLAME_PROFILING_WALL_SAMPLE_RATE="often")
    assert "SPANFLAME_PROFILING_WALL_SAMPLE_RATE" in collector("troubled", rate=100)["problem"], collector("troubled")
    change("PUT", "service=troubled", {"rate": 7})
    watched(program)


def test_off_survives_a_restart_of_either_side_and_the_instance_wins():
    with tempfile.TemporaryDirectory() as data:
        server = Server(data=data).start()
        change("POST", "service=shop", {"enabled": False}, server=server)
        server.stop()
        server.start()
        program = start("shop", "rate", "100", port=server.port, OTEL_RESOURCE_ATTRIBUTES="service.instance.id=one",
                        SPANFLAME_PROFILING_CPU_SAMPLE_RATE="99")
        seen = collector("shop", server, paused=True, rate=0)
        assert seen["instance"] == "one", seen
        server.stop()  # the program continues as it was told, and asks again
        server.start()
        assert collector("shop", server, paused=True)["version"] == seen["version"]
        change("POST", "service=shop&instance=one", {"enabled": True, "rate": 100}, server=server)
        assert watched(program)["paused"] == 1
        changes = server.json("/api/v1/profiling/audit?service=shop")["changes"]
        assert [c["what"].split()[0] for c in changes] == ["post", "post"] and changes[0]["from"].startswith("127."), changes
        server.stop()


def test_a_change_is_followed_and_confirmed_within_5_s_after_restarts_of_either_side():
    with tempfile.TemporaryDirectory() as data:
        server = Server(data=data).start()
        program = start("quick", "rate", "7", port=server.port)
        collector("quick", server, waiting=True)
        took = {}

        def follow(what, is_on):
            begin = time.monotonic()
            change("POST", "service=quick", {"enabled": is_on}, server=server)
            seen = collector("quick", server, paused=not is_on, rate=100 if is_on else 0)  # it says itself what it does
            took[what] = time.monotonic() - begin
            assert seen["pid"] == program.pid, (seen, program.pid)
        follow("while both run", False)
        server.stop()
        server.start()
        follow("after a restart of the server", True)
        program.terminate()
        program.wait(30)
        server.stop()
        server.start()  # it forgets who asked before
        program = start("quick", "rate", "7", port=server.port)
        follow("after a restart of both", False)
        print("# followed and confirmed: " + ", ".join(f"{what} {s:.1f} s" for what, s in took.items()))
        program.terminate()
        program.wait(30)
        server.stop()
        if os.environ.get("MEASURED"):
            assert max(took.values()) <= 5, took


def test_an_alert_that_begins_to_fire_captures_a_profile_of_its_service():
    """A real program, whose profiling is off and which may use one processor: both are seen."""
    change("POST", "service=alarmed", {"enabled": False})
    one = min(os.sched_getaffinity(0))
    program = start("alarmed", "rate", "7", before=lambda: os.sched_setaffinity(0, {one}))
    collector("alarmed", paused=True)
    SERVER.send([make_span(service="alarmed", name="capture me")])
    began, state = None, {}
    for _ in range(900):
        began = began or re.search(r"capture=([0-9a-f]+) seconds=1 rule=caught", SERVER.log())
        state = SERVER.json("/api/v1/profiling/capture/" + began[1]) if began else {}
        if state.get("state") == "done":
            break
        time.sleep(0.1)
    assert state.get("state") == "done" and state["collectorsDone"] == 1, (state, SERVER.get("/api/v1/alerts").text, SERVER.log())
    got = SERVER.get(f"/api/v1/profile?app=alarmed&type=cpu&format=folded&from={state['fromNs']}&until={int(state['untilNs']) + 1}")
    assert got.status == 200 and "planted_hot" in got.text, (got.status, got.text, state)
    assert SERVER.metric("spanflame_alerts_captures_total") == 1
    what = [(c["who"], c["what"]) for c in SERVER.json("/api/v1/profiling/audit?service=alarmed")["changes"]]
    assert ("alert caught", "capture cpu at 500 Hz for 1 s") in [(w, t.split(" (")[0]) for w, t in what], what
    collector("alarmed", paused=True)  # off again
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        has_more = f.read().strip() != str(one)
    limits = SERVER.get("/pyroscope/label-values?label=cpu.limit").text
    assert ('"1"' in limits) == has_more, limits
    change("DELETE", "service=alarmed")
    change("POST", "service=alarmed", {"rate": 7})
    watched(program)


def test_a_capture_is_the_profile_of_that_time_though_profiling_is_off():
    change("POST", "service=caught", {"enabled": False})
    program = start("caught", "rate", "7")
    collector("caught", paused=True)
    got = SERVER.request("POST", "/api/v1/profiling/capture?service=caught&seconds=1&rate=500&format=folded", headers=JSON, timeout=60)
    assert got.status == 200 and b"planted_hot" in got.body, (got.status, got.body)
    collector("caught", paused=True)
    done = command("capture", "caught", "--seconds", "1", "--type", "wall", "--format", "folded")
    assert done.returncode == 0 and "watch" in done.stdout, done
    done = command("capture", "caught", "--seconds", "1", "--rate", "500")
    assert done.returncode == 0 and "planted_hot" in done.stdout and "<-- HOT PATH" in done.stdout, done
    begin = time.monotonic()
    for form in ("text", "xml"):  # said before anybody waits
        got = SERVER.request("POST", f"/api/v1/profiling/capture?service=caught&seconds=600&format={form}", headers=JSON, timeout=60)
        assert got.status == 400 and b"flamegraph, svg, json" in got.body, (got.status, got.body)
    assert command("capture", "caught", "--seconds", "600", "--format", "xml").returncode == 1 and time.monotonic() - begin < 300
    got = SERVER.request("POST", "/api/v1/profiling/capture?service=caught&seconds=1&rate=500&wait=false", headers=JSON)
    assert got.status == 202, (got.status, got.body)
    states = []  # how far it is, while it waits
    while not states or states[-1]["state"] == "running":
        states.append(SERVER.json("/api/v1/profiling/capture/" + json.loads(got.body)["id"]))
        time.sleep(0.05)
    assert (states[0]["state"], states[0]["collectors"], states[0]["collectorsDone"]) == ("running", 1, 0), states[0]
    assert states[0]["secondsLeft"] >= 1 and [s["secondsLeft"] for s in states] == sorted((s["secondsLeft"] for s in states), reverse=True)
    assert states[-1]["state"] == "done" and states[-1]["collectorsDone"] == 1, states[-1]
    assert int(states[-1]["untilNs"]) - int(states[-1]["fromNs"]) >= 10**9, states[-1]
    change("DELETE", "service=caught")
    change("POST", "service=caught", {"rate": 7})
    watched(program)
    got = SERVER.request("POST", "/api/v1/profiling/capture?service=nobody", headers=JSON)
    assert got.status == 404 and b"no collector of service nobody" in got.body, got.body


def test_a_capture_has_its_own_rate_where_the_budget_lowered_the_usual_one():
    """With a budget of zero the first check lowers the rate to an eighth, and with so long an interval nothing lowers that of a capture."""
    program = start("lowered", "rate", "7", SPANFLAME_PROFILING_ADAPTIVE_BUDGET="0%", SPANFLAME_PROFILING_ADAPTIVE_INTERVAL="1h")
    collector("lowered", waiting=True)
    for _ in range(60):  # it tells its rate when it asks again
        change("POST", "service=lowered", {"enabled": True})
        change("DELETE", "service=lowered")
        if collector("lowered", waiting=True)["rate"] == 13:
            break
        time.sleep(0.2)
    collector("lowered", rate=13)
    got = SERVER.request("POST", "/api/v1/profiling/capture?service=lowered&seconds=2&rate=200&wait=false", headers=JSON)
    assert got.status == 202, (got.status, got.body)
    collector("lowered", rate=200)
    collector("lowered", rate=13)
    program.terminate()
    program.communicate(timeout=60)


def test_the_command_shows_in_a_terminal_how_far_a_capture_is():
    program = start("shown", "rate", "7")
    collector("shown", waiting=True)
    looking, terminal = pty.openpty()
    with subprocess.Popen([PROGRAM, "control", "capture", "shown", "--seconds", "2", "--rate", "500", "--format", "folded", "--server",
                           f"http://127.0.0.1:{SERVER.port}"], stdout=subprocess.PIPE, stderr=terminal, text=True) as asked:
        os.close(terminal)
        said = b""
        with contextlib.suppress(OSError):  # the other side of a terminal is gone
            while more := os.read(looking, 4096):
                said += more
        profile = asked.communicate(timeout=90)[0]
    os.close(looking)
    lines = [line.removesuffix("\033[K") for line in said.decode().split("\r")]
    assert asked.returncode == 0 and "planted_hot" in profile, (said, profile)
    assert lines[0] == "" and lines[1] == "shown: 2 s left, 0 of 1 collectors done", lines
    assert len(lines) >= 4 and lines[-1] == "", lines  # nothing of it is left on the screen
    assert all(re.fullmatch(r"shown: (\d s left|waiting for the profile), [01] of 1 collectors done", line) for line in lines[1:-1]), lines
    change("PUT", "service=shown", {"rate": 7})
    watched(program)


def test_a_capture_of_one_instance_has_nothing_of_the_others():
    other = os.path.join(HOME, "other")
    with open(other + ".c", "w", encoding="ascii") as f:
        f.write("#include <unistd.h>\nvolatile int x; void other_hot(void) { for (int i = 0; i < 1000000; i++) x += i; }\n"
                "int main(void) { int parent = getppid(); while (getppid() == parent) { other_hot(); usleep(1000); } }\n")
    subprocess.run(["cc", "-O1", "-g", other + ".c", "-o", other], check=True)
    program = start("pair", "rate", "7", OTEL_RESOURCE_ATTRIBUTES="service.instance.id=pod-1")
    env = dict(library_home.clean_env(), SPANFLAME_PROFILING_CONTROL_ENABLED="true", OTEL_SERVICE_NAME="pair", OTEL_RESOURCE_ATTRIBUTES='service.instance.id=pod"2',
               SPANFLAME_PROFILING_ADAPTIVE_BUDGET="100%")
    second = subprocess.Popen([PROGRAM, "record", "--server", f"http://127.0.0.1:{SERVER.port}", "--cpu", "--", other], env=env)
    try:
        for _ in range(600):
            if len(SERVER.json("/api/v1/collectors?service=pair")["collectors"]) == 2:
                break
            time.sleep(0.1)
        done = command("capture", "pair", "--seconds", "2", "--rate", "500", "--format", "folded")
        assert "planted_hot" in done.stdout and "other_hot" in done.stdout, done
        done = command("capture", "pair", "--seconds", "1", "--rate", "500", "--format", "folded", "--instance", "pod-1")
        assert "planted_hot" in done.stdout and "other_hot" not in done.stdout, done
        got = SERVER.request("POST", "/api/v1/profiling/capture?service=pair&instance=pod%222&seconds=2&rate=500&format=folded", headers=JSON, timeout=60)
        assert got.status == 200 and b"other_hot" in got.body and b"planted_hot" not in got.body, got.body
    finally:
        second.terminate()
        second.wait(60)
    change("PUT", "service=pair", {"rate": 7})
    watched(program)


def test_a_capture_of_an_idle_instance_is_not_that_of_another():
    asleep = os.path.join(HOME, "asleep")
    with open(asleep + ".c", "w", encoding="ascii") as f:
        f.write("#include <unistd.h>\nint main(void) { int parent = getppid(); while (getppid() == parent) usleep(500000); }\n")
    subprocess.run(["cc", asleep + ".c", "-o", asleep], check=True)
    program = start("idle", "rate", "7", OTEL_RESOURCE_ATTRIBUTES="service.instance.id=busy")
    env = dict(library_home.clean_env(), SPANFLAME_PROFILING_CONTROL_ENABLED="true", OTEL_SERVICE_NAME="idle",
               OTEL_RESOURCE_ATTRIBUTES="service.instance.id=asleep")
    second = subprocess.Popen([PROGRAM, "record", "--server", f"http://127.0.0.1:{SERVER.port}", "--cpu", "--", asleep], env=env)
    try:
        for _ in range(600):
            if len(SERVER.json("/api/v1/collectors?service=idle")["collectors"]) == 2:
                break
            time.sleep(0.1)
        got = SERVER.request("POST", "/api/v1/profiling/capture?service=idle&seconds=1&rate=500&format=folded", headers=JSON, timeout=60)
        assert got.status == 200 and b"planted_hot" in got.body, (got.status, got.body)
        got = SERVER.request("POST", "/api/v1/profiling/capture?service=idle&instance=asleep&seconds=1&format=folded", headers=JSON, timeout=60)
        assert got.status == 404 and b"no samples were captured" in got.body, (got.status, got.body)
        done = command("capture", "idle", "--seconds", "1", "--instance", "asleep")
        assert done.returncode == 1 and "no samples were captured" in done.stderr, done
    finally:
        second.terminate()
        second.wait(60)
    change("PUT", "service=idle", {"rate": 7})
    watched(program)


def test_a_raised_rate_ends_though_the_other_one_is_set_without_an_end():
    change("POST", "service=ends", {"rate": {"cpu": 500}, "for": "5m"})
    told = change("POST", "service=ends", {"rate": {"wall": 10}})["effective"]
    assert told["rate"] == {"cpu": 500, "wall": 10} and told["rateUntil"]["wall"] == 0, told
    assert 0 < told["rateUntil"]["cpu"] / 1000 - time.time() <= 300 and told["rateUntilMs"] == told["rateUntil"]["cpu"], told
    lines = SERVER.get("/api/v1/control?service=ends&instance=x&format=text").text.splitlines()
    assert f"rate.until {told['rateUntilMs']}" in lines, lines
    shown = command("get", "ends").stdout
    assert "cpu until 20" in shown and "wall without an end" in shown, shown
    told = change("POST", "service=ends", {"rate": {"cpu": 50}})["effective"]
    assert "rateUntilMs" not in told, told


def named_spans(service, from_ns, until_ns):
    """(those with samples that name them, all) of the spans that began in that time"""
    named = n = 0
    for _ in range(100):
        found = SERVER.json("/api/search?q=" + urllib.parse.quote(f'{{resource.service.name="{service}"}}')
                            + f"&limit=200&start={from_ns // 10**9 - 5}&end={until_ns // 10**9 + 5}")["traces"]
        if any(int(t["startTimeUnixNano"]) > until_ns for t in found):
            break
        time.sleep(0.1)
    for t in found:
        if from_ns <= int(t["startTimeUnixNano"]) <= until_ns:
            span = t["spanSets"][0]["spans"][0]["spanID"]
            got = SERVER.get(f"/api/v1/spans/{t['traceID']}/{span}/profile?type=cpu")
            n += 1
            named += got.status == 200 and bool(json.loads(got.body).get("grades", {}).get("exact", {}).get("samples", 0))
    return named, n


def test_conditions_choose_whose_samples_name_spans():
    said = {"share": "0%", "baseline": "0%", "slow_request_threshold": "0", "cpu_threshold_percent": "0%",  # 0: no request
            "profile_errors": False, "escalate": False}
    got = change("PUT", "service=told", {"conditions": said})
    assert got["effective"]["conditions"]["profile_errors"] == "false", got
    poll = SERVER.json("/api/v1/control?service=told&instance=x")
    assert poll["conditions"]["share"] == "0%" and poll["conditions"]["slow_request_threshold"] == "0", poll
    program = start("chosen", "rate", "7", OTEL_BSP_SCHEDULE_DELAY="200")
    collector("chosen", rate=100, waiting=True)
    for share in ("0%", "100%"):
        before = collector("chosen")["version"]
        change("PUT", "service=chosen", {"conditions": dict(said, share=share)})
        for _ in range(300):
            if collector("chosen")["version"] != before:
                break
            time.sleep(0.1)
        begin = time.time_ns()
        got = SERVER.request("POST", "/api/v1/profiling/capture?service=chosen&seconds=2&rate=500&format=folded", headers=JSON, timeout=60)
        assert got.status == 200 and b"planted_hot" in got.body, got.body
        named, n = named_spans("chosen", begin + 500000000, begin + 1500000000)
        # A request that runs when a window ends keeps its ids: three windows end in a capture.
        assert n > 3 and (named > n / 2 if share == "100%" else named <= 3 and named < n), (share, named, n)
    change("PUT", "service=chosen", {"rate": 7})
    watched(program)


def test_the_command_switches_lists_and_tells_who_did():
    assert "enabled false" in command("off", "cmd").stdout
    assert "enabled true" in command("on", "cmd").stdout
    shown = command("set", "cmd", "--rate", "150", "--budget", "0.5%", "--for", "60s")
    assert "rate cpu 150 Hz, rates end at 20" in shown.stdout and "enabled true" in shown.stdout and "0.5%" in shown.stdout, shown
    assert command("get", "cmd").stdout == shown.stdout
    assert "as configured" in command("reset", "cmd").stdout
    assert len(command("audit", "cmd").stdout.splitlines()) == 4
    shown = command("collectors").stdout
    assert shown.startswith("service ") and " Hz " in shown, shown
    for wrong in (("set", "cmd"), ("fly", "cmd"), ("on",), ("set", "cmd", "--rate", "2000"), ("set", "cmd", "--rate", "0"),
                  ("capture", "cmd", "--seconds", "0")):
        assert command(*wrong).returncode in (1, 2), wrong


def test_hostile_documents_and_polls_are_refused():
    assert "1 to 1000" in change("PUT", "service=x", {"rate": 100000}, 400)
    assert "not a key" in change("PUT", "service=x", {"enabled": True, "shell": "rm"}, 400)
    assert "service is missing" in change("PUT", "", {"enabled": True}, 400)
    assert "service of the instance" in change("PUT", "service=*&instance=x", {"enabled": True}, 400)
    assert change("PUT", "service=" + "x" * 200, {"enabled": True}, 400)
    got = SERVER.request("PUT", "/api/v1/profiling?service=x", b" " * 100000, JSON)
    assert got.status in (400, 413), got.status
    got = SERVER.request("PUT", "/api/v1/profiling?service=x", b'{"enabled": true}', {"Content-Type": "text/plain"})
    assert got.status == 415, got.status
    for query in ("service=*&instance=a", "service=a", "service=a&instance=b&rate=-1", "service=a&instance=b&from=2&until=1",
                  "service=a&instance=b&wait=soon", "service=a&instance=b&unknown=1"):
        assert SERVER.get("/api/v1/control?" + query).status == 400, query
    assert SERVER.get("/api/v1/profiling/capture/0123").status == 404


def test_waiting_polls_hold_no_thread_and_end_when_they_are_to():
    tag = SERVER.get("/api/v1/control?service=wait&instance=0").headers["etag"]
    answers = []

    def poll(n):
        begin = time.monotonic()
        got = SERVER.get(f"/api/v1/control?service=wait&instance={n}&wait=60s", headers={"If-None-Match": tag}, timeout=90)
        answers.append((got.status, time.monotonic() - begin))

    threads = [threading.Thread(target=poll, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        waiting = [c for c in SERVER.json("/api/v1/collectors?service=wait")["collectors"] if c["waiting"]]
        if len(waiting) == 40:
            break
        time.sleep(0.1)
    assert len(waiting) == 40 and SERVER.get("/api/v1/services").status == 200 and not answers
    change("PUT", "service=*", {"enabled": True})
    for thread in threads:
        thread.join(30)
    assert len(answers) == 40 and {status for status, _ in answers} == {200}, answers
    change("DELETE", "service=*")
    got = SERVER.get("/api/v1/control?service=wait&instance=0&wait=1s", headers={"If-None-Match": tag})
    assert got.status == 304 and got.body == b"", got


def test_changes_need_the_scope_control_and_the_own_tenant():
    folder = tempfile.mkdtemp(dir=HOME)
    path = os.path.join(folder, "tokens")

    def token(name, scopes, *more):
        done = subprocess.run([PROGRAM, "token", "new", "--name", name, "--scopes", scopes, *more], capture_output=True,
                              text=True, check=True)
        secret, line = [text for text in done.stdout.splitlines() if text and not text.startswith("#")]
        with open(path, "a", encoding="ascii") as f:
            f.write(line + "\n")
        return secret
    reader, writer, admin = token("reader", "read"), token("writer", "write"), token("admin", "admin,read")
    red = token("red", "control,read,write", "--tenants", "red")
    blue = token("blue", "control,read,write", "--tenants", "blue")
    os.chmod(path, 0o600)
    with Server(f"auth: {{token_file: {path}}}\ntenancy: {{enabled: true}}\n") as server:
        for one in (reader, writer, admin):
            got = server.request("PUT", "/api/v1/profiling?service=shop", b'{"enabled": false}',
                                 dict(JSON, **{"X-Scope-OrgID": "red"}), token=one)
            assert got.status == 403 and b"scope control" in got.body, got.body
        change("PUT", "service=shop", {"enabled": False}, server=server, token=red)
        poll = "/api/v1/control?service=shop&instance=i"
        assert json.loads(server.get(poll, token=red).body) == {"enabled": False}
        assert json.loads(server.get(poll, token=blue).body) == {}
        assert server.get(poll, token=reader, headers={"X-Scope-OrgID": "red"}).status == 403
        assert server.json("/api/v1/profiling/audit", token=blue)["changes"] == []
        assert server.json("/api/v1/profiling/audit", token=red)["changes"][0]["who"] == "red"
        assert [c["service"] for c in server.json("/api/v1/collectors", token=blue)["collectors"]] == ["shop"]


class Stranger(http.server.BaseHTTPRequestHandler):
    """A back end that knows no control."""
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_back_end_without_control_is_asked_once():
    stranger = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=stranger.serve_forever, daemon=True).start()
    program = start("elsewhere", "paused", "99", port=stranger.server_address[1])
    for _ in range(100):
        if Stranger.asked:
            break
        time.sleep(0.1)
    time.sleep(3)
    program.terminate()
    program.wait(30)
    assert len(Stranger.asked) == 1 and Stranger.asked[0].startswith("/api/v1/control?"), Stranger.asked


if float(os.environ.get("CHECK_SCALE", "1")) < 1:  # make check: what needs no second server and no long wait
    del test_off_survives_a_restart_of_either_side_and_the_instance_wins
    del test_a_change_is_followed_and_confirmed_within_5_s_after_restarts_of_either_side
    del test_conditions_choose_whose_samples_name_spans
    del test_a_back_end_without_control_is_asked_once

tap.run(sys.modules[__name__])
