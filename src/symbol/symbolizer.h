/* symbolizer.h - finds function names for code that profiles identify by build id and offset.
 *
 * Queries use the namer interface. Cached names are returned at once. Local files are read by the
 * thread `symbols`, for which the query waits a limited time. A missing file is downloaded by the
 * thread `debuginfod`, if servers are configured; the query does not wait for that, and a later one
 * will have the names. A file that no server has is requested again after an hour, also after
 * restarts; a server that failed is asked again after a minute. */
#pragma once
#include "model/namer.h"
#include "symbol/symbol_files.h"

struct sf_symbolizer;

struct sf_symbolizer_config {
    struct sf_dir *dir;      /* the data directory; borrowed until close */
    const char *const *urls; /* debuginfod servers; borrowed until close */
    size_t n_urls;           /* 0: nothing is downloaded */
    uint64_t max_file_len, max_total_len, max_cache_len, min_free_len;
    int64_t wait_ns;  /* maximum waiting time of a query */
    int64_t fetch_ns; /* time limit of one server's answer */
    /* Logs a message; any thread; may be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
};

struct sf_symbolizer_stats {
    uint64_t n_looked_up, n_named;          /* offsets since start */
    uint64_t n_fetched, n_absent, n_failed; /* files since start */
    uint64_t names_len, n_modules;          /* currently cached */
};

enum sf_err sf_symbolizer_open(const struct sf_symbolizer_config *config,
                               struct sf_symbolizer **out, struct sf_why *why);
void sf_symbolizer_close(struct sf_symbolizer *s); /* must not be used any more; NULL is fine */
struct sf_namer *sf_symbolizer_namer(struct sf_symbolizer *s); /* borrowed until close */
struct sf_symbol_files *sf_symbolizer_files(struct sf_symbolizer *s);
/* To be called when a tenant's file was replaced or deleted. */
void sf_symbolizer_forget(struct sf_symbolizer *s, uint32_t tenant, const struct sf_symbol_id *id);
void sf_symbolizer_stats(struct sf_symbolizer *s, struct sf_symbolizer_stats *out);
