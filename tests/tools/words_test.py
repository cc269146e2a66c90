"""Text that people read uses the words of docs/glossary.md, and not the ones they replace."""
import os
import re
import subprocess
import sys

import tap

ROOT = os.environ["SOURCE_ROOT"]

# What is not given, and what is stated instead.
WORDS = {
    r"looks(?! (like|for|up)\b)": "samples; reads, checks",
    r"looked (at|for)": "read, checked; searched",
    r"\d looks?": "samples",
    r"(a|one|each|every) look": "a sample, a read",
    r"thin": "few samples",
    r"doors?": "call, listener",
    r"stretch(es)?": "time range",
    r"cohorts?": "span set",
    r"grades?": "match quality",
    r"ledgers?": "time breakdown",
    r"doubt": "uncertainty",
    r"at most about": "of about N expected",
    r"with 95 ?%+ certainty": "95 % interval",
}
PATTERN = re.compile(r"\b(" + "|".join(f"(?:{w})" for w in WORDS) + r")\b", re.I)
# Commands, calls, fields, files and keys of alert rules keep their names.
NAMES = re.compile(r"`[^`]*`|spanflame[- ](ledger|cohort)\b|\bledger\.\w+|change, ledger\b|\bledger: \{|^ledger expects |/api/v1/\S*|\]\([^)]*\)|https?://\S+", re.I)


def plain(text):
    return NAMES.sub(" ", text)


def strings_of_c(source):
    """String literals, neighbours joined, without comments; those of one word are names."""
    source = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)
    for m in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source):
        text = re.sub(r'"\s*"', "", m[0])[1:-1]
        if " " in text.strip() and not text.lstrip().startswith("{"):
            yield source[:m.start()].count("\n") + 1, text


def strings_of_page(source):
    """Strings with a blank, and text between tags."""
    source = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)
    for at, line in enumerate(source.split("\n"), 1):
        line = re.sub(r"(^|\s)//.*", "", line)
        for m in re.finditer(r'"([^"]*)"|`([^`]*)`|>([^<>{}=]+)<', line):
            text = re.sub(r"\$\{[^}]*\}", " ", m[1] or m[2] or m[3] or "")
            if " " in text.strip() and "/" not in text.split(" ")[0]:
                yield at, text


def strings_of_text(source):
    """Prose: without blocks of code and JSON."""
    is_code = False
    for at, line in enumerate(source.split("\n"), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith((".Nm", ".Dt", ".It Cm", ".Cm", ".\\\"", "spanflame ")):
            yield at, line


READERS = {".c": strings_of_c, ".h": strings_of_c, ".ts": strings_of_page, ".tsx": strings_of_page, ".md": strings_of_text,
           ".1": strings_of_text, ".3": strings_of_text}
# What explains the words must name them; a manual page of the command has its name.
EXEMPT = ("docs/glossary.md", "src/os/lock_order.h")


def faults(name, source):
    reader = READERS.get(os.path.splitext(name)[1])
    for at, text in reader(source) if reader else ():
        found = PATTERN.search(plain(text))
        if found:
            yield f"{name}:{at}: \"{found[0]}\" in: {text.strip()[:120]}"


def tracked():
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "src", "web/src", "docs", "include", "README.md"],
                         capture_output=True, text=True, check=True)
    return [n for n in out.stdout.split("\n") if n and n not in EXEMPT]


def test_text_that_people_read_uses_the_words_of_the_glossary():
    bad = []
    for name in tracked():
        path = os.path.join(ROOT, name)
        if os.path.splitext(name)[1] in READERS and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                bad += faults(name, f.read())
    assert not bad, "\n".join(bad)


def test_a_replaced_word_is_found_where_people_read_it_and_only_there():
    assert list(faults("a.c", 'print("%u looks of " "a profiler");'))
    assert list(faults("a.tsx", "<p>a stretch of time</p>"))
    assert list(faults("a.md", "Each grade says how.\n"))
    assert not list(faults("a.c", '/* a look at it */ key("looks"); ask("/api/v1/cohort?q= x");'))
    assert not list(faults("a.md", "```json\n{\"grades\": 1}\n```\n`grades` are there; this looks like text\n"))


tap.run(sys.modules[__name__])
