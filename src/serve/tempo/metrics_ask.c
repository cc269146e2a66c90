#include "serve/tempo/metrics_ask.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "serve/params.h"
#include "wire/pb.h"
#include "wire/time_text.h"

static const int64_t DEFAULT_RANGE_NS = SF_NS_PER_HOUR;

void sf_metrics_ask_done(struct sf_metrics_params *a)
{
    sf_buf_done(&a->query);
}

/* ---- shared by parameters and messages ---- */

struct times {
    int64_t from_ns, to_ns, step_ns, since_ns; /* from_ns, to_ns: -1 if not given */
};

static enum sf_err metrics_ask_settle(struct sf_metrics_params *a, struct times t, bool is_instant,
                                      struct sf_why *why)
{
    if (t.to_ns < 0)
        t.to_ns = sf_clock_wall_ns();
    if (t.from_ns < 0)
        t.from_ns = t.to_ns > t.since_ns ? t.to_ns - t.since_ns : 0;
    if (!sf_buf_ok(&a->query))
        return sf_fail(why, SF_ERR_INPUT, "query is longer than %d bytes", SF_LIMIT_QUERY_LEN);
    if (sf_str_trim(sf_buf_str(&a->query)).len == 0)
        return sf_fail(why, SF_ERR_INPUT, "please provide a TraceQL metrics query in q");
    return is_instant ? sf_metrics_window_instant(t.from_ns, t.to_ns, &a->window, why)
                      : sf_metrics_window_range(t.from_ns, t.to_ns, t.step_ns, &a->window, why);
}

/* ---- query parameters ---- */

static enum sf_err metrics_ask_read_time(const struct sf_request *r, sf_str name, int64_t *out_ns,
                                         struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, name, &text) && text.len &&
        !sf_time_text_parse(sf_buf_str(&text), sf_clock_wall_ns(), out_ns))
        err = sf_fail(
            why, SF_ERR_INPUT,
            "invalid %.*s: %.*s is not a time; use unix seconds or nanoseconds or RFC 3339",
            SF_STR_ARG(name), SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 60)));
    sf_buf_done(&text);
    return err;
}

enum sf_err sf_metrics_ask_params(const struct sf_request *r, bool is_instant,
                                  struct sf_metrics_params *out, struct sf_why *why)
{
    struct times t = {.from_ns = -1, .to_ns = -1, .since_ns = DEFAULT_RANGE_NS};
    enum sf_err err = sf_params_duration(r, SF_STR("since"), &t.since_ns, why);
    if (!err)
        err = metrics_ask_read_time(r, SF_STR("end"), &t.to_ns, why);
    if (!err)
        err = metrics_ask_read_time(r, SF_STR("start"), &t.from_ns, why);
    if (!err && !is_instant)
        err = sf_params_duration(r, SF_STR("step"), &t.step_ns, why);
    if (!err)
        err = sf_params_count(r, SF_STR("maxSeries"), &out->max_series, why);
    if (!err && !is_instant)
        err = sf_params_count(r, SF_STR("exemplars"), &out->n_exemplars, why);
    if (err)
        return err;
    out->query.max = SF_LIMIT_QUERY_LEN;
    (void)sf_request_param(r, SF_STR("q"), &out->query);
    if (out->query.len == 0 && sf_buf_ok(&out->query))
        (void)sf_request_param(r, SF_STR("query"), &out->query);
    return metrics_ask_settle(out, t, is_instant, why);
}

/* ---- messages ---- */

/* 0 means "not given", as in all of protobuf. */
static int64_t metrics_ask_time_of(uint64_t ns)
{
    return ns == 0 ? -1 : ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* The fields of QueryRangeRequest that QueryInstantRequest lacks. Tempo's components use some of
 * them to divide a query: answering each part with the whole result would count everything several
 * times, so blockID is refused. */
static enum sf_err read_range_field(struct sf_pb *pb, struct times *t,
                                    struct sf_metrics_params *out, struct sf_why *why)
{
    switch (pb->tag) {
    case SF_PB_TAG(4, SF_PB_VARINT): t->step_ns = metrics_ask_time_of(sf_pb_u64(pb)); break;
    case SF_PB_TAG(8, SF_PB_LEN):
        return sf_pb_str(pb).len == 0
                   ? SF_OK
                   : sf_fail(why, SF_ERR_UNSUPPORTED,
                             "blockID is not supported: there are no blocks of Tempo's here");
    case SF_PB_TAG(16, SF_PB_VARINT): out->n_exemplars = sf_pb_u32(pb); break;
    case SF_PB_TAG(17, SF_PB_VARINT): out->max_series = sf_pb_u32(pb); break;
    case SF_PB_TAG(18, SF_PB_VARINT):
        return !sf_pb_bool(pb) ? SF_OK
                               : sf_fail(why, SF_ERR_UNSUPPORTED,
                                         "instant is not supported: ask MetricsQueryInstant");
    case SF_PB_TAG(7, SF_PB_LEN):    /* selects older or recent data: this store has both */
    case SF_PB_TAG(9, SF_PB_VARINT): /* position in the block named by blockID, and its format */
    case SF_PB_TAG(10, SF_PB_VARINT):
    case SF_PB_TAG(11, SF_PB_LEN):
    case SF_PB_TAG(13, SF_PB_VARINT):
    case SF_PB_TAG(14, SF_PB_VARINT):
    case SF_PB_TAG(15, SF_PB_LEN):
    case SF_PB_TAG(19, SF_PB_LEN): /* hints for Tempo's query engine that do not change the
                                    * result */
        sf_pb_skip(pb);
        break;
    default:
        out->n_unknown++;
        sf_pb_skip(pb);
        break;
    }
    return SF_OK;
}

enum sf_err sf_metrics_ask_message(sf_bytes message, bool is_instant, struct sf_metrics_params *out,
                                   struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(message);
    struct times t = {.from_ns = -1, .to_ns = -1, .since_ns = DEFAULT_RANGE_NS};
    enum sf_err err = SF_OK;
    out->query.max = SF_LIMIT_QUERY_LEN;
    while (!err && sf_pb_next(&pb)) {
        switch (pb.tag) {
        case SF_PB_TAG(1, SF_PB_LEN):
            sf_buf_reset(&out->query);
            sf_buf_add_str(&out->query, sf_pb_str(&pb));
            break;
        case SF_PB_TAG(2, SF_PB_VARINT): t.from_ns = metrics_ask_time_of(sf_pb_u64(&pb)); break;
        case SF_PB_TAG(3, SF_PB_VARINT): t.to_ns = metrics_ask_time_of(sf_pb_u64(&pb)); break;
        default:
            if (!is_instant) {
                err = read_range_field(&pb, &t, out, why);
            } else {
                out->n_unknown++;
                sf_pb_skip(&pb);
            }
            break;
        }
    }
    if (!err)
        err = sf_pb_why(&pb, is_instant ? "QueryInstantRequest" : "QueryRangeRequest", why);
    if (err)
        return err;
    if (t.step_ns < 0)
        t.step_ns = 0;
    return metrics_ask_settle(out, t, is_instant, why);
}
