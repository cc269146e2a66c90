#!/usr/bin/env python3
"""The kill loop notices a server that loses, doubles, changes or resurrects, and passes one that does not."""
import os
import subprocess
import sys

ROOT = os.environ["SOURCE_ROOT"]
FAKE = os.path.join(ROOT, "tests", "support", "fake_server.py")
LOOP = os.path.join(ROOT, "tests", "fault", "kill_loop.py")


def run(fake):
    """A bad server is noticed some cycles later, and the loop ends there: where exactly is a matter of chance, since what
    is on its way at a kill is. A cycle notices each of these in more than one case of five, so a hundred miss it in less
    than one run of a billion."""
    scale = "0.5" if fake else "0.02"
    env = dict(os.environ, SPANFLAME=FAKE, FAKE=fake, CHECK_SCALE=scale, SEED="7", KEEP="no")
    done = subprocess.run([sys.executable, LOOP], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=300)
    return done.returncode, done.stdout


def main():
    wanted = {"": 0, "lossy": 1, "double": 1, "changes": 1, "forgets": 1, "lossy profiles": 1,
              "double profiles": 1}
    print(f"1..{len(wanted)}")
    n_failed = 0
    for i, (fake, want) in enumerate(wanted.items(), 1):
        code, said = run(fake)
        ok = code == want
        print(f"{'ok' if ok else 'not ok'} {i} - {'passes a good server' if want == 0 else 'notices a server that is ' + fake}")
        if not ok:
            n_failed += 1
            print("\n".join("# " + line for line in said.splitlines()))
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
