/* frame_names.h - function names and source lines of addresses, from the files on this machine. Not
 * for signal handlers or hooks. Files are read for many addresses at once; results are kept for the
 * next profile until a module is unloaded. */
#pragma once
#include "base/str.h"
#include "collect/lib/symbol_cache.h"
#include "collect/unwind/modules.h"

struct sf_profile_table;

enum { SF_FRAME_LINES_MAX = 64 };

struct sf_frame_line {
    sf_str name, system_name; /* demangled name, and name of the linker symbol */
    sf_str file;              /* empty: unknown */
    uint32_t line, start_line;
};

struct sf_named_frame {
    uint32_t module;                                /* index + 1; 0: none */
    uint32_t n_lines;                               /* 0: it has no name */
    struct sf_frame_line lines[SF_FRAME_LINES_MAX]; /* the innermost first */
};

struct sf_symbol_budget;

struct sf_frame_names {
    const struct sf_modules *m; /* NULL: the modules are unknown */
    struct sf_symbol_cache *cache;
    struct sf_symbol_cache own;
    struct sf_symbol_budget *budget; /* NULL: only the limits per file apply */
};

/* With a budget, files are read as far as it allows. */
void sf_frame_names_open(struct sf_frame_names *f, struct sf_symbol_budget *budget);
void sf_frame_names_close(struct sf_frame_names *f);
/* Looks up all addresses of these profiles; those not looked up have no name. Addresses that the
 * budget did not allow are tried again when they occur in a later profile. */
void sf_frame_names_look_up(struct sf_frame_names *f, const struct sf_profile_table *const *tables,
                            unsigned n);
/* The name and lines of an address. Texts are valid until close or the next look_up. */
void sf_frame_names_find(struct sf_frame_names *f, uint64_t at, struct sf_named_frame *out);
/* In the child: discards the kept names if a thread was using them during the fork. */
void sf_frame_names_after_fork(void);
