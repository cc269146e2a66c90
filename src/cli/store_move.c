#include "cli/store_move.h"

#include <stdio.h>

#include "base/time_unit.h"
#include "cli/ask.h"
#include "os/clock.h"

#define AWAY_NS (60 * SF_NS_PER_S) /* how long the server may be away, for a restart */

static enum sf_err store_move_begin(const struct sf_client *client, const char *to,
                                    struct sf_why *why)
{
    struct sf_buf path = {0}, answer = {0};
    enum sf_err err;
    sf_buf_print(&path, "/api/v1/store/migrate?format=text");
    sf_ask_param(&path, "to", to);
    sf_buf_add_u8(&path, 0);
    err = sf_buf_ok(&path) ? sf_client_post(client, (const char *)path.p, "application/json",
                                            sf_str_bytes(SF_STR("{}")), &answer, why)
                           : sf_no_memory(why, "a request");
    sf_buf_done(&path);
    sf_buf_done(&answer);
    return err;
}

static enum sf_err store_move_ask(const struct sf_client *client, enum sf_output form,
                                  struct sf_buf *out, struct sf_why *why)
{
    struct sf_buf path = {0};
    enum sf_err err;
    sf_buf_print(&path, "/api/v1/store/migrate");
    err = sf_ask(client, form, &path, out, why);
    sf_buf_done(&path);
    return err;
}

static bool store_move_is_done(enum sf_output form, sf_str answer)
{
    size_t at;
    return form == SF_OUTPUT_JSON ? sf_str_find(answer, SF_STR("\"state\":\"done\""), &at)
                                  : sf_str_starts(answer, SF_STR("moved "));
}

int sf_store_move_run(const struct sf_client *client, const char *to, const char *output)
{
    enum sf_output form = sf_answer_output("store", output, false);
    struct sf_buf last = {0};
    struct sf_why why = {0};
    int64_t seen_ns = sf_clock_mono_ns();
    bool is_done = false;
    enum sf_err err;
    if (form == SF_OUTPUT_BAD)
        return 2;
    err = store_move_begin(client, to, &why);
    while (!err && !is_done) {
        struct sf_buf now = {0};
        err = store_move_ask(client, form, &now, &why);
        if (!err) {
            seen_ns = sf_clock_mono_ns();
            is_done = store_move_is_done(form, sf_buf_str(&now));
            if (!sf_str_eq(sf_buf_str(&now), sf_buf_str(&last))) { /* progress, for people */
                fwrite(now.p, 1, now.len, stdout);
                fflush(stdout);
            }
            sf_buf_done(&last);
            last = now;
        } else {
            sf_buf_done(&now);
            if (err == SF_ERR_IO && sf_clock_mono_ns() - seen_ns < AWAY_NS)
                err = SF_OK; /* it may be restarting: the move continues then */
        }
        if (!is_done && !err)
            sf_clock_sleep_ms(500);
    }
    sf_buf_done(&last);
    return err ? sf_answer_fault("store", &why) : 0;
}
