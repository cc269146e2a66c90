/* pins.h - traces that users have chosen to keep, stored in verdict/pins. The list is short; each
 * change writes all of it. */
#pragma once
#include "store/local/keep/keep_book.h"

#define SF_PINS_FILE  "verdict/pins"
#define SF_PINS_MAGIC "SFN1"

struct sf_selector; /* model/select.h */

/* Decodes the file's content (without head and checksum): `see` gets each pin, whose note is
 * borrowed, and may end the decoding with an error. CORRUPT. */
enum sf_err sf_pins_decode(sf_bytes in,
                           enum sf_err (*see)(void *arg, const struct sf_pin *pin,
                                              struct sf_why *why),
                           void *arg, struct sf_why *why);
enum sf_err sf_pins_load(struct sf_local *l, struct sf_why *why);
enum sf_err sf_pins_add(struct sf_store *s, const struct sf_pin *pin, struct sf_why *why);
enum sf_err sf_pins_remove(struct sf_store *s, uint32_t tenant, sf_trace_id id, struct sf_why *why);
enum sf_err sf_pins_read(struct sf_store *s, struct sf_query_ctx *q, const struct sf_pin **out,
                         uint32_t *out_n, struct sf_why *why);
/* True: the store has a pin with the same trace, end, creation time and note. */
bool sf_pins_has(struct sf_local *l, const struct sf_pin *pin);
/* True: the erasure selects the pinned trace. */
bool sf_pins_is_named(const struct sf_pin *p, const struct sf_selector *which);
/* Removes the pins of traces that an erasure selects. */
enum sf_err sf_pins_erase(struct sf_local *l, uint32_t tenant, const struct sf_selector *which,
                          struct sf_why *why);
/* Removes pins that have ended. */
enum sf_err sf_pins_work(struct sf_local *l, struct sf_why *why);
/* The pins of a tenant (0: of any) that are in force and were made at `since_ns` or later, sorted
 * by trace, without notes; on the heap. */
enum sf_err sf_pins_now(struct sf_local *l, uint32_t tenant, int64_t since_ns, struct sf_pin **out,
                        size_t *out_n, struct sf_why *why);
/* Does the tenant (0: any) have a pin? `out_version` changes with the list. */
bool sf_pins_any(struct sf_local *l, uint32_t tenant, uint64_t *out_version);
