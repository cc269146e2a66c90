/* name_cache.h - a cache of names by file and offset, because the next query needs most of them
 * again. The least recently used files are evicted when all names take too much memory. It does not
 * lock or read files: its owner does both. */
#pragma once
#include "base/table.h"
#include "model/namer.h"
#include "symbol/symbol_files.h"

struct sf_name_place { /* the entry of one offset */
    uint64_t off, start_off;
    uint32_t first_line, n_lines;
    bool is_known; /* looked up, with or without success */
};

struct sf_name_line {
    uint32_t function, file; /* indexes of texts */
    uint32_t line;
};

struct sf_name_module { /* one file's */
    uint32_t owner;     /* tenant, or SF_SYMBOL_FETCHED */
    struct sf_symbol_id id;
    struct sf_name_module *newer, *older; /* by last use */
    struct sf_table place_at, text_at;
    struct sf_name_place *places;
    struct sf_name_line *lines;
    struct sf_name_text {
        uint32_t at, len;
    } * texts;
    struct sf_buf text;
    uint32_t n_places, cap_places, n_lines, cap_lines, n_texts, cap_texts;
    uint32_t n_unknown; /* requested offsets that were not looked up yet */
    bool is_busy;       /* in use by a thread: must not be evicted */
    bool is_gone;       /* removed while it was busy: freed by release */
    /* Used by the owner of the cache. */
    bool is_wanted;                /* to be downloaded */
    struct sf_symbol_id shared_id; /* id of the file it shares with others; empty: none */
    bool has_no_shared;            /* the shared file was missing when it was read */
    int64_t retry_ns;              /* monotonic: earliest time of the next download attempt */
};

struct sf_name_cache {  /* a zeroed one is empty */
    struct sf_table at; /* places in `modules` */
    struct sf_name_module **modules;
    uint32_t n, cap;
    struct sf_name_module *newest, *oldest;
    size_t max_len; /* of all modules; 0: SF_LIMIT_SYMBOL_NAMES_LEN */
};

void sf_name_cache_done(struct sf_name_cache *c);
/* NULL: not found, or with `can_make` no memory. Becomes the most recently used one. */
struct sf_name_module *sf_name_cache_module(struct sf_name_cache *c, uint32_t owner,
                                            const struct sf_symbol_id *id, bool can_make);
/* Drops the entries of a file. */
void sf_name_cache_forget(struct sf_name_cache *c, uint32_t owner, const struct sf_symbol_id *id);
/* Drops the entries of files that share the file `id`. */
void sf_name_cache_forget_sharing(struct sf_name_cache *c, const struct sf_symbol_id *id);
/* To be called when a thread has finished with a busy module. */
void sf_name_cache_release(struct sf_name_cache *c, struct sf_name_module *m);
/* Evicts the least recently used modules until the rest fits; never busy ones. */
void sf_name_cache_trim(struct sf_name_cache *c);

/* The entry of an offset; with `can_make` a new one is unknown. NULL: none, or no memory. */
struct sf_name_place *sf_name_cache_module_place(struct sf_name_module *m, uint64_t off,
                                                 bool can_make);
/* Stores the result for an offset that has an entry. If it does not fit, it is stored as having no
 * name. */
void sf_name_cache_module_put(struct sf_name_module *m, uint64_t off, const struct sf_named *named);
/* Copies the result. False: `req` is full. */
bool sf_name_cache_module_get(const struct sf_name_module *m, const struct sf_name_place *p,
                              struct sf_arena *req, struct sf_named *out);
size_t sf_name_cache_module_memory(const struct sf_name_module *m);
