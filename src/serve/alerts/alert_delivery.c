#include "serve/alerts/alert_delivery.h"

#include <string.h>

#include "alert/alert_send.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "serve/alerts/alerts_private.h"
#include "serve/kept_text.h"

static const int64_t RETRY_NS = 5 * SF_NS_PER_S, PIECE_NS = SF_NS_PER_S / 4;
/* Limit for the bodies of unanswered requests; above it, the next request waits for an answer. */
static const size_t BODIES_MAX = (size_t)32 << 20;

struct post { /* a receiver, and the request to it */
    struct sf_alert_delivery *all;
    struct sf_alert_receiver to;
    struct sf_alert_post request;
    struct sf_buf body;
    size_t n;        /* alerts in it */
    uint64_t change; /* number of the last change in the body */
    bool is_under_way;
};

struct sf_alert_delivery { /* used by the delivering thread only */
    struct sf_service *service;
    struct sf_fetches *fetches;
    struct sf_alert_rules *rules; /* shared; the rules that name these receivers */
    struct post posts[SF_LIMIT_ALERT_RECEIVERS];
    size_t n;
};

struct sf_alert_delivery *sf_alert_delivery_new(void)
{
    struct sf_alert_delivery *d = sf_heap_new(sizeof(*d));
    if (d)
        d->fetches = sf_fetches_new();
    if (d && d->fetches)
        return d;
    sf_alert_delivery_free(d);
    return NULL;
}

void sf_alert_delivery_free(struct sf_alert_delivery *d)
{
    if (!d)
        return;
    sf_fetches_free(d->fetches);
    for (size_t i = 0; i < d->n; i++)
        sf_buf_done(&d->posts[i].body);
    sf_alert_rules_free(d->rules);
    sf_heap_free(d);
}

/* Lists the receivers of `rules`, a shared reference that this takes. A receiver that existed
 * before keeps its state. No request may be unanswered. */
static void list_receivers(struct sf_alert_delivery *d, struct sf_alert_rules *rules)
{
    struct sf_alert_receiver old[SF_LIMIT_ALERT_RECEIVERS];
    size_t n_old = d->n;
    for (size_t i = 0; i < n_old; i++)
        old[i] = d->posts[i].to;
    d->n = 0;
    for (size_t i = 0; i < rules->n_alertmanagers + rules->n_webhooks; i++) {
        bool is_webhook = i >= rules->n_alertmanagers;
        struct sf_alert_receiver to = {.url = is_webhook
                                                  ? rules->webhooks[i - rules->n_alertmanagers]
                                                  : rules->alertmanagers[i],
                                       .is_webhook = is_webhook};
        for (size_t k = 0; k < n_old; k++) {
            if (old[k].is_webhook == is_webhook && strcmp(old[k].url, to.url) == 0) {
                to.told = old[k].told;
                to.last_ns = old[k].last_ns;
            }
        }
        d->posts[d->n++] = (struct post){.all = d, .to = to};
    }
    sf_alert_rules_free(d->rules);
    d->rules = rules;
}

static void answered(void *arg, enum sf_err err, const struct sf_why *why)
{
    struct post *p = arg;
    struct sf_service *s = p->all->service;
    struct sf_alerts *a = s->alerts;
    sf_buf_done(&p->body);
    p->is_under_way = false;
    if (err == SF_ERR_CANCELLED)
        return;
    if (err && !p->to.failed_ns)
        sf_kept_text_warn(s, "alerts: delivery failed, it is retried", why->text);
    sf_mutex_lock(&a->lock);
    a->n_sent += err ? 0 : p->n;
    a->n_send_failed += err != SF_OK;
    sf_mutex_unlock(&a->lock);
    p->to.failed_ns = err ? sf_clock_mono_ns() : 0;
    if (err)
        return;
    p->to.told = p->change;
    p->to.last_ns = sf_clock_mono_ns();
}

/* Writes the body if changes are due for this receiver; false if not. */
static bool alert_delivery_write_body(struct post *p, struct sf_alerts *a, int64_t now_ns)
{
    struct sf_alert_sending sending = {&a->book, p->all->rules, now_ns, sf_clock_mono_ns()};
    bool is_due;
    sf_mutex_lock(&a->lock);
    is_due = sf_alert_send_is_due(&p->to, &sending);
    if (is_due) {
        p->n = sf_alert_send_body(&p->to, &sending, &p->body);
        p->change = a->book.n_changes;
    }
    sf_mutex_unlock(&a->lock);
    return is_due;
}

static void alert_delivery_start(struct post *p, struct sf_alerts *a, int64_t now_ns,
                                 const atomic_bool *is_stopping)
{
    struct sf_why why = {0};
    enum sf_err err;
    if (p->is_under_way || (p->to.failed_ns && sf_clock_mono_ns() - p->to.failed_ns < RETRY_NS) ||
        !alert_delivery_write_body(p, a, now_ns))
        return;
    p->is_under_way = true;
    sf_alert_send_post(&p->to, sf_buf_bytes(&p->body), is_stopping, &p->request);
    p->request.fetch.arg = p;
    err = sf_buf_ok(&p->body) ? sf_fetches_start(p->all->fetches, &p->request.fetch, answered, &why)
                              : sf_no_memory(&why, "alerts");
    if (err)
        answered(p, err, &why);
}

/* In a fleet only the node that evaluates notifies. */
static bool notifies(struct sf_alerts *a)
{
    bool is_ours;
    sf_mutex_lock(&a->lock);
    is_ours = a->is_ours;
    sf_mutex_unlock(&a->lock);
    return is_ours;
}

/* True: the receivers are those of the current rules. After new rules came, open requests end
 * first, at the latest by their timeout. */
static bool is_current(struct sf_alert_delivery *d, struct sf_alerts *a)
{
    struct sf_alert_rules *rules = NULL;
    bool is_same;
    sf_mutex_lock(&a->lock);
    is_same = a->rules == d->rules;
    if (!is_same && sf_fetches_n(d->fetches) == 0)
        rules = sf_alert_rules_share(a->rules);
    sf_mutex_unlock(&a->lock);
    if (rules)
        list_receivers(d, rules);
    return is_same || rules;
}

static size_t bodies_len(const struct sf_alert_delivery *d)
{
    size_t len = 0;
    for (size_t i = 0; i < d->n; i++)
        len += d->posts[i].body.len;
    return len;
}

void sf_alert_delivery_run(struct sf_service *s, __attribute__((unused)) struct sf_worker *worker,
                           int64_t now_ns, const atomic_bool *is_stopping)
{
    struct sf_alerts *a = s->alerts;
    struct sf_alert_delivery *d = a->delivery;
    int64_t until_ns = sf_clock_mono_ns() + PIECE_NS, now;
    d->service = s;
    if (is_current(d, a) && notifies(a)) {
        for (size_t i = 0; i < d->n && bodies_len(d) < BODIES_MAX; i++)
            alert_delivery_start(&d->posts[i], a, now_ns, is_stopping);
    }
    while (sf_fetches_n(d->fetches) && (now = sf_clock_mono_ns()) < until_ns &&
           !atomic_load(is_stopping))
        sf_fetches_step(d->fetches, until_ns - now);
}
