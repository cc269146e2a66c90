#include "render/flame_svg.h"

#include "base/text.h"
#include "folded_tree.h"

static struct sf_arena req;

static char *draw(sf_str folded, struct sf_buf *out)
{
    struct sf_profile_view v = {.service = SF_STR("shop & <co>"),
                                .type = {.sample_type = SF_STR("cpu")}};
    v.tree = folded_tree(folded, SF_STR("nanoseconds"), &req);
    assert_ok(sf_flame_svg_render(&v, req, out, NULL));
    sf_buf_add_u8(out, 0);
    return (char *)out->p;
}

/* Every tag that opens closes, in order: enough of a parser for what we write. */
static void assert_well_formed(const char *xml)
{
    char open[64][32];
    int depth = 0;
    for (const char *p = strchr(xml, '<'); p; p = strchr(p + 1, '<')) {
        size_t len = strcspn(p + 1, " />");
        if (strncmp(p, "<?", 2) == 0)
            continue;
        if (strncmp(p, "<![CDATA[", 9) == 0) {
            p = strstr(p, "]]>");
            assert_non_null(p);
            continue;
        }
        if (p[1] == '/') {
            len = strcspn(p + 2, ">");
            assert_true(depth > 0);
            depth--;
            assert_int_equal(len, strlen(open[depth]));
            assert_memory_equal(p + 2, open[depth], len);
            continue;
        }
        if (strchr(p, '>')[-1] == '/')
            continue;
        assert_true(len < 32 && depth < 64);
        snprintf(open[depth++], 32, "%.*s", (int)len, p + 1);
    }
    assert_int_equal(depth, 0);
}

TEST(flame_svg, draws_bars_as_wide_as_their_share)
{
    struct sf_buf out = {0};
    const char *svg;
    assert_true(sf_arena_init(&req, 1 << 22));
    svg = draw(SF_STR("a;b 750\na;c 250\n"), &out);
    assert_well_formed(svg);
    assert_non_null(strstr(svg, "<title>b\n750 ns, 75.00 % of 1 us; self 750 ns</title>"
                                "<rect x=\"10.000\" y=\"80\" width=\"885.000\""));
    assert_non_null(strstr(svg, "<title>c\n250 ns, 25.00 % of 1 us; self 250 ns</title>"
                                "<rect x=\"895.000\" y=\"80\" width=\"295.000\""));
    assert_non_null(strstr(svg, "shop &amp; &lt;co&gt;: cpu, 1 us"));
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(flame_svg, lets_no_name_out_of_its_place)
{
    struct sf_buf out = {0};
    const char *svg;
    assert_true(sf_arena_init(&req, 1 << 22));
    svg = draw(SF_STR("</title><script>alert(1)</script> 5\n\"onload=\"x' 5\n]]>&amp; 5\n"
                      "bad\xff\xfe\x01\x1b[31m 5\nhidden\xe2\x80\xae"
                      "evil 5\nnon\xef\xbf\xbf"
                      "char 5\n"),
               &out);
    assert_well_formed(svg);
    assert_null(strstr(svg, "<script>alert"));
    assert_non_null(strstr(svg, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_non_null(strstr(svg, "&quot;onload=&quot;x&#39;"));
    assert_non_null(strstr(svg, "]]&gt;&amp;amp"));
    assert_null(strchr(svg, 0x1b));
    assert_null(strchr(svg, 0x01));
    assert_null(strstr(svg, "\xe2\x80\xae"));
    assert_null(strstr(svg, "\xef\xbf\xbf"));
    assert_true(sf_utf8_is_valid(sf_str_from(svg)));
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(flame_svg, says_when_there_is_nothing_to_draw)
{
    struct sf_profile_view v = {0};
    struct sf_buf out = {0};
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 22));
    assert_non_null(strstr(draw(SF_STR_NONE, &out), ">no samples</text>"));
    v.tree = folded_tree(SF_STR("a -5\n"), SF_STR("bytes"), &req);
    assert_err(sf_flame_svg_render(&v, req, &out, &why), SF_ERR_INPUT);
    sf_buf_done(&out);
    sf_arena_done(&req);
}
