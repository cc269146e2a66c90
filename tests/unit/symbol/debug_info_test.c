/* Sections written by hand: a unit at LOW with a function, what is inlined into it, and files that
 * lie about themselves. */
#include "test.h"

#include "base/buf.h"
#include "symbol/debug_info.h"
#include "symbol/dwarf_names.h"

enum { LOW = 0x1000, UNIT = 1, FUNCTION, INLINED, ABSTRACT };

/* The shapes: code, tag, has children, pairs of name and form. */
static const uint8_t abbrevs[] = {
    UNIT,
    0x11,
    1,
    SF_AT_LOW_PC,
    SF_FORM_ADDR,
    SF_AT_HIGH_PC,
    SF_FORM_DATA4,
    0,
    0,
    FUNCTION,
    SF_TAG_SUBPROGRAM,
    1,
    SF_AT_NAME,
    SF_FORM_STRING,
    SF_AT_LOW_PC,
    SF_FORM_ADDR,
    SF_AT_HIGH_PC,
    SF_FORM_DATA4,
    SF_AT_DECL_LINE,
    SF_FORM_DATA1,
    0,
    0,
    INLINED,
    SF_TAG_INLINED,
    1,
    SF_AT_ABSTRACT_ORIGIN,
    SF_FORM_REF4,
    SF_AT_LOW_PC,
    SF_FORM_ADDR,
    SF_AT_HIGH_PC,
    SF_FORM_DATA4,
    SF_AT_CALL_LINE,
    SF_FORM_UDATA,
    0,
    0,
    ABSTRACT,
    SF_TAG_SUBPROGRAM,
    0,
    SF_AT_NAME,
    SF_FORM_STRING,
    SF_AT_ABSTRACT_ORIGIN,
    SF_FORM_REF4,
    0,
    0,
    0,
};

struct info {
    struct sf_buf b;
};

static void begin(struct info *i)
{
    *i = (struct info){0};
    sf_buf_add_u32le(&i->b, 0); /* length, set at the end */
    sf_buf_add_u16le(&i->b, 4);
    sf_buf_add_u32le(&i->b, 0);
    sf_buf_add_u8(&i->b, 8);
    sf_buf_add_u8(&i->b, UNIT);
    sf_buf_add_u64le(&i->b, LOW);
    sf_buf_add_u32le(&i->b, 0x100);
}

static void add_range(struct info *i, uint64_t at, uint32_t len)
{
    sf_buf_add_u64le(&i->b, at);
    sf_buf_add_u32le(&i->b, len);
}

static void add_function(struct info *i, const char *name, uint64_t at, uint32_t len)
{
    sf_buf_add_u8(&i->b, FUNCTION);
    sf_buf_add(&i->b, name, strlen(name) + 1);
    add_range(i, at, len);
    sf_buf_add_u8(&i->b, 3);
}

static void add_inlined(struct info *i, uint32_t origin, uint64_t at, uint32_t len, uint8_t line)
{
    sf_buf_add_u8(&i->b, INLINED);
    sf_buf_add_u32le(&i->b, origin);
    add_range(i, at, len);
    sf_buf_add_u8(&i->b, line);
}

static uint32_t add_abstract(struct info *i, const char *name, uint32_t origin)
{
    uint32_t at = (uint32_t)i->b.len;
    sf_buf_add_u8(&i->b, ABSTRACT);
    sf_buf_add(&i->b, name, strlen(name) + 1);
    sf_buf_add_u32le(&i->b, origin);
    return at;
}

static void end(struct info *i, unsigned open)
{
    uint32_t len;
    while (open--)
        sf_buf_add_u8(&i->b, 0);
    len = (uint32_t)i->b.len - 4;
    memcpy(i->b.p, &len, 4);
}

struct seen {
    char said[4096];
    unsigned n_answers, n_lines;
};

static void take(void *arg, uint32_t query, const struct sf_symbol_line *lines, unsigned n)
{
    struct seen *s = arg;
    size_t at = strlen(s->said);
    (void)query;
    s->n_answers++;
    s->n_lines += n;
    for (unsigned k = 0; k < n && at < sizeof(s->said) - 100; k++)
        at += (size_t)snprintf(s->said + at, sizeof(s->said) - at, "%.*s:%u ",
                               SF_STR_ARG(lines[k].name), lines[k].line);
    snprintf(s->said + at, sizeof(s->said) - at, ". ");
}

static struct seen asked(const struct info *i, const uint64_t *at, uint32_t n, uint64_t work)
{
    struct sf_debug_info d = {
        .d = {.info = {i->b.p, i->b.len}, .abbrev = {abbrevs, sizeof(abbrevs)}, .work_left = work}};
    struct seen s = {0};
    sf_debug_info_find(&d, at, n, take, &s);
    sf_debug_info_done(&d);
    return s;
}

TEST(debug_info, says_what_is_inlined_into_what)
{
    static const uint64_t at[] = {LOW - 1, LOW + 2, LOW + 12, LOW + 14, LOW + 22, LOW + 50};
    struct info i;
    uint32_t one, two;
    struct seen s;
    begin(&i);
    one = add_abstract(&i, "one", 0);
    two = add_abstract(&i, "two", 0);
    add_function(&i, "main", LOW, 40);
    add_inlined(&i, one, LOW + 10, 10, 7);
    add_inlined(&i, two, LOW + 14, 2, 8);
    sf_buf_add(&i.b, "\0\0", 2); /* closes both */
    add_inlined(&i, two, LOW + 20, 4, 9);
    end(&i, 3);
    s = asked(&i, at, 6, 10000);
    assert_string_equal(s.said, "main:0 . one:0 main:7 . two:0 one:8 main:7 . two:0 main:9 . ");
    sf_buf_done(&i.b);
}

/* A later entry beside the first that claims the same address has it; it is not inside it. */
TEST(debug_info, knows_beside_from_inside)
{
    static const uint64_t at[] = {LOW + 12};
    struct info i;
    uint32_t one;
    struct seen s;
    begin(&i);
    one = add_abstract(&i, "one", 0);
    add_function(&i, "main", LOW, 40);
    add_inlined(&i, one, LOW + 10, 10, 7);
    sf_buf_add_u8(&i.b, 0);
    add_inlined(&i, one, LOW + 10, 10, 8);
    end(&i, 3);
    s = asked(&i, at, 1, 10000);
    assert_string_equal(s.said, "one:0 main:8 . ");
    sf_buf_done(&i.b);
}

TEST(debug_info, ends_where_names_lead_in_a_circle)
{
    static const uint64_t at[] = {LOW + 12};
    struct info i;
    uint32_t here;
    struct seen s;
    begin(&i);
    here = (uint32_t)i.b.len;
    add_abstract(&i, "", here); /* stems from itself */
    add_function(&i, "main", LOW, 40);
    add_inlined(&i, here, LOW + 10, 10, 7);
    end(&i, 3);
    s = asked(&i, at, 1, 10000);
    assert_string_equal(s.said, ":0 main:7 . ");
    sf_buf_done(&i.b);
}

/* More calls inside each other than any compiler makes: nothing is stated, the symbol table is
 * asked.
 */
TEST(debug_info, gives_up_on_calls_without_end)
{
    static const uint64_t at[] = {LOW + 12};
    struct info i;
    begin(&i);
    add_function(&i, "main", LOW, 40);
    for (unsigned k = 0; k < SF_SYMBOL_LINES_MAX - 1; k++)
        add_inlined(&i, 0, LOW + 10, 10, 7);
    end(&i, 0);
    assert_int_equal(asked(&i, at, 1, 100000).n_lines, SF_SYMBOL_LINES_MAX);
    add_inlined(&i, 0, LOW + 10, 10, 7);
    end(&i, 0);
    assert_int_equal(asked(&i, at, 1, 100000).n_answers, 0);
    sf_buf_done(&i.b);
}

TEST(debug_info, stops_when_all_work_is_spent_and_anywhere_it_is_cut)
{
    static const uint64_t at[] = {LOW + 12};
    struct info i;
    struct seen s;
    begin(&i);
    for (unsigned k = 0; k < 1000; k++)
        add_abstract(&i, "filler", 0);
    add_function(&i, "main", LOW, 40);
    end(&i, 2);
    assert_int_equal(asked(&i, at, 1, 100000).n_lines, 1);
    assert_int_equal(asked(&i, at, 1, 500).n_answers, 0);
    for (uint64_t work = 0; work < 200; work++)
        asked(&i, at, 1, work);
    for (size_t len = 0; len < i.b.len; len += 7) {
        struct info cut = {i.b};
        cut.b.len = len;
        s = asked(&cut, at, 1, 100000);
        assert_int_equal(s.n_answers, 0);
    }
    sf_buf_done(&i.b);
}
