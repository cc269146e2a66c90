/* tags.h - lists attribute names and the values of an attribute, in Tempo's v1 and v2 forms. */
#pragma once
#include "serve/call.h"

bool sf_tags_handle_names_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_handle_names_v2(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_handle_values_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_handle_values_v2(struct sf_call *call, struct sf_worker *worker);
/* The four methods of StreamingQuerier. */
bool sf_tags_stream_names_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_stream_names_v2(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_stream_values_v1(struct sf_call *call, struct sf_worker *worker);
bool sf_tags_stream_values_v2(struct sf_call *call, struct sf_worker *worker);
