/* block_section_fuzz.c - one section from nowhere in a block that is otherwise whole: the container
 * is made around the input, so that all the fuzzer's work goes into the section itself. Built once
 * for each section; SECTION says which. What lies behind the section is marked for the address
 * sanitizer: the container must not hide a step over its end. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, len) ((void)(p))
#endif

#include "block_walk.h"
#include "support/golden_block.h"

enum { GAP_LEN = 64 };

struct base { /* the golden block, and where its table begins */
    struct sf_buf bytes;
    struct sf_block_tail tail;
};

static void make_base(struct base *b)
{
    b->bytes = golden_block(true); /* only these have filters */
    SF_ASSERT(b->bytes.len > SF_BLOCK_TAIL_LEN);
    if (sf_section_block_tail_decode(SF_BLOCK_OF_SPANS,
                                     b->bytes.p + b->bytes.len - SF_BLOCK_TAIL_LEN, false, &b->tail,
                                     NULL))
        abort();
}

static bool is_paged(uint32_t section)
{
    return section >= SF_SECTION_TIDX && section <= SF_SECTION_AFLT;
}

/* Data, the section, a table that names it, a tail. */
static void put_section(const struct base *b, sf_bytes content, struct sf_buf *out)
{
    struct sf_section own = {.id = SECTION, .off = b->tail.table_off, .raw_len = content.len};
    struct sf_block_tail tail = b->tail;
    uint8_t raw[SF_BLOCK_TAIL_LEN];

    sf_buf_add(out, b->bytes.p, (size_t)b->tail.table_off);
    if (is_paged(SECTION))
        sf_section_pages_encode(out, content);
    else
        sf_buf_add(out, content.p, content.len);
    own.stored_len = out->len - own.off;
    if (!sf_buf_take(out, GAP_LEN))
        abort();
    tail.table_off = out->len;
    for (uint64_t at = 0; at < b->tail.table_len; at += SF_SECTION_LEN) {
        struct sf_section s = sf_section_decode(b->bytes.p + b->tail.table_off + at);
        if (s.id != SECTION)
            sf_section_encode(out, &s);
    }
    sf_section_encode(out, &own);
    tail.table_len = out->len - tail.table_off;
    tail.file_len = out->len + SF_BLOCK_TAIL_LEN;
    sf_section_block_tail_encode(SF_BLOCK_OF_SPANS, &tail, raw);
    sf_buf_add(out, raw, sizeof(raw));
    SF_ASSERT(sf_buf_ok(out));
    ASAN_POISON_MEMORY_REGION(out->p + own.off + own.stored_len, GAP_LEN);
}

/* The container itself must be right, or no input would ever reach the section. */
static void check_own_section(const struct base *b)
{
    struct sf_buf whole = {0}, bytes = {0}, raw = {0};
    struct sf_span_block_reader *r;
    struct sf_arena a;
    sf_buf_add(&bytes, b->bytes.p, b->bytes.len);
    if (!sf_arena_init(&a, 1 << 20) || sf_span_block_reader_open_trusted(&bytes, &r, NULL))
        abort();
    if (is_paged(SECTION)) {
        size_t len = (size_t)r->sections[SECTION].raw_len;
        uint8_t *p = sf_buf_take(&raw, len);
        if (len && (!p || sf_span_block_reader_paged(r, SECTION, 0, p, len, a, NULL)))
            abort();
    } else {
        sf_bytes content;
        if (sf_span_block_reader_section(r, SECTION, &a, &content, NULL))
            abort();
        sf_buf_add(&raw, content.p, content.len);
    }
    put_section(b, sf_buf_bytes(&raw), &whole);
    SF_ASSERT(walk_block(&whole));
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_buf_done(&raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct base base;
    struct sf_buf bytes = {0};
    if (!base.bytes.p) {
        make_base(&base);
        check_own_section(&base);
    }
    put_section(&base, (sf_bytes){data, size}, &bytes);
    walk_block(&bytes);
    return 0;
}
