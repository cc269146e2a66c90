#!/usr/bin/env python3
"""TraceQL against a checkout of Tempo: every query of its own parser's tests and examples, and tens of thousands made from
them and from the grammar, put to its parser and checks and to ours. SPANFLAME_TEMPO_SOURCE is the folder with the
checkout, which is not written to."""
import glob
import json
import os
import random
import re
import subprocess
import sys

sys.path[:0] = [os.path.dirname(__file__)]
import toolchain  # noqa: E402
from toolchain import tap  # noqa: E402
from traceql_make import Maker, tokens  # noqa: E402

SOURCE = os.environ.get("SPANFLAME_TEMPO_SOURCE", "")
N_MADE, N_CHANGED, SEED = 40_000, 40_000, 20_260_821


def build_judge(folder):
    program, overlay = os.path.join(folder, "judge"), os.path.join(folder, "overlay.json")
    with open(overlay, "w", encoding="utf-8") as f:
        json.dump({"Replace": {os.path.join(SOURCE, "cmd", "spanflame_judge", "main.go"):
                               os.path.join(toolchain.HERE, "tempo_source", "main.go")}}, f)
    done = subprocess.run(["go", "build", "-mod=vendor", "-buildvcs=false", "-overlay", overlay, "-o", program,
                           "./cmd/spanflame_judge"], cwd=SOURCE, capture_output=True, text=True, timeout=1500, check=False,
                          env=dict(os.environ, GOTOOLCHAIN="local", CGO_ENABLED="0", GOFLAGS=""))
    if "requires go >=" in done.stderr:
        raise tap.Skip("go is older than this Tempo")
    assert done.returncode == 0, done.stderr
    return program


def known_queries():
    """The examples that Tempo's parser is tested with, and every string of its tests that looks like a query."""
    found = set()
    folder = os.path.join(SOURCE, "pkg", "traceql")
    with open(os.path.join(folder, "test_examples.yaml"), encoding="utf-8") as f:
        for line in f:
            example = re.match(r"\s+- '(.*)'\s*$|\s+- \"(.*)\"\s*$|\s+- (\S.*)$", line)
            if example:
                found.add(example[1].replace("''", "'") if example[1] is not None else example[2] or example[3])
    for name in glob.glob(os.path.join(folder, "*_test.go")):
        with open(name, encoding="utf-8") as f:
            for text in re.findall(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`', f.read()):
                try:
                    text = json.loads(text) if text[0] == '"' else text[1:-1]
                except ValueError:
                    continue
                if re.search(r"[{|]|\(\)", text) and "\0" not in text and len(text) < 20_000:
                    found.add(text)
    return sorted(found)


def tempo_says(queries):
    done = subprocess.run([JUDGE], input="".join(json.dumps(q) + "\n" for q in queries), capture_output=True, text=True,
                          timeout=600, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def we_say(queries):
    done = subprocess.run([os.environ["QUERY_VERDICT"]], input="".join(q + "\0" for q in queries), capture_output=True,
                          text=True, timeout=600, check=True)
    return ["" if line == "ok" else line for line in done.stdout.splitlines()]


def differences(queries):
    theirs, ours = tempo_says(queries), we_say(queries)
    assert len(theirs) == len(ours) == len(queries)
    n_taken = ours.count("")
    return n_taken, [(q, t, o) for q, t, o in zip(queries, theirs, ours) if bool(t) != bool(o)]


def test_the_queries_of_tempos_own_tests():
    n_taken, different = differences(KNOWN)
    assert len(KNOWN) > 1000 and 400 < n_taken < len(KNOWN) - 200, (len(KNOWN), n_taken)
    assert different == []


def test_queries_made_by_the_grammar():
    maker = Maker(random.Random(SEED))
    n_taken, different = differences(sorted({maker.query() for _ in range(N_MADE)}))
    assert n_taken > N_MADE / 10 and different == [], (n_taken, different[:20])


def test_known_queries_with_something_changed():
    maker = Maker(random.Random(SEED))
    known = [tokens(q) for q in KNOWN if 0 < len(q) < 200]
    words = [word for query in known for word in query if word.strip()]
    made = {maker.changed(known, words) for _ in range(N_CHANGED)}
    n_taken, different = differences(sorted(q for q in made if "\0" not in q and "\n" not in q))
    assert n_taken > N_CHANGED / 30 and different == [], (n_taken, different[:20])


if __name__ == "__main__":
    if not os.path.exists(os.path.join(SOURCE or "/nowhere", "pkg", "traceql", "expr.y")):
        print("1..0 # SKIP SPANFLAME_TEMPO_SOURCE is no checkout of Tempo")
        sys.exit(0)
    import tempfile
    with tempfile.TemporaryDirectory() as home:
        try:
            toolchain.need("go")
            JUDGE = build_judge(home)
        except tap.Skip as why:
            print(f"1..0 # SKIP {why}")
            sys.exit(0)
        KNOWN = known_queries()
        tap.run(sys.modules[__name__])
