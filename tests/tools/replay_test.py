"""A replayed corpus: each file a test; none, or a crash, is a failure and never a silent pass."""
import os
import subprocess
import sys
import tempfile

import tap

PROGRAM = sys.argv[1]  # aborts on input that begins with BUG


def run(files):
    with tempfile.TemporaryDirectory() as corpus:
        for name, content in files.items():
            with open(os.path.join(corpus, name), "wb") as f:
                f.write(content)
        done = subprocess.run([PROGRAM, "trial", corpus], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


def test_each_file_is_a_test():
    assert run({"b": b"x", "a": b""}) == (0, "1..2\n# a\nok 1 - a\n# b\nok 2 - b\n")


def test_an_empty_corpus_fails():
    status, said = run({})
    assert status == 1 and "\nnot ok 1" in said, said


def test_a_missing_corpus_fails():
    done = subprocess.run([PROGRAM, "trial", "/nonexistent"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "not ok 1" in done.stdout, done.stdout


def test_a_target_that_is_not_there_fails():
    done = subprocess.run([PROGRAM, "other", "/"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "not ok 1" in done.stdout, done.stdout


def test_a_crash_names_its_input_and_breaks_the_plan():
    status, said = run({"a": b"fine", "b": b"BUG"})
    assert status != 0 and said.endswith("# b\n") and "ok 2" not in said, said


tap.run(sys.modules[__name__])
