#include "model/keep_rules.h"

#include "base/limits.h"
#include "base/num.h"
#include "model/codec.h"

const struct sf_keep_rule *sf_keep_rules_of(const struct sf_keep_rules *r, sf_str service)
{
    for (uint32_t i = 0; i < r->n_services; i++) {
        if (sf_str_eq(r->services[i].service, service))
            return &r->services[i].rule;
    }
    return &r->all;
}

const char *sf_keep_rules_reason_name(enum sf_keep_reason reason)
{
    static const char *const names[SF_KEEP_REASONS] = {"errors",  "slow",     "unusual", "cpu",
                                                       "flagged", "baseline", "pinned"};
    return reason < SF_KEEP_REASONS ? names[reason] : "";
}

static void put_rule(struct sf_buf *out, const struct sf_keep_rule *r)
{
    sf_codec_put_zigzag(out, r->slow_ns);
    sf_buf_add_varint(out, r->cpu_percent);
    sf_buf_add_u8(out, r->has_errors);
    sf_buf_add_varint(out, r->baseline_per_10000);
    sf_codec_put_zigzag(out, r->tail_min_ns);
    sf_buf_add_u8(out, r->flagged);
}

void sf_keep_rules_encode(const struct sf_keep_rules *r, struct sf_buf *out)
{
    sf_buf_add_u8(out, r->is_on);
    put_rule(out, &r->all);
    sf_buf_add_varint(out, r->n_services);
    for (uint32_t i = 0; i < r->n_services; i++) {
        sf_buf_add_varint(out, r->services[i].service.len);
        sf_buf_add_str(out, r->services[i].service);
        put_rule(out, &r->services[i].rule);
    }
}

static void get_rule(struct sf_decoder *d, struct sf_keep_rule *r)
{
    r->slow_ns = sf_codec_get_zigzag(d);
    r->cpu_percent = sf_codec_get_u32(d);
    r->has_errors = sf_codec_get_u8(d) != 0;
    r->baseline_per_10000 = sf_codec_get_u32(d);
    r->tail_min_ns = sf_codec_get_zigzag(d);
    r->flagged = sf_codec_get_u8(d);
    if (r->baseline_per_10000 > 10000 || r->flagged > SF_KEEP_FLAG_SAMPLED || r->slow_ns < 0 ||
        r->tail_min_ns < 0)
        sf_codec_get_fail(d, "a rule out of its bounds");
}

enum sf_err sf_keep_rules_decode(sf_bytes in, struct sf_arena *req, struct sf_keep_rules *out,
                                 struct sf_why *why)
{
    struct sf_decoder d = {.at = in.p, .end = in.p + in.len, .start = in.p, .req = req};
    struct sf_keep_rules r = {.is_on = sf_codec_get_u8(&d) != 0};
    struct sf_keep_service *services;
    get_rule(&d, &r.all);
    r.n_services = sf_codec_get_count(&d, 7);
    if (r.n_services > SF_LIMIT_KEEP_SERVICES)
        sf_codec_get_fail(&d, "more services than there are rules for");
    services = sf_codec_get_list(&d, d.fault ? 0 : r.n_services, sizeof(*services));
    for (uint32_t i = 0; !d.fault && i < r.n_services; i++) {
        uint32_t len = sf_codec_get_count(&d, 1);
        const uint8_t *name = sf_codec_get_raw(&d, len);
        if (!d.fault &&
            !sf_arena_copy(req, (sf_str){(const char *)name, len}, &services[i].service)) {
            d.is_arena_full = true;
            sf_codec_get_fail(&d, "no room");
        }
        get_rule(&d, &services[i].rule);
    }
    r.services = services;
    if (!d.fault && d.at != d.end)
        sf_codec_get_fail(&d, "bytes behind the end");
    if (d.fault)
        return sf_fail(why, d.is_arena_full ? SF_ERR_LIMIT : SF_ERR_CORRUPT,
                       "keep rules: byte %zu: %s", d.fault_off, d.fault);
    *out = r;
    return SF_OK;
}
