#!/usr/bin/env python3
"""check_tables.py [ROOT] - tables in memory are base/table.h, by a hash of base/key.h.

A sender chooses ids, names and values. A table whose places come from a hash that everybody can compute takes quadratic
time for keys that were chosen for it. So outside src/base/ no code steps from slot to slot, takes a place from a hash, or
gives a table an open hash (base/hash.h). What is something else is listed below with its reason. Every finding is one
line, file:line: what; exit status 1.
"""
import os
import re
import sys

from check_rooms import NOT_CODE, keep_lines, line_of

HASH = r"\b(?:sf_(?:key|hash)\w*|sf_trace_id_(?:key|hash)|hash_\w+|\w*hash(?:_of)?)\b"
MASK = r"(?:&\s*(?:\([^;{}]*?-\s*1\)|\w*(?:mask|MASK)\b|\w+->\w*mask\b)|%\s*[\w.>-]+)"
RULES = [
    (re.compile(r"\b(\w+)\s*=\s*\(\1\s*\+\s*1\)\s*&"), "a table written by hand: use base/table.h"),
    (re.compile(HASH + r"[^;{}]*?" + MASK), "a hash chooses a place: use base/table.h"),
    (re.compile(r"\[\s*" + HASH + r"[^;{}\]]*?>>[^;{}\]]*\]"), "a hash chooses a place: use base/table.h"),
    (re.compile(r"\bsf_(?:table|profile_table)_\w+\([^;{}]*?\bsf_(?:trace_id_)?hash"),
     "a table by a hash that everybody can compute: use base/key.h"),
]

# Caches: one entry per place, so a key that was chosen to miss costs no more than any other.
CACHE = "a cache of one entry per place"
# Bits: what is asked is whether a key may be there, in one check.
BITS = "bits of a filter, looked at once"
KNOWN = {
    "collect/lib/name_table.c": "lists per slot, keyed by collect/lib/secret.h",
    "collect/lib/profile_table.c": "lists per slot, keyed by collect/lib/secret.h",
    "collect/lib/redact.c": CACHE + ", keyed by collect/lib/secret.h",
    "collect/lib/stack_table.c": "lists per slot, for signal handlers; its keys are addresses of code",
    "src/block/profile/profile_set.c": CACHE + ", keyed",
    "src/block/profile/profile_stacks_encode.c": "a granule's ids, at most half full, keyed",
    "src/block/span/granule_count.c": "256 numbers in 1,024 places on the stack, keyed",
    "src/block/span/span_block_reader.c": "a checksum cut to 32 bits",
    "src/decode/jfr/jfr_stack.c": CACHE,
    "src/exec/span_pool.c": CACHE,
    "src/intake/recent_traces.c": CACHE + ", keyed",
    "src/intake/redactor.c": CACHE + ", by a seed of its own",
    "src/join/time_sieve.h": "a hash chooses a time range, and nothing is looked up in it",
    "src/meter/graph_wait.c": "lists per slot, keyed: equal keys have no bound",
    "src/render/flame_svg.c": "a colour",
    "src/store/local/profiles/profile_details.c": BITS,
    "src/store/local/profiles/profile_mem.c": CACHE + ", keyed",
    "src/store/local/read/parted.c": BITS + "; what has the same ones is sorted",
    "src/store/local/write/memtable.c": BITS,
}


def check(root):
    """Yields (path, line, sentence) for every fault under root."""
    used = set()
    for top in ("src", "collect", "include"):
        for folder, dirs, names in os.walk(os.path.join(root, top)):
            dirs.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if not name.endswith((".c", ".h")) or path.startswith("src/base/"):
                    continue
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                    code = NOT_CODE.sub(keep_lines, f.read())
                found = sorted({(line_of(code, m.start()), sentence) for rule, sentence in RULES
                                for m in rule.finditer(code)})
                if path in KNOWN and found:
                    used.add(path)
                else:
                    yield from ((path, line, sentence) for line, sentence in found)
    for path in sorted(set(KNOWN) - used):
        if os.path.exists(os.path.join(root, path)):
            yield path, 1, "listed in tools/check_tables.py, and nothing is found in it"


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    faults = [f"{path}:{line}: {sentence}" for path, line, sentence in check(root)]
    if faults:
        print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
