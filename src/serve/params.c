#include "serve/params.h"

#include "base/text.h"
#include "base/time_unit.h"
#include "query/lexer.h"
#include "wire/time_text.h"

static enum sf_err params_read_time(const struct sf_request *r, const char *name, int64_t now_ns,
                                    int64_t *out_ns, struct sf_why *why)
{
    struct sf_buf val = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, sf_str_from(name), &val) && val.len > 0 &&
        !sf_time_text_parse(sf_buf_str(&val), now_ns, out_ns))
        err = sf_fail(why, SF_ERR_INPUT,
                      "%s=%.*s is not a time; use unix seconds, RFC 3339, now or now-15m", name,
                      SF_STR_ARG(sf_str_part(sf_buf_str(&val), 0, 60)));
    sf_buf_done(&val);
    return err;
}

enum sf_err sf_params_range(const struct sf_request *r, int64_t now_ns, int64_t default_len_ns,
                            int64_t *out_from_ns, int64_t *out_until_ns, struct sf_why *why)
{
    int64_t from_ns = -1, until_ns = now_ns;
    enum sf_err err = params_read_time(r, "until", now_ns, &until_ns, why);
    if (!err)
        err = params_read_time(r, "from", now_ns, &from_ns, why);
    if (err)
        return err;
    if (from_ns < 0)
        from_ns = until_ns > default_len_ns ? until_ns - default_len_ns : 0;
    if (from_ns >= until_ns)
        return sf_fail(why, SF_ERR_INPUT, "from must be before until");
    *out_from_ns = from_ns;
    *out_until_ns = until_ns;
    return SF_OK;
}

enum sf_err sf_params_no_range(const struct sf_request *r, const char *of, struct sf_why *why)
{
    struct sf_buf val = {.max = SF_LIMIT_PARAM_LEN};
    bool is_given = sf_request_param(r, SF_STR("from"), &val) ||
                    sf_request_param(r, SF_STR("until"), &val);
    sf_buf_done(&val);
    return is_given ? sf_fail(why, SF_ERR_INPUT,
                              "from and until are not for %s, which has its own time", of)
                    : SF_OK;
}

enum sf_err sf_params_trace_id(sf_str text, sf_trace_id *out, struct sf_why *why)
{
    for (size_t i = 0; i < text.len; i++) {
        if (sf_hex_digit(text.p[i]) < 0)
            return sf_fail(why, SF_ERR_INPUT,
                           "trace IDs can only contain hex characters: invalid character '%c' at "
                           "position %zu",
                           text.p[i], i + 1);
    }
    if (text.len > 32)
        return sf_fail(why, SF_ERR_INPUT, "trace IDs can't be larger than 128 bits");
    if (!sf_trace_id_parse(text, out))
        return sf_fail(why, SF_ERR_INPUT, "please provide a traceID");
    return SF_OK;
}

static const char only_one[] = "only one of start and end provided: must provide both or neither";

static enum sf_err refuse_order(int64_t start_s, int64_t end_s, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_INPUT,
                   "http parameter start must be before end. received start=%lld end=%lld",
                   (long long)start_s, (long long)end_s);
}

enum sf_err sf_params_start_end(const struct sf_request *r, int64_t *out_from_ns,
                                int64_t *out_to_ns, struct sf_why *why)
{
    struct sf_buf start = {.max = SF_LIMIT_PARAM_LEN}, end = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err = SF_OK;
    uint64_t start_s = 0, end_s = 0;
    bool has_start = sf_request_param(r, SF_STR("start"), &start) && start.len;
    bool has_end = sf_request_param(r, SF_STR("end"), &end) && end.len;
    if (has_start && (!sf_str_to_u64(sf_buf_str(&start), &start_s) || start_s > 9000000000u))
        err = sf_fail(why, SF_ERR_INPUT, "http parameter start must be unix seconds. received %.*s",
                      SF_STR_ARG(sf_str_part(sf_buf_str(&start), 0, 60)));
    else if (has_end && (!sf_str_to_u64(sf_buf_str(&end), &end_s) || end_s > 9000000000u))
        err = sf_fail(why, SF_ERR_INPUT, "http parameter end must be unix seconds. received %.*s",
                      SF_STR_ARG(sf_str_part(sf_buf_str(&end), 0, 60)));
    else if (has_start != has_end)
        err = sf_fail(why, SF_ERR_INPUT, "%s", only_one);
    else if (has_start && start_s >= end_s)
        err = refuse_order((int64_t)start_s, (int64_t)end_s, why);
    sf_buf_done(&start);
    sf_buf_done(&end);
    if (err)
        return err;
    *out_from_ns = (int64_t)start_s * SF_NS_PER_S;
    *out_to_ns = (int64_t)end_s * SF_NS_PER_S;
    return SF_OK;
}

enum sf_err sf_params_check_range(int64_t from_ns, int64_t to_ns, struct sf_why *why)
{
    if (!from_ns != !to_ns)
        return sf_fail(why, SF_ERR_INPUT, "%s", only_one);
    return to_ns && from_ns >= to_ns ? refuse_order(from_ns / SF_NS_PER_S, to_ns / SF_NS_PER_S, why)
                                     : SF_OK;
}

bool sf_params_parse_duration(sf_str text, int64_t *out_ns)
{
    struct sf_lexer lexer = {.text = text, .line = 1};
    struct sf_token token;
    /* Numbers need no arena; no other text may reach the lexer. */
    if (text.len == 0 || text.p[0] < '0' || text.p[0] > '9' ||
        sf_lexer_next(&lexer, &token, NULL) || lexer.at != text.len)
        return false;
    if (token.kind == SF_TOKEN_DURATION) {
        *out_ns = token.i64;
    } else if (token.kind == SF_TOKEN_INT && token.i64 <= INT64_MAX / SF_NS_PER_S) {
        *out_ns = token.i64 * SF_NS_PER_S;
    } else if (token.kind == SF_TOKEN_FLOAT && token.f64 < (double)(INT64_MAX / SF_NS_PER_S)) {
        *out_ns = (int64_t)(token.f64 * 1e9);
    } else {
        return false;
    }
    return *out_ns > 0;
}

enum sf_err sf_params_duration(const struct sf_request *r, sf_str name, int64_t *out_ns,
                               struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, name, &text) && text.len &&
        !sf_params_parse_duration(sf_buf_str(&text), out_ns))
        err = sf_fail(why, SF_ERR_INPUT, "invalid %.*s: %.*s is not a duration such as 15s or 1h",
                      SF_STR_ARG(name), SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 60)));
    sf_buf_done(&text);
    return err;
}

enum sf_err sf_params_count(const struct sf_request *r, sf_str name, uint64_t *out,
                            struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, name, &text) && text.len && !sf_str_to_u64(sf_buf_str(&text), out))
        err = sf_fail(why, SF_ERR_INPUT, "invalid %.*s: %.*s is not a number", SF_STR_ARG(name),
                      SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 60)));
    sf_buf_done(&text);
    return err;
}

sf_str sf_params_word(const struct sf_request *r, const char *name, struct sf_arena *req)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    sf_str out = SF_STR_NONE;
    if (sf_request_param(r, sf_str_from(name), &text))
        (void)sf_arena_copy(req, sf_buf_str(&text), &out);
    sf_buf_done(&text);
    return out;
}

enum sf_err sf_params_bool(const struct sf_request *r, sf_str name, bool *out, struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err = SF_OK;
    bool is_given = sf_request_param(r, name, &text);
    sf_str word = sf_buf_str(&text);
    if (is_given && (sf_str_eq(word, SF_STR("true")) || sf_str_eq(word, SF_STR("1"))))
        *out = true;
    else if (is_given && (sf_str_eq(word, SF_STR("false")) || sf_str_eq(word, SF_STR("0"))))
        *out = false;
    else if (is_given)
        err = sf_fail(why, SF_ERR_INPUT, "%.*s is true or false", SF_STR_ARG(name));
    sf_buf_done(&text);
    return err;
}
