/* pin_book.h - pins of a fleet. Each pin is a shared text (shared_text.h), and every node copies
 * all of them to its local store, so that the node's own retention keeps pinned traces, too. */
#pragma once
#include "store/clickhouse/shard.h"
#include "store/store.h"

#define SF_PIN_BOOK_KIND "pin"

struct sf_pin_book {   /* progress of reading; used by the shipping thread only */
    int64_t newest_ms; /* time of the newest row read, by the first shard's clock; 0: none yet */
    bool has_begun;    /* the first read is done, and the node's own earlier pins are shared */
};

/* The id of the pinned trace. False: the name of the text is not a trace id. */
bool sf_pin_book_trace(const struct sf_shared_text *t, sf_trace_id *out);
/* Copies new, changed and removed pins to the local store. */
enum sf_err sf_pin_book_learn(struct sf_pin_book *b, struct sf_shard *first, const char *database,
                              struct sf_store *store, struct sf_why *why);
/* Writes the pin to the local store and to `shared`. On failure neither is changed. */
enum sf_err sf_pin_book_pin(struct sf_shard *first, const char *database, struct sf_store *store,
                            const struct sf_pin *pin, struct sf_why *why);
/* NOT_FOUND: the trace is not pinned on any node. */
enum sf_err sf_pin_book_unpin(struct sf_shard *first, const char *database, struct sf_store *store,
                              uint32_t tenant, sf_trace_id id, struct sf_why *why);
/* Removes the pins that an erasure selects, for all nodes. Called before the erasure is recorded,
 * so that no node copies these pins again. */
enum sf_err sf_pin_book_erase(struct sf_shard *first, const char *database, struct sf_store *store,
                              uint32_t tenant, const struct sf_selector *which, struct sf_why *why);
