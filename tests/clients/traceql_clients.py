#!/usr/bin/env python3
"""TraceQL as others read it: the worked queries and the mistakes of tests/golden, parsed by Tempo's own compiler and by
the grammar of Grafana's query editor. They take what we take and refuse what we refuse, but for what is named here."""
import json
import os
import re
import subprocess
import sys

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"),
                os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools")]
import tap  # noqa: E402
import toolchain  # noqa: E402
from traceql_spans import golden, mistakes  # noqa: E402

WORKED = [query for name in ("traceql_search.txt", "traceql_metrics.txt") for query, _ in golden(name)]
MISTAKES = list(mistakes())

# Younger than the pinned compiler, Tempo 2.8: nil on the right and childCount came with 2.10, comparisons of series
# with 3.0, arithmetic between them with 3.1.
YOUNGER_THAN_TEMPO = re.compile(r"= nil|childCount|(\) |\(3\) )[<>] \d$|^\(.*_over_time\(\).*\) [-/] |^\(.*rate\(\).*\) / |^100 \*")

# Tempo takes these and finds nothing, or compiles the regex when the first span comes.
TEMPO_IS_LENIENT = {'{ name =~ "*a" }', "{ name =~ span.a }"}

# The editor's grammar also lacks the nested set's numbers and all hints but most_recent.
UNKNOWN_TO_EDITOR = re.compile(r"childCount|nestedSet|with\((no_such|exemplars|sample)")

# Syntax to us, but not to the editor's grammar: names, places and numbers of arguments, and which stage follows which.
EDITOR_IS_LENIENT = re.compile(r"\$a|span \.a|9{20}|by\(name, kind\)|select\(5\)|^coalesce|rate\(\) \| (rate|count)|\| topk\(10\)")


def tempo_refuses(queries):
    steps = "\n".join(json.dumps({"do": "parse", "query": query}) for query in queries)
    done = subprocess.run([*toolchain.client("tempo_api"), "http://127.0.0.1", "plain"], input=steps, capture_output=True,
                          text=True, timeout=60, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(queries)
    return [query for query, answer in zip(queries, told) if "error" in answer]


def editor_refuses(queries):
    done = subprocess.run(toolchain.client("traceql_editor"), input=json.dumps(queries), capture_output=True, text=True,
                          timeout=60, check=True)
    return [query for query, is_taken in zip(queries, json.loads(done.stdout)) if not is_taken]


def test_there_are_queries_to_ask_about():
    assert len(WORKED) >= 144 and len(MISTAKES) > 100
    assert all(query.strip() or "unexpected end" in message for query, message in MISTAKES), MISTAKES


def test_tempo_compiles_the_worked_queries():
    refused = tempo_refuses(WORKED)
    assert [q for q in refused if not YOUNGER_THAN_TEMPO.search(q)] == []
    assert len(refused) < 20, refused


def test_tempo_refuses_the_mistakes():
    refused = set(tempo_refuses([query for query, _ in MISTAKES]))
    taken = {query for query, _ in MISTAKES} - refused
    assert taken == TEMPO_IS_LENIENT, taken ^ TEMPO_IS_LENIENT


def test_the_editor_takes_the_worked_queries():
    refused = editor_refuses(WORKED)
    assert [q for q in refused if not YOUNGER_THAN_TEMPO.search(q) and not UNKNOWN_TO_EDITOR.search(q)] == []
    assert len(refused) < 20, refused


def test_the_editor_refuses_what_is_no_syntax():
    """It knows no types, so only mistakes of syntax are asked about."""
    wrong = [query for query, message in MISTAKES if "syntax error" in message]
    taken = set(wrong) - set(editor_refuses(wrong))
    assert len(wrong) > 60 and [q for q in taken if not EDITOR_IS_LENIENT.search(q)] == [], (len(wrong), taken)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
