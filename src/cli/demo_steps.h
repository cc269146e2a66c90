/* demo_steps.h - the steps of `spanflame demo`: ten queries, each a command that users can run
 * themselves. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Runs the steps against `server` and prints the answers, with links to `page`. `between` is called
 * between two steps. A step without a result or with an error is reported and the next one runs;
 * when some problems are not planted, a step without a result is not a failure. */
struct sf_demo_story {
    const char *server, *page;
    bool is_all_planted;
    void (*between)(void *arg);
    void *arg;
};
enum sf_err sf_demo_steps_tell(const struct sf_demo_story *story, struct sf_why *why);
