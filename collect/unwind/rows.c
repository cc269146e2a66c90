#include "collect/unwind/rows.h"

#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "collect/unwind/frame_program.h"

struct build {
    struct sf_rows *r;
    uintptr_t base;
    const uint8_t *lo, *hi; /* bounds of readable memory */
    uint64_t end;           /* end of the current function */
    const struct sf_frame_cie *cie;
};

static bool row_add(struct sf_rows *r, uint32_t pc, int16_t cfa, int8_t rbp, uint8_t kind)
{
    struct sf_row *last = r->n ? &r->rows[r->n - 1] : NULL;
    if (last && pc < last->pc)
        return true; /* overlapping functions: keep the first */
    if (last && pc == last->pc)
        r->n--; /* the previous row covers no bytes: replace it */
    else if (last && last->kind == kind && last->cfa == cfa && last->rbp == rbp)
        return true;
    if (r->n == r->cap) {
        uint32_t cap = r->cap ? r->cap * 2 : 4096;
        struct sf_row *rows = cap <= SF_ROWS_MAX ? sf_heap_grow(r->rows, cap, sizeof(*rows)) : NULL;
        if (!rows)
            return false;
        r->rows = rows;
        r->cap = cap;
    }
    r->rows[r->n++] = (struct sf_row){pc, cfa, rbp, kind};
    return true;
}

static bool rows_emit(void *to, uint64_t pc, const struct sf_frame_state *s)
{
    struct build *b = to;
    uint8_t kind = s->kind;
    int64_t cfa = kind == SF_ROW_PLT || s->cfa % 8 == 0 ? s->cfa / 8 : INT64_MAX;
    int64_t rbp = s->rbp == SF_FRAME_SAME ? SF_ROW_NO_RBP
                  : s->rbp % 8 == 0       ? s->rbp / 8
                                          : INT64_MAX;
    if (pc < b->base || pc >= b->end || pc - b->base > UINT32_MAX)
        return true;
    if (b->cie->is_signal)
        kind = SF_ROW_SIGNAL;
    else if (s->is_ra_undefined)
        kind = SF_ROW_END;
    else if (s->is_ra_lost || s->is_rbp_lost || cfa < INT16_MIN || cfa > INT16_MAX ||
             rbp < INT8_MIN || rbp > INT8_MAX)
        kind = SF_ROW_BAD;
    if (kind == SF_ROW_SIGNAL || kind == SF_ROW_END || kind == SF_ROW_BAD)
        cfa = rbp = 0;
    return row_add(b->r, (uint32_t)(pc - b->base), (int16_t)cfa, (int8_t)rbp, kind);
}

/* The content of the entry (CIE or FDE) at `at`, after its length; empty: invalid. */
static struct sf_frame_bytes entry_at(const struct build *b, const uint8_t *at)
{
    struct sf_frame_bytes e = {at, at, true};
    uint32_t len;
    if (at < b->lo || at > b->hi || b->hi - at < 8)
        return e;
    len = sf_load_u32le(at);
    if (len < 4 || len >= 0xfffffff0u || len > (size_t)(b->hi - at) - 4)
        return e;
    return (struct sf_frame_bytes){at + 4, at + 4 + len, false};
}

static bool read_cie(const struct build *b, const uint8_t *at, struct sf_frame_cie *cie)
{
    struct sf_frame_bytes e = entry_at(b, at);
    const char *aug;
    uint64_t id = sf_frame_program_fixed(&e, 4), version = sf_frame_program_fixed(&e, 1);
    size_t aug_len;

    if (e.is_bad || id != 0 || (version != 1 && version != 3))
        return false;
    aug = (const char *)e.at;
    aug_len = strnlen(aug, (size_t)(e.end - e.at));
    if (aug_len == (size_t)(e.end - e.at))
        return false;
    e.at += aug_len + 1;
    *cie = (struct sf_frame_cie){0};
    cie->code_align = sf_frame_program_uleb(&e);
    cie->data_align = sf_frame_program_sleb(&e);
    if (version == 1)
        sf_frame_program_fixed(&e, 1);
    else
        sf_frame_program_uleb(&e);
    if (aug[0] == 'z') {
        uint64_t len = sf_frame_program_uleb(&e);
        const uint8_t *end = e.at + len;
        if (e.is_bad || len > (size_t)(e.end - e.at))
            return false;
        cie->has_augmentation = true;
        for (const char *a = aug + 1; *a; a++) {
            if (*a == 'R') {
                cie->pointer_encoding = (uint8_t)sf_frame_program_fixed(&e, 1);
            } else if (*a == 'S') {
                cie->is_signal = true;
            } else if (*a == 'P') { /* the personality: only its size is needed */
                uint8_t enc = (uint8_t)sf_frame_program_fixed(&e, 1);
                sf_frame_program_pointer(&e, enc & 0x7f, 0);
            } else if (*a == 'L') {
                sf_frame_program_fixed(&e, 1);
            }
        }
        e.at = end;
    } else if (aug[0]) {
        return false;
    }
    cie->program = e;
    return !e.is_bad;
}

static bool rows_add_function(struct build *b, const uint8_t *fde)
{
    struct sf_frame_bytes e = entry_at(b, fde);
    struct sf_frame_cie cie;
    const uint8_t *cie_at = e.at;
    uint64_t delta = sf_frame_program_fixed(&e, 4), pc, len, aug;

    if (e.is_bad || !delta || delta > (size_t)(cie_at - b->lo) ||
        !read_cie(b, cie_at - delta, &cie))
        return true; /* not usable: leave a gap */
    pc = sf_frame_program_pointer(&e, cie.pointer_encoding, 0);
    len = sf_frame_program_pointer(&e, cie.pointer_encoding & 15, 0);
    if (cie.has_augmentation) {
        aug = sf_frame_program_uleb(&e);
        if (e.is_bad || aug > (size_t)(e.end - e.at))
            return true;
        e.at += aug;
    }
    if (e.is_bad || !len || pc < b->base || pc - b->base > UINT32_MAX || len > UINT32_MAX)
        return true;
    b->end = pc + len;
    b->cie = &cie;
    if (!sf_frame_program_run(&cie, e, pc, rows_emit, b) &&
        !row_add(b->r, (uint32_t)(pc - b->base), 0, 0, SF_ROW_BAD))
        return false;
    if (b->end - b->base > UINT32_MAX)
        return true;
    return row_add(b->r, (uint32_t)(b->end - b->base), 0, 0, SF_ROW_NONE);
}

static bool add_pages(struct sf_rows *r, uintptr_t base, uintptr_t text_end)
{
    size_t n = (text_end - base) / SF_ROWS_PAGE + 1;
    uint32_t row = 0;
    if (n > UINT32_MAX / SF_ROWS_PAGE)
        return false;
    r->pages = sf_heap_new_n(n + 1, sizeof(*r->pages));
    if (!r->pages)
        return false;
    for (size_t p = 0; p <= n; p++) {
        while (row < r->n && r->rows[row].pc < p * SF_ROWS_PAGE)
            row++;
        r->pages[p] = row;
    }
    r->n_pages = (uint32_t)n;
    return true;
}

/* .eh_frame_hdr: version 1, three encodings, the address of .eh_frame, a count, and a table of
 * (function, entry) pairs sorted by address: the order the rows need. */
bool sf_rows_build(struct sf_rows *r, uintptr_t base, uintptr_t text_end, const uint8_t *hdr,
                   size_t hdr_len, const uint8_t *readable, const uint8_t *readable_end)
{
    struct build b = {.r = r, .base = base, .lo = readable, .hi = readable_end};
    struct sf_frame_bytes h = {hdr, hdr + hdr_len, false};
    uint8_t frame_encoding, count_encoding, table_encoding;
    uint64_t n;

    *r = (struct sf_rows){0};
    if (sf_frame_program_fixed(&h, 1) != 1)
        return false;
    frame_encoding = (uint8_t)sf_frame_program_fixed(&h, 1);
    count_encoding = (uint8_t)sf_frame_program_fixed(&h, 1);
    table_encoding = (uint8_t)sf_frame_program_fixed(&h, 1);
    sf_frame_program_pointer(&h, frame_encoding, (uintptr_t)hdr);
    n = sf_frame_program_pointer(&h, count_encoding, (uintptr_t)hdr);
    if (h.is_bad || table_encoding != 0x3b || n > (size_t)(h.end - h.at) / 8)
        return false; /* only the usual table format is supported; all known linkers write it */
    for (uint64_t i = 0; i < n; i++) {
        uint64_t fde;
        sf_frame_program_fixed(&h, 4);
        fde = sf_frame_program_pointer(&h, table_encoding, (uintptr_t)hdr);
        if (!rows_add_function(&b, (const uint8_t *)(uintptr_t)fde)) {
            sf_rows_done(r);
            return false;
        }
    }
    if (!r->n || text_end <= base || !add_pages(r, base, text_end)) {
        sf_rows_done(r);
        return false;
    }
    return true;
}

void sf_rows_done(struct sf_rows *r)
{
    sf_heap_free(r->rows);
    sf_heap_free(r->pages);
    *r = (struct sf_rows){0};
}

const struct sf_row *sf_rows_find(const struct sf_rows *r, uint32_t pc)
{
    uint32_t page = pc / SF_ROWS_PAGE, lo, hi;
    if (page >= r->n_pages)
        return NULL;
    lo = r->pages[page]; /* the first row at or after the page; the result may be the one before */
    hi = r->pages[page + 1];
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (r->rows[middle].pc <= pc)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo ? &r->rows[lo - 1] : NULL;
}
