#include "serve/query_text.h"

#include "query/expr_text.h"

void sf_query_text_literal(struct sf_buf *out, sf_str text)
{
    sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = text}}, out);
}

void sf_query_text_attr(struct sf_buf *out, const char *scope, sf_str name)
{
    sf_buf_print(out, "%s.\"", scope);
    for (size_t i = 0; i < name.len; i++) {
        if (name.p[i] == '"' || name.p[i] == '\\')
            sf_buf_add_u8(out, '\\');
        sf_buf_add_u8(out, (uint8_t)name.p[i]);
    }
    sf_buf_add_u8(out, '"');
}
