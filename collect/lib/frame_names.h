/* frame_names.h - what the files on this machine call the code at an address, and where it was
 * written. Off the hot path. Files are read for many addresses at once; what was found is kept for
 * the next profile, as long as nothing is unloaded. */
#pragma once
#include "base/str.h"
#include "collect/lib/symbol_cache.h"
#include "collect/unwind/modules.h"

struct sf_profile_table;

enum { SF_FRAME_LINES_MAX = 64 };

struct sf_frame_line {
    sf_str name, system_name; /* as people and as the linker know it */
    sf_str file;              /* empty: unknown */
    uint32_t line, start_line;
};

struct sf_named_frame {
    uint32_t module;                                /* its place + 1; 0: none */
    uint32_t n_lines;                               /* 0: it has no name */
    struct sf_frame_line lines[SF_FRAME_LINES_MAX]; /* the innermost first */
};

struct sf_symbol_budget;

struct sf_frame_names {
    const struct sf_modules *m; /* NULL: nothing is known */
    struct sf_symbol_cache *cache;
    struct sf_symbol_cache own;
    struct sf_symbol_budget *budget; /* NULL: what is requested is read */
};

/* With a budget, files are read as far as it lasts. */
void sf_frame_names_open(struct sf_frame_names *f, struct sf_symbol_budget *budget);
void sf_frame_names_close(struct sf_frame_names *f);
/* Looks up all addresses of these profiles; those not looked up have no name. What the budget did
 * not allow is looked up again with the next profile that has it. */
void sf_frame_names_look_up(struct sf_frame_names *f, const struct sf_profile_table *const *tables,
                            unsigned n);
/* What is known of an address. Texts live until close or the next look_up. */
void sf_frame_names_find(struct sf_frame_names *f, uint64_t at, struct sf_named_frame *out);
void sf_frame_names_after_fork(void); /* in the child: nothing is kept */
