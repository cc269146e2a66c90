/* symbol_cache.h - caches the names and lines of addresses for the next profile, which has mostly
 * the same stacks. Stores linker names and demangled names. */
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
    SF_CACHED_BY_SYMBOL, /* name from the symbol table; lines and inlined calls may follow */
    SF_CACHED_WHOLE      /* all available information */
};

struct sf_cached_address {
    uint32_t lines_at;
    uint32_t window, n_seen; /* how often it occurred in the profile with that number */
    uint8_t n_lines;         /* 0: unknown */
    uint8_t state;           /* enum sf_cached_state */
};

struct sf_cached_line { /* texts are indexes */
    uint32_t name, system_name, file;
    uint32_t line, start_line;
};

struct sf_symbol_cache { /* a zeroed one is empty */
    struct sf_name_table addresses, texts, names, files;
    struct sf_buf found;        /* struct sf_cached_address, by the id of its address */
    struct sf_buf lines;        /* struct sf_cached_line */
    struct sf_buf text, places; /* places: uint32_t pairs of offset and length in `text` */
    struct sf_buf demangled;    /* uint32_t: the demangled text of a name */
    struct sf_buf scratch;
    struct sf_buf prices;             /* struct sf_symbol_price, by the id of its file */
    struct sf_function_map functions; /* each with a line without a number */
    uint32_t window;
    struct sf_demangler *demangler; /* NULL until a name needs it */
};

void sf_symbol_cache_done(struct sf_symbol_cache *c);
/* Whether the table is full or memory ran out: then no further addresses are looked up. */
bool sf_symbol_cache_is_full(const struct sf_symbol_cache *c);
/* NULL: it could not be added. Valid until the next address is added. */
struct sf_cached_address *sf_symbol_cache_address(struct sf_symbol_cache *c, uint64_t at,
                                                  bool *is_new);
/* The cost of reading the file mapped at `lo`. NULL: no memory. Valid until the next file is
 * added. */
struct sf_symbol_price *sf_symbol_cache_price(struct sf_symbol_cache *c, uint64_t lo);
/* Adds a line. False: it could not be stored. */
bool sf_symbol_cache_add(struct sf_symbol_cache *c, sf_str system_name, sf_str file, uint32_t line,
                         uint32_t start_line);
uint32_t sf_symbol_cache_n_lines(const struct sf_symbol_cache *c);
/* Sets the address range of the last line's function. */
void sf_symbol_cache_add_function(struct sf_symbol_cache *c, uint64_t at, uint32_t len);
void sf_symbol_cache_cut(struct sf_symbol_cache *c, uint32_t n_lines); /* removes the last */
const struct sf_cached_line *sf_symbol_cache_line(const struct sf_symbol_cache *c, uint32_t at);
sf_str sf_symbol_cache_text(const struct sf_symbol_cache *c, uint32_t text);
