"""What `make check` makes of the tests' output: every line counts, and nothing fails silently."""
import atexit
import importlib.machinery
import importlib.util
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile

import tap

sys.dont_write_bytecode = True
TOOLS = os.path.join(os.environ["SOURCE_ROOT"], "tools")
sys.path.insert(0, TOOLS)
import check_run  # noqa: E402
import test_targets  # noqa: E402

os.environ.setdefault("CHECK_SCALE", "1")
loader = importlib.machinery.SourceFileLoader("check", os.path.join(TOOLS, "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
loader.exec_module(check)


def tally_of(stdout, result="OK", status=0):
    tally = check.Tally()
    tally.one_test({"name": "spanflame:unit / noun", "stdout": stdout, "result": result, "returncode": status,
                    "stderr": "from stderr\n"})
    return tally


def test_each_line_of_tap_is_a_test():
    tally = tally_of("1..3\nok 1 - one\nnot ok 2 - two\nok 3 - three\n", "FAIL", 1)
    assert tally.passed == 2
    assert [name for name, _ in tally.failed] == ["unit / noun: two"]


def test_the_output_of_a_failing_test_is_kept():
    tally = tally_of("1..1\n# why\nnot ok 1 - one\n", "FAIL", 1)
    assert "# why" in tally.failed[0][1] and "from stderr" in tally.failed[0][1]


def test_a_skip_keeps_its_reason():
    tally = tally_of("1..2\nok 1 - one # SKIP no network\nok 2 - two\n")
    assert tally.passed == 1 and tally.skipped == [("unit / noun: one", "no network")]


def test_a_skip_without_a_reason_has_the_comment_before_it():
    tally = tally_of("1..3\n# of the first\nok 1 - one\n# no files here\nok 2 - two # SKIP\nok 3 - three # SKIP\n")
    assert tally.passed == 1 and not tally.failed
    assert tally.skipped == [("unit / noun: two", "no files here"), ("unit / noun: three", "no reason given")]


def test_a_whole_program_may_skip():
    tally = tally_of("1..0 # SKIP no go here\n", "SKIP")
    assert tally.passed == 0 and tally.skipped == [("unit / noun", "no go here")]


def test_a_crash_after_good_lines_is_a_failure():
    tally = tally_of("1..3\nok 1 - one\n", "ERROR", -11)
    assert tally.passed == 1 and len(tally.failed) == 1 and "-11" in tally.failed[0][0]


def test_a_timeout_is_a_failure():
    assert len(tally_of("1..3\nok 1 - one\n", "TIMEOUT", -15).failed) == 1


def test_an_unexpected_pass_is_a_failure():
    assert len(tally_of("", "UNEXPECTEDPASS").failed) == 1


def test_a_program_without_tap_counts_once():
    tally = tally_of("hello\n")
    assert tally.passed == 1 and not tally.failed


def test_a_command_that_fails_or_is_missing_is_a_failure():
    tally = check.Tally()
    assert tally.command("true", ["true"])
    assert not tally.command("false", ["sh", "-c", "echo because; exit 3"])
    assert not tally.command("absent", ["no-such-program-here"])
    assert tally.passed == 1 and tally.failed[0][1] == "because\n" and len(tally.failed) == 2


check_run.TRIES_KEPT = tempfile.mkdtemp()
atexit.register(shutil.rmtree, check_run.TRIES_KEPT)


def failing(name):
    return {"name": f"spanflame:{name}", "stdout": "1..1\nnot ok 1 - one\n", "result": "FAIL", "returncode": 1}


class Again(check_run.MesonRun):
    """Of which runs alone say `verdicts`, and then that all is well."""

    def __init__(self, test, *verdicts):
        super().__init__("build", "check-flow", ["flow"])
        self.test, self.verdicts, self.asked = test, list(verdicts), []

    def results(self, log, *names, on_line=None):
        self.asked.append((log, names))
        verdict = self.verdicts.pop(0) if self.verdicts else "ok"
        return [dict(self.test, stdout=f"1..1\n{verdict} 1 - one\n", result="OK" if verdict == "ok" else "FAIL",
                     returncode=verdict != "ok")], ""


def settle(tally):
    """Without what it prints, which is no TAP."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        tally.settle()
    return said.getvalue().splitlines()


def rerun(*verdicts):
    """A tally of a test that failed in company, and of which runs alone say `verdicts`."""
    run = Again(failing("flow / noun"), *verdicts)
    tally = check.Tally()
    tally.doubtful.append((run, run.test))
    settle(tally)
    assert run.asked == [("check-flow-again", ("noun",))] * len(verdicts) and not tally.doubtful, run.asked
    return tally


def test_what_passes_alone_is_said_and_what_fails_each_time_has_failed():
    busy, busier, broken = rerun("ok"), rerun("not ok", "ok"), rerun("not ok", "not ok")
    assert busy.passed == 1 and not busy.failed and busy.again == [("flow / noun", 1)]
    assert busier.passed == 1 and not busier.failed and busier.again == [("flow / noun", 2)]
    assert not broken.passed and len(broken.failed) == 1 and not broken.again


def kept(name):
    with open(os.path.join(check_run.TRIES_KEPT, name), encoding="utf-8") as f:
        return f.read()


def test_the_output_of_each_failed_try_is_kept_and_its_end_is_printed():
    first = dict(failing("flow+demo / races"), stdout="1..1\n" + "".join(f"# step {i}\n" for i in range(100)),
                 stderr="the cause\n", duration=7.25)
    run = Again(first, "not ok", "ok")
    tally = check.Tally()
    tally.doubtful.append((run, first))
    lines = settle(tally)
    assert tally.again == [("flow+demo / races", 2)]
    assert re.search(r"(?s)^flow\+demo / races: FAIL, exit status 1, after 7.2 s; .*# step 0\n.*# step 99\nthe cause\n$",
                     kept("flow-races-1.txt"))
    assert "not ok 1 - one" in kept("flow-races-2.txt") and "# step" not in kept("flow-races-2.txt")
    assert re.match(r"  try 1 of flow\+demo / races failed; its output is in .*/flow-races-1.txt, and ends:", lines[0]), lines
    assert lines[1] == "    ... 42 lines before these" and lines[2] == "    # step 41" and "    the cause" in lines, lines


def test_of_three_tests_that_fail_in_company_none_is_tried_again():
    tally = check.Tally()
    runs = [Again(failing(f"flow / noun{i}")) for i in range(3)]
    tally.doubtful = [(run, run.test) for run in runs]
    settle(tally)
    assert not any(run.asked for run in runs) and not tally.passed and not tally.again
    assert len(tally.failed) == 4 and tally.failed[-1][0] == "3 tests failed; at most 2 are tried again", tally.failed


FLAKY = "# test room reason\n\nflow/demo  join   counts what an idle machine does\n"


def test_the_list_of_flaky_tests_is_about_tests_that_are_there():
    assert check_run.faults_of_flaky(FLAKY, {"flow/demo", "prop/link"}, ["join"]) == []
    gone = check_run.faults_of_flaky(FLAKY, {"prop/link"}, ["join"])
    assert gone == ["tests/known_flaky.txt: there is no test flow/demo: take it off the list"], gone
    assert "no room join" in check_run.faults_of_flaky(FLAKY, {"flow/demo"}, ["exec"])[0]
    assert len(check_run.faults_of_flaky("flow/demo join\ndemo join because\n", {"flow/demo"}, ["join"])) == 2


def last_lines(*doubtful):
    """What a whole run prints last when these tests failed in company and passed alone, and its exit status."""
    def stage(tally, _):
        tally.passed += 7
        tally.doubtful += [(Again(failing(name)), failing(name)) for name in doubtful]

    said, real, read = io.StringIO(), dict(check.STAGES), check.read
    scale = os.environ["CHECK_SCALE"]
    check.STAGES["tests"], check.read = stage, lambda path: FLAKY
    try:
        with contextlib.redirect_stdout(said):
            status = check.main(["check", "tests"])
    finally:
        check.STAGES.update(real)
        check.read, os.environ["CHECK_SCALE"] = read, scale
    return said.getvalue().splitlines(), status


def test_the_last_line_is_the_sum_and_the_one_before_names_what_was_tried_again():
    lines, status = last_lines()
    assert status == 0 and lines[-1] == "7 passed, 0 failed, 0 skipped" and "retried" not in lines[-2], lines
    assert re.match(r"  0:00 \[1/1\] tests +7 passed   0 failed   0 skipped in 0 s", lines[0]), lines
    lines, status = last_lines("flow+demo / demo", "prop / link")
    assert status == 0 and lines[-1] == "9 passed, 0 failed, 0 skipped", lines
    assert lines[-2] == ("retried: flow/demo (known: counts what an idle machine does), "
                         "prop/link (not listed in tests/known_flaky.txt)"), lines
    lines, status = last_lines("flow+demo / demo", "prop / link", "prop / wal")
    assert status == 1 and lines[-1] == "7 passed, 4 failed, 0 skipped", lines


def test_progress_is_said_at_each_quarter():
    said = []
    quarters = check_run.Quarters(said.append, "build")
    for line in [f"[{i}/20] Compiling\n" for i in range(1, 21)] + ["[1/3] Linking\n"]:
        quarters(line)
    assert said == ["build 25 %", "build 50 %", "build 75 %"], said
    quarters = check_run.Quarters(said.append, "tests")
    for line in (" 7/12 spanflame:unit / fuse   OK   0.01s\n", "12/12 spanflame:unit / rows   OK   0.01s\n"):
        quarters(line)
    assert said[3:] == ["tests 50 %"], said


def test_only_what_the_picked_tests_run_is_built():
    tests = [{"suite": ["spanflame:unit", "spanflame:block"], "depends": ["a"]},
             {"suite": ["spanflame:fault", "spanflame:plain"], "depends": ["b"]},
             {"suite": ["spanflame:flow"], "depends": ["c", "d"]}]
    assert test_targets.wanted_targets(tests, {"unit", "fault"}, {"plain"}) == {"a"}
    assert test_targets.wanted_targets(tests, set(), {"plain"}) == {"a", "c", "d"}


def test_a_dead_link_is_found():
    assert list(check.dead_links("README.md", "[a](docs/README.md) [b](https://x.org/y) [c](#start) [d](docs/fleet.md#no-such-heading)")) == \
        ["README.md: docs/fleet.md#no-such-heading"]
    assert list(check.dead_links("README.md", "see [a](docs/nowhere.md)")) == ["README.md: docs/nowhere.md"]


tap.run(sys.modules[__name__])
