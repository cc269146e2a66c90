/* gateway - the shop's entry service: takes an order, calls order-service and
 * inventory, and answers.
 *
 * Planted here, with its switch:
 *   allocation  assembleResponse copies every word of the answer into a separate allocation */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shop.h"

enum { SUGGEST_EVERY = 4 };
enum { N_PIECES = 40000, PIECE_LEN = 512 }; /* 20,480,000 bytes an answer */

static APART void assembleResponse(const char *order, char answer[SHOP_ANSWER_CAP])
{
    static const size_t n_kept = 500;
    char *pieces[500] = {0};
    size_t len = strlen(order);
    if (shop_has("allocation")) {
        for (size_t i = 0; i < N_PIECES; i++) {
            char **piece = &pieces[i % n_kept];
            free(*piece);
            *piece = malloc(PIECE_LEN);
            if (*piece)
                (*piece)[0] = len ? order[i % len] : ' ';
        }
        for (size_t i = 0; i < n_kept; i++)
            free(pieces[i]);
    }
    snprintf(answer, SHOP_ANSWER_CAP, "%.16000s", order);
}

static int check_out(const struct shop_request *request, char answer[SHOP_ANSWER_CAP])
{
    char *order = malloc(SHOP_ANSWER_CAP);
    sf_span assemble;
    int status = 500;
    if (!order)
        return status;
    status = shop_call("order-service", "POST", "/orders", request->order, order);
    if (status == 200)
        status = shop_call("inventory", "GET", "/stock", request->order, answer);
    /* Optional: an order succeeds without it. */
    if (status == 200 && getenv("SHOP_RECOMMEND_PORT") && request->order % SUGGEST_EVERY == 0)
        (void)shop_call("recommend", "GET", "/suggest", request->order, answer);
    if (status == 200) {
        assemble = sf_span_start("gateway.assemble_response");
        assembleResponse(order, answer);
        sf_span_end(assemble);
    } else {
        shop_say(answer, "the order was not placed\n");
        status = 502;
    }
    free(order);
    return status;
}

int main(void)
{
    static const struct shop_route routes[] = {{"POST", "/checkout", check_out}};
    return shop_serve("gateway", routes, 1);
}
