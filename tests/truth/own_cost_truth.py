#!/usr/bin/env python3
"""What profiling costs a program on a busy host, as the kernel counts it, against its budget: 1 % of the program's CPU time.

Two loops keep both processors busy. The library's threads have CPU times of their own, which are exact. Samples are taken on
the program's threads: what one takes is measured in a program whose profilers are on and off in turn, unit of work by unit of
work, until it is known well enough; times the samples that a program took, it is its other part. Both are held against the
library's own figure. On a host so busy that the program gets less than a tenth of a CPU, the budget is that of a tenth."""
import math
import multiprocessing
import os
import re
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
import library_home  # noqa: E402
from server import PROGRAM, Server, tap  # noqa: E402

TOIL, BARE = os.environ["TOIL"], os.environ["TOIL_BARE"]
BUDGET = 1.0  # percent
IDLE_CPUS = 0.1  # a program that gets less of a CPU counts as one that gets so much (docs/c-library.md)
UNITS = os.environ.get("OWN_COST_UNITS", "15000")
PHASES, MOST_RUNS = 300, int(os.environ.get("OWN_COST_RUNS", "12"))
GOOD_ERROR = 0.05  # percent of a program that is sampled as usual
MOST_ERROR = 0.15  # with more than this nothing can be said
SERVER = Server().start()


def burn():
    while True:
        pass


BURNERS = [multiprocessing.Process(target=burn, daemon=True) for _ in range(os.cpu_count())]
for b in BURNERS:
    b.start()


def environment(service, **keys):
    env = dict(library_home.clean_env(), OTEL_SERVICE_NAME=service, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{SERVER.port}")
    return dict(env, **{("" if key.startswith("SPANFLAME_") else "SPANFLAME_PROFILING_") + key: value for key, value in keys.items()})


def start(command, env):
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class End:
    """What a run said of its second half."""

    def __init__(self, process):
        said, self.problems = process.communicate(timeout=600)
        assert process.returncode == 0, (said, self.problems)
        ns, threads_ns, own_ns, self.n_samples, wall_ns = (int(n) for n in said.split())
        self.cpu_s = ns / 1e9
        self.budget = BUDGET * max(1, IDLE_CPUS * wall_ns / ns)
        self.threads, self.own = 100 * threads_ns / ns, 100 * own_ns / ns  # percent


def phases(**keys):
    """(samples, CPU seconds while they were taken, by how much each phase with profilers took longer than those around it)"""
    end = subprocess.run([TOIL, "0", str(PHASES)], env=environment("phases", **keys), capture_output=True, text=True, check=True, timeout=600)
    first, *lines = end.stdout.splitlines()
    units = [(int(phase), int(ns)) for phase, ns in map(str.split, lines)]
    much = 2 * statistics.median(ns for _, ns in units)  # somebody else had the caches; a signal is a fifth of a unit
    of = {}
    for phase, ns in units:
        if ns < much:
            of.setdefault(phase, []).append(ns)
    mean = {phase: statistics.mean(some) for phase, some in of.items()}
    more = [2 * mean[phase] / (mean[phase - 1] + mean[phase + 1]) - 1 for phase in mean
            if phase % 2 and phase - 1 in mean and phase + 1 in mean]
    return int(first), sum(sum(some) for phase, some in of.items() if phase % 2) / 1e9, more


class Price:
    """CPU seconds that a sample takes of the thread it is taken on, and the standard error of that."""

    def __init__(self, **keys):
        n_samples, cpu_s, more = 0, 0.0, []
        for _ in range(MOST_RUNS):
            n, s, differences = phases(**keys)
            n_samples, cpu_s, more = n_samples + n, cpu_s + s, more + differences
            self.s = statistics.mean(more) * cpu_s / n_samples
            self.error_s = statistics.stdev(more) / math.sqrt(len(more)) * cpu_s / n_samples
            if 100 * self.error_s * n_samples / cpu_s <= GOOD_ERROR:
                break
        print(f"# a sample takes {self.s * 1e6:.1f} us (standard error {self.error_s * 1e6:.1f}), from {n_samples} in {len(more)} phases, "
              f"{100 * statistics.mean(more):.2f} % of their CPU time", flush=True)


PRICES = {}


def price(profiles):
    if profiles not in PRICES:
        PRICES[profiles] = Price(SPANFLAME_PROFILES=profiles, ADAPTIVE_BUDGET="100%")
    return PRICES[profiles]


def hold(name, with_it, without, of):
    """One run as people have it, and the same work without profilers, one after the other: their threads are not compared by time."""
    rate = with_it.n_samples / with_it.cpu_s
    samples, error, threads = 100 * of.s * rate, 100 * of.error_s * rate, with_it.threads - without.threads
    print(f"# {name}: {samples + threads:.2f} %: samples {samples:.2f} % (standard error {error:.2f}, {rate:.0f} in a CPU second), threads "
          f"{threads:.2f} % of {with_it.cpu_s:.1f} CPU seconds; the library's own figure {with_it.own:.2f} %, allowed are {with_it.budget:.2f} %", flush=True)
    assert with_it.n_samples > 0 and threads <= with_it.budget, (name, samples, threads, error)
    if error > MOST_ERROR:
        raise tap.Skip(f"others disturb the measurement: standard error {error:.2f} % of a budget of {with_it.budget:.2f} %")
    assert samples + threads <= with_it.budget, (name, samples, threads, error)
    assert abs(with_it.own - threads - samples) <= 0.4 + 3 * error, (name, with_it.own, threads, samples, error)


def off():
    return [TOIL, UNITS], environment("off", SPANFLAME_PROFILES="none")


def test_phases_in_which_nothing_is_profiled_are_equal():
    n_samples, _, more = phases(SPANFLAME_PROFILES="none")
    mean, error = 100 * statistics.mean(more), 100 * statistics.stdev(more) / math.sqrt(len(more))
    print(f"# equal: {mean:.2f} % (standard error {error:.2f})", flush=True)
    assert all(b.is_alive() for b in BURNERS) and not n_samples and abs(mean) <= 5 * error, more


def test_the_library_that_pauses_as_it_does_by_default():
    env = environment("defaults", LOAD_SHEDDING_ENABLED="true", ADAPTIVE_INTERVAL="1s", LOAD_SHEDDING_CPU_THRESHOLD="20%")
    paused, without = End(start([TOIL, UNITS], env)), End(start(*off()))
    print(f"# library, paused: {paused.threads - without.threads:.2f} %, {paused.n_samples} samples", flush=True)
    assert paused.n_samples == 0 and paused.threads - without.threads <= paused.budget, vars(paused)


def test_the_library_that_goes_on_sampling():
    env = environment("usual", SPANFLAME_PROFILES="cpu,heap", ADAPTIVE_INTERVAL="1s")
    hold("library, CPU at 100 Hz and heap", End(start([TOIL, UNITS], env)), End(start(*off())), price("cpu,heap"))


def test_the_library_at_a_raised_rate():
    answer = SERVER.request("PUT", "/api/v1/profiling?service=raised", b'{"rate": {"cpu": 1000}}', {"Content-Type": "application/json"})
    assert answer.status == 200, answer.text
    env = environment("raised", SPANFLAME_PROFILES="cpu", CONTROL_ENABLED="true", ADAPTIVE_INTERVAL="1s")
    hold("library, CPU raised to 1,000 Hz by the server", End(start([TOIL, UNITS], env)), End(start(*off())), price("cpu"))


def test_record():
    """Its figures are of the whole run; its threads those of the second half, as everywhere."""
    env = environment("recorded", ADAPTIVE_INTERVAL="1s")
    argv = [PROGRAM, "record", "--server", f"http://127.0.0.1:{SERVER.port}", "--cpu", "--heap", "--", BARE, UNITS]
    end = End(start(argv, env))
    said = re.search(r"(\d+) samples taken, \d+ profiles sent, which took ([0-9.]+) % of ([0-9.]+) s of CPU time", end.problems)
    assert said, end.problems
    end.own, whole_s = float(said[2]), float(said[3])
    end.n_samples = round(int(said[1]) * end.cpu_s / whole_s)
    hold("record, CPU at 100 Hz and heap", end, End(start([BARE, UNITS], env)), price("cpu,heap"))


tap.run(sys.modules[__name__])
