/* demo_switch.h - which of the shop's problems are planted, and a file that tells its services.
 *
 * The file `switches` in the demo's home has one record of 16 bytes per problem: its name, filled
 * up with zeros to 15 bytes, and '1' or '0'. Services map it read-only; only that last byte ever
 * changes, so that a reader needs no lock (demo/shop.c). */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/demo_problem.h"
#include "os/file.h"

struct sf_demo_switches {
    struct sf_file file;
    char path[300];
    bool is_off[SF_DEMO_PROBLEMS];
    bool was_off[SF_DEMO_PROBLEMS]; /* switched off at any time since the start */
};

/* Problems that are off at the start: names separated by commas, or "all"; NULL: none. INPUT names
 * an unknown word. */
enum sf_err sf_demo_switches_read(struct sf_demo_switches *s, const char *off, struct sf_why *why);
/* Writes the file into folder `home`. */
enum sf_err sf_demo_switches_open(struct sf_demo_switches *s, const char *home, struct sf_why *why);
enum sf_err sf_demo_switches_set(struct sf_demo_switches *s, size_t at, bool is_off,
                                 struct sf_why *why);
/* Whether all problems that the steps show have been planted all the time. Does not consider the
 * service in Python, which may be missing. */
bool sf_demo_switches_are_all_on(const struct sf_demo_switches *s);
void sf_demo_switches_close(struct sf_demo_switches *s);
/* The problem of that name; false: there is none. */
bool sf_demo_switch_problem_find(sf_str name, size_t *out);
