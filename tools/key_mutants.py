#!/usr/bin/env python3
"""key_mutants.py [KEY...]: does a test notice when the server ignores a key of its configuration?

tests/flow/keys_flow.py says for each key which flow changes it and sees a difference. Each of these flows runs with a
program that drops the key from files, variables and flags, and has to fail; without that it has to pass. The keys that
collectors read are tried in keys_flow.py itself. Prints a line for each key and how many went unnoticed or could not be tried:
a flow that is skipped here (tests of ClickHouse without its library) or fails by itself shows nothing."""
import ast
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD_ROOT", os.path.join(ROOT, "build"))
PROGRAM = os.path.join(BUILD, "spanflame")
SECONDS = 600  # a flow that hangs has noticed
# Of a flow that takes long: the test that changes the key.
TESTS = {"store.remote." + key: "test_" + test for keys, test in (
    ("user password_file ca_file interval", "user_password_and_certificates"), ("url ack", "an_acknowledgement_can_wait"),
    ("timeout spool_max", "a_shard_that_hangs"), ("attributes", "conditions_give_the_same"), ("memory", "every_statement_carries_limits")) for key in keys.split()}
FLAGS = {"listen": "--listen", "data": "--data", "memory": "--memory"}

WRAPPER = r'''#!/usr/bin/env python3
import os, sys
KEY, PROGRAM, FLAG = %r, %r, %r

def drop(node, path):
    """Whether it was there."""
    if not isinstance(node, dict):
        return False
    if path[0] in node and len(path) == 1:
        del node[path[0]]
        return True
    return path[0] in node and drop(node[path[0]], path[1:])

def rewritten(path):
    import yaml
    try:
        with open(path, encoding="utf-8") as f:
            text = yaml.safe_load(f)
    except (OSError, ValueError, yaml.YAMLError):
        return path
    if not drop(text, KEY.split(".")):
        return path
    with open(path + ".without", "w", encoding="utf-8") as f:
        yaml.safe_dump(text, f)
    return path + ".without"

args, given = [], sys.argv[1:]
while given:
    word = given.pop(0)
    if word == "--":
        args += [word] + given
        break
    if word == "--config" and given:
        args += [word, rewritten(given.pop(0))]
    elif word == "--set" and given and given[0].split("=")[0] == KEY:
        given.pop(0)
    elif word == FLAG and given:
        given.pop(0)
    elif word == "--allow-public-without-auth" and KEY == "auth.allow_public_without_auth":
        pass
    else:
        args.append(word)
os.environ.pop("SPANFLAME_" + KEY.replace(".", "_").upper(), None)
os.execv(PROGRAM, [PROGRAM] + args)
'''


def table():
    """key -> the flows that notice it"""
    with open(os.path.join(ROOT, "tests", "flow", "keys_flow.py"), encoding="utf-8") as f:
        tree = ast.parse(f.read())
    found = {t.id: node.value for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)}
    flows = {key: [] for key in ast.literal_eval(found["ELSEWHERE"])}
    for key, text in ast.literal_eval(found["ELSEWHERE"]).items():
        kind = ""
        for word in re.findall(r"[a-z_]+", text):
            kind = word if word in ("flow", "unit") else kind
            flows[key] += [word] if kind == "flow" != word else []
    return dict(flows, **{key: ["server_keys"] for key in ast.literal_eval(found["SERVER_KEYS"].func.value).split()})


def run(flow, key, only=""):
    """(whether it passed, or None if all of it was skipped, the tests that failed); `only`: of the tests whose names have it"""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as f:
        f.write(WRAPPER % (key, PROGRAM, FLAGS.get(key, "")))
    os.chmod(f.name, 0o755)
    env = dict(os.environ, SPANFLAME=f.name, SOURCE_ROOT=ROOT, BUILD_ROOT=BUILD, SANITIZER="none", PYTHONDONTWRITEBYTECODE="1", TAP_TEST=only, TAP_FIRST="1",
               LD_LIBRARY_PATH=os.path.join(BUILD, "collect"))
    try:
        with tempfile.TemporaryDirectory() as home:  # where a server without `data` writes
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "flow", flow + "_flow.py")], env=env, capture_output=True,
                                  text=True, timeout=SECONDS, check=False, cwd=home)
    except subprocess.TimeoutExpired:
        return False, ["it hangs"]
    finally:
        os.unlink(f.name)
    lines = done.stdout.splitlines()
    failed = [line.split(" - ", 1)[1] for line in lines if line.startswith("not ok")]
    if failed and any("server ended" in line for line in lines):
        failed.insert(0, "IT DOES NOT START")
    if not failed and not any(line.startswith("ok") and "# SKIP" not in line for line in lines):
        return None, []
    return done.returncode == 0, failed or done.stderr.splitlines()[-1:]


def main():
    flows, passes, unnoticed, untried = table(), {}, [], []
    keys = sys.argv[1:] or list(flows)
    for key in keys:
        seen, is_tried = None, False
        for flow in flows[key]:
            only = "test_" + key.replace(".", "_") if flow == "server_keys" and not key.startswith("page.") else TESTS.get(key, "")
            if (flow, only) not in passes:
                passes[flow, only] = run(flow, "no.such.key", only)
            if passes[flow, only][0] is None:
                print(f"{key}: flow {flow} is skipped here", flush=True)
                continue
            if not passes[flow, only][0]:
                print(f"{key}: flow {flow} fails without a change: {passes[flow, only][1][:2]}", flush=True)
                continue
            is_tried = True
            is_passed, failed = run(flow, key, only)
            if not is_passed:
                seen = (flow, failed)
                break
        verdict = f"noticed by flow {seen[0]}: {json.dumps(seen[1][:2])}" if seen else "UNNOTICED" if is_tried else "not tried"
        print(f"{key}: {verdict}", flush=True)
        if not seen:
            (unnoticed if is_tried else untried).append(key)
    print(f"{len(keys)} keys, {len(unnoticed)} unnoticed: {', '.join(unnoticed)}; {len(untried)} not tried: {', '.join(untried)}")
    sys.exit(1 if unnoticed or untried else 0)


if __name__ == "__main__":
    main()
