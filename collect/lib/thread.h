/* thread.h - the library's data per thread, and the record it shows to profilers.
 *
 * The context record has the layout of OpenTelemetry's thread context:
 *
 *     0 trace id 16 | 16 span id 8 | 24 valid 1 | 25 flags 1 | 26 attrs size 2 | 28 attrs ...
 *
 * One fixed record per thread, in its TLS block: changing the active span copies the new span's
 * record in between valid = 0 and valid = 1. Readers (a signal handler of this thread, a profiler
 * that has stopped it) see it only while the thread does not run, so compiler fences suffice. A
 * pointer to a record inside the span would not work: another thread may end the span, and its
 * memory may be reused for another.
 *
 * Initial-exec TLS: no allocation at first use, so a signal handler may read it. The block is small
 * because libraries loaded late share a reserve of about 1.6 KB for it. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "spanflame.h"

enum {
    SF_RECORD_LEN = 48, /* 28, and one attribute: key 0, length 16, the local root's span id */
    SF_RECORD_VALID = 24,
    SF_RECORD_FLAGS = 25,
    SF_RECORD_ATTRS_LEN = 26,
    SF_RECORD_ATTRS = 28,
    SF_RECORD_ROOT_LEN = 18
};

struct sf_thread_state {
    _Alignas(16) uint8_t record[SF_RECORD_LEN];
    sf_span current; /* 0: none, or a context of another tracer that is only in the record */
    sf_span under;   /* the span that becomes active when another thread has ended `current` */
    uint64_t chance[2];
    uint32_t tid;
    uint32_t epoch;  /* of the process in which this thread was set up; 0: not yet */
    bool is_inside;  /* a call of the library is running: a call from a signal handler must do
                      * nothing */
    bool is_foreign; /* the record was set by sf_context_set */
    /* the record's previous value is in `foreign`, to be restored when our spans on top of it have
     * ended */
    bool has_foreign;
    uint8_t foreign[24];
};

extern __thread struct sf_thread_state sf_thread_self;

/* Called at the first use in this thread, or in a forked child: seeds the generator and publishes
 * the record. */
void sf_thread_prepare(struct sf_thread_state *t, uint32_t epoch);
/* Copies another thread's state through the kernel, because the thread may have ended. False: it
 * never used the library, or has ended. */
bool sf_thread_peek(uint32_t tid, struct sf_thread_state *out);
uint64_t sf_thread_chance(struct sf_thread_state *t); /* 64 random bits, never 0 */

static inline void sf_thread_hide(struct sf_thread_state *t)
{
    *(volatile uint8_t *)&t->record[SF_RECORD_VALID] = 0;
    atomic_signal_fence(memory_order_seq_cst);
}
/* Publishes a record of SF_RECORD_LEN bytes whose valid byte is 1. */
static inline void sf_thread_show(struct sf_thread_state *t, const uint8_t *record)
{
    uint64_t last;
    sf_thread_hide(t);
    memcpy(t->record, record, 24);
    memcpy(t->record + 32, record + 32, 16);
    memcpy(&last, record + 24, 8);
    atomic_signal_fence(memory_order_seq_cst);
    *(volatile uint64_t *)(void *)&t->record[24] = last; /* the valid byte, with the rest of its
                                                          * word */
    atomic_signal_fence(memory_order_seq_cst);
}
