#!/usr/bin/env python3
"""damage_faults - files of the data directory change while nobody looks: bits flip, ends are cut off.

Each time: no crash, fsck names the file, nothing is served that was never sent or was erased, the rest is served, and
what is gone is owned up to. With the catalogue and the small files beside it nothing is gone at all. The short form has
fewer changes to each kind of file, and damages all small files at once.
"""
import base64
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import profile_oracle as oracle  # noqa: E402
from support import server_rig as rig  # noqa: E402
from support.fault_house import LIBRARY, House, run_parts  # noqa: E402


def flip(path, rng, at=None):
    size = os.path.getsize(path)
    at = rng.randrange(size) if at is None else at
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << rng.randrange(8)]))
    return at


def used_end(path):
    """Where the bytes of a file end that are not zero padding."""
    with open(path, "rb") as f:
        return len(f.read().rstrip(b"\0"))


def zero_part(path, start, end):
    """Bytes [start, end) become zeros: what a device or a file system leaves that has lost them."""
    with open(path, "r+b") as f:
        f.seek(start)
        f.write(bytes(end - start))


CHUNK = 1 << 16


def copy_file(source, to):
    """With its holes: slots of the log have 64 MiB, nearly all of it zeros."""
    with open(source, "rb") as f, open(to, "wb") as out:
        size, at = os.fstat(f.fileno()).st_size, 0
        out.truncate(size)
        while at < size:
            try:
                at = os.lseek(f.fileno(), at, os.SEEK_DATA)
            except OSError:
                break  # the rest is a hole
            end = os.lseek(f.fileno(), at, os.SEEK_HOLE)
            while at < end:
                piece = os.pread(f.fileno(), min(CHUNK, end - at), at)
                if piece.count(0) < len(piece):
                    os.pwrite(out.fileno(), piece, at)
                at += len(piece)
    shutil.copystat(source, to)


PROFILED = "profiled"
KINDS = {"block", "profile block", "log slot", "meta.db", "LOCK", "tenants.log", "wal.tail", "ad hoc profile", "settings",
         "rules", "deploys", "silences", "control", "pins", "symbol file"}
SMALL = {"ad hoc profile", "settings", "rules", "rule_totals", "deploys", "silences", "control", "pins", "symbol file",
         "rules of verdicts", "hour of verdicts"}
HEAD_LEN, NUMBER_AT = 16, 4  # bytes; the format number of verdict/pins and verdict/rules is at 4
SECOND_COPIES = ("meta.db", "LOCK", "tenants.log", "erase.log", "wal.tail")  # nothing may be gone with one of them


IS_SHORT = rig.scale() < 0.2


class Case:
    """One file, and what becomes of it."""

    def __init__(self, kind, name, what, hurt):
        self.kind, self.name, self.what, self.hurt = kind, name, f"{what} of {kind} {name}", hurt
        self.is_flip = "bit" in what
        self.parts = [self]

    def damage(self, data):
        for part in self.parts:
            part.hurt(os.path.join(data, part.name))

    def must_be_named(self, old, new):
        """Not what nobody reads: room between SQLite's rows, the process number of a server that is gone."""
        if self.kind in ("block", "profile block") or self.what.startswith(("nothing", "zeros")):
            return True
        if self.kind == "LOCK":
            said = [[digits.lower() for digits in re.findall(rb"store ([0-9a-fA-F]{32})", text)] for text in (old, new)]
            return said[0] != said[1]  # a digit that became a capital says the same
        return self.kind in ("tenants.log", "erase.log") and self.is_flip


class Together(Case):
    """Several files, none of which another depends on."""

    def __init__(self, parts):
        super().__init__("small files", parts[0].name, "", None)
        self.what, self.parts = ", ".join(p.what for p in parts), parts


def kind_of(path):
    if os.path.basename(os.path.dirname(path)) == "adhoc":
        return "ad hoc profile"
    if os.path.basename(os.path.dirname(path)) == "verdict" and os.path.basename(path) == "rules":
        return "rules of verdicts"
    return {".sfs": "block", ".sfp": "profile block", ".wal": "log slot", ".debug": "symbol file", ".elf": "symbol file",
            ".sfv": "hour of verdicts"}.get(os.path.splitext(path)[1], os.path.basename(path))


def damage_cases(data, rng):
    """For every kind of file: bits flipped and ends cut off."""
    cases = []
    kinds = {}
    for path in sorted(glob.glob(os.path.join(data, "**"), recursive=True)):
        if os.path.isfile(path) and used_end(path):
            kind = kind_of(path)
            kinds.setdefault(kind, []).append(os.path.relpath(path, data))
    flips, cuts = [], []  # of small files in the short form: nothing else depends on them
    for kind, files in kinds.items():
        is_brief = kind in SMALL and IS_SHORT
        many = {"block": 12, "profile block": 12, "log slot": 12, "meta.db": 24}.get(kind, 4) * min(1, rig.scale())
        for _ in range(1 if is_brief else max(1 if IS_SHORT else 2, int(many))):
            name = rng.choice(files)
            at = rng.randrange(used_end(os.path.join(data, name)))
            if kind == "meta.db":  # where there is something
                with open(os.path.join(data, name), "rb") as f:
                    at = rng.choice([i for i, byte in enumerate(f.read()) if byte])
            (flips if is_brief else cases).append(Case(kind, name, f"a bit at {at}", lambda path, a=at: flip(path, rng, a)))
        name = rng.choice(files)
        size = os.path.getsize(os.path.join(data, name))
        keeps = (0, size // 2, size - 1)
        for keep in rng.sample(keeps, 1 if is_brief else 2) if IS_SHORT else keeps:
            (cuts if is_brief else cases).append(Case(kind, name, f"all but {keep} bytes", lambda path, k=keep: os.truncate(path, k)))
    cases += [Together(parts) for parts in (flips, cuts) if parts]
    cases += head_cases(data, kinds, rng)
    cases += log_cases(data, kinds["log slot"])
    return cases


def head_cases(data, kinds, rng):
    """A bit in the first bytes of every small file at once, where magic and format number are: it must not be taken for the file of
    a later version, which would stop the start."""
    cases = []
    for at in [NUMBER_AT] if IS_SHORT else range(HEAD_LEN):
        names = [(kind, rng.choice(files)) for kind, files in kinds.items() if kind in SMALL]
        cases.append(Together([Case(kind, name, f"a bit at {at}", lambda path, a=at: flip(path, rng, a)) for kind, name in names
                               if used_end(os.path.join(data, name)) > at]))
    return cases


def sequence_of(path):
    """The number of the segment that a slot of the log holds (docs/format-log.md)."""
    return struct.unpack_from("<Q", read(path), 8)[0]


def segment_end(path):
    """Where the records of the slot's segment end: behind them there may be those of an earlier one."""
    slot, tag, at = read(path), sequence_of(path) & 0xffffffff, 4096
    while at + 40 <= len(slot) and struct.unpack_from("<I", slot, at)[0] == tag:
        at += (40 + struct.unpack_from("<I", slot, at + 4)[0] + 7) // 8 * 8
        if slot[at:at + 4] != struct.pack("<I", tag):
            at = (at + 4095) // 4096 * 4096  # the next group
    return at


def log_cases(data, slots):
    """What nothing inside the log can show: the slot in use is gone, its first page is, or its second half."""
    live = max(slots, key=lambda name: sequence_of(os.path.join(data, name)))
    end = segment_end(os.path.join(data, live))
    middle = (4096 + (end - 4096) // 2) // 4096 * 4096
    return [
        Case("log slot", live, "nothing left", os.unlink),
        Case("log slot", live, "zeros in the first page", lambda path: zero_part(path, 0, 4096)),
        Case("log slot", live, "zeros in the second half", lambda path: zero_part(path, middle, os.path.getsize(path))),
    ]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def fsck_of(house, case):
    """(sentence on what is wrong with its answer or None, whether it named the file)"""
    done = subprocess.run([rig.SPANFLAME, "fsck", house.data], capture_output=True, text=True, timeout=60, check=False)
    is_named = done.returncode == 1 and any(os.path.basename(part.name) in done.stdout for part in case.parts)
    if done.returncode not in (0, 1) or (done.returncode == 1 and not done.stdout):
        return f"fsck ends with {done.returncode}: {done.stderr[-300:]}", is_named
    return None, is_named


def is_kept(house, kind):
    """Whether what a reader wrote is there, or the file it was in. A bit may have made it another tenant's."""
    path = os.path.join(house.data, kind)
    return os.path.exists(path + ".damaged") or os.path.getsize(path) > 0


def server_on(house, case, erased):
    """Sentences on what a server makes of a damaged directory that it should not; whether something was gone."""
    faults, missing = [], []
    for fault in house.missing():
        if "changed" in fault or " 2 times" in fault:
            faults.append(fault)
        else:
            missing.append(fault)
    client = house.server.client()
    if rig.get_trace(client, erased):
        faults.append("what was erased is back")
    for fault in oracle.faults_of_service(client, PROFILED, house.profiles):
        if " is None," in fault:
            missing.append(fault)
        else:
            faults.append(fault)
    client.close()
    status, text = house.server.ready()
    told = status == 503 or len(text.splitlines()) > 1
    said = any(word in house.server.log_tail(200)
               for word in ("damaged", "lost", "quarantined", "unfinished", "corrupt", "cannot be read"))
    for part in case.parts:
        if part.kind in ("settings", "rules", "deploys", "silences", "control") and "all but 0 bytes" not in part.what and \
                not is_kept(house, part.kind):
            faults.append(f"{part.kind} is gone and the file is not kept")  # an empty file would be one that holds nothing
    if missing and case.kind in SECOND_COPIES:
        faults.append(f"{len(missing)} spans are gone with it; /ready: {text}")
    if missing and case.kind == "log slot" and not (told and "records lost" in text):
        faults.append(f"{len(missing)} spans are missing and /ready does not say so: {text}")
    if missing and "first page" in case.what:
        faults.append(f"{len(missing)} spans are gone with a header that wal.tail knows")
    if missing and not (told or said):
        faults.append(f"{len(missing)} spans are missing and nobody says so; /ready: {text}")
    if house.until(house.send, 60) is None:  # a refusal with 429 or 503 is to be repeated
        faults.append(f"does not accept spans any more: {text}")
    house.acked.pop()
    return faults, bool(missing)


def one_case(house, pristine, case, erased, counts):
    shutil.rmtree(house.data)
    shutil.copytree(pristine, house.data, copy_function=copy_file)
    path = os.path.join(house.data, case.name)
    case.damage(house.data)
    fault, is_named = fsck_of(house, case)
    counts["named"] += is_named
    faults = [fault] if fault else []
    if not is_named and case.must_be_named(read(os.path.join(pristine, case.name)), read(path) if os.path.exists(path) else b""):
        faults.append("fsck does not name it")
    open(house.server.log_path, "w", encoding="utf-8").close()
    if house.server.start():
        try:
            more, is_gone = server_on(house, case, erased)
            faults += more
            counts["gone"] += is_gone
            if is_gone and not is_named:
                faults.append("something is gone and fsck had no word for it")
        except (rig.Gone, AssertionError) as e:
            faults.append(str(e))
    else:
        faults.append("the server does not start")
    if not house.server.is_alive():
        faults.append("the server died\n" + house.server.log_tail())
    house.server.kill()
    return [f"{case.what}: {f}" for f in faults]


def send_profiles(house, rng):
    client = house.server.client()
    for _ in range(4):
        p = oracle.Profile(rng, PROFILED, f"leaf_{len(house.profiles)}")
        if not oracle.post(client, p, p.body()):
            raise AssertionError("a well server refuses a profile: " + house.server.ready()[1])
        house.profiles.append(p)
    client.close()


def keep_other_things(tap, house):
    """An ad hoc profile and a setting: nothing else depends on their files."""
    client = house.server.client()
    ask = {"name": "a.txt", "profile": base64.b64encode(b"main;work 3\nmain;wait 4\n").decode()}
    status = client.call("POST", "/adhocprofiles.v1.AdHocProfileService/Upload", json.dumps(ask),
                         {"Content-Type": "application/json"})[0]
    tap.check(status == 200, "damage: an ad hoc profile is kept", str(status))
    ask = {"setting": {"name": "theme", "value": "dark", "modifiedAt": "0"}}
    status = client.call("POST", "/settings.v1.SettingsService/Set", json.dumps(ask), {"Content-Type": "application/json"})[0]
    tap.check(status == 200, "damage: a setting is kept", str(status))
    ask = {"metricName": "profiles_recorded_work", "matchers": [f'{{service_name="{PROFILED}"}}', '{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}'], "groupBy": []}
    status = client.call("POST", "/settings.v1.RecordingRulesService/UpsertRecordingRule", json.dumps(ask),
                         {"Content-Type": "application/json"})[0]
    tap.check(status == 200, "damage: a rule is kept", str(status))
    for what, method, path, ask in (
            ("a deploy", "POST", "/api/v1/deploys", {"service": "shop", "version": "2"}),
            ("a silence", "POST", "/api/v1/silences", {"matchers": [{"name": "a", "value": "b"}], "duration": "2h"}),
            ("a document", "PUT", "/api/v1/profiling?service=shop", {"enabled": False})):
        status, _, answer = client.call(method, path, json.dumps(ask), {"Content-Type": "application/json"})
        tap.check(status == 200, f"damage: {what} is kept", f"{status} {answer[:200]!r}")
    with open(LIBRARY, "rb") as f:  # small, and has a build id
        program = f.read()
    found = re.search(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", program, re.S)
    if tap.check(found is not None, "damage: a library with a build id"):
        status, _, answer = client.call("PUT", "/api/v1/symbols/" + found.group(1).hex(), program)
        tap.check(status == 201, "damage: a symbol file is kept", f"{status} {answer[:200]!r}")
    client.close()


def pin_one(tap, house):
    client = house.server.client()
    status, _, answer = client.call("POST", f"/api/v1/pins/{house.acked[0][0].trace.hex()}?for=1d&note=evidence", None,
                                    {"Content-Type": "application/json"})
    tap.check(status == 200, "damage: a trace is pinned", f"{status} {answer[:200]!r}")
    client.close()


def damage(tap, rng):
    """Files are damaged while nobody looks. What is gone must be owned up to."""
    house = House(rng, "damage")
    house.profiles = []
    try:
        tap.check(house.server.start(), "damage: starts", house.server.log_tail())
        keep_other_things(tap, house)
        for _ in range(3):
            house.fill(15)
            send_profiles(house, rng)
            house.flush()
        pin_one(tap, house)
        house.send()
        erased = house.acked.pop()[0].trace
        client = house.server.client()
        status = client.call("POST", "/api/v1/erase", json.dumps({"traces": [erased.hex()]}), {"Content-Type": "application/json"})[0]
        client.close()
        tap.check(status == 200, "damage: a trace is erased", str(status))
        house.fill(15)  # stays in the log
        send_profiles(house, rng)
        house.server.kill()
        pristine = os.path.join(house.folder, "pristine")
        shutil.copytree(house.data, pristine, copy_function=copy_file)
        cases = damage_cases(pristine, rng)
        counts = {"named": 0, "gone": 0}
        failures = []
        for case in cases:
            failures += one_case(house, pristine, case, erased, counts)
        kinds = sorted({part.kind for c in cases for part in c.parts})
        tap.say(f"{len(cases)} damaged directories of {len(kinds)} kinds of files ({', '.join(kinds)}): {counts['named']} named by "
                f"fsck, in {counts['gone']} something was gone")
        tap.check(not failures, "damage: no crash, nothing wrong, nothing silently lost", "\n".join(failures[:12]))
        tap.check(KINDS <= set(kinds), "damage: enough kinds of files", str(kinds))
    finally:
        house.close()


if __name__ == "__main__":
    sys.exit(run_parts({"damage": damage}))
