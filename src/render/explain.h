/* explain.h - an explanation of a duration, as a sentence, as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/answer/explain.h"

void sf_explain_sentence(const struct sf_explain_view *v, struct sf_buf *out);
/* "host had 12 runnable threads", of a part with that number. */
void sf_explain_sentence_runnable(const struct sf_explain_part *p, struct sf_buf *out);
/* How to get the same answer again: a shell command, and a URL of the page. */
void sf_explain_again_command(const struct sf_explain_view *v, struct sf_buf *out);
void sf_explain_again_page(const struct sf_explain_view *v, struct sf_buf *out);
void sf_explain_json(const struct sf_explain_view *v, struct sf_buf *out);
/* At most a screen of text. */
void sf_explain_text(const struct sf_explain_view *v, struct sf_buf *out);
