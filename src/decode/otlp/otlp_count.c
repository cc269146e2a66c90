#include "decode/otlp/otlp_count.h"

#include "wire/json.h"
#include "wire/pb.h"

/* Both signals are nested messages: each level lists the members that lead to the next one. The
 * members of the last level are the items. */
enum { MAX_MEMBERS = 8 };
struct level {
    struct {
        uint32_t field;
        const char *camel, *snake; /* "": the same */
    } members[MAX_MEMBERS];
    bool is_one; /* a single object in JSON, not a list */
    bool is_last;
};

static const struct level metrics[] = {
    {.members = {{1, "resourceMetrics", "resource_metrics"}}},
    {.members = {{2, "scopeMetrics", "scope_metrics"},
                 {1000, "instrumentationLibraryMetrics", "instrumentation_library_metrics"}}},
    {.members = {{2, "metrics", ""}}},
    {.members = {{5, "gauge", ""},
                 {7, "sum", ""},
                 {9, "histogram", ""},
                 {10, "exponentialHistogram", "exponential_histogram"},
                 {11, "summary", ""},
                 {4, "intGauge", "int_gauge"}, /* before OTLP 0.9 */
                 {6, "intSum", "int_sum"},
                 {8, "intHistogram", "int_histogram"}},
     .is_one = true},
    {.members = {{1, "dataPoints", "data_points"}}, .is_last = true},
};

static const struct level logs[] = {
    {.members = {{1, "resourceLogs", "resource_logs"}}},
    {.members = {{2, "scopeLogs", "scope_logs"},
                 {1000, "instrumentationLibraryLogs", "instrumentation_library_logs"}}},
    {.members = {{2, "logRecords", "log_records"}}, .is_last = true},
};

static const struct level *levels_of(enum sf_otlp_signal signal)
{
    return signal == SF_OTLP_METRICS ? metrics : logs;
}

static const char *otlp_count_name_of(enum sf_otlp_signal signal)
{
    return signal == SF_OTLP_METRICS ? "OTLP metrics" : "OTLP logs";
}

static bool leads_down_pb(const struct level *l, uint32_t tag)
{
    for (int i = 0; i < MAX_MEMBERS && l->members[i].field; i++) {
        if (tag == SF_PB_TAG(l->members[i].field, SF_PB_LEN))
            return true;
    }
    return false;
}

/* Recursion is limited by the length of the table. */
static uint64_t otlp_count_pb(const struct level *l, struct sf_pb *pb)
{
    uint64_t n = 0;
    while (sf_pb_next(pb)) {
        if (!leads_down_pb(l, pb->tag)) {
            sf_pb_skip(pb);
        } else if (l->is_last) {
            n++;
            sf_pb_skip(pb);
        } else {
            struct sf_pb msg = sf_pb_msg(pb);
            n += otlp_count_pb(l + 1, &msg);
            sf_pb_join(pb, &msg);
        }
    }
    return n;
}

enum sf_err sf_otlp_count_pb(enum sf_otlp_signal signal, sf_bytes body, uint64_t *out,
                             struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(body);
    uint64_t n = otlp_count_pb(levels_of(signal), &pb);
    enum sf_err err = sf_pb_why(&pb, otlp_count_name_of(signal), why);
    if (!err)
        *out = n;
    return err;
}

static bool leads_down_json(const struct level *l, sf_str key)
{
    for (int i = 0; i < MAX_MEMBERS && l->members[i].field; i++) {
        if (sf_str_eq(key, sf_str_from(l->members[i].camel)) ||
            (l->members[i].snake[0] && sf_str_eq(key, sf_str_from(l->members[i].snake))))
            return true;
    }
    return false;
}

static uint64_t otlp_count_json(const struct level *l, struct sf_json *j)
{
    uint64_t n = 0;
    sf_str key;
    if (!sf_json_object(j))
        return 0;
    while (sf_json_key(j, &key)) {
        if (!leads_down_json(l, key)) {
            sf_json_skip(j);
        } else if (l->is_one) {
            n += otlp_count_json(l + 1, j);
        } else if (sf_json_array(j)) {
            while (sf_json_item(j)) {
                if (l->is_last) {
                    n++;
                    sf_json_skip(j);
                } else {
                    n += otlp_count_json(l + 1, j);
                }
            }
        }
    }
    return n;
}

enum sf_err sf_otlp_count_json(enum sf_otlp_signal signal, sf_bytes body, struct sf_arena *req,
                               uint64_t *out, struct sf_why *why)
{
    struct sf_json j;
    enum sf_err err;
    uint64_t n;
    sf_json_init(&j, sf_bytes_str(body), req);
    n = otlp_count_json(levels_of(signal), &j);
    sf_json_end(&j);
    err = sf_json_why(&j, otlp_count_name_of(signal), why);
    if (!err)
        *out = n;
    return err;
}
