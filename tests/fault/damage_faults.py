#!/usr/bin/env python3
"""damage_faults - files of the data directory change while nobody looks: bits flip, ends are cut off.

Each time: no crash, nothing is served that was never sent, and what is gone is owned up to.
"""
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import server_rig as rig  # noqa: E402
from support.fault_house import House, run_parts  # noqa: E402


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


def damage_cases(data, rng):
    """(what, function(folder)) for every kind of file, bits flipped and files cut."""
    cases = []
    names = [os.path.relpath(p, data) for p in glob.glob(os.path.join(data, "**"), recursive=True) if os.path.isfile(p)]
    kinds = {}
    for name in sorted(names):
        if os.path.getsize(os.path.join(data, name)) and used_end(os.path.join(data, name)):
            kind = "block" if name.endswith(".sfs") else "log slot" if name.endswith(".wal") else os.path.basename(name)
            kinds.setdefault(kind, []).append(name)
    for kind, files in kinds.items():
        n_flips = 12 if kind in ("block", "log slot", "meta.db") else 3
        for _ in range(n_flips):
            name = rng.choice(files)
            at = rng.randrange(used_end(os.path.join(data, name)))
            cases.append((f"bit flipped in {kind} {name} at {at}",
                          lambda folder, n=name, a=at: flip(os.path.join(folder, n), rng, a)))
        name = rng.choice(files)
        size = os.path.getsize(os.path.join(data, name))
        for keep in (0, size // 2, size - 1):
            cases.append((f"{kind} {name} cut to {keep} bytes",
                          lambda folder, n=name, k=keep: os.truncate(os.path.join(folder, n), k)))
    return cases


def damage(tap, rng):
    """Files are damaged while nobody looks. What is gone must be owned up to."""
    house = House(rng, "damage")
    try:
        tap.check(house.server.start(), "damage: starts", house.server.log_tail())
        for _ in range(3):
            house.fill(15)
            house.flush()
        house.fill(15)  # stays in the log
        house.server.kill()
        pristine = os.path.join(house.folder, "pristine")
        shutil.copytree(house.data, pristine)
        cases = damage_cases(pristine, rng)
        n_missing = 0
        failures = []
        for what, hurt in cases:
            shutil.rmtree(house.data)
            shutil.copytree(pristine, house.data)
            hurt(house.data)
            open(house.server.log_path, "w", encoding="utf-8").close()
            if not house.server.start():
                failures.append(f"{what}: the server does not start\n{house.server.log_tail()}")
                house.server.kill()
                continue
            missing, wrong = [], []
            try:
                for fault in house.missing():
                    (wrong if "changed" in fault or " 2 times" in fault else missing).append(fault)
                status, text = house.server.ready()
                told = status == 200 and len(text.splitlines()) > 1 or status == 503
                said = any(word in house.server.log_tail(200) for word in ("damaged", "lost", "quarantined", "unfinished",
                                                                          "corrupt", "cannot be read"))
                if wrong:
                    failures.append(f"{what}: {wrong[0]}")
                if missing and not (told or said):
                    failures.append(f"{what}: {len(missing)} spans are missing and nobody says so; /ready: {text}")
                n_missing += bool(missing)
                if not house.send():
                    failures.append(f"{what}: does not accept spans any more: {text}")
                house.acked.pop()
            except (rig.Gone, AssertionError) as e:
                failures.append(f"{what}: {e}\n{house.server.log_tail()}")
            if not house.server.is_alive():
                failures.append(f"{what}: the server died\n{house.server.log_tail()}")
            house.server.kill()
        tap.say(f"{len(cases)} damaged directories, in {n_missing} something was gone")
        tap.check(not failures, "damage: no crash, nothing wrong, nothing silently lost", "\n".join(failures[:12]))
        tap.check(len(cases) >= 20, "damage: enough kinds of files", str(len(cases)))
    finally:
        house.close()


if __name__ == "__main__":
    sys.exit(run_parts({"damage": damage}))
