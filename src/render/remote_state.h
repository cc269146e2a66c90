/* remote_state.h - how much data has reached the remote store, and whether it is complete there:
 * JSON, and text for a terminal. */
#pragma once
#include "base/buf.h"
#include "model/answer/remote_state.h"

void sf_remote_state_json(const struct sf_remote_state *s, struct sf_buf *out);
void sf_remote_state_text(const struct sf_remote_state *s, struct sf_buf *out);
void sf_remote_state_check_json(const struct sf_remote_check *c, struct sf_buf *out);
void sf_remote_state_check_text(const struct sf_remote_check *c, struct sf_buf *out);
void sf_remote_state_move_json(const struct sf_move_counts *m, struct sf_buf *out);
void sf_remote_state_move_text(const struct sf_move_counts *m, struct sf_buf *out);
