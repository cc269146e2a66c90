/* jfr_make.h - recordings made by hand for tests and benches: one chunk at a time, with the types
 * that a test names, in compressed or plain numbers.
 *
 *     jfr_make_begin(&m);
 *     id = jfr_make_class(&m, "jdk.ExecutionSample");
 *     jfr_make_field(&m, "startTime", "long", 0); ...
 *     jfr_make_events(&m);           // types are closed
 *     at = jfr_make_event(&m, id); jfr_make_long(&m, ...); jfr_make_event_end(&m, at);
 *     jfr_make_pools(&m, n); ...     // constants
 *     jfr_make_end(&m);
 */
#pragma once
#include "base/buf.h"

enum { JFR_MAKE_POOL = 1, JFR_MAKE_ARRAY = 2, JFR_MAKE_TICKS = 4, JFR_MAKE_NS = 8 };

struct jfr_make {
    struct sf_buf out;
    bool is_plain;
    int64_t start_ns, duration_ns, start_ticks;
    uint64_t rate;
    int64_t end_ticks; /* of the checkpoint */

    size_t chunk; /* where it begins in `out` */
    size_t pools_at, size_at;
    struct {
        const char *name;
        uint32_t first, n;
    } classes[64];
    struct {
        const char *name;
        uint32_t cls, flags;
    } fields[256];
    uint32_t n_classes, n_fields;
};

/* A new chunk behind what is there; the primitive types are number 1 to 9. */
void jfr_make_begin(struct jfr_make *m);
/* Its number. Fields that follow are its own. */
uint32_t jfr_make_class(struct jfr_make *m, const char *name);
/* Of a class named before. */
void jfr_make_field(struct jfr_make *m, const char *name, const char *cls, uint32_t flags);
void jfr_make_events(struct jfr_make *m);

size_t jfr_make_event(struct jfr_make *m, uint32_t cls); /* the mark to end it with */
void jfr_make_event_end(struct jfr_make *m, size_t mark);
void jfr_make_byte(struct jfr_make *m, uint8_t v);
void jfr_make_int(struct jfr_make *m, int32_t v);
void jfr_make_long(struct jfr_make *m, int64_t v);
void jfr_make_float(struct jfr_make *m, float v);
void jfr_make_text(struct jfr_make *m, const char *text); /* NULL is null */

void jfr_make_pools(struct jfr_make *m, uint32_t n);
void jfr_make_pool(struct jfr_make *m, uint32_t cls, uint32_t n); /* n times a key and a value */
void jfr_make_end(struct jfr_make *m);
