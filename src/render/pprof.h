/* pprof.h - a profile as pprof: one sample type, one sample for each stack with a value, lines and
 * files where they are known, addresses with their build id where they are not. */
#pragma once
#include "base/err.h"
#include "model/answer/profile_view.h"
#include "wire/message.h"

/* Uncompressed protobuf; compressed when written to a file. Series labels become labels of every
 * sample. */
enum sf_err sf_pprof_render(const struct sf_profile_view *v, struct sf_arena scratch,
                            struct sf_buf *out, struct sf_why *why);
/* The same as the content of a message, in protobuf or JSON. */
enum sf_err sf_pprof_message(const struct sf_profile_view *v, struct sf_arena scratch,
                             struct sf_message *m, struct sf_why *why);
