/* thread_table.h - finds the sampled thread of a process on which a span ran.
 *
 * A span carries `thread.id` and `thread.name`, a sample the kernel's thread number, the runtime's,
 * a name, or some of them. Numbers are compared with numbers of the same kind: a Java span has the
 * runtime's, every other one the kernel's, or a number that only its runtime knows. If both sides
 * have a name, the names must agree (the kernel truncates names to 15 bytes). A virtual thread has
 * no kernel number of its own, so only the runtime's can match. */
#pragma once
#include "base/arena.h"
#include "model/span.h"
#include "model/span_rows.h"

struct sf_span_thread {  /* what a span carries; small, since many are stored */
    uint64_t id;         /* 0: nothing */
    uint64_t name;       /* hash; 0: none */
    uint64_t short_name; /* hash of the name truncated by the kernel */
    bool is_runtime;     /* the id is the runtime's */
    bool is_kernel;      /* the id is certainly the kernel's */
};

struct sf_span_thread sf_span_thread_of(const struct sf_span *s, const struct sf_resource *r);
/* The same from the values of the span's `thread.id` and `thread.name`. */
struct sf_span_thread sf_span_thread_from(struct sf_value id, struct sf_value name,
                                          const struct sf_resource *r);

struct sf_thread_table {                    /* of the processes of a query */
    const struct sf_detail_thread *threads; /* by process and thread, each once */
    const uint32_t *by_runtime; /* indexes into `threads`, sorted by process and runtime's number */
    uint32_t n;
};

/* Sorts `list` and merges its entries of one thread. False: `req` is full. */
bool sf_thread_table_make(struct sf_detail_thread *list, uint32_t n, struct sf_arena *req,
                          struct sf_thread_table *out);

enum sf_thread_match {
    SF_THREAD_UNSAID,  /* the span carries no thread, or no threads of its process are known */
    SF_THREAD_MATCHES, /* *out is the number its samples carry */
    SF_THREAD_OTHER    /* none of the sampled threads; *out is a number that no sample has */
};

/* *out is 0 if the thread is unknown. */
enum sf_thread_match sf_thread_table_find(const struct sf_thread_table *t, uint64_t process,
                                          const struct sf_span_thread *says, uint64_t *out);

/* Do two spans of one process carry different threads? */
bool sf_span_thread_differs(const struct sf_span_thread *a, const struct sf_span_thread *b);
