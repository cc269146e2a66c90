"""tools/build on folders that are not set up, or not to the end: meson and ninja are small scripts."""
import os
import shutil
import subprocess
import sys
import tempfile

import tap

BUILD = os.path.join(os.environ["SOURCE_ROOT"], "tools", "build")
MESON = '#!/bin/sh\nmkdir -p "$2/meson-info"\necho \'"name": "cmocka"\' >"$2/meson-info/intro-dependencies.json"\n: >"$2/build.ninja"\n'
LIBRARY, LEFT, HIDDEN = "build/libchdb/libchdb.so", "build/meson-private/coredata.dat", "build/.left"


def build(*files):
    """Runs `tools/build release` where these files are; returns which of them are left."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in (("bin/meson", MESON), ("bin/ninja", "#!/bin/sh\n"), *((f, '"name": "cmocka"') for f in files)):
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(path, 0o755)
        os.mkdir(os.path.join(root, "tools"))
        shutil.copy(BUILD, os.path.join(root, "tools"))
        env = {"PATH": os.path.join(root, "bin") + ":" + os.environ["PATH"], "TMPDIR": root}
        done = subprocess.run([os.path.join(root, "tools", "build"), "release"], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False)
        assert done.returncode == 0, done.stdout
        assert os.path.exists(os.path.join(root, "build", "build.ninja")), done.stdout
        return [f for f in files if os.path.exists(os.path.join(root, f))]


def test_a_build_that_was_not_set_up_to_the_end_is_begun_anew():
    assert not build(LEFT, HIDDEN)
    assert not build()


def test_the_library_of_clickhouse_stays():
    assert build(LIBRARY, LEFT, HIDDEN) == [LIBRARY]
    assert build(LIBRARY) == [LIBRARY]


def test_a_build_that_is_set_up_is_used():
    ready = ["build/build.ninja", "build/meson-info/intro-dependencies.json", LEFT]
    assert build(*ready) == ready


tap.run(sys.modules[__name__])
