#!/usr/bin/env python3
"""Every mangled name of libstdc++ and of a Rust program: sf_demangler_run says what c++filt says.

"> >" and ">>" are one: c++filt forgets the blank behind an empty pack, and leaves two commas for an
empty pack between two parameters.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
import tap  # noqa: E402

RUST = """
use std::collections::{BTreeMap, HashMap};
trait Shape { fn area(&self) -> f64; }
struct Square<const N: usize>(f64);
impl<const N: usize> Shape for Square<N> {
    #[inline(never)] fn area(&self) -> f64 { self.0 * self.0 * N as f64 }
}
#[inline(never)] fn each<F: Fn(&dyn Shape) -> f64>(v: &[Box<dyn Shape>], f: F) -> f64 {
    v.iter().map(|s| f(s.as_ref())).sum()
}
extern "C" fn twice(x: i32) -> i32 { x * 2 }
#[inline(never)] fn call(a: &mut [u8; 4], f: extern "C" fn(i32) -> i32) -> i32 { a[0] = 1; f(a[0] as i32) }
fn main() {
    let v: Vec<Box<dyn Shape>> = vec![Box::new(Square::<3>(2.0)), Box::new(Square::<7>(1.0))];
    let mut m: HashMap<String, BTreeMap<i32, Box<dyn Fn(i32) -> i32 + Send>>> = HashMap::new();
    m.entry("a".into()).or_default().insert(1, Box::new(|x| x + 1));
    println!("{} {} {}", each(&v, |s| s.area()), m["a"][&1](3), call(&mut [0; 4], twice));
    println!("{:?}", std::thread::spawn(move || m.len()).join());
}
"""


def mangled(*files):
    names = set()
    for path in files:
        for flags in ((), ("-D",)):
            said = subprocess.run(["nm", *flags, path], capture_output=True, text=True, check=False).stdout
            words = (line.split()[-1].split("@")[0] for line in said.splitlines() if line.strip())
            names.update(w for w in words if w.startswith(("_Z", "_R")))
    return sorted(names)


def filtered(argv, names):
    said = subprocess.run(argv, input="\n".join(names) + "\n", capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    assert len(lines) == len(names)
    return [line.replace("> >", ">>").replace("> >", ">>") for line in lines]


def compare(names, least):
    ours = filtered([os.environ["FILTER"]], names)
    theirs = filtered(["c++filt", "-i"], names)
    wrong = [(n, o, t) for n, o, t in zip(names, ours, theirs) if o != t and ", , " not in t]
    assert not wrong, "\n".join("\n  ".join(each) for each in wrong[:5])
    assert len(names) >= least, len(names)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise tap.Skip(f"no {tool} here")


def rust_programs(folder):
    source = os.path.join(folder, "shapes.rs")
    with open(source, "w", encoding="utf-8") as f:
        f.write(RUST)
    for kind in ("legacy", "v0"):
        path = os.path.join(folder, kind)
        done = subprocess.run(["rustc", "-O", "-C", f"symbol-mangling-version={kind}", "-o", path, source],
                              capture_output=True, text=True, check=False)
        if done.returncode and kind == "legacy":  # newer compilers want it unlocked; the default is as good
            done = subprocess.run(["rustc", "-O", "-o", path, source], capture_output=True, text=True, check=False)
        if not done.returncode:
            yield path


def test_names_of_libstdcxx_are_what_binutils_says():
    need("c++filt", "nm", "gcc")
    library = subprocess.run(["gcc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True,
                             check=True).stdout.strip()
    if not os.path.isabs(library):
        raise tap.Skip("no libstdc++ here")
    archive = os.path.join(os.path.dirname(library), "libstdc++.a")
    compare(mangled(os.path.realpath(library), archive), 3000)


def test_names_of_a_rust_program_are_what_binutils_says():
    need("c++filt", "nm", "rustc")
    with tempfile.TemporaryDirectory(prefix="spanflame-symbol-") as folder:
        compare(mangled(*rust_programs(folder)), 300)


tap.run(sys.modules[__name__])
