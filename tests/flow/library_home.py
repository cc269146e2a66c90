"""What tests of programs with the library share: a folder that goes with the test, an environment without settings of
ours, and the library installed as its users have it."""
import atexit
import os
import shutil
import subprocess
import tempfile

SOURCE = os.environ["SOURCE_ROOT"]


def folder(word):
    """Gone when the test is."""
    path = tempfile.mkdtemp(prefix=f"spanflame-{word}-")
    atexit.register(shutil.rmtree, path, True)
    return path


def clean_env():
    """Profiling does not pause, however busy the machine is that runs the tests, and nobody is asked what to do."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "PYROSCOPE_", "SPANFLAME_"))}
    return dict(env, SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED="false", SPANFLAME_PROFILING_CONTROL_ENABLED="false")


def run(*argv, **more):
    """What the command printed; it has to succeed."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600, **more)
    assert done.returncode == 0, (argv, done.returncode, done.stdout, done.stderr)
    return done.stdout


def install(prefix):
    """An environment in which pkg-config finds what is then below `prefix`, and not what is in the build folder."""
    run(os.path.join(SOURCE, "tools", "install"), prefix)
    env = clean_env()
    env.pop("LD_LIBRARY_PATH", None)
    env["PKG_CONFIG_PATH"] = os.path.join(prefix, "lib", "pkgconfig")
    return env
