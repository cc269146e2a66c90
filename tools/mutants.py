#!/usr/bin/env python3
"""mutants [--seconds N] [--count N] [--seed N] [--rooms a,b] [FILE...] - do the tests notice when the code is wrong?

Changes one place of the code at a time - a comparison, a condition, a constant, a call that is left out - builds the
unit tests of its room, runs them, and lists the changes that no test noticed. Works on a copy of the tree in
build-mutants, so nothing here changes. Places are picked at random, by the seed, until the time or the count is used up.

A survivor is a question, not always a fault: the change may mean the same, or a property, fault or flow test may be the
one that notices. Exit status 0 however many survive; 1 when the unchanged tree does not build or pass.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOME = os.path.join(ROOT, "build-mutants")
TREE, BUILD = os.path.join(HOME, "tree"), os.path.join(HOME, "build")
ROOMS = ("store", "wal", "intake", "link", "serve/auth")
TEST_S = 120  # of one room's unit tests; a change that makes them hang is noticed

# What to look for and what it becomes. A line may have several places.
SWAPS = [(r"==", "!="), (r"!=", "=="), (r"(?<![-<>=])<(?![<=])", "<="), (r"(?<![-<>=])>(?![>=])", ">="), (r"<=", "<"),
         (r"(?<![-])>=", ">"), (r"&&", "||"), (r"\|\|", "&&"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
         (r" \+ 1\b", ""), (r" - 1\b", ""), (r"\+\+", "--"), (r" \+= ", " -= "), (r"\bif \((?!!)", "if (!"),
         (r"\breturn err;", "return SF_OK;")]
CALL = re.compile(r"^\s+(?!return|if|for|while|else|case|default|goto|break|continue|SF_ASSERT)[a-z_0-9>.\-]+\(.*\);$")


def files_of(rooms):
    for room in rooms:
        base = os.path.join(ROOT, "src", room)
        if os.path.isfile(base + ".c"):
            yield base + ".c"
        for folder, _, names in os.walk(base):
            yield from (os.path.join(folder, name) for name in names if name.endswith(".c"))


def code_lines(path):
    """(number from 0, text) of lines that hold code: no comments, no preprocessor, nothing before the first function."""
    is_comment, is_body = False, False
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f):
            text = line.rstrip("\n")
            is_body = is_body or text == "{"
            if is_comment or text.lstrip().startswith("/*"):
                is_comment = "*/" not in text
                continue
            if is_body and text.startswith(" ") and not text.lstrip().startswith(("#", "/*", "*")):
                yield number, text


def places_of(path):
    """(number, old text, new text) of each change that can be made in a file."""
    for number, text in code_lines(path):
        code = text.split("/*")[0]
        quoted = [m.span() for m in re.finditer(r'"(?:[^"\\]|\\.)*"', code)]
        for pattern, new in SWAPS:
            for m in re.finditer(pattern, code):
                if any(start <= m.start() < end for start, end in quoted):
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
                yield number, text, changed
        if CALL.match(code):
            yield number, text, re.match(r"\s*", code).group(0) + ";"


def run(argv, seconds=None):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=seconds,
                              env=dict(os.environ, SPANFLAME_SOURCE=TREE, CHECK_SCALE="0.05")).returncode
    except subprocess.TimeoutExpired:
        return -1


def prepare():
    shutil.rmtree(TREE, ignore_errors=True)
    os.makedirs(TREE)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        to = os.path.join(TREE, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if os.path.lexists(os.path.join(ROOT, name)):
            shutil.copy2(os.path.join(ROOT, name), to, follow_symlinks=False)
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["meson", "setup", BUILD, TREE, "-Doptimization=0", "-Dbench=false", "-Dreplay=false", "-Dwerror=false"],
                       check=True, stdout=subprocess.DEVNULL)


def room_of(path):
    return os.path.relpath(path, os.path.join(ROOT, "src")).split(os.sep)[0]


def build(room):
    return run(["ninja", "-C", BUILD, f"tests/unit/{room}_unit"]) == 0


def passes(room):
    return run([os.path.join(BUILD, "tests", "unit", f"{room}_unit")], TEST_S) == 0


class Score:
    def __init__(self):
        self.noticed, self.broken, self.survivors = 0, 0, []

    def line(self):
        tried = self.noticed + len(self.survivors)
        return (f"mutants: {tried} changes tried, {self.noticed} noticed, {len(self.survivors)} not; "
                f"{self.broken} did not compile")


def try_one(path, place, score):
    number, old, new = place
    copy = os.path.join(TREE, os.path.relpath(path, ROOT))
    with open(copy, encoding="utf-8") as f:
        text = f.read()
    lines = text.split("\n")
    assert lines[number] == old, (path, number)
    lines[number] = new
    with open(copy, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    try:
        if not build(room_of(path)):
            score.broken += 1
        elif passes(room_of(path)):
            where = f"{os.path.relpath(path, ROOT)}:{number + 1}"
            score.survivors.append(where)
            print(f"{where}: {old.strip()}\n{' ' * len(where)}  {new.strip()}", flush=True)
        else:
            score.noticed += 1
    finally:
        with open(copy, "w", encoding="utf-8") as f:
            f.write(text)


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    args.add_argument("--seconds", type=int, default=1800)
    args.add_argument("--count", type=int, default=200)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--rooms", default=",".join(ROOMS))
    args.add_argument("files", nargs="*")
    args = args.parse_args()
    paths = [os.path.abspath(p) for p in args.files] or sorted(files_of(args.rooms.split(",")))
    places = [(path, place) for path in paths for place in places_of(path)]
    random.Random(args.seed).shuffle(places)
    prepare()
    for room in sorted({room_of(path) for path in paths}):
        if not build(room) or not passes(room):
            print(f"mutants: the unit tests of {room} do not pass as they are", file=sys.stderr)
            return 1
    score, end = Score(), time.monotonic() + args.seconds
    print(f"mutants: {len(places)} places in {len(paths)} files, seed {args.seed}", flush=True)
    for path, place in places[:args.count]:
        if time.monotonic() > end:
            break
        try_one(path, place, score)
    print(score.line())
    return 0


if __name__ == "__main__":
    sys.exit(main())
