/* pyroscope_self.h - what a Pyroscope server says of itself: health, version, features. */
#pragma once
#include "serve/call.h"

bool sf_pyroscope_self_health(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_self_version(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_self_features(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_self_buildinfo(struct sf_call *call, struct sf_worker *worker);
/* Is the path a method of a service that Pyroscope has? Then what we do not answer is
 * "unimplemented", which its clients report as it is. */
bool sf_pyroscope_self_knows(sf_str path);
/* ": do this instead" for what people ask for and do not get; else empty. */
const char *sf_pyroscope_self_instead(sf_str path);
