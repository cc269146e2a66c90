#include "serve/tempo/search_ask.h"

#include "test.h"
#include "wire/pb_write.h"

static struct sf_why why;
static struct sf_search_ask ask;

static enum sf_err from_params(const char *query)
{
    struct sf_request r = {.query = sf_str_from(query)};
    sf_search_ask_done(&ask);
    ask = (struct sf_search_ask){0};
    return sf_search_ask_params(&r, &ask, &why);
}

static void assert_query(const char *want)
{
    sf_str got = sf_buf_str(&ask.query);
    if (!sf_str_eq(got, sf_str_from(want)))
        fail_msg("got  %.*s\nwant %s", SF_STR_ARG(got), want);
}

static void assert_refused(const char *query, const char *sentence)
{
    assert_err(from_params(query), SF_ERR_INPUT);
    if (!strstr(why.text, sentence))
        fail_msg("%s: says %s", query, why.text);
}

TEST(search_ask, has_the_defaults_clients_expect)
{
    assert_ok(from_params(""));
    assert_query("{}");
    assert_int_equal(ask.limit, 20);
    assert_int_equal(ask.spans_per_set, 3);
    assert_int_equal(ask.to_ns, 0);
    assert_ok(from_params("q=%7Bname%3D%22a%22%7D&limit=5&spss=0&start=10&end=20&unknown=1"));
    assert_query("{name=\"a\"}");
    assert_int_equal(ask.limit, 5);
    assert_int_equal(ask.spans_per_set, 3);
    assert_int_equal(ask.to_ns, 20000000000);
    assert_ok(from_params("since=15m"));
    assert_int_equal(ask.to_ns, INT64_MAX);
    sf_search_ask_done(&ask);
}

TEST(search_ask, writes_old_tags_as_spansets)
{
    assert_ok(from_params("tags=service.name%3Dshop"));
    assert_query("{ resource.service.name =~ \".*shop.*\" }");
    assert_ok(from_params("tags=name%3Da.b%20http.status_code%3D500%20status.code%3Derror"));
    assert_query("{ name =~ \".*a\\\\.b.*\" } && { span.http.status_code = 500 } && { status = "
                 "error }");
    assert_ok(from_params("tags=colour%3D%22dark%20%5C%22red%5C%22%22&minDuration=1.5s"));
    assert_query("{ span.\"colour\" = \"dark \\\"red\\\"\" || resource.\"colour\" = \"dark "
                 "\\\"red\\\"\" } && { traceDuration >= 1500000000ns }");
    assert_ok(from_params("minDuration=100ms&maxDuration=2s"));
    assert_query("{ traceDuration >= 100000000ns } && { traceDuration <= 2000000000ns }");
    assert_ok(from_params("tags=&q=%7B%7D"));
    assert_query("{}");
    sf_search_ask_done(&ask);
}

TEST(search_ask, takes_parameters_nobody_knows_as_pairs_when_nothing_else_is_asked)
{
    assert_ok(from_params("service.name=x&limit=3"));
    assert_query("{ resource.service.name =~ \".*x.*\" }");
    assert_int_equal(ask.limit, 3);
    assert_ok(from_params("service.name=x&start=1&end=2"));
    assert_query("{}");
    sf_search_ask_done(&ask);
}

TEST(search_ask, refuses_with_sentences_clients_know)
{
    assert_refused("limit=0", "invalid limit: must be a positive number");
    assert_refused("limit=x", "invalid limit");
    assert_refused("limit=2147483648", "limit 2147483648 exceeds max limit 262144");
    assert_refused("spss=101", "spans per span set exceeds 100. received 101");
    assert_refused("q=%7B%7D&tags=a%3Db", "can't specify tags and q in the same query");
    assert_refused("tags=a%3Db%20a%3Dc", "tag a has been set twice");
    assert_refused("tags=a", "at byte 1");
    assert_refused("tags=ok%3D1%20%22b", "at byte 6");
    assert_refused("tags=a%3D%22b", "at byte 1");
    assert_refused("tags=http.status_code%3Dbad", "is not a number");
    assert_refused("tags=status.code%3Dbad", "unset, ok or error");
    assert_refused("minDuration=2s&maxDuration=1s", "must be greater than minDuration");
    assert_refused("minDuration=soon", "is not a duration");
    assert_refused("since=soon", "invalid since");
    sf_search_ask_done(&ask);
}

TEST(search_ask, bounds_the_number_and_size_of_pairs)
{
    struct sf_buf query = {0};
    sf_buf_print(&query, "tags=");
    for (int i = 0; i < 101; i++)
        sf_buf_print(&query, "a%d%%3D1+", i);
    sf_buf_add_u8(&query, 0);
    assert_refused((const char *)query.p, "more than 100");
    sf_buf_reset(&query);
    sf_buf_print(&query, "tags=a%%3D");
    for (int i = 0; i < 70000; i++)
        sf_buf_add_u8(&query, 'x');
    sf_buf_add_u8(&query, 0);
    assert_refused((const char *)query.p, "query is longer than");
    sf_buf_done(&query);
    sf_search_ask_done(&ask);
}

TEST(search_ask, reads_messages_and_their_mistakes)
{
    struct sf_buf m = {0};
    size_t entry = sf_pb_write_begin(&m, 1);
    sf_pb_write_str(&m, 1, SF_STR("pod"));
    sf_pb_write_str(&m, 2, SF_STR("p-1"));
    sf_pb_write_end(&m, entry);
    sf_pb_write_u64(&m, 3, 250);
    sf_pb_write_u64(&m, 5, 100);
    sf_pb_write_u64(&m, 6, 200);
    sf_pb_write_u64(&m, 77, 1); /* of a newer client */
    sf_search_ask_done(&ask);
    ask = (struct sf_search_ask){0};
    assert_ok(sf_search_ask_message(sf_buf_bytes(&m), &ask, &why));
    assert_query("{ resource.pod =~ \".*p-1.*\" } && { traceDuration <= 250000000ns }");
    assert_int_equal(ask.limit, 20);
    assert_int_equal(ask.spans_per_set, 3);
    assert_int_equal(ask.from_ns, 100000000000);
    sf_pb_write_u64(&m, 6, 50);
    assert_err(sf_search_ask_message(sf_buf_bytes(&m), &ask, &why), SF_ERR_INPUT);
    for (size_t len = 1; len < m.len; len++) { /* cut anywhere: an answer or a sentence, no crash */
        struct sf_search_ask cut = {0};
        (void)sf_search_ask_message((sf_bytes){m.p, len}, &cut, &why);
        sf_search_ask_done(&cut);
    }
    sf_buf_done(&m);
    sf_search_ask_done(&ask);
}
