#!/usr/bin/env python3
"""Debug information that is compressed, or in a file apart from the program, says the same as it did before; a file that
is another program's says nothing."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.environ["SOURCE_ROOT"]
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import tap  # noqa: E402

SOURCE = os.path.join(ROOT, "tests", "symbol", "chains.c")


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=True, **more).stdout


class Program:
    """Built in a folder of its own, with every address of it and what is said of them."""

    def __init__(self, *flags):
        for tool in ("gcc", "objcopy", "objdump"):
            if not shutil.which(tool):
                raise tap.Skip(f"no {tool} here")
        self.folder = tempfile.mkdtemp(prefix="spanflame-apart-")
        self.path = os.path.join(self.folder, "program")
        run("gcc", "-O2", "-g", *flags, SOURCE, "-o", self.path, cwd=self.folder)
        said = run("objdump", "-d", "--section=.text", self.path)
        self.asked = "".join(f"0x{a}\n" for a in re.findall(r"^ *([0-9a-f]+):\t", said, re.M))
        self.full = self.said(self.path)
        assert self.full.count("chains.c:") > 50 and "chain_step.inc:" in self.full, self.full

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def said(self, path):
        return run(os.environ["LINES"], path, input=self.asked)

    def copied(self, name, *flags):
        to = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        run("objcopy", *flags, self.path, to)
        return to

    def stripped(self):
        """Without debug information; it knows the file program.debug, which has it."""
        self.copied("apart/program.debug", "--only-keep-debug")
        return self.copied("apart/program", "--strip-all",
                           "--add-gnu-debuglink=" + os.path.join(self.folder, "apart", "program.debug"))


def test_sections_compressed_with_zlib_say_the_same():
    with Program() as p:
        path = p.copied("zlib", "--compress-debug-sections=zlib")
        if "ZLIB" not in run("readelf", "-t", path):
            raise tap.Skip("this objcopy does not compress")
        assert p.said(path) == p.full


def test_sections_compressed_with_zstd_leave_the_symbol_table():
    with Program() as p:
        path = os.path.join(p.folder, "zstd")
        done = subprocess.run(["objcopy", "--compress-debug-sections=zstd", p.path, path], capture_output=True, check=False)
        if done.returncode or "ZSTD" not in run("readelf", "-t", path):
            raise tap.Skip("this objcopy knows no zstd")
        said = p.said(path)
        assert "clone_me" in said and "chains.c" not in said, said


def test_of_a_unit_whose_other_half_is_gone_the_lines_are_left():
    with Program("-gsplit-dwarf") as p:
        gone = [name for name in os.listdir(p.folder) if name.endswith(".dwo")]
        for name in gone:
            os.remove(os.path.join(p.folder, name))
        said = p.said(p.path)
        assert re.search(r"^(clone_me|main)\n.*chains.c:\d+$", said, re.M), said


def test_a_file_beside_the_program_says_the_same():
    with Program() as p:
        path = p.stripped()
        assert p.said(path) == p.full
        os.makedirs(os.path.join(p.folder, "apart", ".debug"))
        os.rename(path + ".debug", os.path.join(p.folder, "apart", ".debug", "program.debug"))
        assert p.said(path) == p.full


def test_the_file_of_another_program_says_nothing():
    with Program() as p, Program("-O1") as other:
        path = p.stripped()
        other.stripped()
        shutil.copy(os.path.join(other.folder, "apart", "program.debug"), path + ".debug")
        assert "chains.c" not in p.said(path), p.said(path)


def test_without_build_ids_the_checksum_decides():
    with Program("-Wl,--build-id=none") as p:
        path = p.stripped()
        assert p.said(path) == p.full
        with open(path + ".debug", "ab") as f:
            f.write(b"\n")
        assert "chains.c" not in p.said(path), p.said(path)


def dwz(*argv):
    if not shutil.which("dwz"):
        raise tap.Skip("there is no dwz")
    done = subprocess.run(["dwz", *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


def names_of(said):
    """Without what the linker calls copies by ("clone_me.constprop.0")."""
    return {line.split(".")[0] for line in said.splitlines() if not re.search(r":\d+$", line)}


def test_what_dwz_has_shared_in_one_file_says_the_same():
    with Program() as p:
        path = p.copied("shared/program")
        dwz(path)
        assert p.said(path) == p.full


def test_what_dwz_has_moved_to_a_third_file_leaves_lines_and_true_names():
    with Program() as p:
        paths = [p.copied(f"many/program{i}") for i in range(3)]
        dwz("-m", os.path.join(p.folder, "many", "common.debug"), *paths)
        if ".gnu_debugaltlink" not in run("readelf", "-SW", paths[0]):
            raise tap.Skip("dwz found nothing to share")
        said = p.said(paths[0])
        assert said.count("chains.c:") > 50, said
        # A name that is in the third file is the symbol table's, or missing; never another's.
        assert names_of(said) <= names_of(p.full) | {""}, names_of(said) - names_of(p.full)


def test_a_file_that_is_cut_at_any_place_is_survived():
    with Program() as p:
        with open(p.path, "rb") as f:
            whole = f.read()
        known = names_of(p.full) | {""}
        for i in range(1, 24):
            path = os.path.join(p.folder, "cut")
            with open(path, "wb") as f:
                f.write(whole[:len(whole) * i // 24])
            subprocess.run([os.environ["LINES"], path], input=p.asked, capture_output=True, text=True, check=False, timeout=60)
            with open(path, "wb") as f:  # as long as before, but nothing in it
                f.write(whole[:len(whole) * i // 24].ljust(len(whole), b"\0"))
            done = subprocess.run([os.environ["LINES"], path], input=p.asked, capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode >= 0 and names_of(done.stdout) <= known, (i, done)


tap.run(sys.modules[__name__])
