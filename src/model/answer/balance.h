/* balance.h - answer: which part of a service's samples is attributed to spans, and which is
 * not. */
#pragma once
#include "model/answer/grades.h"

struct sf_balance {
    sf_str service, instance;  /* empty: of all instances */
    sf_str type, unit;         /* empty: no profiles */
    int64_t from_ns, until_ns; /* of a part of the range: its end */
    bool is_part;              /* queried in parts of the range */
    int64_t next_ns;           /* start of the next part; 0: this was the last */
    uint64_t n_spans;          /* of the service in that time */
    int64_t received;          /* value of all samples in that time */
    struct sf_grades grades;   /* what spans got, each without its children, before limiting or
                                * scaling */
    bool has_rest;             /* all spans were queried, so that the rest is known */
    int64_t rest;              /* received minus what spans got */
    sf_str reason;             /* why not all; empty: all were */
};
