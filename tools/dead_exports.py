#!/usr/bin/env python3
"""dead_exports.py [BUILD] - names that src/ exports and no other code uses.

Compares what the objects of the rooms define with what all objects (rooms, tests, benchmarks, fuzz targets, the
library) want. A name that nobody wants outside its own object is either dead or should be static. Prints one line a
name; with --tests also the names that only tests and benchmarks want. Exits 1 when there is one.
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOM = re.compile(r"^src/[a-z]+/lib[a-z]+\.a\.p/")
TESTS = re.compile(r"^(tests|bench|demo)/")


def objects(build):
    """Those of today's sources: the folder may hold more from before."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        return [entry["output"] for entry in json.load(f) if os.path.exists(os.path.join(build, entry["output"]))]


def symbols(build, paths):
    """{object: (defined, wanted)}, external names only."""
    found = {}
    out = subprocess.run(["nm", "--extern-only", "--print-file-name", "--", *paths], cwd=build,
                         capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        words = rest.split()
        kind, name = words[-2], words[-1]
        defined, wanted = found.setdefault(path, (set(), set()))
        (wanted if kind in "Uw" else defined).add(name)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build"))
    parser.add_argument("--tests", action="store_true", help="also names that only tests want")
    args = parser.parse_args()
    found = symbols(args.build, objects(args.build))
    wanted, wanted_by_code = set(), set()
    for path, (_, wants) in found.items():
        wanted |= wants
        if not TESTS.match(path):
            wanted_by_code |= wants
    n_dead = 0
    for path, (defined, _) in sorted(found.items()):
        if not ROOM.match(path):
            continue
        for name in sorted(defined):
            if name not in wanted:
                print(f"{name}: nobody but its own file uses it ({path})")
            elif args.tests and name not in wanted_by_code:
                print(f"{name}: only tests use it ({path})")
            else:
                continue
            n_dead += 1
    print(f"dead_exports: {n_dead} names")
    return 1 if n_dead else 0


if __name__ == "__main__":
    sys.exit(main())
