/* pin_book.h - pins of a fleet: each is a text that nodes share, and every node has all of them in
 * its local store, so its own retention spares what they name, too. */
#pragma once
#include "store/clickhouse/shard.h"
#include "store/store.h"

#define SF_PIN_BOOK_KIND "pin"

struct sf_pin_book {   /* what a node has learned; the thread that ships uses it */
    int64_t newest_ms; /* by the first shard's clock; 0: nothing yet */
    bool has_begun;    /* pins from before this node was in the fleet are shared */
};

/* Which trace a text is about. False: it is not a pin's. */
bool sf_pin_book_trace(const struct sf_shared_text *t, sf_trace_id *out);
/* Takes over what is new. */
enum sf_err sf_pin_book_learn(struct sf_pin_book *b, struct sf_shard *first, const char *database,
                              struct sf_store *store, struct sf_why *why);
/* In the local store and for all nodes, or in neither. */
enum sf_err sf_pin_book_pin(struct sf_shard *first, const char *database, struct sf_store *store,
                            const struct sf_pin *pin, struct sf_why *why);
/* NOT_FOUND: no node has it. */
enum sf_err sf_pin_book_unpin(struct sf_shard *first, const char *database, struct sf_store *store,
                              uint32_t tenant, sf_trace_id id, struct sf_why *why);
/* Takes away those that an erasure names, for all nodes: before it is written down, so that no node
 * learns them again. */
enum sf_err sf_pin_book_erase(struct sf_shard *first, const char *database, struct sf_store *store,
                              uint32_t tenant, const struct sf_selector *which, struct sf_why *why);
