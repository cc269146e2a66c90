#!/usr/bin/env python3
"""What all spans get and what no span gets is what came in: random worlds of known content (tests/calibration/world.py), sent
as each kind of sender does, and asked through the API, are held against a slow oracle that was written from the rules
(tests/calibration/oracle.py). Per type, process and grade, and span by span. Seeds are fixed and times are those of the
world, so that there is no error by chance. CHECK_SCALE multiplies the worlds; SEED=kind:number runs one."""
import json
import os
import subprocess
import sys
import time
import urllib.parse

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.join(SOURCE, "tests", "calibration")]
import figures  # noqa: E402
import mixed  # noqa: E402
from oracle import balance  # noqa: E402
from server import Server, tap  # noqa: E402
from world import KINDS, S, World  # noqa: E402

SCALE = float(os.environ.get("CHECK_SCALE", "1"))
N_WORLDS = max(2, int(10 * SCALE))
server = Server().start()
T0 = (time.time_ns() // S - 600) * S


def wait_for(name, want):
    """Searches see what is acknowledged a moment later."""
    query = urllib.parse.quote('{ resource.service.name = "%s" }' % name)
    for _ in range(600):
        if len(server.json(f"/api/search?q={query}&limit=1000").get("traces", [])) == want:
            return
        time.sleep(0.05)
    raise AssertionError((name, want))


def n_requests(world):
    return sum(len(p.roots()) for p in world.processes)


def near(got, want, parts):
    """Parts are cut to whole numbers, each off by less than one."""
    return abs(got - want) <= parts + 1


def check_span(world, span, want, told):
    answer = server.json(f"/api/v1/spans/{span.trace.hex()}/{span.id.hex()}/profile?self=true&type={world.type()}")
    got = {grade: row["value"] for grade, row in answer["grades"].items() if row["value"]}
    if "cut to fit" in answer["reason"]:
        return  # the balance below has it as it was sent
    expected = want.of(span)
    for grade in set(got) | set(expected):
        assert near(got.get(grade, 0), expected.get(grade, 0), want.parts), (told, span.key(), got, expected, answer["reason"])


def check(kind, seed):
    # Of two worlds one has requests that share a thread, as event loops and handed-over work do.
    world = World(seed, kind, f"{kind}-{seed}".replace("_", "-"), T0, n_threads=(6, 1, 6, 2)[seed % 4])
    world.send(server)
    wait_for(world.name, n_requests(world))
    check_world(world, (kind, seed))


def check_world(world, told):
    for process in world.processes:
        told = (*told, world.kind, process.instance, world.type())
        want = balance(world, process)
        sent = sum(s.value for s in process.samples)
        assert abs(sum(want.got.values()) + want.nobody - sent) < 1, told  # the oracle itself
        path = f"/api/v1/balance?service={process.service}&instance={process.instance}&type={world.type()}&{world.range()}"
        answer = server.json(path)
        assert answer["spans"] == len(process.spans) and answer["received"] == sent, (told, answer, sent)
        got = {grade: row["value"] for grade, row in answer["grades"].items() if row["value"]}
        assert sum(got.values()) + answer["noSpan"] == answer["received"], (told, answer)
        grades = want.grades()
        for span in process.spans:
            check_span(world, span, want, told)
        for grade in set(got) | set(grades):
            assert near(got.get(grade, 0), grades.get(grade, 0), want.parts), (told, grade, got, grades)
        assert near(answer["noSpan"], want.nobody, want.parts), (told, answer["noSpan"], want.nobody)


def check_mixed(seed):
    parts = mixed.make(seed, T0)
    twins = [part.other_type() for part in parts if part.rng.random() < 0.5]
    for part in parts:
        part.send(server)
    for twin in twins:
        twin.send_samples(server, twin.processes[0])
    for name in sorted({part.name for part in parts}):
        wait_for(name, len({s.trace for part in parts if part.name == name for s in part.processes[0].spans}))
    for part in parts + twins:
        check_world(part, ("mixed", seed))
    figures.check(server, parts, 1 if SCALE >= 1 else 5)


def test_mixed_worlds_are_given_once_and_no_figure_is_too_large():
    """Several services in a trace, replicas that send otherwise, restarts, hand-over, two types; no figure is too large"""
    only = os.environ.get("SEED", "mixed:").split(":")
    for seed in range(N_WORLDS) if not only[1] else [int(only[1])] * (only[0] == "mixed"):
        check_mixed(seed)


def make_test(kind):
    def test():
        if os.environ.get("SEED"):
            only, seed = os.environ["SEED"].split(":")
            if only == kind:
                check(kind, int(seed))
            return
        for seed in range(N_WORLDS):
            check(kind, seed)
    test.__name__ = f"test_{kind}_samples_are_given_once"
    return test


for name in KINDS:
    globals()[f"test_{name}_samples_are_given_once"] = make_test(name)


def parts_of(path, begin):
    """Asked with `limit` until nothing follows; the parts tile the range."""
    out = []
    for _ in range(1000):
        out.append(server.json(f"{path}&limit=3&from={begin}"))
        assert out[-1]["spans"] <= 3 and out[-1]["noSpan"] is not None, out[-1]
        if out[-1]["nextFromUnixNano"] is None:
            return out
        assert out[-1]["nextFromUnixNano"] == out[-1]["untilUnixNano"], out[-1]
        begin = out[-1]["nextFromUnixNano"]
    raise AssertionError(out)


def test_parts_of_a_balance_add_up():
    # A number of its own: equal numbers give equal ids, and a span that is there twice counts once.
    world = World(1000, "timed", "parts", T0, n_replicas=2, n_requests=6)
    world.send(server)
    wait_for(world.name, n_requests(world))
    path = f"/api/v1/balance?service={world.name}&type={world.type()}&until={(T0 + world.length) // S + 5}"
    whole = server.json(f"{path}&from={T0 // S - 5}")
    parts = parts_of(path, T0 // S - 5)
    assert len(parts) > 3 and "nextFromUnixNano" not in whole, (len(parts), whole)
    for key in ("spans", "received", "noSpan"):
        assert sum(p[key] for p in parts) == whole[key], (key, [p[key] for p in parts], whole)
    for grade, row in whole["grades"].items():
        for key in row:
            assert sum(p["grades"][grade][key] for p in parts) == row[key], (grade, key, whole)
    done = subprocess.run([os.environ["SPANFLAME"], "coverage", world.name, "--balance", "--type", world.type(), "--since", "30m",
                           "--output", "json", "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=120)
    told = json.loads(done.stdout)
    assert {k: told[k] for k in ("spans", "received", "noSpan", "grades")} == {k: whole[k] for k in ("spans", "received", "noSpan", "grades")}, told
    done = subprocess.run([os.environ["SPANFLAME"], "coverage", world.name, "--balance", "--type", world.type(), "--since", "30m",
                           "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "received" in done.stdout and "no span" in done.stdout, (done.stdout, done.stderr)
    print("# " + done.stdout.replace("\n", "\n# "))
    for limit in ("0", "1001", "many"):
        assert server.get(f"{path}&limit={limit}").status == 400, limit


LEFT_OUT = "samples without ids are left out: there are too many, or from too many processes"


def ask_program(words):
    return subprocess.run([os.environ["SPANFLAME"], *words, "--server", f"http://127.0.0.1:{server.port}"], capture_output=True,
                          text=True, timeout=120)


def check_left_out(path, is_left_out):
    answer = server.json(path)
    told = f"{answer.get('note', '')} {answer.get('reason', '')} {answer.get('link', {}).get('note', '')}"
    assert told.count(LEFT_OUT) == is_left_out, (path, told)


def test_sets_say_when_samples_without_ids_are_left_out():
    """Java loses ids: samples without one are given by thread, of 16 processes at most"""
    for n, is_left_out in ((16, False), (17, True)):
        world = World(2000 + n, "root", f"wide-{n}", T0, n_replicas=n, n_requests=1, is_alloc=False, has_threads=True)
        for process in world.processes:
            process.language = "java"
        world.send(server)
        wait_for(world.name, n_requests(world))
        query, range_ = urllib.parse.urlencode({"q": '{ resource.service.name = "wide-%d" }' % n}), world.range()
        for path in (f"cohort?{query}", f"compare?{query}&split=p50", f"findings?{query}", f"findings?service={world.name}",
                     f"explain?{query}", f"explain?{query}&split=p50", f"coverage?service={world.name}"):
            check_left_out(f"/api/v1/{path}&{range_}", is_left_out)
        done = ask_program(["coverage", world.name, "--since", "30m"])
        assert (LEFT_OUT in " ".join(done.stdout.split())) == is_left_out, done.stdout


def test_traces_say_when_samples_without_ids_are_left_out():
    for n, is_left_out in ((16, False), (17, True)):
        world = World(3000 + n, "root", f"one-{n}", T0, n_replicas=n, n_requests=1, is_alloc=False, has_threads=True)
        trace = world.processes[0].spans[0].trace
        for process in world.processes:
            process.language = "java"
            for span in process.spans:
                span.trace = trace
        world.send(server)
        for path in (f"trace/{trace.hex()}", f"traces/{trace.hex()}/flame", f"traces/{trace.hex()}/ledgers",
                     f"findings?trace={trace.hex()}", f"explain?trace={trace.hex()}"):
            check_left_out(f"/api/v1/{path}", is_left_out)
        for words in (["trace", trace.hex()], ["findings", "--trace", trace.hex()], ["why", trace.hex()]):
            done = ask_program(words)
            assert done.returncode == 0 and (LEFT_OUT in " ".join(done.stdout.split())) == is_left_out, (words, done.stdout, done.stderr)


def test_a_balance_needs_a_service_and_knows_its_types():
    assert server.get("/api/v1/balance").status == 400
    answer = server.json("/api/v1/balance?service=nobody-knows-it")
    assert (answer["spans"], answer["received"], answer["noSpan"], answer["type"]) == (0, 0, 0, ""), answer
    kind = f"{KINDS[0]}-0"
    if not os.environ.get("SEED"):
        assert server.get(f"/api/v1/balance?service={kind}&type=love&from={T0 // S - 5}&until={T0 // S + 9}").status == 404


tap.run(sys.modules[__name__])
