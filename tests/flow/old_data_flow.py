#!/usr/bin/env python3
"""Data directories written by earlier commits (tests/data): read as they are, merged, rewritten; the same answers each time.

By hand: `old_data_flow.py --update inferred` writes the golden answers of that sort again, for a commit that says why they
changed; `--add` writes those of queries that are new. Nothing writes an exact one twice."""
import argparse
import errno
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
for name, fallback in (("SOURCE_ROOT", ROOT), ("BUILD_ROOT", ROOT + "/build"), ("SPANFLAME", ROOT + "/build/spanflame")):
    os.environ.setdefault(name, fallback)
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, "tests")]
import old_data  # noqa: E402
import old_values  # noqa: E402
import old_waits  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import JSON, PROGRAM, Server, tap  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

# Nothing goes and nothing becomes coarser, whatever the clock says.
CONFIG = """tenancy: {enabled: true}
retention: {spans: 0, profiles: 0, full_resolution: 0, detail: 0, max_bytes: 0, min_free: 1MB}
store: {flush_interval: 10m}
"""
HOUR = 3600
home = tempfile.TemporaryDirectory(prefix="spanflame-old-")


# ---- directories and servers ----

class Folder:
    """One of tests/data, and what is asked of it."""

    def __init__(self, name, questions):
        self.name, self.questions = name, questions
        self.path = os.path.join(os.environ["SOURCE_ROOT"], "tests", "data", name)


FOLDER = Folder("old_1", old_data.questions())
WAITS = Folder("old_2", old_waits.questions())
VALUES = Folder("old_3", old_values.questions())


def unpack(folder, to):
    """Slots of the log are mostly zeros, which become holes."""
    with tarfile.open(os.path.join(folder.path, "data.tar.xz")) as tar:
        for member in tar:
            path = os.path.join(to, member.name)
            if member.isdir():
                os.makedirs(path, 0o700)
                continue
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out, tar.extractfile(member) as content:
                while piece := content.read(1 << 20):
                    if piece.count(0) == len(piece):
                        out.seek(len(piece), os.SEEK_CUR)
                    else:
                        out.write(piece)
                out.truncate(member.size)


def copied(name, folder=FOLDER):
    """The directory as it was written, to do with as one likes."""
    first, own = os.path.join(home.name, folder.name), os.path.join(home.name, f"{folder.name}-{name}")
    if not os.path.exists(first):
        unpack(folder, first)
    subprocess.run(["cp", "-a", "--sparse=always", os.path.join(first, "data"), own], check=True)
    return own


class Old:
    """`with Old(data, hours) as old`: a server on the directory, so many hours after it was made."""

    def __init__(self, data, hours=0.0, is_frozen=False, env=None):
        self.data, self.hours, self.is_frozen, self.env = data, hours, is_frozen, env or {}

    def __enter__(self):
        self.faults = faultfs.Control(os.path.join(home.name, "faults"), old_data.SHIM)
        self.faults.set_clock(old_data.MADE + self.hours * HOUR - time.time())
        if self.is_frozen:  # no file can be renamed to be a block: what is read is what was written
            self.faults.arm(faultfs.RENAME, errno.EIO, path=".sf")
        self.server = Server(CONFIG, data=self.data, env={**self.faults.env(), **self.env}).start()
        return self

    def __exit__(self, *_):
        if not self.is_frozen and self.server.process.poll() is None:
            assert self.server.stop() == 0, self.server.log()
        self.server.__exit__()
        self.faults.close()

    def wait(self, what, is_so):
        for _ in range(1200):
            if is_so(old_data.blocks(self.data)):
                return
            time.sleep(0.05)
        raise AssertionError(f"{what}: {old_data.blocks(self.data)}\n{self.server.log()}")

    def flush(self):
        answer = self.server.post("/api/v1/flush", b"", JSON, headers={"X-Scope-OrgID": old_data.A})
        assert answer.status == 200, answer.text


# ---- golden answers ----

def golden_path(question, folder):
    return os.path.join(folder.path, "golden", question.sort, question.name.split("-")[0] + ".json")


def read_golden(folder):
    out = {}
    for question in folder.questions:
        path = golden_path(question, folder)
        if path not in out and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                out[path] = json.load(f)
        out.setdefault(path, {})
    return out


def differences(server, sorts=("exact", "inferred"), folder=FOLDER):
    golden, out = read_golden(folder), []
    for question in (q for q in folder.questions if q.sort in sorts):
        want = golden[golden_path(question, folder)].get(question.name)
        if want is None:
            out.append(f"{question.sort}/{question.name}: there is no golden answer; --add writes it")
            continue
        told = old_data.difference(question.mend(want), question.mend(question.ask(server)))
        if told:
            out.append(f"{question.sort}/{question.name}{told}")
    return out


def check(server, when, folder=FOLDER):
    found = differences(server, folder=folder)
    more = f"\n... and {len(found) - 20} others" if len(found) > 20 else ""
    assert not found, f"{when}: {len(found)} of {len(folder.questions)} answers are not the old ones:\n" + "\n".join(found[:20]) + more


def write_golden(folder, may_write):
    golden = read_golden(folder)
    with Old(copied("golden", folder), is_frozen=True) as old:
        for question in folder.questions:
            answers = golden[golden_path(question, folder)]
            if may_write(question, question.name in answers):
                answers[question.name] = question.ask(old.server)
    asked = {(golden_path(q, folder), q.name) for q in folder.questions}
    for path, answers in golden.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        kept = {k: v for k, v in answers.items() if "/exact/" in path or (path, k) in asked}
        with open(path, "w", encoding="utf-8") as f:
            lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(kept[k], sort_keys=True, ensure_ascii=False)}" for k in sorted(kept))
            f.write("{\n" + lines + "\n}\n")


# ---- tests ----

data = None


def fsck(where):
    done = subprocess.run([PROGRAM, "fsck", where], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "no errors found" in done.stdout, (done.returncode, done.stdout, done.stderr)


def test_every_golden_answer_is_asked_for():
    for folder in (FOLDER, WAITS, VALUES):
        asked = {(golden_path(q, folder), q.name) for q in folder.questions}
        for inner, _, names in os.walk(os.path.join(folder.path, "golden")):
            for name in names:
                path = os.path.join(inner, name)
                with open(path, encoding="utf-8") as f:
                    for key in json.load(f):
                        assert (path, key) in asked, f"nobody asks for {key} of {path} any more"


def test_fsck_finds_nothing_in_it():
    global data
    data = copied("copy")
    fsck(data)


def test_blocks_and_log_as_they_were_written():
    before = old_data.blocks(data)
    assert {(b.kind, b.level) for b in before} == {("spans", 0), ("spans", 1), ("prof", 0), ("prof", 1), ("prof", 2)}, before
    with Old(data, is_frozen=True) as old:
        check(old.server, "as written")
        assert old_data.blocks(data) == before, old_data.blocks(data)


def record(server):
    """Keeps the server's answers as they come, without what a question cost."""
    answers, plain = [], server.request

    def request(method, path, *args, **more):
        answer = plain(method, path, *args, **more)
        body = answer.body
        if "json" in (answer.getheader("content-type") or ""):
            content = json.loads(body)
            if isinstance(content, dict):
                content.pop("metrics", None)
            body = json.dumps(content).encode()  # in the order of the answer
        answers.append((method, path, answer.status, body))
        return answer
    server.request = request
    return answers


def test_answers_do_not_depend_on_the_order_of_tables():
    every = 1 if float(os.environ.get("CHECK_SCALE", "1")) >= 1 else 3
    kept = []
    for seed in ("1", "2"):
        with Old(data, is_frozen=True, env={"SF_TEST_KEY_SEED": seed}) as old:
            kept.append(record(old.server))
            for question in FOLDER.questions[::every]:
                question.ask(old.server)
    assert len(kept[0]) == len(kept[1]) and len(kept[0]) > 20, (len(kept[0]), len(kept[1]))
    differ = [f"{a[0]} {a[1]}: {a[3][:200]} / {b[3][:200]}" for a, b in zip(*kept) if a != b]
    assert not differ, f"{len(differ)} of {len(kept[0])}:\n" + "\n".join(differ[:10])


def test_without_the_catalogue():
    own = copied("rebuilt")
    os.unlink(os.path.join(own, "meta.db"))
    with Old(own, is_frozen=True) as old:
        found = differences(old.server, ("exact",))
        assert not found, "\n".join(found[:20])
    shutil.rmtree(own)


def test_after_a_flush_and_merges():
    before, hour = old_data.blocks(data), old_data.Place("hour", old_data.A)
    # The next day: level 0 becomes hours, profiles of hours become days; three small blocks of an hour and a fourth become one.
    due = {b.path for b in before if b.level == 0 or (b.kind == "prof" and b.level == 1)}
    small = {b.path for b in before if b.kind == "spans" and b.level == 1 and "2026-11-12" in b.path}
    headers = {"X-Scope-OrgID": old_data.A}
    with Old(data, hours=30) as old:
        spans = [{"trace_id": b"\x5d" * 16, "span_id": b"\x5d" * 8, "name": "scratch", "service": "scratch", "start": hour.base, "end": hour.base + 1}]
        old.server.send(spans, headers=headers)
        answer = old.server.post("/api/v1/profile?service=scratch", pprof({"main;scratch": 1}, when=hour.base), headers=headers)
        assert answer.status == 200, answer.text
        old.flush()

        def is_merged(found):
            left = {b.path for b in found}
            return not [b for b in found if b.level == 0] and not due & left and len(small & left) <= len(small) - 3
        old.wait("merges", is_merged)
        old.wait("the erasure", lambda _: os.path.getsize(os.path.join(data, "erase.log")) == 0)
    with Old(data, hours=31) as old:
        check(old.server, "merged, after a restart")


def test_after_every_block_was_rewritten():
    before = {b.path for b in old_data.blocks(data)}
    with Old(data, hours=32) as old:
        for tenant in (old_data.A, old_data.B):
            answer = old.server.post("/api/v1/erase", json.dumps({"service": "scratch"}), JSON, headers={"X-Scope-OrgID": tenant})
            assert answer.status == 200, answer.text
        old.wait("the erasure", lambda _: os.path.getsize(os.path.join(data, "erase.log")) == 0)
        kept = [b for b in old_data.blocks(data) if b.path in before]
        assert not kept, kept
        check(old.server, "rewritten")
    fsck(data)


def formats(where, kind="prof"):
    """Of its blocks of that kind."""
    out = set()
    for b in old_data.blocks(where):
        if b.kind == kind:
            with open(os.path.join(where, b.path), "rb") as f:
                out.add(int.from_bytes(f.read(6)[4:], "little"))
    return out


def test_waits_of_format_2_as_they_were_written():
    own = copied("copy", WAITS)
    before = old_data.blocks(own)
    assert formats(own) == {2} and {b.level for b in before if b.kind == "prof"} == {0, 1, 2}, before
    fsck(own)
    with Old(own, is_frozen=True) as old:
        check(old.server, "as written", WAITS)
        assert old_data.blocks(own) == before, old_data.blocks(own)


def test_waits_of_format_2_after_merges():
    """Blocks of hours become one of a day; a block that is not merged is rewritten."""
    own = os.path.join(home.name, "old_2-copy")
    with Old(own, hours=30) as old:
        old.flush()
        old.wait("merges", lambda found: {b.level for b in found if b.kind == "prof"} == {2} and {b.level for b in found} == {1, 2})
        answer = old.server.post("/api/v1/erase", json.dumps({"service": "scratch"}), JSON, headers={"X-Scope-OrgID": old_data.A})
        assert answer.status == 200, answer.text
        old.wait("the erasure", lambda _: os.path.getsize(os.path.join(own, "erase.log")) == 0)
    assert min(formats(own)) > 2, formats(own)
    with Old(own, hours=31) as old:
        check(old.server, "merged, after a restart", WAITS)
    fsck(own)


def test_values_of_format_3_as_they_were_written():
    own = copied("copy", VALUES)
    before = old_data.blocks(own)
    assert formats(own, "spans") == {3} and {b.level for b in before if b.kind == "spans"} == {0, 1}, before
    fsck(own)
    with Old(own, is_frozen=True) as old:
        check(old.server, "as written", VALUES)
        assert old_data.blocks(own) == before, old_data.blocks(own)


def test_values_of_format_3_after_merges():
    """The block of level 0 becomes one of level 1; the other is rewritten, which copies its granules."""
    own = os.path.join(home.name, "old_3-copy")
    with Old(own, hours=30) as old:
        old.flush()
        old.wait("merges", lambda found: {b.level for b in found if b.kind == "spans"} == {1})
        check(old.server, "merged", VALUES)
        answer = old.server.post("/api/v1/erase", json.dumps({"service": "scratch"}), JSON, headers={"X-Scope-OrgID": old_data.A})
        assert answer.status == 200, answer.text
        old.wait("the erasure", lambda _: os.path.getsize(os.path.join(own, "erase.log")) == 0)
    with Old(own, hours=31) as old:
        check(old.server, "rewritten, after a restart", VALUES)
    fsck(own)


def test_a_file_that_is_lost_is_noticed():
    """Of the test itself: OLD_DATA_EVERY_FILE=1 tries each block."""
    found = [b.path for b in old_data.blocks(copied("whole"))]
    for i, victim in enumerate((found if os.environ.get("OLD_DATA_EVERY_FILE") else [found[0], found[-1]]) + ["wal/0000.wal"]):
        lost = copied(f"lost-{i}")
        os.unlink(os.path.join(lost, victim))
        with Old(lost, is_frozen=True) as old:
            told = differences(old.server, ("exact",))
        print(f"# without {victim} {len(told)} exact answers differ")
        assert told, f"nothing depends on {victim}"
        shutil.rmtree(lost)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--update", choices=["inferred"])
    options.add_argument("--add", action="store_true")
    chosen = options.parse_args()
    if chosen.add or chosen.update:
        for each in (FOLDER, WAITS, VALUES):
            write_golden(each, lambda question, is_there: question.sort == chosen.update if chosen.update else not is_there)
    else:
        tap.run(sys.modules[__name__])
