/* pricing - answers the price of an item.
 *
 * Planted here, each with its switch:
 *   n+1     attributes are loaded one by one, each under a span of its own
 *   legacy  one order in fifty goes through applyLegacyTax, thirty times as slow
 *   leak    keepQuote leaks 32,768 bytes of every price */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shop.h"

enum { ATTRIBUTE_US = 200, TAX_US = 2000, LEGACY_US = 60000, N_ATTRIBUTES = 12, LEGACY_EVERY = 50 };

static APART unsigned lookUp(unsigned key)
{
    unsigned h = key;
    for (int i = 0; i < 20000; i++)
        h = (h ^ (h >> 13)) * 0x5bd1e995u;
    return h;
}

static APART unsigned loadAttribute(long order, unsigned which)
{
    unsigned found = 0;
    for (uint64_t end = cpu_budget_us(ATTRIBUTE_US); cpu_is_left(end);)
        found ^= lookUp((unsigned)order * 64 + which);
    return found;
}

static APART unsigned loadAttributes(long order)
{
    unsigned found = 0;
    if (!shop_has("n+1")) {
        sf_span all = sf_span_start("pricing.load_attributes");
        found = loadAttribute(order, 0);
        sf_span_end(all);
        return found;
    }
    for (unsigned i = 0; i < N_ATTRIBUTES; i++) {
        sf_span one = sf_span_start("pricing.load_attribute");
        sf_span_set_int(one, "pricing.attribute", i);
        found ^= loadAttribute(order, i);
        sf_span_end(one);
    }
    return found;
}

static APART double roundTwice(double value)
{
    for (int i = 0; i < 20000; i++)
        value = (double)(long)(value * 100 + 0.5) / 100 + 0.01 * (i & 1);
    return value;
}

/* Applies every rate that was ever valid before the current one. */
static APART double applyLegacyTax(double price)
{
    for (uint64_t end = cpu_budget_us(LEGACY_US); cpu_is_left(end);) {
        for (int year = 0; year < 20000; year++)
            price = price > 1000 ? price * 0.5 : price * 1.0001 + 0.01 * (year & 3);
    }
    return price;
}

static APART double applyTax(double price)
{
    for (uint64_t end = cpu_budget_us(TAX_US); cpu_is_left(end);)
        price = roundTwice(price);
    return price;
}

/* ---- keepQuote: memory that only grows ---- */

/* A demo may run for a day: at 256 MB all is freed and the leak starts again. */
enum { QUOTE_LEN = 32768, MAX_QUOTES = 8192 };

static pthread_mutex_t quotes_lock = PTHREAD_MUTEX_INITIALIZER; /* guards both */
static char *quotes[MAX_QUOTES];
static size_t n_quotes;

static APART void keepQuote(long order)
{
    char *quote = malloc(QUOTE_LEN);
    if (!quote)
        return;
    memset(quote, (int)order, QUOTE_LEN);
    quotes[n_quotes++] = quote;
}

static void look_after_quotes(long order)
{
    bool is_kept = shop_has("leak");
    pthread_mutex_lock(&quotes_lock);
    if (!is_kept || n_quotes == MAX_QUOTES) {
        while (n_quotes)
            free(quotes[--n_quotes]);
    }
    if (is_kept)
        keepQuote(order);
    pthread_mutex_unlock(&quotes_lock);
}

static int price(const struct shop_request *request, char answer[SHOP_ANSWER_CAP])
{
    unsigned attributes = loadAttributes(request->order);
    double sum = 100 + attributes % 900;
    bool is_legacy = request->order % LEGACY_EVERY == 13 && shop_has("legacy");
    sum = is_legacy ? applyLegacyTax(sum) : applyTax(sum);
    look_after_quotes(request->order);
    snprintf(answer, SHOP_ANSWER_CAP, "{\"order\":%ld,\"price\":%.2f}\n", request->order, sum);
    return 200;
}

int main(void)
{
    static const struct shop_route routes[] = {{"GET", "/price", price}};
    return shop_serve("pricing", routes, 1);
}
