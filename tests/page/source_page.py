#!/usr/bin/env python3
"""The page's source: types hold, the linter has nothing to say, the lock file names no address."""
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["SOURCE_ROOT"]
WEB = os.path.join(SOURCE, "web")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import tap  # noqa: E402


def run(*argv):
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "typescript")):
        raise tap.Skip("there is no Node here, or tools/page --tests was not run")
    done = subprocess.run(["node", *argv], cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_hold():
    run("node_modules/typescript/bin/tsc", "--noEmit")


def test_the_linter_has_nothing_to_say():
    run("node_modules/eslint/bin/eslint.js", "--max-warnings", "0", "src", "tests")


def test_the_lock_file_names_no_address():
    with open(os.path.join(WEB, "package-lock.json"), encoding="utf-8") as f:
        text = f.read()
    assert '"resolved"' not in text and not re.search(r"registry\.", text)


tap.run(sys.modules[__name__])
