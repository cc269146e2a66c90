/* tags.h - completion: names of attributes and values of one, in Tempo's old and new form. */
#pragma once
#include "serve/call.h"

bool sf_tags_handle_names_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_handle_names_v2(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_handle_values_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_handle_values_v2(struct sf_call *call, struct sf_worker *worker);
/* StreamingQuerier's four. */
bool sf_tags_stream_names_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_stream_names_v2(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_stream_values_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_stream_values_v2(struct sf_call *call, struct sf_worker *worker);
