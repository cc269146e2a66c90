#!/usr/bin/env python3
"""Every instruction of programs built by several compilers, in several versions of DWARF: function,
file, line and what was inlined are what llvm-symbolizer says.

The outermost name may differ by what the compiler put behind it for a copy (".part.0"): there
llvm-symbolizer has the symbol table's name and we have the source's.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.environ["SOURCE_ROOT"]
sys.path.insert(0, os.path.join(ROOT, "tests", "tools"))
import tap  # noqa: E402

HERE = os.path.join(ROOT, "tests", "symbol")
RUST = """
use std::collections::HashMap;
trait Shape { fn area(&self) -> u64; }
struct Square { side: u64 }
impl Square { #[inline(always)] fn grow(&mut self, by: u64) { self.side = self.side.wrapping_add(by); } }
impl Shape for Square { fn area(&self) -> u64 { self.side.wrapping_mul(self.side) } }
#[inline(never)] fn weigh(all: &[Box<dyn Shape>]) -> u64 {
    all.iter().map(|s| s.area()).filter(|a| a % 3 != 1).fold(0, |a, b| a ^ b)
}
fn main() {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut all: Vec<Box<dyn Shape>> = Vec::new();
    for i in 0..std::env::args().count() as u64 * 10 {
        let mut s = Square { side: i };
        s.grow(7);
        *counts.entry(format!("{}", i % 3)).or_insert(0) += s.area();
        all.push(Box::new(s));
    }
    println!("{} {:?}", weigh(&all), counts.get("1"));
}
"""

IS_SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1  # fewer versions, and no large programs


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise tap.Skip(f"no {tool} here")


def run(argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=True, **more).stdout


def addresses(path):
    """Every instruction; of large programs, every so many."""
    said = run(["objdump", "-d", "--section=.text", path])
    all_of_them = [int(m, 16) for m in re.findall(r"^ *([0-9a-f]+):\t", said, re.M)]
    return all_of_them[::max(1, len(all_of_them) // 20000)]


def parsed(text):
    """address: [(function, file, line), ...], the innermost first."""
    out, lines = {}, text.splitlines()
    frames, i = None, 0
    while i < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            frames = out.setdefault(int(lines[i], 16), [])
            i += 1
        elif not lines[i]:
            i += 1
        else:
            file, _, line = lines[i + 1].rpartition(":")
            line = re.match(r"\d*", line).group() or "0"
            file = "" if file in ("??", "") else os.path.normpath(file)
            frames.append((lines[i], file, int(line)))
            i += 2
    return out


def symbols(path):
    said = (line.split() for line in run(["nm", path]).splitlines())
    return {words[2]: words[0] for words in said if len(words) == 3}


def short(name, theirs):
    """llvm-symbolizer knows lambdas without a linkage name by "operator()" alone."""
    return re.sub(r"^.*::(?=operator\(\))", "", name) if theirs.startswith("operator()") else name


def same(ours, theirs, starts):
    if theirs[-1][0] == "??" and len(theirs) == 1:  # what the linker put between two functions
        return not ours
    if len(theirs) == 1 and not theirs[0][2] and not theirs[0][1].startswith("/"):  # the symbol table alone
        return len(ours) < 2 and (not ours or not ours[0][2])
    if len(ours) != len(theirs) or [each[1:] for each in ours] != [each[1:] for each in theirs]:
        return False
    if [short(each[0], other[0]) for each, other in zip(ours[:-1], theirs[:-1])] != [each[0] for each in theirs[:-1]]:
        return False
    mine, their = short(ours[-1][0], theirs[-1][0]), theirs[-1][0]
    if mine == their or their.startswith(mine + "."):
        return True
    if re.sub(r"([CD])[124]E", r"\1E", mine) == re.sub(r"([CD])[124]E", r"\1E", their):
        return True
    return mine in starts and starts[mine] == starts.get(their)  # two names of the same bytes


def compare(path, least, least_inlined, *package):
    asked = addresses(path)
    text = "".join(f"0x{a:x}\n" for a in asked)
    ours = parsed(run([os.environ["LINES"], path, *package], input=text))
    theirs = parsed(run(["llvm-symbolizer", f"--obj={path}", "--inlines", "--no-demangle", "--output-style=GNU",
                         "-a"], input=text))
    starts = symbols(path)
    wrong = [a for a in asked if not same(ours[a], theirs[a], starts)]
    inlined = sum(len(frames) > 1 for frames in ours.values())
    placed = sum(bool(frames and frames[0][1]) for frames in ours.values())
    shown = "\n".join(f"0x{a:x}\n  ours   {ours[a]}\n  theirs {theirs[a]}" for a in wrong[:5])
    assert not wrong, f"{len(wrong)} of {len(asked)} differ\n{shown}"
    assert placed >= least and inlined >= least_inlined, (placed, inlined)
    print(f"# {os.path.basename(path)}: {len(asked)} addresses, {placed} with a line, {inlined} inlined, "
          f"{len(wrong)} differ")


def built(compiler, source, *flags):
    need("llvm-symbolizer", "objdump", compiler)
    folder = tempfile.mkdtemp(prefix="spanflame-symbol-")
    path = os.path.join(folder, "-".join([compiler, os.path.basename(source), *flags]).replace("/", "_"))
    done = subprocess.run([compiler, *flags, os.path.relpath(source, ROOT), "-o", path], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(folder)
        raise tap.Skip(f"{compiler} {' '.join(flags)}: {done.stderr.splitlines()[-1:]}")
    return folder, path


def compare_built(compiler, source, flags, least, least_inlined):
    folder, path = built(compiler, os.path.join(HERE, source), *flags)
    try:
        compare(path, least, least_inlined)
    finally:
        shutil.rmtree(folder)


LAMBDAS = """
volatile long sink;
namespace shop { struct Cart { int n; void fill() { auto add = [this](int by) { for (int i = 0; i < n; i++) sink += by; }; add(n); } }; }
int main(int argc, char **) {
    auto spin = [](int n) { for (int i = 0; i < n; i++) sink += i; };
    spin(argc);
    auto turn = [](int n) { for (int i = 0; i < n; i++) sink ^= i; };
    turn(argc);
    shop::Cart cart{argc};
    cart.fill();
    struct Local { int by; void operator()(long n) const { for (long i = 0; i < n; i++) sink += by; } };
    Local{argc}(argc);
}
"""


def test_lambdas_are_called_after_what_they_lie_in():
    folder = tempfile.mkdtemp(prefix="spanflame-symbol-")
    source = os.path.join(folder, "lambdas.cc")
    with open(source, "w", encoding="ascii") as f:
        f.write(LAMBDAS)
    try:
        for version in "5" if IS_SHORT else "45":
            need("g++", "objdump")
            path = os.path.join(folder, "lambdas")
            run(["g++", "-O2", f"-gdwarf-{version}", source, "-o", path])
            text = "".join(f"0x{a:x}\n" for a in addresses(path))
            names = {f[0] for frames in parsed(run([os.environ["LINES"], path], input=text)).values() for f in frames}
            assert "main::{lambda#1}::operator()" in names and "main::{lambda#2}::operator()" in names, names
            assert "main::Local::operator()" in names, names
            assert "operator()" not in names, names
    finally:
        shutil.rmtree(folder)


def test_lines_of_c_by_gcc_in_every_version_of_dwarf():
    for version in "2345":
        compare_built("gcc", "chains.c", ["-O2", f"-gdwarf-{version}"], 80, 40)
    compare_built("gcc", "chains.c", ["-O0", "-g"], 150, 0)
    compare_built("gcc", "chains.c", ["-O3", "-gdwarf-5", "-gdwarf64"], 80, 40)
    compare_built("gcc", "chains.c", ["-O2", "-gdwarf-4", "-gstrict-dwarf"], 80, 40)


def test_lines_of_cxx_by_gcc():
    for version in "25" if IS_SHORT else "2345":
        compare_built("g++", "shapes.cc", ["-O2", f"-gdwarf-{version}"], 1200, 800)
    if not IS_SHORT:
        compare_built("g++", "shapes.cc", ["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"], 1200, 800)
        compare_built("g++", "shapes.cc", ["-O2", "-g1"], 1200, 800)


def test_lines_of_cxx_optimised_at_link_time():
    compare_built("g++", "shapes.cc", ["-O2", "-g", "-flto"], 1200, 800)


def test_lines_of_c_by_clang():
    for version in "345":
        compare_built("clang", "chains.c", ["-O2", f"-gdwarf-{version}"], 80, 40)


def test_lines_of_cxx_by_clang():
    for version in "4" if IS_SHORT else "45":
        compare_built("clang++", "shapes.cc", ["-O2", f"-gdwarf-{version}"], 1200, 800)
    if not IS_SHORT:
        compare_built("clang++", "shapes.cc", ["-O2", "-gmlt"], 1200, 800)


def test_lines_of_split_units_in_a_package():
    """-gsplit-dwarf leaves functions and inlined calls in .dwo files, which llvm-dwp packs into one. That of LLVM 14 does not
    end with some files of GCC's DWARF 5."""
    need("llvm-dwp")
    for compiler, version in (("gcc", "4"), ("clang", "4"), ("clang", "5")):
        folder, path = built(compiler, os.path.join(HERE, "chains.c"), "-O2", f"-gdwarf-{version}", "-gsplit-dwarf")
        try:
            run(["llvm-dwp", "-e", path, "-o", path + ".dwp"])
            compare(path, 80, 40, path + ".dwp")
        finally:
            shutil.rmtree(folder)
            if os.path.exists(os.path.join(ROOT, "chains.dwo")):  # clang writes it where it was called
                os.remove(os.path.join(ROOT, "chains.dwo"))


def test_lines_of_rust():
    need("llvm-symbolizer", "objdump", "rustc")
    with tempfile.TemporaryDirectory(prefix="spanflame-symbol-") as folder:
        source, path = os.path.join(folder, "shapes.rs"), os.path.join(folder, "rust")
        with open(source, "w", encoding="utf-8") as f:
            f.write(RUST)
        subprocess.run(["rustc", "-O", "-g", "-o", path, source], check=True, capture_output=True)
        compare(path, 10000, 5000)


def test_lines_of_the_server():
    need("llvm-symbolizer", "objdump")
    compare(os.environ["SPANFLAME"], 15000, 5000)


if IS_SHORT:
    del test_lines_of_cxx_optimised_at_link_time, test_lines_of_rust, test_lines_of_the_server
tap.run(sys.modules[__name__])
