/* stage_parse.h - the stages of a pipeline that are not spansets. The parser keeps errors. */
#pragma once
#include "query/parser.h"

struct sf_word_number { /* a word and its number */
    const char *word;
    int number;
};

bool sf_stage_parse_word(const struct sf_parser *p, const struct sf_word_number *list, size_t n,
                         int *out);
bool sf_stage_parse_comparison(const struct sf_parser *p,
                               enum sf_expr_op *out); /* the current token is one of = != < <= >
                                                       * >= */
bool sf_stage_parse_attr_list(struct sf_parser *p, const struct sf_query_attr **out,
                              uint32_t *out_n);
/* "avg ( expr )". False without an error: not an aggregate. */
bool sf_stage_parse_aggregate(struct sf_parser *p, struct sf_stage *s);
/* A comparison and a constant, after the aggregate. */
bool sf_stage_parse_aggregate_filter(struct sf_parser *p, struct sf_stage *s);
/* Reports a number at the beginning of a stage, which is not allowed. */
void sf_stage_parse_refuse_number(struct sf_parser *p);
/* by, select or coalesce. False without an error: none of these. */
bool sf_stage_parse_by_word(struct sf_parser *p, bool is_first, struct sf_stage *s);
