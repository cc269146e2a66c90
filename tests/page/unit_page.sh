#!/bin/sh
# The page's unit tests, by Node's own runner, which prints TAP.
cd "$SOURCE_ROOT/web" || exit 1
if ! command -v node >/dev/null || [ ! -d node_modules/esbuild ]; then
    echo "1..0 # SKIP there is no Node here, or tools/page --tests was not run"
    exit 0
fi
exec node test.mjs
