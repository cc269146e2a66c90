/* append.h - appends a batch to the log and a memtable, and completes its ticket when it is
 * durable. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_append_batch(struct sf_store *s, unsigned writer, struct sf_batch **give,
                            struct sf_ticket *ticket, struct sf_why *why);
/* Reads the log after the checkpoint; call before the threads start. */
enum sf_err sf_append_replay(struct sf_local *l, struct sf_why *why);
