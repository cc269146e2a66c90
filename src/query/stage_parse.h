/* stage_parse.h - the stages of a pipeline that are not spansets. Faults stick in the parser. */
#pragma once
#include "query/parser.h"

struct sf_word_number { /* a word and what it represents */
    const char *word;
    int number;
};

bool sf_stage_parse_word(const struct sf_parser *p, const struct sf_word_number *list, size_t n,
                         int *out);
bool sf_stage_parse_comparison(const struct sf_parser *p,
                               enum sf_expr_op *out); /* = != < <= > >= in hand */
bool sf_stage_parse_attr_list(struct sf_parser *p, const struct sf_query_attr **out,
                              uint32_t *out_n);
/* "avg ( expr )". False without a fault: it is not an aggregate. */
bool sf_stage_parse_aggregate(struct sf_parser *p, struct sf_stage *s);
/* cmp constant, the aggregate already read. */
bool sf_stage_parse_aggregate_filter(struct sf_parser *p, struct sf_stage *s);
/* A number where a stage begins: there is none that does. */
void sf_stage_parse_refuse_number(struct sf_parser *p);
/* by, select or coalesce. False without a fault: it is none of these. */
bool sf_stage_parse_by_word(struct sf_parser *p, bool is_first, struct sf_stage *s);
