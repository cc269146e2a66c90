/* symbol_cache.h - what was found out about addresses, for the next profile: most of its stacks are
 * those of the one before. Names are kept as the linker and as people know them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/lib/function_map.h"
#include "collect/lib/name_table.h"
#include "collect/lib/symbol_budget.h"

enum { SF_CACHED_ADDRESSES_MAX = 1 << 16, SF_CACHED_TEXT_MAX = 6 << 20 };

struct sf_demangler;

enum sf_cached_state {
    SF_CACHED_NOT_READ,
    SF_CACHED_BY_SYMBOL, /* from the symbol table; lines and inlined calls may be to come */
    SF_CACHED_WHOLE      /* all that is to be obtained */
};

struct sf_cached_address {
    uint32_t lines_at;
    uint32_t window, n_seen; /* how often it was met in the profile of that number */
    uint8_t n_lines;         /* 0: unknown */
    uint8_t state;           /* enum sf_cached_state */
};

struct sf_cached_line { /* texts by number */
    uint32_t name, system_name, file;
    uint32_t line, start_line;
};

struct sf_symbol_cache { /* a zeroed one is empty */
    struct sf_name_table addresses, texts, names, files;
    struct sf_buf found;        /* struct sf_cached_address, by the id of its address */
    struct sf_buf lines;        /* struct sf_cached_line */
    struct sf_buf text, places; /* uint32_t pairs: where a text is, how long */
    struct sf_buf people;       /* uint32_t: a mangled name's other text */
    struct sf_buf scratch;
    struct sf_buf prices;             /* struct sf_symbol_price, by the id of its file */
    struct sf_function_map functions; /* each with a line that has no number */
    uint32_t window;
    struct sf_demangler *demangler; /* NULL until a name needs it */
};

void sf_symbol_cache_done(struct sf_symbol_cache *c);
/* The table is full, or memory ran out: the current lookup stays unknown. */
bool sf_symbol_cache_is_full(const struct sf_symbol_cache *c);
/* NULL: it could not be kept. Lives until the next address. */
struct sf_cached_address *sf_symbol_cache_address(struct sf_symbol_cache *c, uint64_t at,
                                                  bool *is_new);
/* What it costs to read the file that lies at `lo`. NULL: no memory. Lives until the next file. */
struct sf_symbol_price *sf_symbol_cache_price(struct sf_symbol_cache *c, uint64_t lo);
/* One more line. False: it could not be kept. */
bool sf_symbol_cache_add(struct sf_symbol_cache *c, sf_str system_name, sf_str file, uint32_t line,
                         uint32_t start_line);
uint32_t sf_symbol_cache_n_lines(const struct sf_symbol_cache *c);
/* The last line's function lies there. */
void sf_symbol_cache_add_function(struct sf_symbol_cache *c, uint64_t at, uint32_t len);
void sf_symbol_cache_cut(struct sf_symbol_cache *c, uint32_t n_lines); /* removes the last */
const struct sf_cached_line *sf_symbol_cache_line(const struct sf_symbol_cache *c, uint32_t at);
sf_str sf_symbol_cache_text(const struct sf_symbol_cache *c, uint32_t text);
