/* balance.h - answer: what of a service's samples its spans got, and what no span got. */
#pragma once
#include "model/answer/grades.h"

struct sf_balance {
    sf_str service, instance;  /* empty: of all instances */
    sf_str type, unit;         /* empty: no profiles */
    int64_t from_ns, until_ns; /* of a part: where that ends */
    bool is_part;              /* queried for part by part: */
    int64_t next_ns;           /* where the next one begins; 0: this was the last */
    uint64_t n_spans;          /* of the service in that time */
    int64_t received;          /* value of all samples in that time */
    struct sf_grades grades;   /* what spans got, each without its children, as it was sent */
    bool has_rest;             /* all spans were asked: */
    int64_t rest;              /* received less what spans got */
    sf_str reason;             /* why not; empty: they were */
};
