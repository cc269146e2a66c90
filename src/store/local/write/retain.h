/* retain.h - deletes data by age and size; a clock that jumps must not delete data. */
#pragma once
#include "store/local/engine.h"

/* Moves retention's clock and deletes blocks by age and size. The caller holds merge_lock. */
enum sf_err sf_retain_work(struct sf_local *l, struct sf_why *why);
/* Sets the rule; by this the operator also confirms that the wall clock is right. */
enum sf_err sf_retain_set(struct sf_store *s, const struct sf_retention *rule, struct sf_why *why);
int64_t sf_retain_now(struct sf_local *l); /* the current time that retention uses */
