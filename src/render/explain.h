/* explain.h - why it took so long, as a sentence, as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/answer/explain.h"

void sf_explain_sentence(const struct sf_explain_view *v, struct sf_buf *out);
/* What requests it again: a command for a shell, and an address of the page. */
void sf_explain_again_command(const struct sf_explain_view *v, struct sf_buf *out);
void sf_explain_again_page(const struct sf_explain_view *v, struct sf_buf *out);
void sf_explain_json(const struct sf_explain_view *v, struct sf_buf *out);
/* At most a screen. */
void sf_explain_text(const struct sf_explain_view *v, struct sf_buf *out);
