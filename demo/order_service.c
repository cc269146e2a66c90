/* order-service - calculates the total of an order, slowly.
 *
 * Planted here, each with its switch:
 *   regex       checkPriceRules: a backtracking matcher on a text that is the worst case for it
 *   json        loadDiscountRules: parses the same rules again for every order
 *   serialiser  formatResponse: every append walks the whole answer to find its end
 *   regression  evaluateRules: since commit def456 each rule is evaluated three times over */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shop.h"

/* What each part of an order costs, in microseconds of CPU. */
enum { REGEX_US = 6000, TAX_US = 1500, JSON_US = 4000, EVALUATE_US = 3000, SERIALISE_US = 4000 };
enum { N_ITEMS = 24, REGRESSION = 3 };

struct rules {
    double above[64];
    size_t n;
};

struct order {
    long number;
    double prices[N_ITEMS], total, tax, discount;
};

static char rules_text[4096];
static struct rules parsed_once;
static bool is_def456;

/* ---- checkPriceRules: backtracking ---- */

/* "x*" first takes as many characters as possible, then gives them back one by one and tries the
 * rest again. With four stars and no match the work grows with the fourth power of the length. */
static APART bool regexMatch(const char *rule, const char *text)
{
    if (!*rule)
        return !*text;
    if (rule[1] == '*') {
        size_t n = 0;
        while (text[n] == rule[0])
            n++;
        for (;; n--) {
            if (regexMatch(rule + 2, text + n))
                return true;
            if (!n)
                return false;
        }
    }
    return *rule == *text && regexMatch(rule + 1, text + 1);
}

static APART void checkPriceRules(const struct order *o)
{
    if (!shop_has("regex")) {
        (void)regexMatch("9*.", o->prices[0] > 50 ? "999." : "99.");
        return;
    }
    for (uint64_t end = cpu_budget_us(REGEX_US); cpu_is_left(end);)
        (void)regexMatch("9*9*9*9*x", "99999999999999999999999999");
}

static APART void calculateTax(struct order *o)
{
    for (uint64_t end = cpu_budget_us(TAX_US); cpu_is_left(end);) {
        double sum = 0;
        for (int round = 0; round < 4000; round++) {
            for (int i = 0; i < N_ITEMS; i++)
                sum += o->prices[i] * 0.19;
        }
        o->tax = sum / 4000;
    }
}

static APART void validateLineItems(struct order *o)
{
    checkPriceRules(o);
    calculateTax(o);
}

/* ---- loadDiscountRules: parsed for every order ---- */

static APART const char *jsonValue(const char *p, struct rules *r);

static const char *jsonSpace(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

static const char *jsonText(const char *p)
{
    for (p++; *p && *p != '"'; p++) {
        if (*p == '\\' && p[1])
            p++;
    }
    return *p ? p + 1 : p;
}

static const char *jsonList(const char *p, char end, struct rules *r)
{
    for (p = jsonSpace(p + 1); *p && *p != end; p = jsonSpace(p)) {
        if (*p == ',' || *p == ':')
            p++;
        else
            p = jsonValue(p, r);
    }
    return *p ? p + 1 : p;
}

static APART const char *jsonValue(const char *p, struct rules *r)
{
    double number = 0;
    p = jsonSpace(p);
    if (*p == '{')
        return jsonList(p, '}', r);
    if (*p == '[')
        return jsonList(p, ']', r);
    if (*p == '"')
        return jsonText(p);
    if (!isdigit((unsigned char)*p))
        return *p ? p + 1 : p;
    for (; isdigit((unsigned char)*p); p++)
        number = number * 10 + (*p - '0');
    if (r->n < sizeof(r->above) / sizeof(r->above[0]))
        r->above[r->n++] = number;
    return p;
}

static APART void jsonParse(const char *text, struct rules *r)
{
    r->n = 0;
    jsonValue(text, r);
}

static APART void loadDiscountRules(struct rules *r)
{
    *r = parsed_once; /* which is sufficient */
    if (!shop_has("json"))
        return;
    for (uint64_t end = cpu_budget_us(JSON_US); cpu_is_left(end);) {
        for (int i = 0; i < 8; i++)
            jsonParse(rules_text, r);
    }
}

/* ---- evaluateRules: three times over since def456 ---- */

static APART void evaluateRules(struct order *o, const struct rules *r)
{
    uint64_t us = is_def456 && shop_has("regression") ? REGRESSION * EVALUATE_US : EVALUATE_US;
    for (uint64_t end = cpu_budget_us(us); cpu_is_left(end);) {
        double best = 0;
        for (size_t n = 0; n < 50 * r->n; n++) {
            size_t rule = n % r->n;
            double saved = 0;
            for (int i = 0; i < N_ITEMS; i++)
                saved += o->prices[i] > r->above[rule] ? r->above[rule] / 100 : 0;
            best = saved > best ? saved : best;
        }
        o->discount = best;
    }
}

static APART void applyDiscounts(struct order *o)
{
    struct rules r;
    loadDiscountRules(&r);
    evaluateRules(o, &r);
}

/* ---- formatResponse: quadratic ---- */

static APART void serialize(const struct order *o, char *out)
{
    char piece[64];
    out[0] = '\0';
    for (int i = 0; i < N_ITEMS; i++) {
        snprintf(piece, sizeof(piece), "{\"item\":%d,\"price\":%.2f},", i, o->prices[i]);
        for (const char *p = piece; *p; p++) {
            size_t end = 0;
            while (out[end]) /* finds the end again */
                end++;
            out[end] = *p;
            out[end + 1] = '\0';
        }
    }
}

static APART void formatResponse(const struct order *o, char answer[SHOP_ANSWER_CAP])
{
    char items[N_ITEMS * 64];
    if (shop_has("serialiser")) {
        for (uint64_t end = cpu_budget_us(SERIALISE_US); cpu_is_left(end);)
            serialize(o, items);
    } else {
        serialize(o, items);
    }
    snprintf(answer, SHOP_ANSWER_CAP,
             "{\"order\":%ld,\"total\":%.2f,\"tax\":%.2f,\"discount\":%.2f,\"items\":[%s]}\n",
             o->number, o->total, o->tax, o->discount, items);
}

/* ---- applyCoupon: one of five coupons has no rule any more (switch: failure) ---- */

enum { COUPON_EVERY = 8 };

/* One order in eight has a coupon. False: there is no rule for it. */
static APART bool applyCoupon(long order, char answer[SHOP_ANSWER_CAP])
{
    static const char *const coupons[] = {"SUMMER-24", "WELCOME", "STAFF", "BIRTHDAY", "NEWS"};
    const char *coupon = coupons[order / COUPON_EVERY % 5];
    bool is_known = order / COUPON_EVERY % 5 != 0 || !shop_has("failure");
    sf_span span;
    if (order % COUPON_EVERY != COUPON_EVERY - 1)
        return true;
    span = sf_span_start("order.apply_coupon");
    sf_span_set_str(span, "order.coupon", coupon);
    if (!is_known) {
        snprintf(answer, SHOP_ANSWER_CAP, "coupon %s has no discount rule", coupon);
        sf_span_set_status(span, SF_STATUS_ERROR, answer);
    }
    sf_span_end(span);
    return is_known;
}

/* ---- the order ---- */

static APART void calculateTotals(struct order *o, char answer[SHOP_ANSWER_CAP])
{
    for (int i = 0; i < N_ITEMS; i++)
        o->total += o->prices[i] = 10 + (double)((o->number * 31 + i * 17) % 90);
    validateLineItems(o);
    applyDiscounts(o);
    formatResponse(o, answer);
}

static int place_order(const struct shop_request *request, char answer[SHOP_ANSWER_CAP])
{
    struct order o = {.number = request->order};
    sf_span totals;

    if (shop_call("pricing", "GET", "/price", request->order, answer) != 200) {
        shop_say(answer, "no prices\n");
        return 502;
    }
    if (!applyCoupon(request->order, answer))
        return 500;
    totals = sf_span_start("order.calculate_totals");
    sf_span_set_int(totals, "order.items", N_ITEMS);
    calculateTotals(&o, answer);
    sf_span_end(totals);
    return 200;
}

int main(void)
{
    static const struct shop_route routes[] = {{"POST", "/orders", place_order}};
    const char *commit = getenv("SHOP_COMMIT");
    size_t len = 0;
    is_def456 = commit && !strcmp(commit, "def456");
    len += (size_t)snprintf(rules_text, sizeof(rules_text), "{\"rules\":[");
    for (int i = 0; i < 60; i++)
        len += (size_t)snprintf(rules_text + len, sizeof(rules_text) - len,
                                "%s{\"name\":\"rule %d\",\"above\":%d}", i ? "," : "", i, 10 + i);
    snprintf(rules_text + len, sizeof(rules_text) - len, "]}");
    jsonParse(rules_text, &parsed_once);
    return shop_serve("order-service", routes, 1);
}
