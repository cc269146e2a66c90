/* graph_wait.h - halves of requests that wait for the other half.
 *
 * The number of entries and the length of their text are limited; when full, a new one is refused,
 * and the caller decides what to evict. All wait equally long, so the oldest always expires next.
 * Not thread-safe: its owner locks. */
#pragma once
#include "meter/graph_half.h"

enum { SF_GRAPH_OWN_LEN = 48 }; /* most names fit */

struct sf_graph_waiting {
    struct sf_graph_half half; /* node and peer are in `text` */
    char *text;                /* `own`, or heap when that is too short */
    sf_str tenant;             /* copied into `text` too */
    int64_t since_ns;
    uint32_t prev, next;   /* in the same slot; index + 1 */
    uint32_t older, newer; /* by arrival; index + 1 */
    uint32_t slot;
    char own[SF_GRAPH_OWN_LEN];
};

struct sf_graph_wait {
    struct sf_graph_waiting *list;
    uint32_t *slots;  /* index + 1 of the newest entry */
    uint32_t *unused; /* stack of unused indexes */
    uint32_t n, n_cap, n_slots;
    uint32_t oldest, youngest; /* index + 1 */
    size_t text_len, text_cap;
};

bool sf_graph_wait_init(struct sf_graph_wait *w, uint32_t n_cap, size_t text_cap);
void sf_graph_wait_done(struct sf_graph_wait *w);
struct sf_graph_slots {  /* slots of a half */
    uint32_t own, other; /* its own, and that in which its other half would be */
};
struct sf_graph_slots sf_graph_wait_slots(const struct sf_graph_wait *w, sf_str tenant,
                                          const struct sf_graph_half *half);
/* Three steps that prefetch what find, add and drop read for a half with these slots, each after
 * the memory of the one before has come. */
void sf_graph_wait_prefetch(const struct sf_graph_wait *w, struct sf_graph_slots slots);
void sf_graph_wait_prefetch_entries(const struct sf_graph_wait *w, struct sf_graph_slots slots);
void sf_graph_wait_prefetch_oldest(const struct sf_graph_wait *w);
/* The other half of `half`, or NULL; borrowed until it is dropped. */
struct sf_graph_waiting *sf_graph_wait_find(struct sf_graph_wait *w, sf_str tenant,
                                            const struct sf_graph_half *half,
                                            struct sf_graph_slots slots);
/* Copies `half`. False when there is no space. */
bool sf_graph_wait_add(struct sf_graph_wait *w, sf_str tenant, const struct sf_graph_half *half,
                       struct sf_graph_slots slots, int64_t now_ns);
struct sf_graph_waiting *sf_graph_wait_oldest(struct sf_graph_wait *w); /* NULL: none waits */
void sf_graph_wait_drop(struct sf_graph_wait *w, struct sf_graph_waiting *x);
