#!/usr/bin/env python3
"""The page's source: types hold, the linter has nothing to say, the lock file names no address."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

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


def test_without_node_the_server_is_built_all_the_same():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "page_files.c")
        for _ in range(2):
            done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools", "page"), out, folder],
                                  env={"PATH": folder}, capture_output=True, text=True, check=False)
            assert done.returncode == 0 and "there is no Node here" in done.stderr, done.stderr
            with open(out, encoding="utf-8") as f:
                assert "sf_n_page_files = 0;" in f.read()
        cc = subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-c", "-I", os.path.join(SOURCE, "src"), out, "-o",
                             os.path.join(folder, "page_files.o")], capture_output=True, text=True, check=False)
        assert cc.returncode == 0, cc.stderr


tap.run(sys.modules[__name__])
