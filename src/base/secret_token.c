/* Secrets with a form defined by their vendor: keys of clouds, tokens, webhooks. */
#include "base/buf.h"
#include "base/secret_scan.h"
#include "base/text.h"

const uint8_t sf_scan_classes[256] = {
    ['0' ... '9'] = SF_CHAR_ALNUM | SF_CHAR_TOKEN68 | SF_CHAR_BASE64URL | SF_CHAR_NAME |
                    SF_CHAR_UPPER_DIGIT | SF_CHAR_DIGIT | SF_CHAR_HEX,
    ['A' ... 'Z'] = SF_CHAR_ALNUM | SF_CHAR_TOKEN68 | SF_CHAR_BASE64URL | SF_CHAR_NAME |
                    SF_CHAR_UPPER_DIGIT,
    ['a' ... 'f'] = SF_CHAR_ALNUM | SF_CHAR_TOKEN68 | SF_CHAR_BASE64URL | SF_CHAR_NAME |
                    SF_CHAR_HEX,
    ['g' ... 'z'] = SF_CHAR_ALNUM | SF_CHAR_TOKEN68 | SF_CHAR_BASE64URL | SF_CHAR_NAME,
    ['-'] = SF_CHAR_TOKEN68 | SF_CHAR_BASE64URL | SF_CHAR_NAME,
    ['_'] = SF_CHAR_TOKEN68 | SF_CHAR_BASE64URL | SF_CHAR_NAME,
    ['.'] = SF_CHAR_TOKEN68 | SF_CHAR_NAME,
    ['~'] = SF_CHAR_TOKEN68,
    ['+'] = SF_CHAR_TOKEN68,
    ['/'] = SF_CHAR_TOKEN68,
    ['='] = SF_CHAR_TOKEN68,
    [' '] = SF_CHAR_END,
    ['\t'] = SF_CHAR_END,
    ['\r'] = SF_CHAR_END,
    ['\n'] = SF_CHAR_END,
    ['&'] = SF_CHAR_END,
    [','] = SF_CHAR_END,
    [';'] = SF_CHAR_END,
    ['"'] = SF_CHAR_END,
    ['\''] = SF_CHAR_END,
};

/* ---- keys and tokens ---- */

void sf_secret_token_check_jwt(struct sf_secret_scan *s, size_t at) /* at the J of eyJ */
{
    sf_str t = s->text;
    size_t start, dot, end;
    if (at < 2 || t.p[at - 2] != 'e')
        return;
    start = at - 2;
    if (start > 0 && (sf_scan_class(t.p[start - 1]) & SF_CHAR_BASE64URL))
        return;
    dot = sf_scan_run(t, start, SF_CHAR_BASE64URL);
    if (dot - start >= 40 && sf_scan_has_at(t, start, "eyJrIjoi")) { /* a key of older Grafanas */
        sf_scan_add(s, SF_SHAPE_TOKEN, start, dot);
        return;
    }
    if (dot - start < 10 || dot >= t.len || t.p[dot] != '.')
        return;
    end = sf_scan_run(t, dot + 1, SF_CHAR_BASE64URL);
    if (end - dot < 8)
        return;
    if (end < t.len && t.p[end] == '.')
        end = sf_scan_run(t, end + 1, SF_CHAR_BASE64URL);
    sf_scan_add(s, SF_SHAPE_JWT, start, end);
}

void sf_secret_token_check_cloud_key(struct sf_secret_scan *s,
                                     size_t at) /* at the last letter of AKIA, or the z of AIza */
{
    sf_str t = s->text;
    size_t end;
    if (t.p[at] == 'A') {
        if (!sf_scan_has_before(t, at + 1, "AKIA") && !sf_scan_has_before(t, at + 1, "ASIA") &&
            !sf_scan_has_before(t, at + 1, "ABIA"))
            return;
        end = sf_scan_run(t, at + 1, SF_CHAR_UPPER_DIGIT);
        if (end - at - 1 >= 16 && !(end < t.len && (sf_scan_class(t.p[end]) & SF_CHAR_ALNUM)))
            sf_scan_add(s, SF_SHAPE_CLOUD_KEY, at - 3, end);
    } else if (sf_scan_has_before(t, at + 1, "AIz") && sf_scan_has_at(t, at + 1, "a")) {
        end = sf_scan_run(t, at + 2, SF_CHAR_BASE64URL);
        if (end - at >= 32)
            sf_scan_add(s, SF_SHAPE_CLOUD_KEY, at - 2, end);
    }
}

void sf_secret_token_check_private_key(struct sf_secret_scan *s,
                                       size_t at) /* at the B of -----BEGIN */
{
    sf_str t = s->text;
    sf_str head = sf_str_part(t, at, 64);
    size_t found, end = t.len;
    if (at < 5 || memcmp(t.p + at - 5, "-----", 5) != 0 || !sf_scan_has_at(t, at, "BEGIN ") ||
        !sf_str_find(head, SF_STR("PRIVATE KEY"), &found))
        return;
    if (at >= s->pem_end)
        s->pem_end = sf_str_find(sf_str_from_at(t, at), SF_STR("-----END "), &found) ? at + found
                                                                                     : t.len;
    if (s->pem_end < t.len) {
        size_t tail = s->pem_end + 9, dashes;
        if (sf_str_find(sf_str_from_at(t, tail), SF_STR("-----"), &dashes))
            end = tail + dashes + 5;
    }
    sf_scan_add(s, SF_SHAPE_PRIVATE_KEY, at - 5, end);
}

static bool is_basic(sf_str encoded)
{
    struct sf_buf plain = {.max = 4096};
    bool has_colon = sf_base64_decode(&plain, encoded) && plain.len &&
                     memchr(plain.p, ':', plain.len) != NULL;
    has_colon = has_colon || plain.err != SF_OK; /* credentials that cannot be decoded are treated
                                                  * as a secret */
    sf_buf_done(&plain);
    return has_colon;
}

void sf_secret_token_check_auth_header(struct sf_secret_scan *s,
                                       size_t at) /* at the blank behind Bearer */
{
    sf_str t = s->text;
    size_t start = at, end;
    bool has_mark = false;

    while (start < t.len && t.p[start] == ' ')
        start++;
    end = sf_scan_run(t, start, SF_CHAR_TOKEN68);
    if (end - start < 8)
        return;
    if (sf_scan_has_word_before(t, at, "bearer")) {
        /* "bearer authentication" is prose; a token has digits or punctuation, or is long. */
        for (size_t i = start; i < end; i++)
            has_mark = has_mark || !(sf_scan_class(t.p[i]) & SF_CHAR_ALNUM) ||
                       (sf_scan_class(t.p[i]) & SF_CHAR_DIGIT);
        if (has_mark || end - start >= 20)
            sf_scan_add(s, SF_SHAPE_AUTH_HEADER, start, end);
    } else if (sf_scan_has_word_before(t, at, "basic") &&
               is_basic(sf_str_part(t, start, end - start))) {
        sf_scan_add(s, SF_SHAPE_AUTH_HEADER, start, end);
    }
}

void sf_secret_token_check_token(struct sf_secret_scan *s,
                                 size_t at) /* at the last character of a prefix */
{
    static const struct {
        const char *prefix;
        size_t len, least;
    } kinds[] = {
#define KIND(prefix, least) {prefix, sizeof(prefix) - 1, least}
        KIND("ghp_", 20),        KIND("gho_", 20),      KIND("ghu_", 20),
        KIND("ghs_", 20),        KIND("ghr_", 20),      KIND("npm_", 30),
        KIND("github_pat_", 20), KIND("hf_", 30),       KIND("shpat_", 24),
        KIND("sk_live_", 16),    KIND("sk_test_", 16),  KIND("rk_live_", 16),
        KIND("sft_", 30),        KIND("dop_v1_", 30),   KIND("glpat-", 16),
        KIND("glsa_", 20),       KIND("lin_api_", 20),  KIND("xoxb-", 10),
        KIND("xoxa-", 10),       KIND("xoxp-", 10),     KIND("xoxr-", 10),
        KIND("xoxs-", 10),       KIND("xoxe-", 10),     KIND("xapp-", 10),
        KIND("sk-", 20),         KIND("pypi-", 30),     KIND("xoxc-", 10),
        KIND("xoxd-", 10),       KIND("dckr_pat_", 20), KIND("hvs.", 20),
        KIND("hvb.", 20),        KIND("hvr.", 20),      KIND("AGE-SECRET-KEY-", 40),
        KIND("rk_test_", 16),    KIND("shpss_", 24),    KIND("shppa_", 24),
        KIND("doo_v1_", 30),     KIND("dor_v1_", 30),   KIND("nvapi-", 20),
        KIND("gsk_", 30),        KIND("sq0csp-", 20),   KIND("pscale_pw_", 20),
        KIND("GOCSPX-", 20),     KIND("PMAK-", 20),     KIND("NRAK-", 20),
        KIND("whsec_", 20),      KIND("glc_", 30),      KIND("glptt-", 20),
        KIND("ya29.", 20),
#undef KIND
    };
    sf_str t = s->text;
    size_t end;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const char *prefix = kinds[i].prefix;
        size_t len = kinds[i].len;
        /* Most texts contain a dash or underscore: compare two characters first. */
        if (prefix[len - 1] != t.p[at] || prefix[len - 2] != t.p[at - 1] ||
            !sf_scan_has_before(t, at + 1, prefix))
            continue;
        end = sf_scan_token_end(s, at + 1);
        if (end - at - 1 >= kinds[i].least)
            sf_scan_add(s, SF_SHAPE_TOKEN, at + 1 - len, end);
        return;
    }
}

void sf_secret_token_check_sendgrid(struct sf_secret_scan *s,
                                    size_t at) /* at the first dot of SG.id.secret */
{
    sf_str t = s->text;
    size_t dot, end;
    if (!sf_scan_has_before(t, at + 1, "SG."))
        return;
    dot = sf_scan_run(t, at + 1, SF_CHAR_BASE64URL);
    if (dot - at - 1 < 16 || dot >= t.len || t.p[dot] != '.')
        return;
    end = sf_scan_run(t, dot + 1, SF_CHAR_BASE64URL);
    if (end - dot - 1 >= 16)
        sf_scan_add(s, SF_SHAPE_TOKEN, at - 2, end);
}

void sf_secret_token_check_databricks(struct sf_secret_scan *s, size_t at) /* at the p of dapi */
{
    sf_str t = s->text;
    size_t end;
    if (!sf_scan_has_before(t, at + 1, "dap") || !sf_scan_has_at(t, at + 1, "i"))
        return;
    end = sf_scan_run(t, at + 2, SF_CHAR_HEX);
    if (end - at - 2 < 32)
        return;
    if (end + 1 < t.len && t.p[end] == '-') /* dapi...-2 */
        end = sf_scan_run(t, end + 1, SF_CHAR_DIGIT);
    if (!(end < t.len && (sf_scan_class(t.p[end]) & SF_CHAR_ALNUM)))
        sf_scan_add(s, SF_SHAPE_TOKEN, at - 2, end);
}

/* ---- webhooks ---- */

/* Skips a path segment that begins with `first`, followed by at least `least` capitals and digits.
 * Returns the offset after its slash; 0: another form. */
static size_t skip_part(sf_str t, size_t at, char first, size_t least)
{
    size_t end = sf_scan_run(t, at, SF_CHAR_UPPER_DIGIT);
    if (at >= t.len || t.p[at] != first || end - at - 1 < least || !sf_scan_has_at(t, end, "/"))
        return 0;
    return end + 1;
}

static void add_webhook(struct sf_secret_scan *s, size_t start)
{
    size_t end = sf_scan_run(s->text, start, SF_CHAR_BASE64URL);
    if (start && end - start >= 16)
        sf_scan_add(s, SF_SHAPE_WEBHOOK, start, end);
}

void sf_secret_token_check_slack(struct sf_secret_scan *s,
                                 size_t at) /* services/T.../B.../secret, at the B */
{
    sf_str t = s->text;
    size_t team = at - 1;
    while (team > 0 && (sf_scan_class(t.p[team - 1]) & SF_CHAR_UPPER_DIGIT))
        team--;
    if (team > 0 && sf_scan_has_before(t, team - 1, "services") && skip_part(t, team, 'T', 6) == at)
        add_webhook(s, skip_part(t, at, 'B', 6));
}

void sf_secret_token_check_discord(struct sf_secret_scan *s,
                                   size_t at) /* webhooks/number/secret, at the slash */
{
    sf_str t = s->text;
    size_t end = sf_scan_run(t, at + 1, SF_CHAR_DIGIT);
    if (sf_scan_has_before(t, at, "webhooks") && end - at - 1 >= 15 && sf_scan_has_at(t, end, "/"))
        add_webhook(s, end + 1);
}

/* https://hooks.slack.com/workflows/T.../A.../number/secret and .../triggers/T.../number/secret, at
 * the colon. */
void sf_secret_token_check_slack_flow(struct sf_secret_scan *s, size_t at)
{
    static const char host[] = "//hooks.slack.com/", workflows[] = "workflows/";
    sf_str t = s->text;
    size_t path = at + sizeof(host), next, end;
    bool is_workflow;
    if (!sf_scan_has_at(t, at + 1, host))
        return;
    is_workflow = sf_scan_has_at(t, path, workflows);
    if (!is_workflow && !sf_scan_has_at(t, path, "triggers/"))
        return;
    next = path + sizeof(workflows) - 1 - !is_workflow;
    next = skip_part(t, next, sf_scan_has_at(t, next, "E") ? 'E' : 'T', 6);
    if (next && is_workflow)
        next = skip_part(t, next, 'A', 6);
    end = sf_scan_run(t, next, SF_CHAR_DIGIT);
    if (next && end - next >= 6 && sf_scan_has_at(t, end, "/"))
        add_webhook(s, end + 1);
}
