#include "wal/wal_scan.h"

#include <string.h>

#include "base/heap.h"
#include "base/limits.h"

/* While the scan searches for the next group, it may meet bytes that look like a record header;
 * checking each one hashes up to 16 MiB. After this many the scan gives up the rest of the segment,
 * so that crafted content cannot delay a start by minutes. */
enum { MAX_PRETENDERS = 64, WINDOW_LEN = 1 << 20 };

void sf_wal_scan_init(struct sf_wal_scan *s, const struct sf_file *file, uint64_t len,
                      const struct sf_wal_segment *segment, uint64_t limit_lsn)
{
    *s = (struct sf_wal_scan){.file = file,
                              .len = len,
                              .segment = *segment,
                              .limit_lsn = limit_lsn,
                              .off = SF_WAL_PAGE,
                              .next_lsn = segment->first_lsn};
}

void sf_wal_scan_init_mem(struct sf_wal_scan *s, sf_bytes slot,
                          const struct sf_wal_segment *segment, uint64_t limit_lsn)
{
    sf_wal_scan_init(s, NULL, slot.len, segment, limit_lsn);
    s->mem = slot;
}

void sf_wal_scan_done(struct sf_wal_scan *s)
{
    sf_heap_free(s->window);
    *s = (struct sf_wal_scan){0};
}

/* Reads page by page, so that a bad sector loses only the records on it. */
static void read_around_bad_pages(struct sf_wal_scan *s, uint64_t off, size_t len)
{
    for (size_t at = 0; at < len; at += SF_WAL_PAGE) {
        size_t some = len - at < SF_WAL_PAGE ? len - at : SF_WAL_PAGE, got = 0;
        enum sf_err err = sf_file_read_some(s->file, off + at, s->window + at, some, &got, NULL);
        if (err)
            s->n_bad_pages++;
        if (err || got < some)
            memset(s->window + at + got, 0, some - got);
    }
}

/* Bytes [off, off + len) of the slot, borrowed until the next call; NULL past the end or without
 * memory (s->err). */
static const uint8_t *view(struct sf_wal_scan *s, uint64_t off, size_t len)
{
    size_t want = len, got = 0;
    if (off > s->len || len > s->len - off)
        return NULL;
    if (!s->file)
        return s->mem.p + off;
    if (off >= s->window_off && off - s->window_off + len <= s->window_len)
        return s->window + (off - s->window_off);

    if (want < WINDOW_LEN)
        want = s->len - off < WINDOW_LEN ? (size_t)(s->len - off) : WINDOW_LEN;
    if (want > s->window_cap) {
        uint8_t *grown = sf_heap_grow(s->window, want, 1);
        if (!grown) {
            s->err = SF_ERR_NOMEM;
            return NULL;
        }
        s->window = grown;
        s->window_cap = want;
    }
    s->window_off = off;
    s->window_len = want;
    if (sf_file_read_some(s->file, off, s->window, want, &got, NULL))
        read_around_bad_pages(s, off, want);
    else if (got < want)
        memset(s->window + got, 0, want - got); /* the file was truncated */
    return s->window;
}

enum check { CHECK_OK, CHECK_NOTHING, CHECK_PRETENDER };

/* Is there a whole record of this segment at `off`? */
static enum check wal_scan_check_at(struct sf_wal_scan *s, uint64_t off, struct sf_wal_record *out)
{
    const uint8_t *p = view(s, off, SF_WAL_RECORD_HEADER_LEN);
    if (!p || !sf_wal_record_peek(p, out))
        return CHECK_NOTHING;
    if (out->tag != (uint32_t)s->segment.sequence)
        return CHECK_NOTHING;
    if (out->lsn < s->next_lsn)
        return CHECK_NOTHING;
    p = view(s, off, SF_WAL_RECORD_HEADER_LEN + out->content_len);
    if (!p)
        return CHECK_NOTHING;
    return sf_wal_record_decode(p, p + SF_WAL_RECORD_HEADER_LEN, &s->segment, s->is_trusting, out)
               ? CHECK_OK
               : CHECK_PRETENDER;
}

static bool is_torn_at(struct sf_wal_scan *s, uint64_t off)
{
    struct sf_wal_record r;
    const uint8_t *p = view(s, off, SF_WAL_RECORD_HEADER_LEN);
    /* One matching field is enough: the other may be damaged. */
    return p && sf_wal_record_peek(p, &r) &&
           (r.tag == (uint32_t)s->segment.sequence || r.lsn == s->next_lsn);
}

static bool wal_scan_find_group(struct sf_wal_scan *s, struct sf_wal_record *out, uint64_t *out_off)
{
    unsigned n_pretenders = 0;
    uint64_t at = s->off % SF_WAL_PAGE ? sf_wal_page_up(s->off) : s->off + SF_WAL_PAGE;
    for (; at < s->len && n_pretenders < MAX_PRETENDERS; at += SF_WAL_PAGE) {
        enum check check = wal_scan_check_at(s, at, out);
        if (s->err)
            return false;
        if (check == CHECK_PRETENDER)
            n_pretenders++;
        if (check == CHECK_OK && out->flags & SF_WAL_GROUP) {
            *out_off = at;
            return true;
        }
    }
    return false;
}

bool sf_wal_scan_next(struct sf_wal_scan *s, struct sf_wal_record *out, uint64_t *out_n_lost)
{
    uint64_t off = s->off;
    if (s->is_done || s->err)
        return false;
    if (wal_scan_check_at(s, off, out) != CHECK_OK || out->lsn != s->next_lsn) {
        if (s->err || !wal_scan_find_group(s, out, &off)) {
            s->is_done = true;
            s->is_torn = !s->err &&
                         (is_torn_at(s, s->off) || is_torn_at(s, sf_wal_page_up(s->off)));
            return false;
        }
    }
    if (out->lsn >= s->limit_lsn) {
        s->is_done = true;
        return false;
    }
    *out_n_lost = out->lsn - s->next_lsn;
    s->n_lost += *out_n_lost;
    s->n_records++;
    s->next_lsn = out->lsn + 1;
    s->off = off + sf_wal_record_span(out);
    return true;
}
