#!/usr/bin/env python3
"""spanflame search, tags and trace --search, as a person types them."""
import csv
import fcntl
import io
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, os.path.dirname(__file__))
from server import PROGRAM, Server, make_span, tap  # noqa: E402

server = Server().start()
TRACES = [os.urandom(15).hex() + "0a" for _ in range(3)]


def send():
    spans = []
    for i, trace in enumerate(TRACES):
        root = make_span(trace=bytes.fromhex(trace), name=f"GET /cart/{i}", service="gateway", ms=500,
                         ago_ms=(3 - i) * 1000, attributes={"bytes": i * 1000, "route": 'a "b", c'})
        spans += [root, make_span(trace=bytes.fromhex(trace), parent=root["span_id"], name="SELECT \x1b[31mred",
                                  service="db", ms=1, ago_ms=(3 - i) * 1000, error=i == 1)]
    server.send(spans)


def run(*args, stdin="", columns=80):
    env = dict(os.environ, SPANFLAME_SERVER=f"http://127.0.0.1:{server.port}", COLUMNS=str(columns))
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, text=True, env=env, check=False,
                          encoding="utf-8")


def short(trace):
    return trace.lstrip("0")


def test_the_newest_trace_is_first_and_the_table_fits():
    send()
    for columns in (80, 100, 120, 200):
        done = run("search", "{}", columns=columns)
        assert done.returncode == 0, done.stderr
        assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout
        at = [done.stdout.index(short(t)) for t in reversed(TRACES)]
        assert at == sorted(at), done.stdout
        assert f"spanflame trace {short(TRACES[2])}" in done.stdout
        assert "gateway" in done.stdout and "GET /cart/2" in done.stdout and "500 ms" in done.stdout


def test_selected_attributes_are_columns_and_escapes_stay_harmless():
    for columns in (80, 240):
        done = run("search", "{ status = error }", "--select", "name,span.bytes,.route", columns=columns)
        assert done.returncode == 0 and "\x1b" not in done.stdout and "SELECT ?[31m" in done.stdout, done
        assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout


def test_csv_reads_back():
    rows = list(csv.reader(io.StringIO(run("search", "{ .bytes >= 0 }", "--select", "span.route,span.bytes",
                                           "--output", "csv").stdout, newline="")))
    assert rows[0] == ["start", "duration_ms", "spans", "service", "name", "trace", "span.route", "span.bytes"]
    assert [r[1:] for r in rows[1:]] == [["500", "1", "gateway", f"GET /cart/{i}", short(TRACES[i]), 'a "b", c',
                                          str(i * 1000)] for i in (2, 1, 0)], rows
    again = run("search", "{}", "--from", rows[1][0], "--until", "now", "--output", "json")
    assert len(json.loads(again.stdout)["traces"]) >= 1, again


def test_json_is_the_answer_as_it_came():
    assert len(json.loads(run("search", "{}", "--output", "json").stdout)["traces"]) == 3


def test_a_limit_is_said():
    done = run("search", "{}", "--limit", "2")
    assert "The newest 2" in done.stdout and short(TRACES[0]) not in done.stdout
    for form in ("csv", "json"):
        done = run("search", "{}", "--limit", "2", "--output", form)
        assert "there may be more" in done.stderr and "may be more" not in done.stdout, done
        assert "may be more" not in run("search", "{}", "--output", form).stderr


def test_a_query_comes_from_standard_input_without_its_comments():
    done = run("search", "-", "--output", "json", stdin="# failed\n{ status = error }\n# and no more\n")
    assert [t["traceID"] for t in json.loads(done.stdout)["traces"]] == [short(TRACES[1])], done
    done = run("search", "-", stdin="# failed\n  # indented\n{ status = error &&\n\n  name == 4 }\n")
    assert done.returncode == 2 and "line 5, col" in done.stderr and "    name == 4 }\n" in done.stderr, done.stderr
    assert "\033" not in done.stderr, "colours in a pipe"


def test_a_mistake_is_underlined_and_exits_2():
    done = run("search", "{ .a == 4 }")
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.splitlines()[-2:] == ["  { .a == 4 }", "        ^"], done.stderr
    for args in (["{}", "--select", "span.a,"], ["{} | rate()"], ["{}", "--from", "now", "--until", "now-1h"],
                 ["{}", "--from", "tomorrow"], ["{}", "--since", "1h", "--from", "now-1h"], [], ["# none"]):
        assert run("search", *args).returncode == 2, args


def test_no_match_says_what_to_do():
    done = run("search", "{ name = `nothing` }")
    assert done.returncode == 0 and "--since" in done.stdout, done


def test_a_time_range_narrows():
    assert "no trace matches" in run("search", "{}", "--from", "now-3h", "--until", "now-2h").stdout


def test_trace_shows_the_newest_match():
    done = run("trace", "--search", "{ .bytes >= 0 }")
    assert done.returncode == 0 and TRACES[2] in done.stdout and "GET /cart/2" in done.stdout, done
    assert TRACES[1] in run("trace", "--search", "{ status = error }").stdout
    assert run("trace", "--search", "{ name = `nothing` }").returncode == 1
    assert run("trace", "--search", "{ name = }").returncode == 2
    assert run("trace", "--search", "{}", TRACES[0]).returncode == 2


def test_what_the_server_refuses_is_said():
    done = run("search", "{}", "--limit", "0")
    assert done.returncode == 1 and "positive" in done.stderr, done


def test_tags_lists_names_by_scope():
    done = run("tags", columns=40)
    assert done.returncode == 0 and all(len(line) <= 40 for line in done.stdout.splitlines()), done
    lines = done.stdout.splitlines()
    assert lines[:4] == ["resource", "  service.name", "span", "  bytes  route"] and "intrinsic" in lines, lines
    assert run("tags", "--scope", "span").stdout == "span\n  bytes  route\n"
    assert json.loads(run("tags", "--output", "json").stdout)["scopes"][0]["name"] == "resource"


def test_tags_lists_values_as_a_query_writes_them():
    assert sorted(run("tags", "span.bytes").stdout.splitlines()) == ["0", "1000", "2000"]
    assert run("tags", "resource.service.name", "--query", "{ status = error }").stdout == '"db"\n'
    assert "error" in run("tags", "status").stdout.splitlines()
    assert "\x1b" not in run("tags", "name").stdout and '"SELECT ?[31mred"' in run("tags", "name").stdout
    done = run("tags", "span.bytes", "--limit", "1")
    assert len(done.stdout.splitlines()) == 1 and "note: more than the limit" in done.stderr, done


def test_tags_refuses_what_is_no_attribute():
    for args in (["foo"], [".a,.b"], ["span.a", "--scope", "span"], [".a", ".b"], ["--output", "csv"]):
        assert run("tags", *args).returncode == 2, args
    done = run("tags", "--scope", "nothing")
    assert done.returncode == 1 and "invalid scope" in done.stderr, done
    assert "none in this time" in run("tags", "span.nothing").stdout


def on_terminal(*args, home, columns=100):
    """What a person sees: standard output is a terminal."""
    env = dict(os.environ, SPANFLAME_SERVER=f"http://127.0.0.1:{server.port}", XDG_RUNTIME_DIR=home, NO_COLOR="1")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *args], stdout=theirs, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env)
    os.close(theirs)
    out = b""
    try:
        while piece := os.read(ours, 65536):
            out += piece
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    process.stderr.close()
    assert process.wait(60) == 0, out
    return out.decode().replace("\r\n", "\n")


def by_row(*args, home):
    env = dict(os.environ, XDG_RUNTIME_DIR=home, COLUMNS="100")
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, env=env, check=False)


def test_rows_have_span_ids_and_say_how_many_spans_matched():
    one = json.loads(run("search", "{ status = error }", "--output", "json").stdout)["traces"][0]["spanSets"][0]["spans"][0]
    for columns in (80, 200):
        done = run("search", "{ status = error }", columns=columns)
        assert "1 matched of 2" in done.stdout and one["spanID"] in done.stdout, done.stdout
        assert f"spanflame flame --span {one['spanID']}" in done.stdout, done.stdout
    assert "matched of" not in run("search", "{ true }").stdout
    shown = run("trace", TRACES[1]).stdout
    assert one["spanID"] in shown and all(len(line) <= 80 for line in shown.splitlines()[2:]), shown


def test_on_a_terminal_rows_have_numbers_that_commands_take():
    home = tempfile.mkdtemp(prefix="spanflame-home-")
    kept = os.path.join(home, "spanflame", "last-list")
    try:
        run("search", "{ status = error }")
        absent = by_row("flame", "1", home=home)
        assert absent.returncode == 1 and "there is no list to take row 1 from" in absent.stderr, absent
        shown = on_terminal("search", "{}", home=home)
        lines = [line for line in shown.splitlines() if line[:3] in ("1  ", "2  ", "3  ")]
        assert len(lines) == 3 and "GET /cart/2" in lines[0] and "spanflame flame NUMBER" in shown, shown
        assert os.stat(kept).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(kept)).st_mode & 0o777 == 0o700
        # the server is that of the list
        for argv in (("flame", "1"), ("ledger", "1"), ("top", "1")):
            done = by_row(*argv, home=home)
            assert "no server answers" not in done.stderr and "no list" not in done.stderr, (argv, done)
        assert "GET /cart/2" in by_row("ledger", "1", home=home).stdout
        assert "GET /cart/0" in by_row("trace", "3", home=home).stdout
        shown = on_terminal("trace", TRACES[1], home=home)
        assert any(line.startswith("2 ") and "SELECT" in line for line in shown.splitlines()), shown
        done = by_row("ledger", "2", home=home)
        assert "SELECT" in done.stdout, done
        # what is not a row of it, or of another server, or old, is stated
        for argv, words in ((("flame", "7"), "has 2 rows, none with number 7"),
                            (("top", "2", "--server", "http://127.0.0.1:1"), "not from http://127.0.0.1:1"),
                            (("flame", "2", "--tenant", "x"), "not from tenant x")):
            done = by_row(*argv, home=home)
            assert done.returncode == 1 and words in done.stderr, (argv, done)
        os.utime(kept, (0, os.stat(kept).st_mtime - 25 * 3600))
        done = by_row("flame", "2", home=home)
        assert done.returncode == 1 and "25 hours old" in done.stderr, done
        for damage in ("", "spanflame list 1\nserver http://a\n", "spanflame list 1\nserver http://a\nrow 1 2\n", "\0" * 100):
            with open(kept, "w", encoding="ascii") as f:
                f.write(damage)
            done = by_row("flame", "1", home=home)
            assert done.returncode == 1 and "is damaged" in done.stderr, (damage, done)
        # only a terminal's rows are kept
        by_row("search", "{}", "--server", f"http://127.0.0.1:{server.port}", home=home)
        assert "is damaged" in by_row("flame", "1", home=home).stderr
    finally:
        shutil.rmtree(home)


WRONG = {  # one wrong input of each command, and what it is told
    "serve": (("--data",), "--data"), "server": (("--data",), "--data"), "check-config": (("/no/such.yaml",), "/no/such.yaml"),
    "redact": (("--no-such",), "--no-such"), "token": (("mint",), "token new"), "version": (("--no-such",), "--no-such"),
    "demo": (("--seconds", "x"), "seconds"), "services": (("--since", "soon"), "--since"), "search": (("{ a = }",), "col"),
    "metrics": (("{}",), "rate()"), "tags": (("--limit", "x"), "--limit"), "trace": (("xyz",), "hexadecimal"),
    "ledger": (("zzz",), "zzz"), "compare": ((), "compare"), "spans-with": ((), "name one function"),
    "findings": (("--threshold", "x=1", "s"), "--threshold"), "coverage": (("--since", "-1h"), "--since"),
    "flame": (("/no/such.pb",), "/no/such.pb"), "top": (("--span", "zz"), "zz"), "diff": (("one",), "two"),
    "series": (("--output", "xml"), "--output xml"), "labels": (("--since", "x"), "--since"), "upload": (("/no/such.pb", "--service", "a"), "/no/such.pb"),
    "symbols": (("upload", "/no/such.so"), "/no/such.so"), "export": (("x.pb", "--format", "mp3"), "--format is pprof"),
    "record": (("--type", "x", "true"), "no flag --type"), "fsck": (("/no/such/data",), "/no/such/data"), "erase": ((), "erase"),
    "control": (("launch",), "specify an action"), "keep": ((), "--dry-run"),
}


def test_every_command_says_what_is_wrong_with_its_input():
    commands = run("--list-commands").stdout.split()
    assert set(WRONG) <= set(commands), set(WRONG) - set(commands)
    for command in commands:
        args, words = WRONG.get(command, (("--no-such-flag",), "--no-such-flag"))
        done = run(command, *args)
        said = done.stderr.replace("\n", " ")
        assert done.returncode in (1, 2) and words in said and "spanflame" in said, (command, done)
        assert done.stdout == "" and len(done.stderr) < 1000, (command, done)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
