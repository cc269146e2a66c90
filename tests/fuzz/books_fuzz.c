/* Any bytes as one of the small lists that the server keeps for people: as a request that adds to
 * it, and as its file with a checksum that is right. The first byte says which. What is refused has
 * a sentence, and what was taken can be written and read again. */
#include <stdlib.h>
#include <string.h>

#include "alert/alert_history.h"
#include "alert/silence_book.h"
#include "base/checked_lines.h"
#include "base/time_unit.h"
#include "serve/own/deploy_book.h"
#include "serve/pyroscope/recording_rule.h"
#include "serve/pyroscope/recording_totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t NOW_NS = INT64_C(1763200000) * SF_NS_PER_S;
static struct sf_why why;

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* A file of these lines. */
static struct sf_buf file_of(const char *head, sf_str lines)
{
    struct sf_buf body = {0}, out = {0};
    sf_buf_add_str(&body, lines);
    sf_checked_lines_write(head, &body, &out);
    return out;
}

static void silences(sf_str text, bool is_file)
{
    struct sf_silence_book b = {0}, again = {0};
    struct sf_silence *made;
    struct sf_buf file = file_of("spanflame-silences 1 ", text), out = {0};
    enum sf_err err = is_file ? sf_silence_book_read(&b, sf_buf_str(&file), &why)
                              : sf_silence_book_add(&b, text, SF_STR("t"), NOW_NS, &made, &why);
    must(!err || why.text[0]);
    if (!err) {
        (void)sf_silence_book_find(&b, SF_STR("t"), SF_STR("\"a\":\"x\",\"b\":\"\\u0000\""),
                                   NOW_NS);
        sf_silence_book_write(&b, &out);
        must(!sf_silence_book_read(&again, sf_buf_str(&out), &why) && again.n == b.n);
    }
    sf_buf_done(&file);
    sf_buf_done(&out);
    sf_silence_book_done(&again);
    sf_silence_book_done(&b);
}

static void deploys(sf_str text, bool is_file)
{
    struct sf_deploy_book b = {0}, again = {0};
    const struct sf_deploy *made;
    struct sf_buf file = file_of("spanflame-deploys 1 ", text), out = {0};
    enum sf_err err = is_file ? sf_deploy_book_read(&b, sf_buf_str(&file), &why)
                              : sf_deploy_book_add(&b, text, SF_STR("t"), NOW_NS, &made, &why);
    must(!err || why.text[0]);
    if (!err) {
        sf_deploy_book_tidy(&b);
        sf_deploy_book_write(&b, &out);
        must(!sf_deploy_book_read(&again, sf_buf_str(&out), &why) && again.n == b.n);
    }
    sf_buf_done(&file);
    sf_buf_done(&out);
    sf_deploy_book_done(&again);
    sf_deploy_book_done(&b);
}

static void alerts(sf_str text)
{
    struct sf_alert_book b = {0}, again = {0};
    struct sf_buf file = file_of("spanflame-alerts 1 ", text), out = {0};
    enum sf_err err = sf_alert_book_read(&b, sf_buf_str(&file), &why);
    must(!err || why.text[0]);
    if (!err) {
        sf_alert_book_write(&b, &out);
        must(!sf_alert_book_read(&again, sf_buf_str(&out), &why) && again.n == b.n);
    }
    sf_buf_done(&file);
    sf_buf_done(&out);
    sf_alert_book_done(&again);
    sf_alert_book_done(&b);
}

static void history(sf_str text)
{
    struct sf_alert_history h = {0}, again = {0};
    struct sf_buf file = file_of("spanflame-alert-history 1 ", text), out = {0};
    enum sf_err err = sf_alert_history_read(&h, sf_buf_str(&file), &why);
    must(!err || why.text[0]);
    if (!err) {
        sf_alert_history_write(&h, &out);
        must(!sf_alert_history_read(&again, sf_buf_str(&out), &why) && again.n == h.n);
    }
    sf_buf_done(&file);
    sf_buf_done(&out);
    sf_alert_history_done(&again);
    sf_alert_history_done(&h);
}

static void rules(sf_str text, bool is_json, struct sf_arena *req)
{
    struct sf_recording_rule rule, again;
    struct sf_label_selector selector;
    struct sf_buf line = {0};
    enum sf_err err = sf_recording_rule_read(text, is_json, req, &rule, &why);
    if (!err)
        err = sf_recording_rule_check(&rule, *req, &why);
    must(!err || why.text[0]);
    if (!err) {
        rule.tenant = SF_STR("t");
        if (!rule.id.len)
            rule.id = SF_STR("mine");
        rule.generation = 1; /* the server counts */
        must(!sf_recording_rule_selector(&rule, req, &selector, &why));
        sf_recording_rule_add_line(&rule, *req, &line);
        must(line.len > 0 && sf_recording_rule_read_line(
                                 sf_str_part(sf_buf_str(&line), 0, line.len - 1), req, &again));
        must(sf_recording_rule_is_same_sum(&rule, &again));
    }
    sf_buf_done(&line);
}

static void totals(sf_str text, struct sf_arena scratch)
{
    struct sf_recording_totals t = {0}, again = {0};
    struct sf_buf out = {0};
    enum sf_err err = sf_recording_totals_read(&t, text, scratch, &why);
    must(!err || why.text[0]);
    if (!err) {
        sf_recording_totals_write(&t, &out);
        must(!sf_recording_totals_read(&again, sf_buf_str(&out), scratch, &why));
        must(again.n_series == t.n_series);
    }
    sf_buf_done(&out);
    sf_recording_totals_done(&again);
    sf_recording_totals_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sf_arena req = {0};
    char *copy = malloc(size ? size : 1);
    sf_str text;
    if (size)
        memcpy(copy, data, size);
    why = (struct sf_why){0};
    must(sf_arena_init(&req, 4 << 20));
    text = (sf_str){copy + (size > 0), size - (size > 0)};
    switch (size ? copy[0] : 0) {
    case 's': silences(text, false); break;
    case 'S': silences(text, true); break;
    case 'd': deploys(text, false); break;
    case 'D': deploys(text, true); break;
    case 'A': alerts(text); break;
    case 'H': history(text); break;
    case 'r': rules(text, true, &req); break;
    case 'R': rules(text, false, &req); break;
    case 'T': totals(text, req); break;
    default: break;
    }
    sf_arena_done(&req);
    free(copy);
    return 0;
}
