/* admission.h - checks a request against the rate limits of its tenant and its services.
 *
 * When a rate is used up, the whole request is refused (429 with the time to wait) before anything
 * is acknowledged; where the protocol can report partial success, only the spans of the services
 * over their rates are. Accepted data is charged when it goes to the store, and refunded when the
 * store refuses it. */
#pragma once
#include "intake/quota.h"
#include "model/profile.h"
#include "serve/call.h"

struct sf_admission { /* state of one request; its lists are in the worker's arena */
    struct sf_call *call;
    struct sf_arena *req;
    int64_t now_ns; /* monotonic */
    bool has_services;
    struct sf_admission_service *list; /* in order of appearance; a service may be listed twice */
    uint32_t n, cap;
    uint64_t n_kept, n_over; /* number of spans, or of samples */
    uint64_t len;            /* bytes that are charged */
    struct sf_quota_refusal first;
    sf_str first_service; /* empty: no service was refused */
};

void sf_admission_begin(struct sf_admission *a, struct sf_call *call, struct sf_arena *req);
/* False: the tenant is over a rate; the answer is filled. May be called before the body is read. */
bool sf_admission_check_tenant(struct sf_call *call, bool has_spans);
/* Removes the spans of services that are over a rate; `arg` is the admission. For
 * sf_intake_config. */
bool sf_admission_sift(void *arg, struct sf_span_batch *spans, struct sf_arena *req);
/* Counts the samples of a profile's services; false: one of them is over a rate, given in
 * `first`. */
bool sf_admission_add_profile(struct sf_admission *a, const struct sf_profile_batch *p);
/* To be called before the store gets what was kept of a request of `plain_len` bytes. */
void sf_admission_charge(struct sf_admission *a, uint64_t n_spans, uint64_t plain_len);
void sf_admission_refund(struct sf_admission *a, uint64_t n_spans);
/* 429 for a service, with the time to wait. Returns true. */
bool sf_admission_refuse(struct sf_admission *a);
/* 429 for any limit. Returns true. */
bool sf_admission_refuse_call(struct sf_call *call, const struct sf_quota_refusal *r,
                              sf_str service);
