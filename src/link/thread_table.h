/* thread_table.h - which of a process's sampled threads a span ran on.
 *
 * A span says `thread.id` and `thread.name`, a sample the kernel's number, the runtime's, a name,
 * or some of them. Numbers are compared with numbers of their kind: a span of Java has the
 * runtime's, every other one the kernel's, or a number that only its runtime knows. Where both
 * sides have a name the names must agree, the kernel's being cut to 15 bytes. A virtual thread has
 * no number of the kernel that is its own, so that only the runtime's can match. */
#pragma once
#include "base/arena.h"
#include "model/span.h"
#include "model/span_rows.h"

struct sf_span_thread {  /* what a span says; small, to be kept of many */
    uint64_t id;         /* 0: nothing */
    uint64_t name;       /* hash; 0: nothing */
    uint64_t short_name; /* hash of what the kernel keeps of it */
    bool is_runtime;     /* the id is the language's own */
    bool is_kernel;      /* the id is certainly the kernel's */
};

struct sf_span_thread sf_span_thread_of(const struct sf_span *s, const struct sf_resource *r);
/* The same from the values of the span's `thread.id` and `thread.name`. */
struct sf_span_thread sf_span_thread_from(struct sf_value id, struct sf_value name,
                                          const struct sf_resource *r);

struct sf_thread_table {                    /* of the processes of a query */
    const struct sf_detail_thread *threads; /* by process and thread, each once */
    const uint32_t *by_runtime;             /* places in it, by process and runtime's number */
    uint32_t n;
};

/* `list` is sorted, and what its entries know of one thread is put together. False: `req` is full.
 */
bool sf_thread_table_make(struct sf_detail_thread *list, uint32_t n, struct sf_arena *req,
                          struct sf_thread_table *out);

enum sf_thread_match {
    SF_THREAD_UNSAID,  /* the span says nothing, or nothing is known of its process's threads */
    SF_THREAD_MATCHES, /* *out is the number its samples carry */
    SF_THREAD_OTHER    /* none that was sampled; *out is a number that no sample carries */
};

/* *out is 0 if it is unknown. */
enum sf_thread_match sf_thread_table_find(const struct sf_thread_table *t, uint64_t process,
                                          const struct sf_span_thread *says, uint64_t *out);

/* Do two spans of one process say different threads? */
bool sf_span_thread_differs(const struct sf_span_thread *a, const struct sf_span_thread *b);
