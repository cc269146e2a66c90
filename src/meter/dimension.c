#include "meter/dimension.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_VALUE_LEN = 256 }; /* a series repeats its labels in many lines */

void sf_dimension_add(struct sf_buf *out, const struct sf_value *v)
{
    size_t end;
    switch (v->type) {
    case SF_VALUE_STR:
        if (!sf_str_find_char(v->str, '\0', &end))
            end = v->str.len;
        end = end > MAX_VALUE_LEN ? sf_utf8_cut(v->str, MAX_VALUE_LEN) : end;
        sf_buf_add_str(out, sf_str_part(v->str, 0, end));
        break;
    case SF_VALUE_BOOL: sf_buf_print(out, "%s", v->is_true ? "true" : "false"); break;
    case SF_VALUE_INT: sf_buf_print(out, "%lld", (long long)v->i64); break;
    case SF_VALUE_DOUBLE: sf_buf_print(out, "%g", v->f64); break;
    default: break;
    }
    sf_buf_add_u8(out, 0);
}

void sf_dimension_label(const char *prefix, sf_str key, const char *const *own, size_t n_own,
                        char out[SF_DIMENSION_LABEL_LEN])
{
    char plain[SF_DIMENSION_LABEL_LEN - 2];
    int n = snprintf(plain, sizeof(plain), "%s%.*s", prefix, SF_STR_ARG(key));
    for (char *c = plain; *c; c++) {
        if (!isalnum((unsigned char)*c) || (unsigned char)*c > 126)
            *c = '_';
    }
    bool needs_prefix = n <= 0 || isdigit((unsigned char)plain[0]);
    for (size_t i = 0; i < n_own; i++)
        needs_prefix = needs_prefix || strcmp(plain, own[i]) == 0;
    snprintf(out, SF_DIMENSION_LABEL_LEN, "%s%s", needs_prefix ? "__" : "", plain);
}
