#!/usr/bin/env python3
"""calibrate.py [--short] [--write] - how right the answers are: draws and worlds whose truth is known.

--write runs all of it and writes tests/calibration/results.json and docs/accuracy.md (`make calibrate`). --short runs a
part with fewer draws, and holds docs/accuracy.md against results.json: this is what `make check` runs. Without a flag all of
it is run and held against the bounds.

Seeds are fixed and no clock is read, so that a figure is the same on every run, and no test here fails by chance. With
other seeds a figure of 2,000 draws is off by its binomial error: half a point at 95 %. The short form's draws are a
fifteenth of them, so that its bounds leave 3.7 standard errors (right code fails once in 5,000 seeds for each figure)."""
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("SOURCE_ROOT", os.path.dirname(os.path.dirname(HERE)))
os.environ.setdefault("SOURCE_ROOT", SOURCE)
os.environ.setdefault("SPANFLAME", os.path.join(SOURCE, "build", "spanflame"))
sys.path[:0] = [os.path.join(SOURCE, "tests", "tools"), HERE]
import attribution  # noqa: E402
RESULTS, PAGE = os.path.join(HERE, "results.json"), os.path.join(SOURCE, "docs", "accuracy.md")
STATISTICS = os.environ.get("STATISTICS", os.path.join(SOURCE, "build", "tests", "calibration", "statistics"))
DRAWS, SHORT_DRAWS, WORLDS, SHORT_WORLDS = 2000, 130, 4, 1
INTRO = """# Accuracy

How right the answers are, measured on worlds whose truth is known. Written by `make calibrate`; do not edit it. The draws,
the worlds and what an oracle is stand in `tests/calibration`. `make check` runs a short form of it.

A figure that misses its bound is marked with **!**. Figures are of {draws:,} draws with fixed seeds: one near 95 % would be
off by half a point with other seeds.
"""
SHARES = """
## Shares of a span's samples

The 95 % interval of a function's share (`shareLow`, `shareHigh`; "95 % interval" in text), over spans of which the true share
is known. *Held*: how often the interval has the true share in it, at least 93 %. *Width*: its mean width, as a multiple of
Clopper and Pearson's exact interval, at most 1.3. Samples at random moments; every 10 ms over functions that run for 40 ms on average; and at
random where every second sample came too late, and its time is part of the next one's.

| samples | share | number | held | width |
|---|---|---|---|---|
"""
ATTRIBUTION = """
## Cost in the right span

Worlds in which the code that runs at each moment is known, told to a server as each kind of sender does: requests on a pool of
threads, nested and handed over, four replicas of which two are restarts, a caller whose clock is off
(`tests/calibration/attribution.py`). *Right*: of what spans have by themselves, how much is code of that span; where samples
name spans or times and threads, at least 99 %, else it is an estimate and shown as one. *Right in children*: the same of
children of 5 ms or more. *Given*: of the true cost, how much spans have; never more than all of it. The rest is cut because
samples stand for more than a span lasted (one sample is worth 10 ms), or carries no id where others do. *Off*: the sum of what
spans have too much or too little, as a part of all cost.

| sender | mostly graded | right | right in children | given | off |
|---|---|---|---|---|---|
"""
COMPARISONS = """
## Comparisons

`compare` and what is made from it: intervals of 40 functions that hold together, at 5 %. *All hold*: in how many comparisons
every function's interval has the true difference in it, at least 93 %. *Width*: mean width, as a multiple of what Welch's
t-test with Bonferroni's correction has that knows which spans are alike, at most 1.3. *False alarm*: comparisons in which a
function is called different that is not, at most 5 %. *Found*: how often the one function that is slower on the right is
called so, and how often that test finds it; at least nine tenths of that.

| spans | left, right | slower | all hold | width | false alarm | found | test finds |
|---|---|---|---|---|---|---|---|
"""


def run_statistics(draws):
    out = subprocess.run([STATISTICS, str(draws)], capture_output=True, text=True, check=True, timeout=3000).stdout
    cells = {}
    for line in out.splitlines():
        group, cell, measure, figure, bound, _ = line.split("\t")
        cells.setdefault(group, {}).setdefault(cell, {})[measure] = [float(figure), bound]
    return cells


def is_in(figure, bound, slack=0.0):
    if not bound:
        return True
    sense, limit = bound.split()
    return figure >= float(limit) - slack if sense == ">=" else figure <= float(limit) + slack


def shown(cell, measure, percent=True):
    if measure not in cell:
        return ""
    figure, bound = cell[measure]
    text = f"{figure * 100:.1f} %" if percent else f"{figure:.2f}"
    return text if is_in(figure, bound) else f"**!** {text}"


def page(results):
    text = INTRO.format(draws=results["draws"]) + ATTRIBUTION
    for kind, cell in results["cells"]["attribution"].items():
        who, grade, _ = attribution.KINDS[kind]
        text += (f"| {who} | {grade} | {shown(cell, 'right')} | {shown(cell, 'right in children')} | {shown(cell, 'given')} | "
                 f"{shown(cell, 'off')} |\n")
    text += SHARES
    for name, cell in results["cells"]["share"].items():
        clock, share, number = name.split(", ")
        text += f"| {clock} | {share.split(' ', 1)[1]} | {number.split()[0]} | {shown(cell, 'held')} | {shown(cell, 'width', False)} |\n"
    text += COMPARISONS
    for name, cell in results["cells"]["comparison"].items():
        world, spans, more = name.split(", ")
        text += (f"| {world} | {spans.replace(' spans', '')} | {more} | {shown(cell, 'all hold')} | {shown(cell, 'width', False)} | "
                 f"{shown(cell, 'false alarm')} | {shown(cell, 'found')} | {shown(cell, 'oracle finds')} |\n")
    return text


def misses(cells, draws=None):
    """What is out of its bounds; of few draws, further than chance takes it."""
    for group, of_group in cells.items():
        for name, cell in of_group.items():
            for measure, (figure, bound) in cell.items():
                limit = float(bound.split()[1]) if bound else 0
                error = math.sqrt(max(limit * (1 - limit), 0.01) / draws) if draws else 0
                slack = 0 if group == "attribution" else 3.7 * error if measure != "width" else 0.1 * bool(draws)
                if not is_in(figure, bound, slack):
                    yield f"{group}: {name}: {measure} {figure:.3f}, not {bound}"


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write():
    results = {"draws": DRAWS, "cells": {"attribution": attribution.run(WORLDS), **run_statistics(DRAWS)}}
    with open(RESULTS, "w", encoding="utf-8") as f:
        json.dump(results, f, indent=1)
        f.write("\n")
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(page(results))
    missed = list(misses(results["cells"]))
    print("\n".join(missed) or "all figures are in their bounds")
    return 1 if missed else 0


def test_the_page_says_what_was_recorded():
    assert read(PAGE) == page(json.loads(read(RESULTS))), "run `make calibrate`"


def test_what_was_recorded_is_in_its_bounds():
    missed = list(misses(json.loads(read(RESULTS))["cells"]))
    assert not missed, missed


def test_draws_give_the_bounds_again():
    is_short = "--short" in sys.argv
    draws = SHORT_DRAWS if is_short else DRAWS
    cells = run_statistics(draws)
    recorded = {g: c for g, c in json.loads(read(RESULTS))["cells"].items() if g != "attribution"}
    assert {g: list(c) for g, c in cells.items()} == {g: list(c) for g, c in recorded.items()}, "run `make calibrate`"
    missed = list(misses(cells, draws if is_short else None))
    assert not missed, missed


def test_cost_is_in_the_right_span():
    kinds = [k for k, (_, _, least) in attribution.KINDS.items() if least or "--short" not in sys.argv]
    missed = list(misses({"attribution": attribution.run(SHORT_WORLDS if "--short" in sys.argv else WORLDS, kinds)}))
    assert not missed, missed


if __name__ == "__main__":
    if "--write" in sys.argv:
        sys.exit(write())
    import tap
    tap.run(sys.modules[__name__])
