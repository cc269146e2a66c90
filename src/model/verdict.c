/* Bytes, little-endian:
 *
 *   0  "SFV1", u16 format, u16 0, uuid[16], u32 tenant, u32 rule set, i64 hour, u64 lsn,
 *      u64 below_block, i64 created, i64 the rule set's first hour, u8 flags (1: whole), 7 times 0;
 *      80 bytes
 *  80  u64 XXH3 of these
 *  88  varints: judged traces, spans, reasons and of each the traces; length of the rules, rules
 *      (model/keep_rules.c)
 *      n varint, traces: id[16], varints reasons, share, spans; then their span ids u64
 *      n varint, roots: u64 process; start (signed), length (varint)
 *      n varint, services whose samples named spans: length (varint), name
 *      u64 XXH3 of all before it
 *
 * Traces are stored with their spans so that an erasure can remove them. Ids are random, so packing
 * them saves nothing. */
#include "model/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/codec.h"

enum { WHOLE = 1, HEAD_SUM_END = SF_VERDICT_HEADER_LEN + 8 };
static const char magic[4] = {'S', 'F', 'V', '1'};

int sf_verdict_entry_cmp(const void *a, const void *b)
{
    const struct sf_verdict_entry *x = a, *y = b;
    int order = sf_trace_id_cmp(x->id, y->id);
    return order ? order : (x->first_span > y->first_span) - (x->first_span < y->first_span);
}

int sf_verdict_root_cmp(const void *a, const void *b)
{
    const struct sf_verdict_root *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* ---- write ---- */

static void put_head(const struct sf_verdict_head *h, const uint8_t uuid[16], struct sf_buf *out)
{
    static const uint8_t zeros[8];
    size_t from = out->len;
    sf_buf_add(out, magic, 4);
    sf_buf_add_u16le(out, SF_VERDICT_FORMAT);
    sf_buf_add_u16le(out, 0);
    sf_buf_add(out, uuid, 16);
    sf_buf_add_u32le(out, h->tenant);
    sf_buf_add_u32le(out, h->version);
    sf_buf_add_u64le(out, (uint64_t)h->hour);
    sf_buf_add_u64le(out, h->lsn);
    sf_buf_add_u64le(out, h->below_block);
    sf_buf_add_u64le(out, (uint64_t)h->created_ns);
    sf_buf_add_u64le(out, (uint64_t)h->since_hour);
    sf_buf_add_u8(out, h->is_whole ? WHOLE : 0);
    sf_buf_add(out, zeros, 7);
    if (sf_buf_ok(out))
        sf_buf_add_u64le(out, sf_hash(out->p + from, out->len - from));
}

void sf_verdict_encode(const struct sf_verdict *v, const uint8_t uuid[16], struct sf_buf *out)
{
    struct sf_buf rules = {0};
    put_head(&v->head, uuid, out);
    sf_buf_add_varint(out, v->n_traces);
    sf_buf_add_varint(out, v->n_spans);
    sf_buf_add_varint(out, SF_KEEP_REASONS);
    for (unsigned i = 0; i < SF_KEEP_REASONS; i++)
        sf_buf_add_varint(out, v->n_by[i]);
    sf_keep_rules_encode(&v->rules, &rules);
    sf_buf_add_varint(out, rules.len);
    sf_buf_add(out, rules.p, rules.len);
    if (!sf_buf_ok(&rules) && !out->err)
        out->err = rules.err;
    sf_buf_done(&rules);
    sf_buf_add_varint(out, v->n_kept);
    for (uint32_t i = 0; i < v->n_kept; i++) {
        const struct sf_verdict_entry *t = &v->traces[i];
        sf_buf_add(out, t->id.b, 16);
        sf_buf_add_varint(out, t->reasons);
        sf_buf_add_varint(out, t->baseline_per_10000);
        sf_buf_add_varint(out, t->n_spans);
        for (uint32_t k = 0; k < t->n_spans; k++)
            sf_buf_add_u64le(out, v->spans[t->first_span + k]);
    }
    sf_buf_add_varint(out, v->n_roots);
    for (uint32_t i = 0; i < v->n_roots; i++) {
        const struct sf_verdict_root *r = &v->roots[i];
        sf_buf_add_u64le(out, r->process);
        sf_codec_put_zigzag(out, r->start_ns);
        sf_buf_add_varint(out, r->end_ns > r->start_ns ? (uint64_t)(r->end_ns - r->start_ns) : 0);
    }
    sf_buf_add_varint(out, v->n_services);
    for (uint32_t i = 0; i < v->n_services; i++) {
        sf_buf_add_varint(out, v->services[i].len);
        sf_buf_add_str(out, v->services[i]);
    }
    if (sf_buf_ok(out))
        sf_buf_add_u64le(out, sf_hash(out->p, out->len));
}

/* ---- read ---- */

enum sf_err sf_verdict_head_decode(sf_bytes in, const uint8_t uuid[16], struct sf_verdict_head *out,
                                   struct sf_why *why)
{
    const uint8_t *p = in.p;
    if (in.len < HEAD_SUM_END || memcmp(p, magic, 4) != 0 ||
        sf_load_u64le(p + SF_VERDICT_HEADER_LEN) != sf_hash(p, SF_VERDICT_HEADER_LEN))
        return sf_fail(why, SF_ERR_CORRUPT, "verdict: its head is damaged");
    if (sf_load_u16le(p + 4) != SF_VERDICT_FORMAT)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "verdict: format %u, which a later version wrote; this one reads %d",
                       sf_load_u16le(p + 4), SF_VERDICT_FORMAT);
    if (uuid && memcmp(p + 8, uuid, 16) != 0)
        return sf_fail(why, SF_ERR_CORRUPT, "verdict: it belongs to another store");
    *out = (struct sf_verdict_head){
        .tenant = sf_load_u32le(p + 24),
        .version = sf_load_u32le(p + 28),
        .hour = (int64_t)sf_load_u64le(p + 32),
        .lsn = sf_load_u64le(p + 40),
        .below_block = sf_load_u64le(p + 48),
        .created_ns = (int64_t)sf_load_u64le(p + 56),
        .since_hour = (int64_t)sf_load_u64le(p + 64),
        .is_whole = p[72] & WHOLE,
    };
    return SF_OK;
}

static void get_traces(struct sf_decoder *d, struct sf_verdict *v)
{
    uint64_t room;
    struct sf_verdict_entry *traces;
    sf_span_id *spans;
    v->n_kept = sf_codec_get_count(d, 19);
    traces = sf_codec_get_list(d, v->n_kept, sizeof(*traces));
    room = (uint64_t)(d->end - d->at) / 8; /* more spans than this cannot follow */
    spans = sf_codec_get_list(d, d->fault ? 0 : room + 1, sizeof(*spans));
    for (uint32_t i = 0; !d->fault && i < v->n_kept; i++) {
        struct sf_verdict_entry *t = &traces[i];
        uint64_t reasons, share;
        memcpy(t->id.b, sf_codec_get_raw(d, 16), 16);
        reasons = sf_codec_get_varint(d);
        share = sf_codec_get_varint(d);
        t->first_span = v->n_kept_spans;
        t->n_spans = sf_codec_get_count(d, 8);
        if (reasons >> SF_KEEP_REASONS || share > 10000)
            sf_codec_get_fail(d, "a reason or share that there is not");
        if (i > 0 && sf_verdict_entry_cmp(&traces[i - 1], t) >= 0)
            sf_codec_get_fail(d, "traces out of order");
        t->reasons = (uint16_t)reasons;
        t->baseline_per_10000 = (uint16_t)share;
        for (uint32_t k = 0; !d->fault && k < t->n_spans; k++)
            spans[v->n_kept_spans++] = sf_codec_get_u64le(d);
    }
    v->traces = traces;
    v->spans = spans;
}

static void get_roots(struct sf_decoder *d, struct sf_verdict *v)
{
    struct sf_verdict_root *roots;
    int64_t *until;
    v->n_roots = sf_codec_get_count(d, 10);
    roots = sf_codec_get_list(d, v->n_roots, sizeof(*roots));
    until = sf_codec_get_list(d, d->fault ? 0 : v->n_roots, sizeof(*until));
    for (uint32_t i = 0; !d->fault && i < v->n_roots; i++) {
        struct sf_verdict_root *r = &roots[i];
        uint64_t len;
        r->process = sf_codec_get_u64le(d);
        r->start_ns = sf_codec_get_zigzag(d);
        len = sf_codec_get_varint(d);
        r->end_ns = sf_add_sat_i64(r->start_ns, len > INT64_MAX ? INT64_MAX : (int64_t)len);
        if (i > 0 && sf_verdict_root_cmp(&roots[i - 1], r) > 0)
            sf_codec_get_fail(d, "roots out of order");
        until[i] = i > 0 && roots[i - 1].process == r->process && until[i - 1] > r->end_ns
                       ? until[i - 1]
                       : r->end_ns;
    }
    v->roots = roots;
    v->until_ns = until;
}

static void get_services(struct sf_decoder *d, struct sf_verdict *v)
{
    sf_str *list;
    v->n_services = sf_codec_get_count(d, 1);
    list = sf_codec_get_list(d, v->n_services, sizeof(*list));
    for (uint32_t i = 0; !d->fault && i < v->n_services; i++) {
        uint32_t len = sf_codec_get_count(d, 1);
        const uint8_t *name = sf_codec_get_raw(d, len);
        if (!d->fault && !sf_arena_copy(d->req, (sf_str){(const char *)name, len}, &list[i])) {
            d->is_arena_full = true;
            sf_codec_get_fail(d, "no room");
        }
        if (!d->fault && i > 0 && sf_str_cmp(list[i - 1], list[i]) >= 0)
            sf_codec_get_fail(d, "services out of order");
    }
    v->services = list;
}

static int verdict_by_id(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return x < y ? -1 : x > y;
}

enum sf_err sf_verdict_decode(sf_bytes in, const uint8_t uuid[16], struct sf_arena *req,
                              struct sf_verdict *out, struct sf_why *why)
{
    struct sf_verdict v = {0};
    struct sf_decoder d;
    sf_span_id *sorted;
    enum sf_err err = sf_verdict_head_decode(in, uuid, &v.head, why);
    if (err)
        return err;
    if (in.len < HEAD_SUM_END + 8 || sf_load_u64le(in.p + in.len - 8) != sf_hash(in.p, in.len - 8))
        return sf_fail(why, SF_ERR_CORRUPT, "verdict: its bytes do not match their checksum");
    d = (struct sf_decoder){
        .at = in.p + HEAD_SUM_END, .end = in.p + in.len - 8, .start = in.p, .req = req};
    v.n_traces = sf_codec_get_varint(&d);
    v.n_spans = sf_codec_get_varint(&d);
    if (sf_codec_get_varint(&d) != SF_KEEP_REASONS)
        sf_codec_get_fail(&d, "reasons that there are not");
    for (unsigned i = 0; i < SF_KEEP_REASONS; i++)
        v.n_by[i] = sf_codec_get_varint(&d);
    uint32_t len = sf_codec_get_count(&d, 1);
    const uint8_t *rules = sf_codec_get_raw(&d, len);
    if (!d.fault)
        err = sf_keep_rules_decode((sf_bytes){rules, len}, req, &v.rules, why);
    if (err)
        return err;
    get_traces(&d, &v);
    get_roots(&d, &v);
    get_services(&d, &v);
    sorted = sf_codec_get_list(&d, d.fault ? 0 : v.n_kept_spans + 1u, sizeof(*sorted));
    if (!d.fault && d.at != d.end)
        sf_codec_get_fail(&d, "bytes behind the end");
    if (d.fault)
        return sf_fail(why, d.is_arena_full ? SF_ERR_LIMIT : SF_ERR_CORRUPT,
                       "verdict: byte %zu: %s", d.fault_off, d.fault);
    if (v.n_kept_spans) {
        memcpy(sorted, v.spans, v.n_kept_spans * sizeof(*sorted));
        qsort(sorted, v.n_kept_spans, sizeof(*sorted), verdict_by_id);
    }
    v.by_id = sorted;
    *out = v;
    return SF_OK;
}

/* ---- lookups ---- */

const struct sf_verdict_entry *sf_verdict_trace(const struct sf_verdict *v, sf_trace_id id)
{
    uint32_t low = 0, high = v->n_kept;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = sf_trace_id_cmp(v->traces[mid].id, id);
        if (order == 0)
            return &v->traces[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

bool sf_verdict_has_span(const struct sf_verdict *v, sf_span_id id)
{
    return v->n_kept_spans > 0 && id &&
           bsearch(&id, v->by_id, v->n_kept_spans, sizeof(id), verdict_by_id) != NULL;
}

bool sf_verdict_has_root(const struct sf_verdict *v, uint64_t process, int64_t start_ns,
                         int64_t end_ns)
{
    uint32_t low = 0, high = v->n_roots; /* the first root that begins after the end */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct sf_verdict_root *r = &v->roots[mid];
        if (r->process < process || (r->process == process && r->start_ns <= end_ns))
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && v->roots[low - 1].process == process && v->until_ns[low - 1] >= start_ns;
}

bool sf_verdict_has_service(const struct sf_verdict *v, sf_str service)
{
    uint32_t low = 0, high = v->n_services;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = sf_str_cmp(v->services[mid], service);
        if (order == 0)
            return true;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}
