/* sampling.h - how many spans one kept span represents, as its sender says in the trace state.
 *
 * OpenTelemetry's samplers leave "ot=th:c" there: spans whose random part lies below the threshold
 * (hexadecimal, up to 14 digits, what is missing on the right is zero) were not kept. Older ones
 * leave "ot=p:3", one of 2^3. */
#pragma once
#include "base/str.h"

/* At least 1; 1 when it says nothing, or nothing that can be understood. */
double sf_sampling_weight(sf_str trace_state);
