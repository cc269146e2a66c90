"""tap.py - a test is a function whose name is its sentence; run() prints TAP and sets the exit status. TAP_TEST=words picks
the tests whose sentences contain them; with TAP_FIRST=1 the first failure is the last test."""
import os
import sys
import traceback


class Skip(Exception):
    """Raised by a test that cannot run here; the message says why in one line."""


def run(module):
    tests = [(n, f) for n, f in vars(module).items() if n.startswith("test_") and callable(f)]
    tests = [t for t in tests if os.environ.get("TAP_TEST", "").replace(" ", "_") in t[0]]
    print(f"1..{len(tests)}")
    failed = 0
    for i, (name, test) in enumerate(tests, 1):
        sentence = name[len("test_"):].replace("_", " ")
        try:
            test()
        except Skip as why:
            print(f"ok {i} - {sentence} # SKIP {why}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {i} - {sentence}")
            for line in traceback.format_exc().rstrip().splitlines():
                print(f"# {line}")
            sys.stdout.flush()
            if os.environ.get("TAP_FIRST"):
                break
        else:
            print(f"ok {i} - {sentence}", flush=True)
    sys.exit(1 if failed else 0)
