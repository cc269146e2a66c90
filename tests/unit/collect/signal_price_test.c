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
    ns = sf_signal_price(&ask);
    assert_in_range(ns, 100, 200000);
    assert_int_equal(n_seen, 15);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_true(sigismember(&after, SIGUSR1)); /* kept out again */
    pthread_sigmask(SIG_UNBLOCK, &closed, NULL);
    sigaction(SIGUSR1, &before, NULL);
}
