#!/usr/bin/env python3
"""mutants [--seconds N] [--count N] [--places N] [--seed N] [--jobs N] [--near] [--own] [--rooms a,b] [FILE...] - do the tests notice when the code is wrong?

Changes one place of the code at a time - a comparison, a condition, a constant, a call that is left out - runs the unit,
property and fault tests that reach it, and lists the changes that no test noticed. Works on a copy of the tree in
build-mutants, so nothing here changes. Places are picked at random, by the seed, until the time or the count is used up;
with --places so many of each file, of different functions while there are such, and only these are compiled.

All changes of a file are compiled at once: each function is followed by copies of itself, one per change, and
$SF_MUTANT says which copy runs. A first run of each test tells which functions it reaches and what it costs; a change
is then tried by the tests that reach its function, the cheapest first, until one fails. A test that takes many times its
cost, or that hangs, has failed; time in which it waited for a processor is not counted. Tests stop at their first failure.

Calls that free memory, close or lock are not left out, and no loop over a list goes one step too far: the sanitizers'
stages search for what that does.

A survivor is a query, not always a fault: tests/mutants_known.txt lists changes that mean the same as what they
change, each with its reason; they are not tried. Exit status 0 however many survive; 1 when the unchanged tree does not
build or no test reaches it.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOME = os.path.join(ROOT, "build-mutants")
TREE, BUILD = os.path.join(HOME, "tree"), os.path.join(HOME, "build")
MEASURED = os.path.join(HOME, "measured.json")
KNOWN = os.path.join(ROOT, "tests", "mutants_known.txt")
ROOMS = ("store", "wal", "intake", "link", "serve/auth", "serve/origin", "exec/tenant", "app/tokens", "app/proxy_users")
# Whose tests are asked besides the module's own unit tests: unit tests of rooms that stand on it, properties, faults.
ALSO = {"store": ["prop/prop store", "prop/prop profile_total", "fault/fault store", "fault/file_fault store_disk",
                  "unit/exec_unit"],
        "wal": ["prop/prop wal", "fault/file_fault wal", "fault/file_fault wal_power", "unit/store_unit"],
        "intake": ["unit/serve_unit", "unit/app_unit"],
        "link": ["prop/prop link", "prop/prop ledger", "prop/prop compare_time", "prop/prop trace_path", "unit/exec_unit",
                 "unit/join_unit"]}
SLOW_S = 20  # CPU seconds; a test that takes longer is not asked
WALL_S = 30  # and ten times what it took first: a test that hangs has noticed, one that waits for the processor has not

# What to search for and what it becomes. A line may have several places.
SWAPS = [(r"==", "!="), (r"!=", "=="), (r"(?<![-<>=])<(?![<=])", "<="), (r"(?<![-<>=])>(?![>=])", ">="), (r"<=", "<"),
         (r"(?<![-])>=", ">"), (r"&&", "||"), (r"\|\|", "&&"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
         (r" \+ 1\b", ""), (r" - 1\b", ""), (r"\+\+", "--"), (r" \+= ", " -= "), (r"\bif \((?!!)", "if (!"),
         (r"\breturn err;", "return SF_OK;")]
CALL = re.compile(r"^\s+(?!return|if|for|while|else|case|default|goto|break|continue|SF_ASSERT)[a-z_0-9>.\-]+\(.*\);$")
SANITIZED = re.compile(r"\s*\w*(?:_free|_done|_close|mutex_\w+|condvar_init)\(")
COUNTS = re.compile(r"^\s*for \(.*; (\w+) < [^;<]*; \1\+\+\)")  # up to, not including

SWITCH = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
long syscall(long number, ...); /* not all of unistd.h: files have functions called write */
static int sf_mutant_on;
__attribute__((constructor)) static void sf_mutant_read(void)
{
    const char *text = getenv("SF_MUTANT");
    sf_mutant_on = text ? atoi(text) : 0;
}
/* For the first run: which functions were reached, each once a process, past every stand-in for a system call. */
__attribute__((unused)) static void sf_mutant_reach(int function, char *is_known)
{
    const char *path = getenv("SF_MUTANT_REACH");
    if (!*is_known && path) {
        char text[12];
        int n = 0, fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        for (int rest = function; rest || !n; rest /= 10)
            text[11 - ++n] = (char)('0' + rest % 10);
        text[11] = '\n';
        syscall(SYS_write, fd, text + 11 - n, (size_t)n + 1);
        syscall(SYS_close, fd);
    }
    *is_known = 1;
}
"""


def files_of(rooms):
    for room in rooms:
        base = os.path.join(ROOT, "src", room)
        if os.path.isfile(base + ".c"):
            yield base + ".c"
        for folder, _, names in os.walk(base):
            yield from (os.path.join(folder, name) for name in names if name.endswith(".c"))


def room_of(path):
    return os.path.relpath(path, os.path.join(ROOT, "src")).split(os.sep)[0]


class Mutant:
    """One change of one line."""

    def __init__(self, path, function, number, old, new):
        self.path, self.function, self.number, self.old, self.new = os.path.relpath(path, ROOT), function, number, old, new
        self.id = 0

    def key(self):
        return (self.path, self.function.name, self.old.strip(), self.new.strip())


class Function:
    """Lines [start, end) of a file: its signature from `start`, its brace at `brace`, its end before `end`."""

    def __init__(self, lines, start, brace, end):
        self.lines, self.start, self.brace, self.end = lines, start, brace, end
        self.signature = " ".join(line.strip() for line in lines[start:brace])
        m = re.search(r"(\w+)\s*\(", re.sub(r"__attribute__\(\(.*?\)\)\s*", lambda a: " " * len(a.group(0)), self.signature))
        self.name = m.group(1) if m else ""
        self.params = self._params(self.signature[m.end():]) if m else None
        self.id = 0

    def _params(self, text):
        """Names of the parameters; None when they cannot be handed on."""
        depth, part, parts = 1, "", []
        for c in text:
            depth += (c == "(") - (c == ")")
            if depth == 0:
                break
            if c == "," and depth == 1:
                parts.append(part)
                part = ""
            else:
                part += c
        parts.append(part)
        names = []
        for p in parts:
            if p.strip() in ("void", ""):
                continue
            m = re.search(r"\(\*(\w+)\)", p) or re.search(r"(\w+)\s*(?:\[[^\]]*\])*\s*$", re.sub(r"__attribute__\(\(.*?\)\)", "", p))
            if "..." in p or not m:
                return None
            names.append(m.group(1))
        return names

    def is_void(self):
        return re.search(rf"\bvoid\s+{self.name}\s*\(", self.signature) is not None

    def copies(self, mutants):
        """Its text with one copy per change ahead of it, and for each copy (first line, one past the last, mutant)."""
        bare = re.sub(r"\b(?:static|inline)\s+", "", self.signature)
        out, spans = [self.signature + ";"], []
        for m in mutants:
            first = len(out)
            out.append("static " + re.sub(rf"\b{self.name}\s*\(", f"{self.name}__m{m.id}(", bare, count=1))
            out += [m.new if number == m.number else self.lines[number] for number in range(self.brace, self.end)]
            spans.append((first, len(out), m))
        out += self.lines[self.start:self.brace + 1]
        out.append(f"    static char sf_mutant_seen; sf_mutant_reach({self.id}, &sf_mutant_seen);")
        if mutants:
            out.append("    switch (sf_mutant_on) {")
            for m in mutants:
                call = f"{self.name}__m{m.id}({', '.join(self.params)});"
                out.append(f"    case {m.id}: {call + ' return;' if self.is_void() else 'return ' + call}")
            out.append("    default: break; }")
        return out + self.lines[self.brace + 1:self.end], spans


def functions_of(path):
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    found, start = [], None
    number = 0
    while number < len(lines):
        text = lines[number]
        if text == "{" and start is not None:
            end = number
            while lines[end] != "}":
                end += 1
            found.append(Function(lines, start, number, end + 1))
            number, start = end + 1, None
            continue
        is_code = text and not text.startswith((" ", "#", "/*", "}", "{")) and not text.endswith("*/")
        if not text or text.endswith((";", "*/", "},")) or text.startswith("#"):
            start = None
        elif is_code and start is None:
            start = number
        number += 1
    return lines, [f for f in found if f.params is not None]


def changes_of(text):
    """What a line of code can become."""
    code = text.split("/*")[0]
    quoted = [m.span() for m in re.finditer(r'"(?:[^"\\]|\\.)*"', code)]
    for pattern, new in SWAPS:
        for m in re.finditer(pattern, code):
            if any(start <= m.start() < end for start, end in quoted):
                continue
            if new == "<=" and COUNTS.match(code):
                continue
            changed = code[:m.start()] + new + code[m.end():]
            if new == "if (!":  # all of the condition, which must end on this line
                inner = code[m.end():]
                depth = 1
                for at, c in enumerate(inner):
                    depth += (c == "(") - (c == ")")
                    if depth == 0:
                        changed = code[:m.start()] + "if (!(" + inner[:at] + "))" + inner[at + 1:]
                        break
                else:
                    continue
            yield changed
    if CALL.match(code) and not SANITIZED.match(code):
        yield re.match(r"\s*", code).group(0) + ";"


def mutants_of(path, functions):
    for function in functions:
        is_comment = False
        for number in range(function.brace + 1, function.end - 1):
            text = function.lines[number]
            if is_comment or text.lstrip().startswith("/*"):
                is_comment = "*/" not in text
                continue
            if text.lstrip().startswith(("#", "SF_ASSERT", "assert(", "static_assert")):
                continue
            for new in dict.fromkeys(changes_of(text)):
                yield Mutant(path, function, number, text, new)


def known():
    """Changes that are listed as equal: {key: reason}. A line is `path | function | old | new | reason`."""
    found = {}
    if os.path.exists(KNOWN):
        with open(KNOWN, encoding="utf-8") as f:
            for line in f:
                if line.strip() and not line.startswith("#"):
                    parts = [p.strip() for p in line.split(" | ")]
                    if len(parts) != 5 or not parts[4]:
                        raise SystemExit(f"mutants: {KNOWN}: not `path | function | old | new | reason`: {line}")
                    found[tuple(parts[:4])] = parts[4]
    return found


# --- building ---

def copy_tree():
    """The tree as git knows it. Files that are the same are left alone, so that little is built again."""
    files = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout
    for name in filter(None, files.split("\0")):
        source, to = os.path.join(ROOT, name), os.path.join(TREE, name)
        if os.path.lexists(source) and not is_same(source, to):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(source, to, follow_symlinks=False)  # with the time of now: what was built of the last one is older
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["meson", "setup", BUILD, TREE, "--buildtype=debug", "-Dc_args=-O1 -g0 -w", "-Dbench=false",
                        "-Dreplay=false", "-Dwerror=false"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, CC="cc"))  # no ccache: a mutant is built once


def is_same(a, b):
    if os.path.islink(a) or not os.path.exists(b):
        return False
    with open(a, "rb") as fa, open(b, "rb") as fb:
        return fa.read() == fb.read()


def write_if_new(path, text):
    with open(path, encoding="utf-8") as f:
        if f.read() == text:
            return
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Source:
    """A file and the changes that can be made in it."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.relpath(path, ROOT)
        self.lines, self.functions = functions_of(path)
        self.mutants = list(mutants_of(path, self.functions))
        self.spans = []

    def write(self):
        """Into the tree, with its copies."""
        out, at = [], 0
        self.spans = []
        for f in self.functions:
            out += self.lines[at:f.start]
            text, spans = f.copies([m for m in self.mutants if m.function is f])
            self.spans += [(len(out) + a, len(out) + b, m) for a, b, m in spans]
            out += text
            at = f.end
        out += self.lines[at:]
        last = max((i for i, line in enumerate(out) if line.startswith("#include")), default=-1) + 1
        head = SWITCH.split("\n")
        out[last:last] = head
        self.spans = [(a + len(head), b + len(head), m) for a, b, m in self.spans]
        write_if_new(os.path.join(TREE, self.name), "\n".join(out))

    def drop_broken(self, said):
        """Takes the changes away whose copies the compiler refused; True when there were some."""
        bad = {int(n) - 1 for n in re.findall(rf"{re.escape(self.name)}:(\d+):\d+: (?:fatal )?error", said)}
        broken = {m.id for a, b, m in self.spans if any(a <= n < b for n in bad)}
        self.mutants = [m for m in self.mutants if m.id not in broken]
        return len(broken)


def ninja(targets):
    done = subprocess.run(["ninja", "-k", "0", "-C", BUILD, *targets], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def build(sources, targets):
    """The number of changes that do not compile; None when the tree does not."""
    n_broken = 0
    for _ in range(10):
        for s in sources:
            s.write()
        is_built, said = ninja(targets)
        if is_built:
            return n_broken
        n = sum(s.drop_broken(said) for s in sources)
        if not n:
            print(said[-3000:], file=sys.stderr)
            return None
        n_broken += n
    return None


# --- running ---

def read_json(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


class Watch(threading.Thread):
    """Kills a process that hangs. On a busy machine it may wait for a processor for long: that does not count."""

    def __init__(self, pid, wall_s):
        super().__init__(daemon=True)
        self.pid, self.wall_s, self.is_over = pid, wall_s, threading.Event()

    def waited_s(self):
        waited = 0
        try:
            for task in os.listdir(f"/proc/{self.pid}/task"):
                with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as f:
                    waited = max(waited, int(f.read().split()[1]))
        except (OSError, IndexError, ValueError):
            pass
        return waited / 1e9

    def run(self):
        start = time.monotonic()
        while not self.is_over.wait(0.5):
            if time.monotonic() - start > self.wall_s and time.monotonic() - start - self.waited_s() > self.wall_s:
                try:
                    os.killpg(self.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                return


class Test:
    def __init__(self, program, noun):
        self.argv = [os.path.join(BUILD, "tests", program)] + [noun]
        self.name = f"{os.path.basename(program)} {noun}"
        self.cpu_s, self.wall_s, self.reached = 0.0, 0.0, set()

    def run(self, cpu_s, wall_s, **env):
        """(exit status, CPU seconds)"""
        def limit():
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 1))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        p = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit,  # pylint: disable=subprocess-popen-preexec-fn
                             env=dict(os.environ, SPANFLAME_SOURCE=TREE, CHECK_SCALE="0.05", TEST_STOPS="1", **env))
        watch = Watch(p.pid, wall_s)
        watch.start()
        _, status, used = os.wait4(p.pid, 0)
        watch.is_over.set()
        p.returncode = status
        try:
            os.killpg(p.pid, signal.SIGKILL)  # what it started and did not wait for
        except ProcessLookupError:
            pass
        return status, used.ru_utime + used.ru_stime

    def measure(self, slow_s, kept):
        """False when it does not pass as the code is. One that is too slow reaches nothing. What was measured of the same
        program is taken from `kept`."""
        program = os.stat(self.argv[0])
        key = f"{self.name} {program.st_mtime_ns} {program.st_size} {slow_s}"
        if key in kept:
            self.cpu_s, self.wall_s, reached = kept[key]
            self.reached = set(reached)
            return True
        path = os.path.join(HOME, "reach." + self.name.replace(" ", "."))
        if os.path.exists(path):
            os.unlink(path)
        start = time.monotonic()
        status, self.cpu_s = self.run(slow_s, 600, SF_MUTANT_REACH=path)
        self.wall_s = time.monotonic() - start
        is_slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        if os.path.exists(path):
            if not is_slow:
                with open(path, encoding="ascii") as f:
                    self.reached = {int(line) for line in f if line.strip()}
            os.unlink(path)
        if status == 0 or is_slow:
            kept[key] = (self.cpu_s, self.wall_s, sorted(self.reached))
        return status == 0 or is_slow

    def notices(self, mutant):
        return self.run(4 * self.cpu_s + 2, 10 * self.wall_s + WALL_S, SF_MUTANT=str(mutant.id))[0] != 0


def tests_of(rooms, is_near, is_own):
    """Those that are asked about these rooms, from the names meson knows."""
    also = [w for room in rooms for w in ALSO.get(room, []) if not is_own and (not is_near or " " in w)]
    wanted = [f"unit/{room}_unit" for room in rooms] + also
    ninja(["build.ninja"])  # what it says is as old as its last examine the tree
    said = subprocess.run(["meson", "introspect", "--tests", BUILD], capture_output=True, text=True, check=True).stdout
    found = {}
    for t in json.loads(said):
        program = os.path.relpath(t["cmd"][0], os.path.join(BUILD, "tests"))
        if len(t["cmd"]) == 2 and (program in wanted or f"{program} {t['cmd'][1]}" in wanted):
            found[program, t["cmd"][1]] = Test(program, t["cmd"][1])
    return list(found.values()), sorted({"tests/" + program for program, _ in found})


class Score:
    def __init__(self):
        self.by_file, self.lock = {}, threading.Lock()

    def note(self, mutant, is_noticed):
        with self.lock:
            row = self.by_file.setdefault(mutant.path, [0, 0])
            row[0] += 1
            row[1] += is_noticed
            if not is_noticed:
                where = f"{mutant.path}:{mutant.number + 1}"
                print(f"{where}: {mutant.function.name}: {mutant.old.strip()}\n{' ' * len(where)}  {mutant.new.strip()}",
                      flush=True)

    def lines(self):
        for path, (tried, noticed) in sorted(self.by_file.items()):
            yield f"mutants: {path}: {tried} tried, {noticed} noticed, {tried - noticed} not"
        tried, noticed = (sum(row[i] for row in self.by_file.values()) for i in (0, 1))
        yield f"mutants: {tried} changes tried, {noticed} noticed, {tried - noticed} not"


def try_one(mutant, tests, score, end):
    if time.monotonic() > end:
        return
    score.note(mutant, any(t.notices(mutant) for t in tests if mutant.function.id in t.reached))


def choose_places(source, n, seed):
    """So many of its changes, of different functions while there are such. What is chosen in a file depends on nothing else."""
    chance, rounds, seen = random.Random(f"{seed} {source.name}"), [], {}
    for m in chance.sample(source.mutants, len(source.mutants)):
        seen[m.function] = seen.get(m.function, -1) + 1
        rounds.append((seen[m.function], len(rounds), m))
    return [m for _, _, m in sorted(rounds)[:n]]


def number_all(sources):
    n_functions = n_mutants = 0
    for s in sources:
        for f in s.functions:
            n_functions += 1
            f.id = n_functions
        for m in s.mutants:
            n_mutants += 1
            m.id = n_mutants


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    args.add_argument("--seconds", type=int, default=1800)
    args.add_argument("--count", type=int, default=0, help="0: as many as the time allows")
    args.add_argument("--places", type=int, default=0, help="of each file; 0: all")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--jobs", type=int, default=os.cpu_count())
    args.add_argument("--slow", type=int, default=SLOW_S, help="CPU seconds; a test that takes longer is not asked")
    args.add_argument("--near", action="store_true", help="ask no unit tests of other rooms")
    args.add_argument("--own", action="store_true", help="ask the unit tests of the file's own room only")
    args.add_argument("--rooms", default=",".join(ROOMS))
    args.add_argument("files", nargs="*")
    args = args.parse_args()
    sources = [Source(p) for p in [os.path.abspath(p) for p in args.files] or sorted(files_of(args.rooms.split(",")))]
    equal = known()
    for s in sources:
        s.mutants = [m for m in s.mutants if m.key() not in equal]
        if args.places:
            s.mutants = choose_places(s, args.places, args.seed)
    number_all(sources)
    os.makedirs(TREE, exist_ok=True)
    copy_tree()
    tests, targets = tests_of(sorted({room_of(s.path) for s in sources}), args.near, args.own)
    n_broken = build(sources, targets)
    if n_broken is None:
        print("mutants: the tree does not build", file=sys.stderr)
        return 1
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        kept = read_json(MEASURED)
        verdicts = list(pool.map(lambda t: t.measure(args.slow, kept), tests))
        with open(MEASURED, "w", encoding="utf-8") as f:
            json.dump(kept, f)
        for t, passes in zip(tests, verdicts):
            if not passes:
                print(f"mutants: {t.name} does not pass as the code is: not asked", file=sys.stderr)
                t.reached = set()
        tests = sorted((t for t in tests if t.reached), key=lambda t: t.cpu_s)
        if not tests:
            print("mutants: no test reaches these files", file=sys.stderr)
            return 1
        places = [m for s in sources for m in s.mutants]
        random.Random(args.seed).shuffle(places)
        print(f"mutants: {len(places)} places in {len(sources)} files, {n_broken} more do not compile; {len(tests)} tests, "
              f"seed {args.seed}", flush=True)
        score, end = Score(), time.monotonic() + args.seconds
        list(pool.map(lambda m: try_one(m, tests, score, end), places[:args.count or None]))
    print("\n".join(score.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
