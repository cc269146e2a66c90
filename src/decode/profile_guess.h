/* profile_guess.h - describes what a file that is not a profile looks like. Private to this
 * module. */
#pragma once
#include "base/buf.h"
#include "decode/profile_build.h"

struct sf_json_shape; /* decode/json/json_shape.h */

/* Fails with INPUT, or UNSUPPORTED when it is something known that is not a profile. The message
 * says what the file looks like and what is supported. `shape` is NULL when it is not JSON. */
enum sf_err sf_profile_guess_fail(sf_str bytes, const struct sf_json_shape *shape,
                                  struct sf_why *why);
