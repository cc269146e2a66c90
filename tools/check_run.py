"""check_run.py - what a stage of tools/check runs, what it says while it runs, and what became of it."""
import json
import os
import re
import shlex
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = str(os.cpu_count() or 2)
TRIES_ALONE = 2
MAX_RETRIED = 2  # tests of one run that may fail in company; of more nobody says any longer that it was the machine
KNOWN_FLAKY = os.path.join("tests", "known_flaky.txt")
SHOWN_LINES = 60  # of a failing test; the whole is in the build's meson-logs
TRIES_KEPT = os.path.join(ROOT, "build", "failed-tries")  # the output of each failed try of tests that are tried again

TAP_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\S*\s*(.*))?", re.I | re.M)
TAP_LINE = re.compile(r"^(ok|not ok)\b\s*\d*\s*-?\s*([^#]*?)\s*(?:#\s*(SKIP|TODO)\S*\s*(.*))?$", re.I)
STEP = re.compile(r"^\[?\s*(\d+)/(\d+)\b")  # of ninja and of meson test


class Voice:
    """Lines on the screen: whole, each with the number of its stage, from several lanes at once."""

    def __init__(self, names):
        self.numbers = {name: i for i, name in enumerate(names, 1)}
        self.start = time.monotonic()
        self.lock = threading.RLock()  # held for lines that belong together

    def say(self, stage, text):
        total = len(self.numbers)
        at = int(time.monotonic() - self.start)
        with self.lock:
            print(f"{at // 60:3}:{at % 60:02} [{self.numbers[stage]:{len(str(total))}}/{total}] {stage:<9}{text}",
                  flush=True)


class Quarters:
    """Reads the steps that ninja and meson print, and says when a quarter of them is done."""

    def __init__(self, say, what):
        self.say, self.what, self.said = say, what, 0

    def __call__(self, line):
        m = STEP.match(line)
        if not m or int(m[2]) < 8:
            return
        quarter = 4 * int(m[1]) // int(m[2])
        if self.said < quarter < 4:
            self.said = quarter
            self.say(f"{self.what} {25 * quarter} %")


def run(argv, stdin="", env=None, on_line=None):
    """(exit status, output, processor seconds of it and of its children)"""
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env=env) as p:
        feeder = threading.Thread(target=feed, args=(p.stdin, stdin))
        feeder.start()
        said = []
        for line in p.stdout:
            said.append(line)
            if on_line:
                on_line(line)
        feeder.join()
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        return p.returncode, "".join(said), used.ru_utime + used.ru_stime


def feed(pipe, text):
    try:
        pipe.write(text)
        pipe.close()
    except BrokenPipeError:
        pass


def read_results(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def short_name(test):
    return test["name"].replace("spanflame:", "")


def last_lines(output):
    """The end of an output, indented, and how much of it is left out."""
    lines = output.rstrip().splitlines()
    left_out = [f"    ... {len(lines) - SHOWN_LINES} lines before these"] if len(lines) > SHOWN_LINES else []
    return "\n".join(left_out + [f"    {line}" for line in lines[-SHOWN_LINES:]])


def keep_failed_try(test, number):
    """Writes the output of a failed try to a file and prints its end: meson's logs contain only the last run of a test."""
    os.makedirs(TRIES_KEPT, exist_ok=True)
    path = os.path.join(TRIES_KEPT, f"{flaky_key(short_name(test)).replace('/', '-')}-{number}.txt")
    output = (test.get("stdout") or "") + (test.get("stderr") or "")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{short_name(test)}: {test['result']}, exit status {test.get('returncode')}, after "
                f"{test.get('duration', 0):.1f} s; written {time.strftime('%F %T')}\n"
                f"CHECK_SCALE={os.environ.get('CHECK_SCALE')}\n\n{output}")
    print(f"  try {number} of {short_name(test)} failed; its output is in {os.path.relpath(path, ROOT)}, and ends:\n"
          f"{last_lines(output)}", flush=True)


def has_failed(test):
    once = Tally()
    once.one_test(test)
    return bool(once.failed)


class MesonRun:
    """One call of `meson test` in one build folder."""

    def __init__(self, folder, log, suites, without=(), wrapper=(), scale=1.0, jobs=JOBS):
        self.folder, self.log, self.wrapper, self.jobs = folder, log, wrapper, jobs
        self.env = dict(os.environ, CHECK_SCALE=str(round(float(os.environ["CHECK_SCALE"]) * scale, 4)))
        self.flags = ["--timeout-multiplier=10", "--wrapper", shlex.join(wrapper)] if wrapper else \
            ["--timeout-multiplier=3"]  # two lanes share the machine
        self.flags += [f"--suite={s}" for s in suites] + [f"--no-suite={s}" for s in without]
        self.cpu_s = 0.0

    def results(self, log, *names, on_line=None):
        """What the tests said, and what meson printed. No list: no test ran."""
        written = f"{log}-{self.wrapper[0]}" if self.wrapper else log  # meson adds the wrapper to the name
        path = os.path.join(ROOT, self.folder, "meson-logs", written + ".json")
        if os.path.exists(path):
            os.remove(path)
        _, said, cpu_s = run(["meson", "test", "-C", self.folder, "--no-rebuild", "--logbase", log, "--num-processes",
                              self.jobs, *self.flags, *names], env=self.env, on_line=on_line)
        self.cpu_s += cpu_s
        return (read_results(path) if os.path.exists(path) else []), said

    def try_alone(self, test):
        """A failed test once more, alone: a busy machine is told apart from a fault, and said."""
        results, _ = self.results(self.log + "-again", test["name"].split(" / ")[-1])
        for result in results:
            if result["name"] == test["name"]:
                return result
        return test


class Tally:
    """What one stage found."""

    def __init__(self, say=lambda text: None):
        self.say = say
        self.passed = 0
        self.failed = []   # (name, output)
        self.skipped = []  # (name, reason)
        self.doubtful = [] # (run, test) that failed in company
        self.again = []    # (name, how often it had failed) of tests that passed alone
        self.cpu_s = 0.0

    def command(self, name, argv, stdin="", env=None):
        """One check that is one command: passes when that exits 0."""
        try:
            status, said, cpu_s = run(argv, stdin, env, Quarters(self.say, name))
        except OSError as e:
            self.failed.append((name, str(e)))
            return False
        self.cpu_s += cpu_s
        if status:
            said = "".join(line for line in said.splitlines(True) if not STEP.match(line))
            self.failed.append((name, said or f"exit status {status}"))
            return False
        self.passed += 1
        return True

    def build(self, name, kind, suites=(), without=()):
        """Builds what the tests of these suites run; all that there is when none are named."""
        picked = ["--tests", *suites, *(f"-{suite}" for suite in without)] if suites or without else []
        return self.command(name, ["tools/build", kind, *picked], env=dict(os.environ, BUILD_STEPS="1"))

    def meson(self, *args, **kwargs):
        """The tests of the named suites (none named: all) in one build folder."""
        meson_run = MesonRun(*args, **kwargs)
        results, said = meson_run.results(meson_run.log, on_line=Quarters(self.say, "tests"))
        self.cpu_s += meson_run.cpu_s
        if not results:
            self.failed.append((f"tests in {meson_run.folder}", said + "no test ran, which proves nothing"))
        for test in results:
            if has_failed(test):
                self.doubtful.append((meson_run, test))
            else:
                self.one_test(test)

    def settle(self):
        """Tries what failed in company again, unless there is too much of it."""
        if len(self.doubtful) > MAX_RETRIED:
            for _, test in self.doubtful:
                self.one_test(test)
            self.failed.append((f"{len(self.doubtful)} tests failed; at most {MAX_RETRIED} are tried again", ""))
        else:
            for meson_run, test in self.doubtful:
                self.settle_one(meson_run, test)
        self.doubtful = []

    def settle_one(self, meson_run, test):
        keep_failed_try(test, 1)
        for tries in range(1, TRIES_ALONE + 1):
            result = meson_run.try_alone(test)
            if not has_failed(result):
                self.again.append((short_name(test), tries))
                break
            keep_failed_try(result, tries + 1)
        self.one_test(result)

    def one_test(self, test):
        name = short_name(test)
        said = test.get("stdout") or ""
        plan = TAP_PLAN.search(said)
        before = len(self.failed)
        if plan and plan.group(1) == "0":
            self.skipped.append((name, plan.group(2) or "no reason given"))
        elif plan:
            self.tap_lines(name, said)
        elif test["result"] == "OK":
            self.passed += 1
        elif test["result"] == "SKIP":
            self.skipped.append((name, said.strip().splitlines()[-1] if said.strip() else "no reason given"))
        output = said + (test.get("stderr") or "")
        if len(self.failed) > before:
            self.failed[-1] = (self.failed[-1][0], output)
        elif test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
            # Died, timed out, or printed fewer lines than it planned.
            self.failed.append((f"{name}: {test['result'].lower()}, exit status {test.get('returncode')}", output))

    def tap_lines(self, name, said):
        """Counts each line."""
        comment = ""
        for line in said.splitlines():
            m = TAP_LINE.match(line)
            if not m:
                comment = line[1:].strip() if line.startswith("#") else comment
                continue
            verdict, sentence, directive, reason = m.groups()
            if directive and directive.upper() == "SKIP":
                self.skipped.append((f"{name}: {sentence}", reason or comment or "no reason given"))
            elif verdict == "ok":
                self.passed += 1
            else:
                self.failed.append((f"{name}: {sentence}", ""))
            comment = ""

    def counts(self):
        return f"{self.passed:5} passed {len(self.failed):3} failed {len(self.skipped):3} skipped"

    def show(self):
        shown = set()
        for name, output in self.failed:
            print(f"  FAILED {name}")
            if output and output not in shown:
                shown.add(output)
                print(last_lines(output))
        for name, reason in self.skipped:
            print(f"  skipped {name}: {reason}", flush=True)


# Tests that are known to fail in company now and then.

def read_flaky(text):
    """{suite/name: (room, reason)}, and the lines that are no such thing."""
    known, bad = {}, []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) < 3 or "/" not in words[0]:
            bad.append(f"{KNOWN_FLAKY}: not a test, its room and a reason: {line}")
        else:
            known[words[0]] = (words[1], words[2])
    return known, bad


def flaky_key(name):
    """`flow+demo / demo` is listed as `flow/demo`."""
    suites, _, noun = name.partition(" / ")
    return f"{suites.split('+')[0]}/{noun}"


def faults_of_flaky(text, tests, rooms):
    """What is wrong with the list; `tests` are the keys of all tests there are."""
    known, bad = read_flaky(text)
    for key, (room, _) in known.items():
        if key not in tests:
            bad.append(f"{KNOWN_FLAKY}: there is no test {key}: take it off the list")
        if room not in rooms:
            bad.append(f"{KNOWN_FLAKY}: {key}: no room {room}")
    return bad


def retried_line(again, text):
    """`retried: flow/demo (known: it waits for ...), prop/link (not listed)`"""
    known, _ = read_flaky(text)
    keys = [flaky_key(name) for name, _ in again]
    return "retried: " + ", ".join(
        f"{key} (known: {known[key][1]})" if key in known else f"{key} (not listed in {KNOWN_FLAKY})" for key in keys)
