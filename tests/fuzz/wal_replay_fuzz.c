/* Any bytes as a log segment.
 *
 * The first byte chooses: bit 0, the rest is a whole slot with its header page, otherwise a valid
 * header is put before it; bit 1, checksums are not examined, so that the fuzzer gets behind
 * them. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/limits.h"
#include "wal/wal_scan.h"

static void check_record(const struct sf_wal_scan *s, const struct sf_wal_record *r,
                         const uint8_t *slot, size_t len)
{
    const struct sf_logged *l = &r->logged;
    const uint8_t *end = slot + len;
    SF_ASSERT(l->body.p >= slot && l->body.p <= end && l->body.len <= (size_t)(end - l->body.p));
    SF_ASSERT(!l->meta.len || (l->meta.p >= slot && l->meta.p + l->meta.len == l->body.p));
    SF_ASSERT(r->content_len <= SF_LIMIT_RECORD_LEN);
    SF_ASSERT(s->off % 8 == 0 && r->lsn + 1 == s->next_lsn);
    if (!s->is_trusting) { /* what checks out is what the encoder writes */
        size_t head_len = sf_wal_record_head_len(l);
        uint8_t *again = malloc(head_len);
        if (!again)
            abort();
        SF_ASSERT((size_t)(l->body.p - slot) >= head_len);
        sf_wal_record_encode(l, r->lsn, r->flags, &s->segment, again);
        SF_ASSERT(memcmp(again, l->body.p - head_len, head_len) == 0);
        free(again);
    }
}

static void scan(const uint8_t *slot, size_t len, const struct sf_wal_segment *segment,
                 bool is_trusting)
{
    struct sf_wal_scan s;
    struct sf_wal_record r;
    uint64_t n_lost, last_lsn = 0, n_records = 0, n_lost_all = 0;
    sf_wal_scan_init_mem(&s, (sf_bytes){slot, len}, segment, UINT64_MAX);
    s.is_trusting = is_trusting;
    while (sf_wal_scan_next(&s, &r, &n_lost)) {
        SF_ASSERT(r.lsn >= segment->first_lsn && (n_records == 0 || r.lsn > last_lsn));
        check_record(&s, &r, slot, len);
        last_lsn = r.lsn;
        n_lost_all += n_lost;
        n_records++;
    }
    SF_ASSERT(s.n_records == n_records && s.n_lost == n_lost_all);
    SF_ASSERT(n_records <= len / SF_WAL_RECORD_HEADER_LEN);
    sf_wal_scan_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_wal_segment segment = {
        .sequence = 1, .first_lsn = 1, .created_ns = 1, .store_uuid = "fuzz"};
    bool has_header = size && data[0] & 1, is_trusting = size && data[0] & 2;
    size_t head_len = has_header ? 0 : SF_WAL_PAGE, len;
    uint8_t *slot;
    if (size == 0)
        return 0;
    len = head_len + size - 1;
    slot = malloc(len ? len : 1);
    if (!slot)
        abort();
    if (!has_header)
        sf_wal_segment_encode(&segment, slot);
    memcpy(slot + head_len, data + 1, size - 1);
    if (!has_header) {
        scan(slot, len, &segment, is_trusting);
    } else if (len >= SF_WAL_PAGE) {
        enum sf_wal_segment_state state = sf_wal_segment_decode(slot, &segment);
        if (state == SF_WAL_SEGMENT_OK || state == SF_WAL_SEGMENT_REPAIRED)
            scan(slot, len, &segment, is_trusting);
    }
    free(slot);
    return 0;
}
