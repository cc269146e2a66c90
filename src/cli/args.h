/* args.h - the flags of a command in one table, from which parsing, --help, completion and
 * suggestions in error messages are derived. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum sf_flag_kind {
    SF_FLAG_BOOL,     /* bool: --name, --no-name */
    SF_FLAG_STR,      /* const char *: borrowed from argv */
    SF_FLAG_LIST,     /* struct sf_flag_list: repeatable */
    SF_FLAG_U64,      /* uint64_t */
    SF_FLAG_DURATION, /* int64_t ns: 500ms, 1h, 7d */
    SF_FLAG_SIZE      /* uint64_t bytes: 512KB, 50GB (powers of 1,000; KiB, GiB of 1,024) */
};

struct sf_flag_list {
    const char *items[64];
    size_t n;
};

struct sf_flag {
    const char *name; /* without dashes */
    enum sf_flag_kind kind;
    void *to;
    const char *value_name; /* "URL" in --server URL; NULL for BOOL */
    const char *help;       /* help in one line */
};

struct sf_args {
    const char *command;  /* "trace" */
    const char *usage;    /* "ID [--server URL]" */
    const char *summary;  /* one sentence */
    const char *details;  /* paragraphs; may be NULL */
    const char *examples; /* lines; may be NULL */
    const struct sf_flag *flags;
    size_t n_flags;
    const char *words[64]; /* positional arguments, filled by parse */
    size_t n_words;
    uint64_t given[2]; /* bits of `flags`, filled by parse */
};

enum sf_args_result {
    SF_ARGS_RUN,  /* continue */
    SF_ARGS_DONE, /* --help was printed: exit 0 */
    SF_ARGS_BAD   /* an error with the nearest valid word was printed on stderr: exit 2 */
};

/* --name VALUE and --name=VALUE; "--" ends flags. A flag that is not given leaves *to unchanged.
 * --list-flags prints their names for shell completion. */
enum sf_args_result sf_args_parse(struct sf_args *args, int argc, char **argv);
/* For a command with several forms, such as "set" and "get": whether every flag that was given
 * belongs to this one. `names` are its flags, separated by blanks; how to reach the server
 * (SF_CLIENT_FLAGS) belongs to all. If not, prints which one does not. */
bool sf_args_allow(const struct sf_args *args, const char *form, const char *names);
/* What --help prints, at most `width` columns wide where words allow it. */
void sf_args_help(const struct sf_args *args, size_t width, struct sf_buf *out);
