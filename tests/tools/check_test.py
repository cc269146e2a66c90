"""What `make check` makes of the tests' output: every line counts, and nothing fails silently."""
import importlib.machinery
import importlib.util
import os
import sys

import tap

sys.dont_write_bytecode = True
PATH = os.path.join(os.environ["SOURCE_ROOT"], "tools", "check")
loader = importlib.machinery.SourceFileLoader("check", PATH)
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


def rerun(*verdicts):
    """A tally of a test that failed in company, and of which runs alone say `verdicts`."""
    name = "spanflame:flow / noun"
    failed = {"name": name, "stdout": "1..1\nnot ok 1 - one\n", "result": "FAIL", "returncode": 1}
    asked = []
    os.environ.setdefault("CHECK_SCALE", "1")

    class Run(check.MesonRun):
        def results(self, log, *names):
            verdict = verdicts[len(asked)]
            asked.append((log, names))
            return [dict(failed, stdout=f"1..1\n{verdict} 1 - one\n", result="OK" if verdict == "ok" else "FAIL")], ""

    tally = check.Tally()
    tally.doubtful.append((Run("build", "check-flow", ["flow"]), failed))
    tally.settle()
    assert asked == [("check-flow-again", ("noun",))] * len(verdicts) and not tally.doubtful
    return tally


def test_what_passes_alone_is_said_and_what_fails_each_time_has_failed():
    busy, busier, broken = rerun("ok"), rerun("not ok", "ok"), rerun("not ok", "not ok")
    assert busy.passed == 1 and not busy.failed and busy.again == [("spanflame:flow / noun", 1)]
    assert busier.passed == 1 and not busier.failed and busier.again == [("spanflame:flow / noun", 2)]
    assert not broken.passed and len(broken.failed) == 1 and not broken.again


def test_a_dead_link_is_found():
    assert list(check.dead_links("README.md", "[a](docs/README.md) [b](https://x.org/y) [c](#top)")) == []
    assert list(check.dead_links("README.md", "see [a](docs/nowhere.md)")) == ["README.md: docs/nowhere.md"]


tap.run(sys.modules[__name__])
