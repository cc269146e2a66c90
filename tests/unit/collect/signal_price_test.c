#include "test.h"

#include <pthread.h>
#include <signal.h>

#include "collect/lib/signal_price.h"
#include "late_signals.h"

static volatile uint64_t n_seen;

static void on_signal(int sig)
{
    (void)sig;
    n_seen = n_seen + 1;
}

TEST(signal_price, is_what_a_thread_misses_when_it_is_interrupted)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct sf_signal_ask ask = {.sig = SIGUSR1, .seen = &n_seen};
    sigset_t closed, after;
    int64_t ns;
    if (LATE_SIGNALS) {
        printf("# the thread sanitizer delivers signals later than they come\n");
        skip();
    }
    sigaction(SIGUSR1, &action, &before);
    sigemptyset(&closed);
    sigaddset(&closed, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &closed, NULL);
    ns = sf_signal_price_probe(&ask);
    assert_true(ns >= 100);
    assert_int_equal(n_seen, 1);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_true(sigismember(&after, SIGUSR1)); /* kept out again */
    pthread_sigmask(SIG_UNBLOCK, &closed, NULL);
    sigaction(SIGUSR1, &before, NULL);
}

TEST(signal_price, is_the_mean_of_the_last_ones_and_an_eighth)
{
    struct sf_signal_price p = {0};
    assert_int_equal(sf_signal_price_mean(&p), 0);
    sf_signal_price_note(&p, 0); /* none came */
    assert_int_equal(sf_signal_price_mean(&p), 0);
    for (int i = 0; i < SF_SIGNAL_PRICES; i++)
        sf_signal_price_note(&p, 24000);
    sf_signal_price_note(&p, 4000000); /* the thread lost its processor */
    assert_int_equal(sf_signal_price_mean(&p), 30000);
    for (int i = 0; i < SF_SIGNAL_PRICES / 2; i++)
        sf_signal_price_note(&p, 48000);
    assert_int_equal(sf_signal_price_mean(&p), 45000);
    for (int i = 0; i < SF_SIGNAL_PRICES; i++)
        sf_signal_price_note(&p, 48000);
    assert_int_equal(sf_signal_price_mean(&p), 60000);
}
