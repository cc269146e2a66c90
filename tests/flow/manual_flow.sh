#!/bin/bash
# The manual pages in docs/man are what the program says of itself, and completion knows its words.
set -u
cd "$SOURCE_ROOT" || exit 1
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT
n=0
ok() { # WHAT COMMAND...
    local what=$1
    shift
    n=$((n + 1))
    if "$@" >"$to/out" 2>&1; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what"
        sed 's/^/# /' "$to/out"
    fi
}

pages() {
    mkdir -p "$to/man"
    "$SPANFLAME" --manual >"$to/man/spanflame.1"
    "$SPANFLAME" --list-commands | while read -r name; do
        [ "$name" = server ] || "$SPANFLAME" "$name" --manual >"$to/man/spanflame-$name.1"
    done
    diff -r -x '*.3' "$to/man" docs/man # those of section 3 are written by hand
}
completes() {
    # shellcheck source=/dev/null
    source deploy/completion/spanflame.bash
    COMP_WORDS=("$SPANFLAME" tra) COMP_CWORD=1 COMPREPLY=()
    _spanflame "$SPANFLAME"
    [ "${COMPREPLY[*]}" = trace ] || return 1
    COMP_WORDS=("$SPANFLAME" trace --ser) COMP_CWORD=2 COMPREPLY=()
    _spanflame "$SPANFLAME"
    [ "${COMPREPLY[*]}" = --server ]
}
every_command_helps() {
    "$SPANFLAME" --list-commands | while read -r name; do
        "$SPANFLAME" "$name" --help >"$to/help" && grep -q "^Usage: spanflame" "$to/help" || exit 1
        if "$SPANFLAME" "$name" --no-such-flag >"$to/help" 2>&1; then exit 1; fi
    done
}
# All that answer a query; serve and demo tell a story instead, export requests a --format, record leaves
# the floor to its program, and mcp speaks JSON alone.
every_answer_has_json() {
    "$SPANFLAME" --list-commands | grep -vxE 'serve|server|demo|export|record|mcp' | while read -r name; do
        "$SPANFLAME" "$name" --list-flags | grep -qx -- --output || { echo "$name has no --output"; exit 1; }
    done
}

# The check that stands before every commit sees what it is for.
a_wrong_page_is_found() {
    mkdir -p "$to/tree/docs" "$to/tree/collect"
    cp -r include "$to/tree" && cp collect/spanflame.map "$to/tree/collect" && cp -r docs/man "$to/tree/docs"
    tools/check_manual.py "$to/tree" || return 1
    local wrong
    for wrong in 's/^\.Fn sf_span_end "sf_span s"/.Fn sf_span_end "int s"/' 's/^\.Nm sf_span_end ,$/.\\"/' \
        's/span &ok();//' 's/spans_lost/spans_gone/' 's/^\.Xr sf_current 3/.Xr sf_courant 3/'; do
        rm -rf "$to/tree/docs/man" && cp -r docs/man "$to/tree/docs"
        sed -i "$wrong" "$to"/tree/docs/man/*.3
        if tools/check_manual.py "$to/tree"; then
            echo "not seen: $wrong"
            return 1
        fi
    done
}

ok "manual pages are up to date (tools/manual docs/man writes them)" pages
ok "a page that says something else than the header is found" a_wrong_page_is_found
ok "bash completes commands and flags" completes
ok "every command explains itself and refuses unknown flags" every_command_helps
ok "every command that answers has --output" every_answer_has_json
echo "1..$n"
