/* strict_text.h - reads metrics text as strictly as a scraper may: every sample belongs to the
 * family declared last, no family comes twice, no series comes twice in a row, labels are quoted
 * and escaped, histograms rise and end in +Inf, _count equals the last bucket. */
#pragma once
#include <ctype.h>
#include <stdlib.h>

#include "test.h"

struct strict_text {
    char family[128], type[16];
    char seen[128][128];
    size_t n_seen, n_samples;
    double last_bucket;
    char last_le[32], bucket_labels[16384];
};

static const char *strict_name(const char *p)
{
    const char *start = p;
    while (isalnum((unsigned char)*p) || *p == '_' || *p == ':')
        p++;
    assert_true(p > start && !isdigit((unsigned char)*start));
    return p;
}

static const char *strict_labels(const char *p, char *le, char *others, size_t others_len)
{
    size_t n = 0;
    assert_int_equal(*p, '{');
    do {
        const char *name = ++p;
        p = strict_name(p);
        size_t name_len = (size_t)(p - name);
        assert_int_equal(*p++, '=');
        assert_int_equal(*p++, '"');
        const char *val = p;
        for (; *p != '"'; p++) {
            assert_true(*p != '\n' && *p != '\0');
            if (*p == '\\') {
                p++;
                assert_true(*p == '\\' || *p == '"' || *p == 'n');
            }
        }
        if (name_len == 2 && memcmp(name, "le", 2) == 0) {
            memcpy(le, val, (size_t)(p - val));
            le[p - val] = '\0';
        } else {
            size_t len = (size_t)(p + 1 - name);
            assert_true(n + len < others_len);
            memcpy(others + n, name, len);
            n += len;
        }
        p++;
    } while (*p == ',');
    assert_int_equal(*p++, '}');
    others[n] = '\0';
    return p;
}

static void strict_sample(struct strict_text *t, const char *line, bool is_open)
{
    char name[128], le[32] = "", labels[16384] = "";
    const char *p = strict_name(line);
    assert_true((size_t)(p - line) < sizeof(name));
    memcpy(name, line, (size_t)(p - line));
    name[p - line] = '\0';
    assert_memory_equal(name, t->family, strlen(t->family));
    const char *suffix = name + strlen(t->family);
    if (*p == '{')
        p = strict_labels(p, le, labels, sizeof(labels));
    assert_int_equal(*p++, ' ');
    char *end;
    double val = strtod(p, &end);
    assert_true(end > p);
    if (strncmp(end, " # {", 4) == 0) {
        assert_true(is_open && strcmp(suffix, "_bucket") == 0);
        end += strcspn(end, "\n");
    }
    assert_int_equal(*end, '\n');
    if (strcmp(t->type, "histogram") == 0) {
        if (strcmp(suffix, "_bucket") == 0) {
            if (strcmp(labels, t->bucket_labels) != 0 || strcmp(t->last_le, "+Inf") == 0)
                t->last_bucket = 0;
            assert_true(val >= t->last_bucket);
            t->last_bucket = val;
            snprintf(t->last_le, sizeof(t->last_le), "%s", le);
            snprintf(t->bucket_labels, sizeof(t->bucket_labels), "%s", labels);
        } else if (strcmp(suffix, "_count") == 0) {
            assert_string_equal(t->last_le, "+Inf");
            assert_string_equal(labels, t->bucket_labels);
            assert_true(val == t->last_bucket);
        } else {
            assert_string_equal(suffix, "_sum");
        }
    } else if (strcmp(t->type, "counter") == 0 && is_open) {
        assert_string_equal(suffix, "_total");
    } else {
        assert_string_equal(suffix, "");
    }
    t->n_samples++;
}

static void strict_family(struct strict_text *t, const char *line)
{
    const char *name = line + 7;
    const char *end = strict_name(name);
    size_t len = (size_t)(end - name);
    assert_int_equal(*end, ' ');
    if (memcmp(line, "# HELP ", 7) == 0) {
        memcpy(t->family, name, len);
        t->family[len] = '\0';
        for (size_t i = 0; i < t->n_seen; i++)
            assert_string_not_equal(t->seen[i], t->family);
        memcpy(t->seen[t->n_seen++], t->family, len + 1);
        t->type[0] = '\0';
        return;
    }
    assert_memory_equal(line, "# TYPE ", 7);
    assert_true(strlen(t->family) == len && memcmp(t->family, name, len) == 0);
    len = strcspn(end + 1, "\n");
    memcpy(t->type, end + 1, len);
    t->type[len] = '\0';
}

/* Checks all of `text` (terminated); returns the number of samples. */
static size_t strict_text_check(const char *text, bool is_open)
{
    static struct strict_text t;
    t = (struct strict_text){0};
    const char *line = text;
    bool has_end = false;
    while (*line) {
        const char *next = strchr(line, '\n');
        assert_non_null(next);
        assert_false(has_end);
        if (strncmp(line, "# EOF\n", 6) == 0)
            has_end = true;
        else if (*line == '#')
            strict_family(&t, line);
        else
            strict_sample(&t, line, is_open);
        line = next + 1;
    }
    assert_int_equal(has_end, is_open);
    return t.n_samples;
}
