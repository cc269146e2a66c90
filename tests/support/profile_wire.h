/* profile_wire.h - profiles in the bytes that clients send, the same for the same seed.
 *
 * A service is a program of 1,200 functions with two call sites each and 6,250 stacks, 30 to 60
 * deep: the last four frames are a stack's own, those above are shared by four stacks, by 32, by
 * 512. That is 6.6 tree nodes a stack; profiles of real programs have 1.2 to 6.3. Some stacks are
 * hot. A profile holds only what it uses, as Go's does, and every sample carries the id and the
 * name of one of fifty spans. */
#pragma once
#include "base/buf.h"

enum {
    SF_PROFILE_WIRE_SERVICES = 20,
    SF_PROFILE_WIRE_STACKS = 6250,
    SF_PROFILE_WIRE_FUNCTIONS = 1200,
    SF_PROFILE_WIRE_SITES = 2 * SF_PROFILE_WIRE_FUNCTIONS,
    SF_PROFILE_WIRE_SPANS = 50,
    SF_PROFILE_WIRE_DEPTH = 60
};

struct sf_profile_wire {
    uint64_t rng;
    uint32_t service;
    uint32_t own_frames; /* of a stack, shared with no other; 0: 4 */
    uint32_t n_types;    /* 1: CPU time; 2: samples, too, as Go counts them */
    int64_t time_ns;     /* 0: pprof says none, and the sender tells when */
    uint64_t n_spans;    /* made so far; ids are never given twice */
    uint64_t span_key;   /* told apart from other makers' by this */
};

/* Append a pprof, or an ExportProfilesServiceRequest of protocol version 1.10, of `n_samples`. */
void sf_profile_wire_pprof(struct sf_profile_wire *w, uint32_t n_samples, struct sf_buf *out);
void sf_profile_wire_otlp(struct sf_profile_wire *w, uint32_t n_samples, struct sf_buf *out);
