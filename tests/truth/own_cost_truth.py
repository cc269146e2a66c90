#!/usr/bin/env python3
"""What profiling costs a program on a busy host, as the kernel counts it, against its budget: 1 % of the program's CPU time.

Two loops keep both processors busy. The library's threads have CPU times of their own, which are exact. Samples are taken on
the program's threads: what one takes is by how much a unit of work with a sample takes longer than one without. Times the
samples that a program took, it is its other part. Both are held against the library's own figure. What slows all units down is
seen in a program whose profilers are on and off in turn. On a host so busy that the program gets less than a tenth of a CPU, the
budget is that of a tenth."""
import math
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
import library_home  # noqa: E402
from server import PROGRAM, Server, tap  # noqa: E402

TOIL, INSIDE, BARE = os.environ["TOIL"], os.environ["TOIL_INSIDE"], os.environ["TOIL_BARE"]
BUDGET = 1.0  # percent
IDLE_CPUS = 0.1  # a program that gets less of a CPU counts as one that gets so much (docs/c-library.md)
UNITS = os.environ.get("OWN_COST_UNITS", "15000")
SECONDS, MOST_WATCHES = os.environ.get("OWN_COST_SECONDS", "40"), 6  # for prices of samples
PHASES, MOST_RUNS = 300, int(os.environ.get("OWN_COST_RUNS", "3"))
START_S = 0.050  # SF_COST_START_NS of collect/lib/cost_account.h
CAPTURE_BUDGET = 10.0  # percent: SF_CAPTURE_BUDGET
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


class Part:
    """What a run said of its second half, or of its first one, which begins with the process."""

    def __init__(self, said):
        ns, threads_ns, own_ns, self.n_samples, self.n_heap, self.n_waits, wall_ns = (int(n) for n in said.split())
        self.cpu_s = ns / 1e9
        self.budget = BUDGET * max(1, IDLE_CPUS * wall_ns / ns)
        self.threads, self.own = 100 * threads_ns / ns, 100 * own_ns / ns  # percent


class End(Part):
    def __init__(self, process):
        said, self.problems = process.communicate(timeout=600)
        assert process.returncode == 0, (said, self.problems)
        second, first = said.splitlines()
        super().__init__(second)
        self.first = Part(first)


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


def around(values):
    """(mean, its standard error)"""
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


class Prices:
    """CPU seconds that a sample takes of the thread it is taken on, with standard errors; of units of work that ran at once."""

    def __init__(self):
        self.kept, self.n_cpu, self.n_heap, self.own_s, self.cpu_s = {}, 0, 0, 0.0, 0.0
        for _ in range(MOST_WATCHES):
            self.watch()
            self.tell()
            if 100 * self.of(self.n_cpu, self.n_heap)[1] / self.cpu_s <= GOOD_ERROR:
                break

    def watch(self):
        env = environment("inside", SPANFLAME_PROFILES="cpu,heap", ADAPTIVE_BUDGET="100%")
        end = subprocess.run([INSIDE, SECONDS], env=env, capture_output=True, text=True, check=True, timeout=600)
        first, *lines = end.stdout.splitlines()
        units = [tuple(map(int, line.split())) for line in lines]
        much = 4 * statistics.median(ns for _, _, ns in units)  # somebody else had the caches
        for n_cpu, n_heap, ns in units:
            if ns < much:
                self.kept.setdefault((n_cpu, n_heap), []).append(ns / 1e9)
        self.n_cpu, self.n_heap = self.n_cpu + sum(u[0] for u in units), self.n_heap + sum(u[1] for u in units)
        self.own_s, self.cpu_s = self.own_s + int(first) / 1e9, self.cpu_s + sum(ns for _, _, ns in units) / 1e9

    def tell(self):
        plain, with_cpu, with_heap = (around(self.kept[kind]) for kind in ((0, 0), (1, 0), (0, 1)))
        # A unit that takes longer anyway has more samples by the CPU's clock.
        longer = sum(s * s for s in self.kept[0, 0]) / sum(self.kept[0, 0])
        self.cpu, self.cpu_error = with_cpu[0] - longer, math.hypot(with_cpu[1], plain[1])
        self.heap, self.heap_error = with_heap[0] - plain[0], math.hypot(with_heap[1], plain[1])
        print(f"# a CPU sample takes {self.cpu * 1e6:.1f} us (standard error {self.cpu_error * 1e6:.1f}, {len(self.kept[1, 0])} units), one of the heap "
              f"{self.heap * 1e6:.1f} us ({self.heap_error * 1e6:.1f}, {len(self.kept[0, 1])} units), a unit without {plain[0] * 1e6:.1f} us", flush=True)

    def of(self, n_cpu, n_heap):
        """(seconds, standard error)"""
        return n_cpu * self.cpu + n_heap * self.heap, math.hypot(n_cpu * self.cpu_error, n_heap * self.heap_error)


PRICES = []


def prices():
    if not PRICES:
        PRICES.append(Prices())
    return PRICES[0]


def from_the_start(name, with_it, without, more_s=0.0):
    """Holds the first half of a run and the whole of it to what profiling may cost from the start of the process on: the budget and
    START_S, and what `more_s` adds."""
    for what, parts, bare in (("first half", [with_it.first], [without.first]), ("whole", [with_it.first, with_it], [without.first, without])):
        taken_s, error_s = prices().of(sum(p.n_samples - p.n_heap - p.n_waits for p in parts), sum(p.n_heap + p.n_waits for p in parts))
        cpu_s, own_s = sum(p.cpu_s for p in parts), sum(p.own * p.cpu_s for p in parts) / 100
        cost_s = taken_s + (sum(p.threads * p.cpu_s for p in parts) - sum(p.threads * p.cpu_s for p in bare)) / 100
        allowed_s = sum(p.budget * p.cpu_s for p in parts) / 100
        print(f"# {name}, {what}: {cost_s * 1e3:.1f} ms (standard error {error_s * 1e3:.1f}) of {cpu_s:.1f} CPU seconds, {100 * cost_s / cpu_s:.2f} %; the library's "
              f"own figure {own_s * 1e3:.1f}; allowed are {allowed_s * 1e3:.1f} and {1e3 * (START_S + more_s):.0f} ms", flush=True)
        assert cost_s - 3 * error_s <= allowed_s + START_S + more_s, (name, what, cost_s, allowed_s)
        assert own_s <= allowed_s + START_S + more_s, (name, what, own_s, allowed_s)


def hold(name, with_it, without):
    """The second half of one run as people have it, and the same work without profilers, one after the other: their threads are not compared by time."""
    # A sample of a wait does what one of the heap does, and without a table of objects.
    n_events = with_it.n_heap + with_it.n_waits
    taken_s, error_s = prices().of(with_it.n_samples - n_events, n_events)
    samples, error, threads = 100 * taken_s / with_it.cpu_s, 100 * error_s / with_it.cpu_s, with_it.threads - without.threads
    rate, heap_rate, wait_rate = (n / with_it.cpu_s for n in (with_it.n_samples, with_it.n_heap, with_it.n_waits))
    print(f"# {name}: {samples + threads:.2f} %: samples {samples:.2f} % (standard error {error:.2f}, {rate:.0f} in a CPU second, {heap_rate:.0f} of the heap, {wait_rate:.0f} of waits), threads "
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
    mean, error = (100 * n for n in around(more))
    print(f"# equal: {mean:.2f} % (standard error {error:.2f})", flush=True)
    assert all(b.is_alive() for b in BURNERS) and not n_samples and abs(mean) <= 5 * error, more


def test_the_library_knows_what_its_samples_take():
    """Not a tenth less than they do, and not twice as much."""
    p = prices()
    taken_s, error_s = p.of(p.n_cpu, p.n_heap)
    taken, error, own = (100 * s / p.cpu_s for s in (taken_s, error_s, p.own_s))
    print(f"# samples: {taken:.2f} % (standard error {error:.2f}), the library's own figure {own:.2f} %", flush=True)
    assert 0.9 * (taken - 3 * error) <= own <= 2 * (taken + 3 * error), (taken, error, own)


def test_nothing_slows_down_units_without_samples():
    n_samples, cpu_s, more = 0, 0.0, []
    for _ in range(MOST_RUNS):
        n, s, differences = phases(SPANFLAME_PROFILES="cpu,heap", ADAPTIVE_BUDGET="100%")
        n_samples, cpu_s, more = n_samples + n, cpu_s + s, more + differences
        mean, error = (100 * n for n in around(more))
        if error <= GOOD_ERROR or error > 3 * MOST_ERROR:  # good enough, or never will be
            break
    p = prices()
    samples = 100 * p.of(p.n_cpu, p.n_heap)[0] / (p.n_cpu + p.n_heap) * n_samples / cpu_s
    print(f"# phases with profilers take {mean:.2f} % longer (standard error {error:.2f}), samples are {samples:.2f} %", flush=True)
    if error > MOST_ERROR:
        raise tap.Skip(f"others disturb the measurement: standard error {error:.2f} %")
    assert abs(mean - samples) <= 0.1 + 3 * error, (mean, error, samples)


def test_the_library_that_pauses_as_it_does_by_default():
    env = environment("defaults", LOAD_SHEDDING_ENABLED="true", ADAPTIVE_INTERVAL="1s", LOAD_SHEDDING_CPU_THRESHOLD="20%")
    paused, without = End(start([TOIL, UNITS], env)), End(start(*off()))
    print(f"# library, paused: {paused.threads - without.threads:.2f} %, {paused.n_samples} samples", flush=True)
    assert paused.n_samples == 0 and paused.threads - without.threads <= paused.budget, vars(paused)


def test_the_library_that_goes_on_sampling():
    env = environment("usual", SPANFLAME_PROFILES="cpu,heap", ADAPTIVE_INTERVAL="1s")
    with_it, without = End(start([TOIL, UNITS], env)), End(start(*off()))
    from_the_start("library, CPU at 100 Hz and heap", with_it, without)
    hold("library, CPU at 100 Hz and heap", with_it, without)


def test_the_library_in_a_program_that_allocates_much():
    """A mean of 16 KB in place of 512: as many points as with 32 times the bytes."""
    env = environment("much", SPANFLAME_PROFILES="cpu,heap", ADAPTIVE_INTERVAL="1s", MEMORY_SAMPLE_RATE="16KB")
    with_it, without = End(start([TOIL, UNITS], env)), End(start(*off()))
    from_the_start("library, CPU at 100 Hz and 32 times the allocations", with_it, without)
    hold("library, CPU at 100 Hz and 32 times the allocations", with_it, without)


def test_the_library_in_a_program_that_waits_often():
    """Each of its waits is longer than a millisecond: without a budget each of them is a sample."""
    keys = {"SPANFLAME_PROFILES": "cpu,heap,mutex,block", "ADAPTIVE_INTERVAL": "1s"}
    free = End(start([TOIL, UNITS], dict(environment("free", ADAPTIVE_BUDGET="100%", **keys), NAP_US="1000")))
    print(f"# without a budget {free.n_waits / free.cpu_s:.0f} samples of waits in a CPU second, the library's own figure {free.own:.2f} %", flush=True)
    assert free.n_waits >= 2 * int(UNITS), vars(free)
    with_it = End(start([TOIL, UNITS], dict(environment("waits", **keys), NAP_US="1000")))
    without = End(start([TOIL, UNITS], dict(off()[1], NAP_US="1000")))
    from_the_start("library, CPU, heap and a wait in each unit", with_it, without)
    hold("library, CPU, heap and a wait in each unit", with_it, without)
    assert 0 < with_it.n_waits < free.n_waits / 4, (with_it.n_waits, free.n_waits)


def test_the_library_at_a_raised_rate():
    answer = SERVER.request("PUT", "/api/v1/profiling?service=raised", b'{"rate": {"cpu": 1000}}', {"Content-Type": "application/json"})
    assert answer.status == 200, answer.text
    env = environment("raised", SPANFLAME_PROFILES="cpu", CONTROL_ENABLED="true", ADAPTIVE_INTERVAL="1s")
    with_it, without = End(start([TOIL, UNITS], env)), End(start(*off()))
    from_the_start("library, CPU raised to 1,000 Hz by the server", with_it, without)
    hold("library, CPU raised to 1,000 Hz by the server", with_it, without)


def test_a_capture_costs_no_more_than_its_share():
    env = environment("captured", SPANFLAME_PROFILES="cpu", CONTROL_ENABLED="true", ADAPTIVE_INTERVAL="1s")
    process, seconds, got = start([TOIL, UNITS], env), 3, None
    for _ in range(600):  # until it has asked for its settings
        got = SERVER.request("POST", f"/api/v1/profiling/capture?service=captured&seconds={seconds}&rate=1000&wait=false",
                             headers={"Content-Type": "application/json"})
        if got.status == 202:
            break
        time.sleep(0.05)
    assert got.status == 202, (got.status, got.text)
    with_it, without = End(process), End(start(*off()))
    from_the_start("library, a capture at 1,000 Hz", with_it, without,
                   START_S + CAPTURE_BUDGET / 100 * (seconds + 2) * os.cpu_count())  # it begins and ends within a second


def test_record():
    """Its figures are of the whole run; its threads those of the second half, as everywhere."""
    env = environment("recorded", ADAPTIVE_INTERVAL="1s")
    argv = [PROGRAM, "record", "--server", f"http://127.0.0.1:{SERVER.port}", "--cpu", "--heap", "--", BARE, UNITS]
    end = End(start(argv, env))
    said = re.search(r"(\d+) samples taken \((\d+) of the heap\), \d+ profiles sent, which took ([0-9.]+) % of ([0-9.]+) s of CPU time",
                     end.problems)
    assert said, end.problems
    end.own, whole_s = float(said[3]), float(said[4])
    allowed_s = (end.first.budget * end.first.cpu_s + end.budget * end.cpu_s) / 100 + START_S  # with the names of the last profile
    print(f"# record, whole: the library's own figure {10 * end.own * whole_s:.0f} ms of {whole_s:.1f} CPU seconds, allowed are {allowed_s * 1e3:.0f} ms", flush=True)
    assert end.own / 100 * whole_s <= allowed_s, (end.own, whole_s, allowed_s)
    end.n_samples, end.n_heap = (round(int(n) * end.cpu_s / whole_s) for n in said.group(1, 2))
    hold("record, CPU at 100 Hz and heap", end, End(start([BARE, UNITS], env)))


tap.run(sys.modules[__name__])
