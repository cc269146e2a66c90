/* demo_steps.h - the story of `spanflame demo`: nine questions, each a command anybody can type. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* Asks them of `server` and prints the answers. A step that comes out empty is a failure that names
 * it; with some problems not planted, only one that fails is. */
enum sf_err sf_demo_steps_tell(const char *server, bool is_all_planted, struct sf_why *why);
