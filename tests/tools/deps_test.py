"""tools/deps on machines that are not there: dpkg-query, apt-get, sudo and id are small scripts."""
import os
import shutil
import subprocess
import sys
import tempfile

import tap

DEPS = os.path.join(os.environ["SOURCE_ROOT"], "tools", "deps")
LIST = "# a comment\n[build]\nalpha\nbeta\n\n[test]\ngamma\n"
DPKG = '#!/bin/sh\nfor p in "$@"; do case " $HAVE " in *" $p "*) echo "installed $p";; esac; done\n'
APT = '#!/bin/sh\necho "$@" >>"$RECORD"\n[ "$2" != "$APT_FAILS_AT" ] || { echo "E: it broke"; exit 100; }\n'


def run(sections, have, uid=0, programs=("dpkg-query", "apt-get", "id", "sudo"), apt_fails_at="none"):
    """Runs deps; returns (status, everything it said, the calls of apt-get)."""
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(DEPS, root)
        fakes = {"dpkg-query": DPKG, "apt-get": APT, "id": f"#!/bin/sh\necho {uid}\n",
                 "sudo": '#!/bin/sh\necho sudo >>"$RECORD"\nexec "$@"\n'}
        bin_dir = os.path.join(root, "bin")
        os.mkdir(bin_dir)
        for real in ("bash", "sh", "awk", "dirname", "mktemp", "rm", "tail", "env"):
            os.symlink(shutil.which(real), os.path.join(bin_dir, real))
        for name in programs:
            path = os.path.join(bin_dir, name)
            with open(path, "w", encoding="ascii") as f:
                f.write(fakes[name])
            os.chmod(path, 0o755)
        with open(os.path.join(root, "packages.txt"), "w", encoding="ascii") as f:
            f.write(LIST)
        record = os.path.join(root, "record")
        env = {"PATH": bin_dir, "HAVE": have, "RECORD": record, "APT_FAILS_AT": apt_fails_at}
        done = subprocess.run(["bash", os.path.join(root, "deps"), *sections], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        calls = []
        if os.path.exists(record):
            with open(record, encoding="ascii") as f:
                calls = f.read().splitlines()
        return done.returncode, done.stdout, calls


def test_nothing_is_said_or_done_when_all_is_there():
    assert run(["build"], "alpha beta") == (0, "", [])


def test_what_is_missing_is_named_and_installed():
    status, said, calls = run(["build"], "alpha")
    assert status == 0 and said == "deps: installing beta\n", said
    assert calls == ["-q update", "-q -y --no-install-recommends install beta"], calls


def test_only_the_named_sections_count():
    assert run(["test"], "gamma") == (0, "", [])
    assert run(["build", "test"], "alpha beta")[1] == "deps: installing gamma\n"


def test_without_root_sudo_is_used():
    status, _, calls = run(["build"], "alpha", uid=1000)
    assert status == 0 and calls[0] == "sudo" and calls[2] == "sudo", calls


def test_without_root_and_sudo_the_command_is_printed():
    status, said, calls = run(["build"], "alpha", uid=1000, programs=("dpkg-query", "apt-get", "id"))
    assert status == 1 and "run as root: apt-get install beta" in said and not calls, said


def test_without_apt_the_packages_are_named():
    status, said, _ = run(["build"], "alpha", programs=("dpkg-query", "id"))
    assert status == 1 and "no apt-get" in said and "beta" in said, said


def test_another_system_gets_the_list():
    status, said, _ = run(["build"], "", programs=("id",))
    assert status == 1 and "not a Debian system" in said and "alpha beta" in said, said


def test_a_failed_update_is_said_and_the_install_is_tried():
    status, said, calls = run(["build"], "alpha", apt_fails_at="update")
    assert status == 0 and "apt-get update failed" in said and len(calls) == 2, said


def test_a_failed_install_shows_why():
    status, said, _ = run(["build"], "alpha", apt_fails_at="-y")
    assert status == 1 and "E: it broke" in said and "could not install beta" in said, said


tap.run(sys.modules[__name__])
