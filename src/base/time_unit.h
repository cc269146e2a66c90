/* time_unit.h - units of time in nanoseconds. */
#pragma once
#include <stdint.h>

#define SF_NS_PER_US   INT64_C(1000)
#define SF_NS_PER_MS   INT64_C(1000000)
#define SF_NS_PER_S    INT64_C(1000000000)
#define SF_NS_PER_MIN  (60 * SF_NS_PER_S)
#define SF_NS_PER_HOUR (3600 * SF_NS_PER_S)
#define SF_NS_PER_DAY  (24 * SF_NS_PER_HOUR)
