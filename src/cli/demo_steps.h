/* demo_steps.h - the story of `spanflame demo`: ten queries, each a command anybody can type. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Asks them of `server` and prints the answers, with links to `page`. Between two queries
 * `between` is called. A step that comes out empty or fails is named and ends nothing; with some
 * problems not planted, only one that fails is a failure. */
struct sf_demo_story {
    const char *server, *page;
    bool is_all_planted;
    void (*between)(void *arg);
    void *arg;
};
enum sf_err sf_demo_steps_tell(const struct sf_demo_story *story, struct sf_why *why);
