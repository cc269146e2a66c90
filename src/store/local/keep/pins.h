/* pins.h - traces that users have chosen to keep. In verdict/pins; the whole list
 * is written with each change: it is short. */
#pragma once
#include "store/local/keep/keep_book.h"

#define SF_PINS_FILE  "verdict/pins"
#define SF_PINS_MAGIC "SFN1"

struct sf_selector; /* model/select.h */

/* The bytes of the file, without head and checksum: `see` gets each, whose note is borrowed. It may
 * end that with an error. CORRUPT. */
enum sf_err sf_pins_decode(sf_bytes in,
                           enum sf_err (*see)(void *arg, const struct sf_pin *pin,
                                              struct sf_why *why),
                           void *arg, struct sf_why *why);
enum sf_err sf_pins_load(struct sf_local *l, struct sf_why *why);
enum sf_err sf_pins_add(struct sf_store *s, const struct sf_pin *pin, struct sf_why *why);
enum sf_err sf_pins_remove(struct sf_store *s, uint32_t tenant, sf_trace_id id, struct sf_why *why);
enum sf_err sf_pins_read(struct sf_store *s, struct sf_query_ctx *q, const struct sf_pin **out,
                         uint32_t *out_n, struct sf_why *why);
/* Those that an erasure names go with what they name. */
enum sf_err sf_pins_erase(struct sf_local *l, uint32_t tenant, const struct sf_selector *which,
                          struct sf_why *why);
/* Takes out those that ended. */
enum sf_err sf_pins_work(struct sf_local *l, struct sf_why *why);
/* Those of a tenant (0: of any) that hold now and were made at `since_ns` or later, by their
 * traces, without notes; on the heap. */
enum sf_err sf_pins_now(struct sf_local *l, uint32_t tenant, int64_t since_ns, struct sf_pin **out,
                        size_t *out_n, struct sf_why *why);
/* Is there any pin of the tenant (0: of any)? And a number that changes with the list. */
bool sf_pins_any(struct sf_local *l, uint32_t tenant, uint64_t *out_version);
