"""tools/fuzz with a target that libFuzzer stopped: an input that took long by the clock only is no finding."""
import os
import shutil
import subprocess
import sys
import tempfile

import tap

FUZZ = os.path.join(os.environ["SOURCE_ROOT"], "tools", "fuzz")
NINJA = "#!/bin/sh\necho 'tests/fuzz/trial_fuzz: phony'\n"
# Called with -timeout=0 it runs one input; otherwise it says once that an input hangs, and then runs until it is stopped.
TARGET = """#!/bin/bash
echo run >>"$0.runs"
case "$*" in
*-timeout=0*) {alone} ;;
*) if [ ! -e "$0.once" ]; then
    : >"$0.once"
    for arg; do [ "${{arg#-artifact_prefix=}}" = "$arg" ] || echo x >"${{arg#-artifact_prefix=}}timeout-1"; done
    exit {first}
fi ;;
esac
trap 'echo "stat::number_of_executed_units: 7"; exit 0' USR1
while :; do :; done
"""


def fuzz(alone, first=70):
    """(exit status, output, inputs in findings, how often the target ran)"""
    with tempfile.TemporaryDirectory() as root:
        for name, text in (("bin/ninja", NINJA), ("tools/build", "#!/bin/sh\n"),
                           ("build-fuzz/tests/fuzz/trial_fuzz", TARGET.format(alone=alone, first=first))):
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(path, 0o755)
        os.makedirs(os.path.join(root, "tests", "corpus", "trial"))
        shutil.copy(FUZZ, os.path.join(root, "tools"))
        env = {"PATH": os.path.join(root, "bin") + ":" + os.environ["PATH"]}
        done = subprocess.run([os.path.join(root, "tools", "fuzz"), "1"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, check=False)
        target = os.path.join(root, "build-fuzz", "tests", "fuzz", "trial_fuzz.runs")
        with open(target, encoding="ascii") as f:
            runs = f.read().count("run")
        return done.returncode, done.stdout, os.listdir(os.path.join(root, "build-fuzz", "findings", "trial")), runs


def test_an_input_that_waited_is_no_finding_and_the_run_goes_on():
    code, said, found, runs = fuzz("exit 0")
    assert code == 0 and found == [] and runs == 3, (code, said, found, runs)
    assert "trial: 7 runs in 1 CPU seconds, nothing found" in said, said


def test_an_input_that_hangs_is_a_finding():
    code, said, found, runs = fuzz("exit 137")
    assert code == 1 and found == ["timeout-1"] and runs == 2 and "BROKEN" in said, (code, said, found, runs)


def test_other_faults_are_findings_at_once():
    code, said, found, runs = fuzz("exit 0", first=77)
    assert code == 1 and found == ["timeout-1"] and runs == 1 and "BROKEN" in said, (code, said, found, runs)


tap.run(sys.modules[__name__])
