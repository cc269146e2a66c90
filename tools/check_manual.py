#!/usr/bin/env python3
"""check_manual.py [ROOT]: the manual pages of section 3 say what the headers say.

Every name that the version script exports stands in the NAME of exactly one page; every prototype of spanflame.h stands
in a SYNOPSIS, type for type and name for name; every member, constant and macro of the header, and every public member
of the C++ wrapper, is spoken of somewhere; every reference leads to a page.

check_manual.py --aliases PAGE...: a line for each further name that a page has, and the page.
"""
import glob
import os
import re
import sys


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def plain(text):
    """One blank where there is any, none around punctuation."""
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([(),*&\[\]{};<>=]) ?", r"\1", text).strip()


def exported(version_script):
    return set(re.findall(r"\b(?:sf|otel)_\w+", read(version_script)))


def without_comments(source):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.S)


def header_prototypes(source):
    """name -> (type, [parameters])"""
    found = {}
    for kind, name, parameters in re.findall(r"^SF_API\s+([^;(]*?)(\bsf_\w+)\((.*?)\);", source, re.S | re.M):
        found[name] = (plain(kind), [plain(p) for p in parameters.split(",")])
    return found


def page_prototypes(page):
    found, kind = {}, None
    for line in page.splitlines():
        if line.startswith(".Ft "):
            kind = plain(line[4:])
        m = re.match(r"\.Fn (\w+) (.+)", line)
        if m and kind is not None:
            quoted = re.findall(r'"([^"]*)"', m[2]) or m[2].split()
            found[m[1]] = (kind, [plain(p) for p in quoted])
            kind = None
    return found


def names_of(page):
    """The names under NAME, in order."""
    head = page.split(".Sh NAME\n", 1)[1].split(".Nd ", 1)[0]
    return [line.split()[1] for line in head.splitlines() if line.startswith(".Nm ")]


def header_words(source):
    """Members of structs, constants and macros that people use."""
    words = set(re.findall(r"\b(?:SF|SPANFLAME)_[A-Z0-9_]+\b", source))
    words -= {"SF_API", "SPANFLAME_H"}
    for body in re.findall(r"typedef struct \w+ \{(.*?)\n\} \w+;", source, re.S):
        words |= set(re.findall(r"\b(\w+)(?:\[[^\]]*\])?;", body))
    return words


def wrapper_members(source):
    """What a user of the C++ wrapper may write, as declared."""
    found = []
    for body in re.findall(r"\n  public:\n(.*?)\n  private:", source, re.S):
        for line in re.findall(r"^    (?! |\{|\}|:)(.*\).*?) *$", body, re.M):
            line = re.sub(r"typename std::enable_if<.*>::type", "span &", line.split(" : ")[0])
            if not line.endswith("= delete;"):
                found.append(plain(line))
    found += [plain(line) for line in re.findall(r"^inline (.*\))$", source, re.M)]
    return found


def faults(root):
    header = without_comments(read(os.path.join(root, "include", "spanflame.h")))
    wrapper = without_comments(read(os.path.join(root, "include", "spanflame.hpp")))
    declared = header_prototypes(header)
    public = exported(os.path.join(root, "collect", "spanflame.map"))
    pages = {os.path.basename(p)[:-2]: read(p) for p in glob.glob(os.path.join(root, "docs", "man", "*.3"))}
    commands = {os.path.basename(p)[:-2] for p in glob.glob(os.path.join(root, "docs", "man", "*.1"))}

    owners, shown = {}, {}
    for title, page in sorted(pages.items()):
        if names_of(page)[0] != title:
            yield f"{title}.3 calls itself {names_of(page)[0]}"
        for name in names_of(page):
            owners.setdefault(name, []).append(title)
        shown.update(page_prototypes(page))
    for name in sorted(public):
        if len(owners.get(name, [])) != 1:
            yield f"{name} is exported and has {len(owners.get(name, []))} pages"
    for name in sorted(set(declared) ^ {n for n in public if n.startswith("sf_")}):
        yield f"{name} is in one of header and version script only"
    for name in sorted(set(declared) | set(shown)):
        if declared.get(name) != shown.get(name):
            yield f"{name}: the header says {declared.get(name)}, the manual {shown.get(name)}"

    text = "\n".join(pages.values())
    for word in sorted(header_words(header)):
        if not re.search(rf"\b{word}\b", text):
            yield f"{word} of spanflame.h is in no page"
    synopsis = plain(pages.get("spanflame.hpp", ""))
    members = wrapper_members(wrapper)
    if len(members) < 20:
        yield "the C++ wrapper was not understood"
    for member in members:
        if member not in synopsis:
            yield f"spanflame.hpp.3 has no {member}"
    for title, page in sorted(pages.items()):
        for name, section in re.findall(r"^\.Xr (\S+) ([13])", page, re.M):
            if name not in (commands if section == "1" else owners) and name not in ("malloc", "exit"):
                yield f"{title}.3 refers to {name}({section}), which is not there"


def main(argv):
    if argv[1:2] == ["--aliases"]:
        for path in argv[2:]:
            for name in names_of(read(path))[1:]:
                print(name, os.path.basename(path))
        return 0
    found = list(faults(argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
