/* guard_report.h - a guard's verdict as text, JSON, JUnit XML or Markdown. */
#pragma once
#include "cli/guard_ask.h"

struct sf_guard_said {
    const struct sf_guard_question *question;
    const struct sf_guard_report *report;
    enum sf_guard_verdict verdict; /* overall verdict; UNKNOWN: too little data */
    double max_increase;
    uint64_t min_spans;
    const char *server; /* for the link; NULL: none */
    const char *things; /* what is compared: "span" or "run" */
    const char *svg;    /* file with the flame graph; NULL: none */
};

void sf_guard_report_text(const struct sf_guard_said *s, struct sf_buf *out);
void sf_guard_report_json(const struct sf_guard_said *s, struct sf_buf *out);
void sf_guard_report_junit(const struct sf_guard_said *s, struct sf_buf *out);
void sf_guard_report_markdown(const struct sf_guard_said *s, struct sf_buf *out);
