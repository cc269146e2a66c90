"""A program of several files of tests: all of them, those of one file, those of a name; never none."""
import os
import subprocess
import sys

import tap

PROGRAM = sys.argv[1]  # trial_test.c and other_trial_test.c


def run(*args, **env):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False,
                          env=dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", **env))
    return done.returncode, [line for line in done.stdout.splitlines() if not line.startswith("# ok")]


def test_all_files_count_in_one_plan():
    status, lines = run()
    assert status == 0 and lines[0] == "1..4", lines
    assert sum(line.startswith("ok") for line in lines) == 4, lines


def test_a_noun_picks_its_file_and_no_other():
    status, lines = run("other_trial")
    assert (status, lines) == (0, ["1..1", "ok 1 - other fails_on_demand"]), lines
    status, lines = run("trial")
    assert status == 0 and lines[0] == "1..3", lines


def test_another_word_picks_by_name():
    status, lines = run("passes_")
    assert (status, lines) == (0, ["1..1", "ok 1 - trial passes_again"]), lines


def test_a_word_that_picks_nothing_fails():
    status, lines = run("nothing of the sort")
    assert status != 0 and lines == ["1..1", "not ok 1 - no test here is called nothing of the sort"], lines


def test_a_skip_is_no_failure_and_has_its_reason():
    status, lines = run("skips")
    assert (status, lines) == (0, ["1..1", "# no weather today", "ok 1 - trial skips # SKIP"]), lines


def test_a_failure_is_one():
    status, lines = run("other_trial", FAIL="1")
    assert status != 0 and "not ok 1 - other fails_on_demand" in lines, lines


tap.run(sys.modules[__name__])
