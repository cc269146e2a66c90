/* shopper - sends orders at a steady rate until SIGTERM, then prints a summary.
 *
 * $SHOP_GATEWAY_PORT: where. $SHOP_RATE: orders per second. $SHOP_SEED: number of the first order.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shop.h"
#include "shop_http.h"

enum { N_BUYERS = 4 };

static atomic_long next_order, n_bought, n_failed;
static atomic_bool is_over;
static double rate = 20;

static bool buy(long order)
{
    const char *port = getenv("SHOP_GATEWAY_PORT");
    char request[160], answer[SHOP_ANSWER_CAP];
    int fd = shop_http_connect(port ? (uint16_t)strtoul(port, NULL, 10) : 0);
    bool is_good = false;
    int len;
    if (fd < 0)
        return false;
    len = snprintf(request, sizeof(request),
                   "POST /checkout?order=%ld HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
                   "Connection: close\r\n\r\n",
                   order);
    shop_http_write(fd, request, (size_t)len);
    is_good = shop_http_read(fd, answer, sizeof(answer)) && !strncmp(answer, "HTTP/1.1 200", 12);
    close(fd);
    return is_good;
}

/* Random pauses, because requests at a fixed interval could be in step with a profiler's clock and
 * always be sampled at the same place. */
static uint64_t next_pause_us(uint64_t *random)
{
    uint64_t mean_us = (uint64_t)(1e6 * N_BUYERS / rate);
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return mean_us / 2 + (*random >> 33) % (mean_us + 1);
}

static void *keep_buying(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg + 1;
    uint64_t due = shop_now_us() + next_pause_us(&random);
    while (!atomic_load(&is_over)) {
        uint64_t now = shop_now_us();
        if (now < due) {
            shop_sleep_us(due - now < 100000 ? due - now : 100000);
            continue;
        }
        due = now > due + 1000000 ? now : due + next_pause_us(&random); /* late: start over */
        atomic_fetch_add(buy(atomic_fetch_add(&next_order, 1)) ? &n_bought : &n_failed, 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t buyers[N_BUYERS];
    const char *text;
    sigset_t ends;
    int which;
    if ((text = getenv("SHOP_RATE")) && strtod(text, NULL) > 0)
        rate = strtod(text, NULL);
    if ((text = getenv("SHOP_SEED")))
        atomic_store(&next_order, strtol(text, NULL, 10));
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    for (size_t i = 0; i < N_BUYERS; i++) {
        if (pthread_create(&buyers[i], NULL, keep_buying, (void *)(uintptr_t)i))
            return 1;
    }
    sigwait(&ends, &which);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < N_BUYERS; i++)
        pthread_join(buyers[i], NULL);
    printf("bought %ld failed %ld\n", atomic_load(&n_bought), atomic_load(&n_failed));
    return 0;
}
