/* tags_result.h - names and values of attributes in Tempo's v1 and v2 forms. The buffer keeps
 * errors. */
#pragma once
#include "base/buf.h"
#include "model/tags.h"

enum sf_tags_form {
    SF_TAGS_NAMES_V1, /* {"tagNames":[...]}: all scopes in one list */
    SF_TAGS_NAMES_V2, /* {"scopes":[{"name":...,"tags":[...]}]} */
    SF_TAGS_VALUES_V1,
    SF_TAGS_VALUES_V2 /* {"tagValues":[{"type":...,"value":...}]} */
};

void sf_tags_result_json(const struct sf_tags_result *r, enum sf_tags_form form,
                         struct sf_buf *out);
void sf_tags_result_pb(const struct sf_tags_result *r, enum sf_tags_form form, struct sf_buf *out);
/* "resource", "span", ...; ANY is "none". */
const char *sf_tags_result_scope_name(enum sf_attr_scope scope);
