#!/usr/bin/env python3
"""static_checks.py [FILE...] - clang-tidy over every C file and cppcheck over all but the tests, cached.

A verdict depends on the file, the headers of ours it reaches, how it is compiled, the settings, the
tools' versions and this script. All of that is hashed; a verdict found under its hash in .cache/static is not
worked out again. So the first run takes minutes and the second a second.
"""
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.path.join(ROOT, ".cache", "static")
ONCE = os.path.join(ROOT, ".cache", "once")  # a compile_commands.json that names each file once
# The analyzer gives a function up after so many states, 225,000 unless told. A third of that halves the run.
TIDY = ["clang-tidy", "--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Xclang",
        "--extra-arg=-analyzer-config", "--extra-arg=-Xclang", "--extra-arg=max-nodes=75000"]
CPPCHECK = [
    "cppcheck", "--quiet", "--std=c11", "--enable=warning,performance,portability", "--inline-suppr",
    "--error-exitcode=1", "--template={file}:{line}: {severity}: {message} [{id}]", "-D__x86_64__", "-D__linux__",
    "--suppress=missingIncludeSystem", "--suppress=unknownMacro",
    # Does not follow out parameters; the analyzer of clang-tidy does.
    # assert(p && "why it cannot be NULL").
    "--suppress=incorrectStringBooleanError",
    "--suppress=uninitvar", "--suppress=legacyUninitvar", "--suppress=uninitStructMember",
    # The analyzer of clang-tidy tells a lent address from a leaked one; -Wformat reads formats better; both
    # compilers shift signed numbers arithmetically.
    "--suppress=autoVariables", "--suppress=invalidPrintfArgType_sint", "--suppress=shiftTooManyBitsSigned",
]
LAST_COMMITS = 10
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def local_headers(path, dirs, seen):
    """Adds to `seen` every file of ours that `path` includes, and theirs."""
    for name in INCLUDE.findall(read(path).decode("utf-8", "replace")):
        for folder in [os.path.dirname(path)] + dirs:
            header = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(header):
                if header not in seen:
                    seen.add(header)
                    local_headers(header, dirs, seen)
                break


def include_dirs(entry):
    words = entry["command"].split()
    found = []
    for word in words:
        if word.startswith("-I"):
            found.append(os.path.normpath(os.path.join(entry["directory"], word[2:])))
    return [d for d in found if d.startswith(ROOT) and "/build" not in d[len(ROOT):]]


def version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout


def commands():
    """Each C file of ours once, with the way it is compiled in the release build."""
    with open(os.path.join(ROOT, "build", "compile_commands.json"), encoding="utf-8") as f:
        entries = json.load(f)
    by_file = {}
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        if path.startswith(ROOT) and path.endswith(".c") and not path.endswith("_table.c"):
            by_file.setdefault(path, entry)
    return by_file


def write_once(by_file):
    """A file that is built into several programs is examined once: clang-tidy would go through it once for
    each, in one process, where its va_list checker trips over what it remembers of the first time."""
    os.makedirs(ONCE, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=ONCE, delete=False, encoding="utf-8") as f:
        json.dump(list(by_file.values()), f)
    os.rename(f.name, os.path.join(ONCE, "compile_commands.json"))


def key_of(path, entry, constants):
    dirs = include_dirs(entry)
    headers = set()
    local_headers(path, dirs, headers)
    h = hashlib.sha256(constants)
    h.update(os.path.relpath(path, ROOT).encode())
    h.update(re.sub(r"\S*\.p/\S*", "", entry["command"]).encode())  # where the object goes is no matter
    for part in [path] + sorted(headers):
        h.update(hashlib.sha256(read(part)).digest())
    return h.hexdigest()


def without_notes(said):
    """Drops the path the analyzer walked: clang-tidy on that one file shows it."""
    kept, on = [], True
    for line in said.splitlines(True):
        m = re.match(r"\S+:\d+:\d+: (\w+):", line)
        on = m.group(1) != "note" if m else on
        if on:
            kept.append(line)
    return "".join(kept)


def judge(path, entry):
    """The findings for one file, as text; empty when there are none."""
    name = os.path.relpath(path, ROOT)
    out = []
    tidy = subprocess.run(TIDY + ["-p", ONCE, path], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    if tidy.returncode:
        said = tidy.stdout + "".join(l for l in tidy.stderr.splitlines(True) if "error:" in l and l not in tidy.stdout)
        said = re.sub(r"^(\.\./|build/\.\./)", "", said.replace(ROOT + "/", ""), flags=re.M)
        out.append(without_notes(said) or f"{name}: clang-tidy exits {tidy.returncode}: {tidy.stderr}")
    if name.startswith("tests/"):  # pass NULL on purpose, and leave assertions by longjmp, which cppcheck does not know
        return "".join(out)
    dirs = [f"-I{os.path.relpath(d, ROOT)}" for d in include_dirs(entry)]
    cpp = subprocess.run(CPPCHECK + dirs + [name], cwd=ROOT, capture_output=True, text=True, check=False)
    if cpp.returncode:
        out.append(cpp.stderr or f"{name}: cppcheck exits {cpp.returncode}\n")
    return "".join(out)


def verdict(path, entry, constants):
    known = os.path.join(CACHE, key_of(path, entry, constants))
    try:
        return read(known).decode("utf-8"), True
    except FileNotFoundError:
        pass
    findings = judge(path, entry)
    if known != os.path.join(CACHE, key_of(path, entry, constants)):
        return findings, False  # somebody saved a file meanwhile: this verdict is about neither version
    with tempfile.NamedTemporaryFile("w", dir=CACHE, delete=False, encoding="utf-8") as f:
        f.write(findings)
    os.rename(f.name, known)
    return findings, False


def git(*args):
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def base_commit():
    """What the tree is compared with: where this branch left main or, on main itself, LAST_COMMITS before the newest.
    Nothing when the clone has no commit before the newest."""
    head = git("rev-parse", "HEAD").strip()
    for main in ("origin/main", "main"):
        base = git("merge-base", "HEAD", main).strip()
        if base and base != head:
            return base
    known = git("rev-list", "--first-parent", f"--max-count={LAST_COMMITS + 1}", "HEAD").split()
    return known[-1] if len(known) > 1 else ""


def changed_lines(base):
    """{path of a C file: lines that changed since `base`}. A header's lines count for the .c of its name; what only
    moved has none."""
    found = {}
    rows = [line.split("\t") for line in git("diff", "--numstat", "-M", "--diff-filter=d", base).splitlines()]
    rows += [[read(os.path.join(ROOT, path)).count(b"\n"), "0", path]
             for path in git("ls-files", "-o", "--exclude-standard").splitlines()]
    for added, removed, path in rows:
        path = re.sub(r"\{.* => (.*)\}", r"\1", path).replace("//", "/").split(" => ")[-1]
        stem, kind = os.path.splitext(path)
        if kind in (".c", ".h") and added != "-" and int(added) + int(removed) > 0:
            path = os.path.join(ROOT, stem + ".c")
            found[path] = found.get(path, 0) + int(added) + int(removed)
    return found


def most_changed(most):
    """The files that changed most, at most so many, and how many others changed."""
    base = base_commit()
    changed = changed_lines(base) if base else {}
    known = commands()
    files = sorted((p for p in changed if p in known), key=lambda p: (-changed[p], p))
    return files[:most], max(0, len(files) - most)


def main(argv):
    os.makedirs(CACHE, exist_ok=True)
    wanted = {os.path.abspath(a) for a in argv[1:]}
    by_file = commands()
    write_once(by_file)
    files = {p: e for p, e in by_file.items() if not wanted or p in wanted}
    if not files:
        print("static_checks: no such file in build/compile_commands.json", file=sys.stderr)
        return 2
    constants = "\0".join([version("clang-tidy"), version("cppcheck"), " ".join(TIDY + CPPCHECK)]).encode()
    settings = [p for depth in ("", "*", "*/*") for p in sorted(glob.glob(os.path.join(ROOT, depth, ".clang-tidy")))]
    for part in settings + [os.path.join(ROOT, "tools", "static_checks.py")]:
        constants += read(part)
    bad = cached = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for findings, was_known in pool.map(lambda item: verdict(*item, constants), sorted(files.items())):
            cached += was_known
            if findings:
                bad += 1
                print(findings, end="" if findings.endswith("\n") else "\n", flush=True)
    print(f"static_checks: {len(files)} files, {cached} known from before, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
