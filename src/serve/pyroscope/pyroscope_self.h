/* pyroscope_self.h - Pyroscope's endpoints for health, version and features. */
#pragma once
#include "serve/call.h"

bool sf_pyroscope_self_health(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_self_version(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_self_features(struct sf_call *call, struct sf_worker *worker);
bool sf_pyroscope_self_buildinfo(struct sf_call *call, struct sf_worker *worker);
/* Is the path a method of a service that Pyroscope has? If so, a method without a handler here is
 * answered with "unimplemented", which clients report to the user. */
bool sf_pyroscope_self_knows(sf_str path);
/* ": do this instead" for some calls that are not supported; else empty. */
const char *sf_pyroscope_self_instead(sf_str path);
