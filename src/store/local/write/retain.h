/* retain.h - what is too old or too much goes; a clock that jumps must not erase data. */
#pragma once
#include "store/local/engine.h"

/* Moves retention's clock and removes blocks by age and size. The caller holds merge_lock. */
enum sf_err sf_retain_work(struct sf_local *l, struct sf_why *why);
/* Sets the rule; also the operator's word that the wall clock is right. */
enum sf_err sf_retain_set(struct sf_store *s, const struct sf_retention *rule, struct sf_why *why);
int64_t sf_retain_now(struct sf_local *l); /* retention's idea of now */
