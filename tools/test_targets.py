#!/usr/bin/env python3
"""test_targets.py BUILD SUITE... [-SUITE...] - what must be built to run the tests of these suites: those in one of the
SUITEs (none named: all) and in none of the -SUITEs. One file a line, as ninja knows it."""
import json
import os
import sys


def wanted_targets(tests, suites, without):
    """The ids that the picked tests depend on."""
    found = set()
    for test in tests:
        of = {suite.split(":")[-1] for suite in test["suite"]}
        if (not suites or of & suites) and not of & without:
            found.update(test["depends"])
    return found


def main(argv):
    build, words = argv[1], argv[2:]
    with open(os.path.join(build, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
        tests = json.load(f)
    with open(os.path.join(build, "meson-info", "intro-targets.json"), encoding="utf-8") as f:
        targets = json.load(f)
    wanted = wanted_targets(tests, {w for w in words if w[0] != "-"}, {w[1:] for w in words if w[0] == "-"})
    for target in targets:
        if target["id"] in wanted:
            print("\n".join(os.path.relpath(name, build) for name in target["filename"]))


if __name__ == "__main__":
    main(sys.argv)
