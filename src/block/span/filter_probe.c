/* filter_probe.c - queries a filter or the trace index of a block, reading only the pages that are
 * needed. A trace is found by the trace filter and then the sorted index of hashes; a value by the
 * filters of groups of granules. `find` functions verify a matching hash by the id itself;
 * `may_have` functions do not. */
#include "block/format/bloom.h"
#include "block/format/encoding.h"
#include "block/format/fuse.h"
#include "block/span/reader.h"

enum sf_err sf_filter_probe(const struct sf_span_block_reader *r, uint16_t section, uint64_t base,
                            uint64_t len, uint64_t hash, struct sf_arena scratch, bool *out,
                            struct sf_why *why)
{
    uint8_t head[SF_FUSE_HEAD_LEN], want, bytes[3] = {0};
    struct sf_fuse f;
    uint64_t off[3];
    enum sf_err err = sf_span_block_reader_paged(r, section, base, head, sizeof(head), scratch,
                                                 why);

    if (err)
        return err;
    if (!sf_fuse_parse(head, len, &f))
        return sf_fail(why, SF_ERR_CORRUPT, "block: section %s: not a filter",
                       sf_section_name(section));
    switch (sf_fuse_places(&f, hash, off, &want)) {
    case SF_FUSE_NO: *out = false; return SF_OK;
    case SF_FUSE_YES: *out = true; return SF_OK;
    default: break;
    }
    for (int i = 0; i < 3; i++)
        off[i] += base;
    err = sf_span_block_reader_three(r, section, off, bytes, scratch, why);
    *out = (bytes[0] ^ bytes[1] ^ bytes[2]) == want;
    return err;
}

/* Where the block of `hash` is in the filter of a group. */
static enum sf_err filter_probe_place(const struct sf_filter_group *group, uint16_t section,
                                      uint64_t hash, uint64_t *out, struct sf_why *why)
{
    uint64_t off;
    if (!sf_bloom_place(group->len, hash, &off) || group->beside == 0 ||
        off > UINT64_MAX / group->beside)
        return sf_fail(why, SF_ERR_CORRUPT, "block: section %s: not a filter",
                       sf_section_name(section));
    *out = sf_add_sat_u64(group->off, off * group->beside);
    return SF_OK;
}

enum sf_err sf_filter_probe_group(const struct sf_span_block_reader *r, uint16_t section,
                                  const struct sf_filter_group *group, uint64_t hash,
                                  struct sf_arena scratch, bool *out, struct sf_why *why)
{
    uint8_t block[SF_BLOOM_BLOCK_LEN];
    uint64_t off;
    enum sf_err err;

    if (group->kind == SF_FILTER_FUSE)
        return sf_filter_probe(r, section, group->off, group->len, hash, scratch, out, why);
    err = filter_probe_place(group, section, hash, &off, why);
    if (!err)
        err = sf_span_block_reader_paged(r, section, off, block, sizeof(block), scratch, why);
    *out = !err && sf_bloom_block_has(block, hash);
    return err;
}

/* How many of the groups from the first on have their blocks next to each other. */
static uint32_t count_beside(const struct sf_filter_group *groups, uint32_t n)
{
    uint32_t i = 1;
    while (i < n && i < SF_MATCH_GROUPS && groups[i].kind == SF_FILTER_BESIDE &&
           groups[i].len == groups[0].len && groups[i].beside == groups[0].beside &&
           groups[i].off == groups[0].off + i * (uint64_t)SF_BLOOM_BLOCK_LEN)
        i++;
    return i;
}

enum sf_err sf_filter_probe_any(const struct sf_span_block_reader *r, uint16_t section,
                                const struct sf_filter_group *groups, uint32_t n_groups,
                                uint64_t hash, struct sf_arena scratch, bool *out,
                                struct sf_why *why)
{
    uint8_t blocks[SF_MATCH_GROUPS * SF_BLOOM_BLOCK_LEN];
    enum sf_err err = SF_OK;

    *out = false;
    for (uint32_t i = 0, n; !err && !*out && i < n_groups; i += n) {
        uint64_t off;
        n = 1;
        if (groups[i].kind == SF_FILTER_FUSE) {
            err = sf_filter_probe_group(r, section, &groups[i], hash, scratch, out, why);
            continue;
        }
        n = count_beside(groups + i, n_groups - i);
        err = filter_probe_place(&groups[i], section, hash, &off, why);
        if (!err)
            err = sf_span_block_reader_paged(r, section, off, blocks,
                                             (size_t)n * SF_BLOOM_BLOCK_LEN, scratch, why);
        for (uint32_t k = 0; !err && !*out && k < n; k++)
            *out = sf_bloom_block_has(blocks + (size_t)k * SF_BLOOM_BLOCK_LEN, hash);
    }
    return err;
}

enum sf_err sf_filter_probe_load(const struct sf_span_block_reader *r, uint16_t section,
                                 const struct sf_filter_group *group, struct sf_arena *req,
                                 sf_bytes *out, struct sf_why *why)
{
    uint64_t all = r->sections[section].raw_len;
    bool is_beside = group->kind == SF_FILTER_BESIDE;
    size_t step = is_beside ? SF_BLOOM_BLOCK_LEN : (size_t)group->len;
    enum sf_err err = SF_OK;
    uint8_t *p;

    if (group->len > all || group->beside == 0 || (step && group->len % step))
        return sf_fail(why, SF_ERR_CORRUPT, "block: section %s: a filter lies outside it",
                       sf_section_name(section));
    p = sf_arena_raw(req, (size_t)group->len, 16);
    if (!p)
        return sf_span_block_reader_limit(why);
    for (size_t at = 0; !err && at < group->len; at += step)
        err = sf_span_block_reader_paged(r, section,
                                         sf_add_sat_u64(group->off, (uint64_t)at * group->beside),
                                         p + at, step, *req, why);
    if (!err)
        *out = (sf_bytes){p, (size_t)group->len};
    return err;
}

bool sf_filter_probe_group_has(const struct sf_filter_group *group, sf_bytes filter, uint64_t hash)
{
    return group->kind == SF_FILTER_FUSE ? sf_fuse_has(filter, hash) : sf_bloom_has(filter, hash);
}

/* Records of groups are sorted by granule, with about the same number of granules each: those
 * around the estimated position are read at once, which is one page. */
enum { AT_ONCE = 128 };

static struct sf_filter_group filter_probe_group_of(const uint8_t *rec, uint32_t kind)
{
    struct sf_filter_group g = {.first = sf_load_u32le(rec),
                                .n = sf_load_u32le(rec + 4),
                                .off = sf_load_u64le(rec + 8),
                                .kind = kind,
                                .beside = 1};
    if (kind == SF_FILTER_BESIDE) {
        g.len = (uint64_t)sf_load_u32le(rec + 16) * SF_BLOOM_BLOCK_LEN;
        g.beside = sf_load_u32le(rec + 20);
    } else {
        g.len = sf_load_u64le(rec + 16);
    }
    return g;
}

/* Copies the record of `granule` and those after it; returns their number, 0: not found. */
static uint32_t filter_probe_find_groups(const uint8_t *recs, uint32_t n, uint32_t kind,
                                         uint32_t granule, struct sf_filter_group *out,
                                         uint32_t cap)
{
    uint32_t low = 0, high = n, n_out = 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        struct sf_filter_group g = filter_probe_group_of(
            recs + (size_t)mid * SF_BLOCK_GROUP_REC_LEN, kind);
        if (granule < g.first) {
            high = mid;
        } else if (granule - g.first >= g.n) {
            low = mid + 1;
        } else {
            for (; mid < n && n_out < cap; mid++)
                out[n_out++] = filter_probe_group_of(recs + (size_t)mid * SF_BLOCK_GROUP_REC_LEN,
                                                     kind);
            break;
        }
    }
    return n_out;
}

/* Is the answer in the first page, which also has the number of records and the kind of filters? */
static enum sf_err filter_probe_find_first(const struct sf_span_block_reader *r, uint16_t section,
                                           uint32_t granule, struct sf_arena scratch,
                                           struct sf_filter_group *out, uint32_t cap,
                                           uint32_t *out_n, uint32_t *out_all, uint32_t *out_kind,
                                           struct sf_why *why)
{
    uint8_t page[8 + AT_ONCE * SF_BLOCK_GROUP_REC_LEN];
    uint64_t len = r->sections[section].raw_len;
    uint32_t n;
    enum sf_err err;
    len = len < 8 ? 8 : len; /* too short: the read will fail */
    len = len < sizeof(page) ? len : sizeof(page);
    err = sf_span_block_reader_paged(r, section, 0, page, (size_t)len, scratch, why);
    if (err)
        return err;
    n = (uint32_t)((len - 8) / SF_BLOCK_GROUP_REC_LEN);
    *out_all = sf_load_u32le(page);
    *out_kind = sf_load_u32le(page + 4);
    if (*out_kind > SF_FILTER_BESIDE)
        return sf_fail(why, SF_ERR_CORRUPT, "block: section %s: filters of an unknown kind",
                       sf_section_name(section));
    *out_n = filter_probe_find_groups(page + 8, n < *out_all ? n : *out_all, *out_kind, granule,
                                      out, cap);
    return SF_OK;
}

enum sf_err sf_filter_probe_groups(const struct sf_span_block_reader *r, uint16_t section,
                                   uint32_t granule, struct sf_arena scratch,
                                   struct sf_filter_group *out, uint32_t cap, uint32_t *out_n,
                                   struct sf_why *why)
{
    uint8_t recs[AT_ONCE * SF_BLOCK_GROUP_REC_LEN];
    uint32_t low = 0, high = 0, n_out = 0, kind = SF_FILTER_FUSE;
    enum sf_err err = SF_OK;

    if (r->sections[section].id)
        err = filter_probe_find_first(r, section, granule, scratch, out, cap, &n_out, &high, &kind,
                                      why);
    while (!err && n_out == 0 && low < high) {
        uint32_t guess = low == 0 ? (uint32_t)((uint64_t)granule * high / r->n_granules)
                                  : low + (high - low) / 2;
        uint32_t first = guess - low > AT_ONCE / 2 ? guess - AT_ONCE / 2 : low;
        uint32_t n = high - first < AT_ONCE ? high - first : AT_ONCE;
        err = sf_span_block_reader_paged(r, section, 8 + (uint64_t)first * SF_BLOCK_GROUP_REC_LEN,
                                         recs, (size_t)n * SF_BLOCK_GROUP_REC_LEN, scratch, why);
        if (err)
            break;
        n_out = filter_probe_find_groups(recs, n, kind, granule, out, cap);
        if (granule < sf_load_u32le(recs))
            high = first;
        else
            low = first + n;
    }
    if (n_out == 0) /* the granule has no filter */
        out[n_out++] = (struct sf_filter_group){.first = granule, .n = 1, .kind = kind};
    *out_n = n_out;
    return err;
}

/* ---- traces ---- */

enum { PAGE_ENTRIES = SF_PAGE_DATA_LEN / 8 };

/* A page of the trace index, kept while the entries that are asked for are in it. */
struct index_page {
    const struct sf_span_block_reader *r;
    struct sf_arena scratch;
    uint64_t n_all, first; /* entries of the index; number of the page's first one */
    uint32_t n;            /* entries of the page; 0: none is read yet */
    uint8_t bytes[PAGE_ENTRIES * 8];
};

static enum sf_err index_page_turn(struct index_page *p, uint64_t entry, struct sf_why *why)
{
    uint64_t first = entry / PAGE_ENTRIES * PAGE_ENTRIES;
    enum sf_err err;
    if (p->n && first == p->first)
        return SF_OK;
    p->first = first;
    p->n = p->n_all - first < PAGE_ENTRIES ? (uint32_t)(p->n_all - first) : PAGE_ENTRIES;
    err = sf_span_block_reader_paged(p->r, SF_SECTION_TIDX, first * 8, p->bytes, (size_t)p->n * 8,
                                     p->scratch, why);
    if (err)
        p->n = 0;
    return err;
}

static uint32_t index_page_hash(const struct index_page *p, uint32_t i)
{
    return sf_load_u32le(p->bytes + (size_t)i * 8);
}

/* First entry whose hash is not below `key`. Hashes are evenly distributed, so the page is
 * estimated from the value (interpolation search) and checked; the next guess is the page beside
 * it, then half of what remains. */
static enum sf_err lower_bound(struct index_page *p, uint32_t key, uint64_t *out,
                               struct sf_why *why)
{
    uint64_t low = 0, high = p->n_all, guess = key * p->n_all >> 32;
    bool is_second = true;

    while (low < high) {
        uint32_t from = 0, to;
        enum sf_err err = index_page_turn(p, guess, why);
        if (err)
            return err;
        if (index_page_hash(p, 0) >= key) {
            high = p->first < high ? p->first : high;
        } else if (index_page_hash(p, p->n - 1) < key) {
            low = p->first + p->n > low ? p->first + p->n : low;
        } else {
            for (to = p->n - 1; from < to;) { /* in this page */
                uint32_t mid = (from + to) / 2;
                if (index_page_hash(p, mid) < key)
                    from = mid + 1;
                else
                    to = mid;
            }
            *out = p->first + from;
            return SF_OK;
        }
        guess = !is_second ? low + (high - low) / 2 : high == p->first ? high - 1 : low;
        is_second = false;
    }
    *out = low;
    return SF_OK;
}

static uint32_t granule_of_trace(const struct sf_span_block_reader *r, uint64_t trace)
{
    uint32_t low = 0, high = r->n_granules;

    /* Finds the last granule that begins at or before it; then goes back to where the trace
     * begins. */
    while (low + 1 < high) {
        uint32_t mid = low + (high - low) / 2;
        if (r->granules[mid].first_trace <= trace)
            low = mid;
        else
            high = mid;
    }
    while (low > 0 && r->granules[low].is_continuation && r->granules[low].first_trace == trace)
        low--;
    return low;
}

/* Does trace number `trace` have this id? If so, returns its granule and first row. */
static enum sf_err check_trace(const struct sf_span_block_reader *r, uint64_t trace,
                               uint32_t tenant, sf_trace_id id, struct sf_arena scratch,
                               bool *out_found, struct sf_trace_place *out, struct sf_why *why)
{
    uint32_t granule = granule_of_trace(r, trace), place, row = 0;
    const struct sf_granule_info *g = &r->granules[granule];
    struct sf_granule_ctx c = {r, granule, g->n_rows, g->tenant, &scratch, why};
    const uint8_t *ids;
    const uint32_t *rows;
    enum sf_err err;

    *out_found = false;
    place = (uint32_t)(trace - g->first_trace);
    if (g->tenant != tenant)
        return SF_OK;
    if (place >= g->n_traces)
        return sf_fail(why, SF_ERR_CORRUPT, "block: section TIDX: a trace that does not exist");
    err = sf_granule_column_fixed(&c, SF_BLOCK_TRACE_ID, SF_ENC_FIX16, g->n_traces, &ids);
    if (err || memcmp(ids + (size_t)place * 16, id.b, 16) != 0)
        return err;
    err = sf_granule_trace_rows(&c, &rows);
    if (err)
        return err;
    for (uint32_t t = 0; t < place; t++)
        row += rows[t];
    *out_found = true;
    *out = (struct sf_trace_place){granule, row, rows[place], (uint32_t)trace};
    return SF_OK;
}

enum sf_err sf_filter_probe_trace_filter(const struct sf_span_block_reader *r, struct sf_arena *req,
                                         sf_bytes *out, struct sf_why *why)
{
    size_t len = (size_t)r->sections[SF_SECTION_TFLT].raw_len;
    uint8_t *bytes = sf_arena_raw(req, len, 16);
    struct sf_fuse head;
    enum sf_err err;
    if (!bytes)
        return sf_fail(why, SF_ERR_LIMIT, "block: no memory for a filter of %zu bytes", len);
    err = sf_span_block_reader_paged(r, SF_SECTION_TFLT, 0, bytes, len, *req, why);
    if (!err && (len < SF_FUSE_HEAD_LEN || !sf_fuse_parse(bytes, len, &head)))
        err = sf_fail(why, SF_ERR_CORRUPT, "block: section TFLT: not a filter");
    if (!err)
        *out = (sf_bytes){bytes, len};
    return err;
}

enum sf_err sf_filter_probe_trace_index(const struct sf_span_block_reader *r, uint64_t first,
                                        uint32_t n, struct sf_arena scratch, uint64_t *out,
                                        struct sf_why *why)
{
    uint8_t *raw = (uint8_t *)out;
    enum sf_err err = sf_span_block_reader_paged(r, SF_SECTION_TIDX, first * 8, raw, (size_t)n * 8,
                                                 scratch, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        uint32_t hash = sf_load_u32le(raw + (size_t)i * 8);
        uint32_t trace = sf_load_u32le(raw + (size_t)i * 8 + 4);
        if (trace >= r->info.n_traces)
            err = sf_fail(why, SF_ERR_CORRUPT, "block: section TIDX: a trace that does not exist");
        out[i] = (uint64_t)hash << 32 | trace;
    }
    return err;
}

/* Finds the first entry of the index that may be the trace's, and turns the page to it; *out_n:
 * number of entries, 0: the filter excludes the trace. */
static enum sf_err find_entries(struct index_page *p, uint32_t tenant, uint64_t hash,
                                uint64_t *out_at, uint64_t *out_n, struct sf_why *why)
{
    const struct sf_span_block_reader *r = p->r;
    bool may_be;
    enum sf_err err;

    *out_at = *out_n = 0;
    if (r->info.tenant && tenant != r->info.tenant)
        return SF_OK;
    if (r->sections[SF_SECTION_TIDX].raw_len != r->info.n_traces * 8)
        return sf_fail(why, SF_ERR_CORRUPT, "block: section TIDX: not one entry per trace");
    err = sf_filter_probe(r, SF_SECTION_TFLT, 0, r->sections[SF_SECTION_TFLT].raw_len, hash,
                          p->scratch, &may_be, why);
    if (err || !may_be)
        return err;
    *out_n = p->n_all = r->info.n_traces;
    return lower_bound(p, (uint32_t)(hash >> 32), out_at, why);
}

enum sf_err sf_filter_probe_may_have_trace(const struct sf_span_block_reader *r, uint32_t tenant,
                                           sf_trace_id id, struct sf_arena scratch, bool *out,
                                           uint64_t *out_at, struct sf_why *why)
{
    uint64_t hash = sf_trace_id_hash(id, tenant), n;
    struct index_page p = {.r = r, .scratch = scratch};
    enum sf_err err = find_entries(&p, tenant, hash, out_at, &n, why);

    *out = false;
    if (err || *out_at >= n)
        return err;
    err = index_page_turn(&p, *out_at, why);
    *out = !err && index_page_hash(&p, (uint32_t)(*out_at - p.first)) == hash >> 32;
    return err;
}

static enum sf_err find_trace_from(struct index_page *p, uint32_t tenant, sf_trace_id id,
                                   uint64_t at, bool *out_found, struct sf_trace_place *out,
                                   struct sf_why *why)
{
    uint32_t half = (uint32_t)(sf_trace_id_hash(id, tenant) >> 32);
    enum sf_err err = SF_OK;

    *out_found = false;
    for (; !err && at < p->n_all && !*out_found; at++) {
        const uint8_t *pair;
        err = index_page_turn(p, at, why);
        if (err)
            break;
        pair = p->bytes + (size_t)(at - p->first) * 8;
        if (sf_load_u32le(pair) != half)
            break;
        if (sf_load_u32le(pair + 4) >= p->r->info.n_traces)
            return sf_fail(why, SF_ERR_CORRUPT, "block: section TIDX: a trace that does not exist");
        err = check_trace(p->r, sf_load_u32le(pair + 4), tenant, id, p->scratch, out_found, out,
                          why);
    }
    return err;
}

enum sf_err sf_filter_probe_find_trace(const struct sf_span_block_reader *r, uint32_t tenant,
                                       sf_trace_id id, struct sf_arena scratch, bool *out_found,
                                       struct sf_trace_place *out, struct sf_why *why)
{
    struct index_page p = {.r = r, .scratch = scratch};
    uint64_t at, n;
    enum sf_err err = find_entries(&p, tenant, sf_trace_id_hash(id, tenant), &at, &n, why);

    *out_found = false;
    return err || at >= n ? err : find_trace_from(&p, tenant, id, at, out_found, out, why);
}

enum sf_err sf_filter_probe_find_trace_at(const struct sf_span_block_reader *r, uint32_t tenant,
                                          sf_trace_id id, uint64_t at, struct sf_arena scratch,
                                          bool *out_found, struct sf_trace_place *out,
                                          struct sf_why *why)
{
    struct index_page p = {.r = r, .scratch = scratch, .n_all = r->info.n_traces};
    return find_trace_from(&p, tenant, id, at, out_found, out, why);
}
