/* demo_problem.h - the problems that the shop of `spanflame demo` has planted (demo/README.md). */
#pragma once
#include <stddef.h>

enum sf_demo_from {                       /* the answer of the server that measures a problem */
                    SF_DEMO_FROM_SET,     /* the function with what it calls, in /api/v1/cohort */
                    SF_DEMO_FROM_PART,    /* the part, in /api/v1/explain */
                    SF_DEMO_FROM_COUNT,   /* the child spans, in /api/v1/explain */
                    SF_DEMO_FROM_COMPARE, /* the function, in /api/v1/compare */
                    SF_DEMO_FROM_FAILED, /* how many of 1,000 spans failed, in /api/metrics/query */
                    SF_DEMO_FROM_GROWTH, /* bytes per span of the query, by the slope in
                                            /api/v1/findings */
};

struct sf_demo_problem {
    const char *name; /* of its switch, at most 14 bytes */
    const char *what;
    const char *cost; /* the planted cost of an order, as short text */
    const char *service;
    const char *finding; /* a word of the finding's text; NULL: only compare finds it */
    enum sf_demo_from from;
    const char *query, *more, *subject;
    double planted;    /* planted cost; 0: as measured by the spans' attribute `watch` */
    const char *watch; /* attribute with the measured time in microseconds */
    const char *unit;
};

enum { SF_DEMO_PROBLEMS = 12 };
extern const struct sf_demo_problem sf_demo_problems[SF_DEMO_PROBLEMS];
