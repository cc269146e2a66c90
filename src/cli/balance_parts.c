#include "cli/balance_parts.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "cli/ask.h"
#include "model/answer/grades.h"
#include "os/clock.h"
#include "render/balance.h"
#include "render/grades.h"
#include "render/units.h"
#include "wire/json.h"

enum { PART = 500, MAX_PARTS = 100000, ARENA_LEN = 16 << 20, NAME_COLUMNS = 12 };

/* ---- reading ---- */

static void read_grade(struct sf_json *j, struct sf_grades *g, uint32_t row)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("samples")) && row < SF_GRADE_ROWS)
            g->rows[row].n_samples += sf_json_u64(j);
        else if (sf_str_eq(key, SF_STR("value")) && row < SF_GRADE_ROWS)
            g->rows[row].value = sf_add_sat_i64(g->rows[row].value, sf_json_i64(j));
        else
            sf_json_skip(j);
    }
}

static void read_grades(struct sf_json *j, struct sf_grades *g)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        uint32_t row = 0;
        while (row < SF_GRADE_ROWS &&
               !sf_str_eq(key, sf_str_from(sf_grades_name((enum sf_grade_row)row))))
            row++;
        read_grade(j, g, row);
    }
}

static void balance_parts_read_rest(struct sf_json *j, struct sf_balance *sum)
{
    sum->has_rest = sum->has_rest && sf_json_peek(j) != SF_JSON_NULL;
    if (sf_json_peek(j) == SF_JSON_NULL)
        sf_json_skip(j);
    else
        sum->rest = sf_add_sat_i64(sum->rest, sf_json_i64(j));
}

/* Adds one part of the answer; its texts are copied to `keep`. */
static enum sf_err balance_parts_read_part(struct sf_buf *body, struct sf_arena *keep,
                                           struct sf_balance *sum, struct sf_why *why)
{
    struct sf_arena tmp = *keep;
    struct sf_json j;
    sf_str key, type = SF_STR_NONE, unit = SF_STR_NONE, reason = SF_STR_NONE;
    char space[3][512];
    sum->next_ns = 0;
    sf_json_init(&j, sf_buf_str(body), &tmp);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key)) {
            if (sf_str_eq(key, SF_STR("type")))
                type = sf_json_str(&j);
            else if (sf_str_eq(key, SF_STR("unit")))
                unit = sf_json_str(&j);
            else if (sf_str_eq(key, SF_STR("spans")))
                sum->n_spans += sf_json_u64(&j);
            else if (sf_str_eq(key, SF_STR("received")))
                sum->received = sf_add_sat_i64(sum->received, sf_json_i64(&j));
            else if (sf_str_eq(key, SF_STR("grades")))
                read_grades(&j, &sum->grades);
            else if (sf_str_eq(key, SF_STR("noSpan")))
                balance_parts_read_rest(&j, sum);
            else if (sf_str_eq(key, SF_STR("reason")))
                reason = sf_json_str(&j);
            else if (sf_str_eq(key, SF_STR("nextFromUnixNano")) && sf_json_peek(&j) != SF_JSON_NULL)
                sum->next_ns = sf_json_i64(&j);
            else
                sf_json_skip(&j);
        }
    }
    if (!sf_json_end(&j))
        return sf_json_why(&j, "the server's answer", why);
    sf_str *texts[] = {&type, &unit, &reason};
    sf_str *kept[] = {&sum->type, &sum->unit, &sum->reason};
    for (int i = 0; i < 3; i++) { /* the texts are in a buffer that the next part reuses: copy
                                   * them */
        texts[i]->len = texts[i]->len < sizeof(space[i]) ? texts[i]->len : sizeof(space[i]);
        memcpy(space[i], texts[i]->p ? texts[i]->p : "", texts[i]->len);
    }
    for (int i = 0; i < 3; i++)
        if (kept[i]->len == 0 && !sf_arena_copy(keep, (sf_str){space[i], texts[i]->len}, kept[i]))
            return sf_fail(why, SF_ERR_NOMEM, "no memory");
    return SF_OK;
}

static enum sf_err ask_part(const struct sf_client *client, const struct sf_balance_ask *ask,
                            int64_t from_ns, struct sf_arena *keep, struct sf_balance *sum,
                            struct sf_why *why)
{
    struct sf_buf path = {0}, body = {0};
    sf_buf_print(&path, "/api/v1/balance?limit=%d&from=%" PRId64 "&until=%" PRId64, PART, from_ns,
                 sum->until_ns);
    sf_ask_param(&path, "service", ask->service);
    if (sum->type.len > 0) { /* all parts must have the type chosen for the first one */
        sf_buf_add_str(&path, SF_STR("&type="));
        sf_client_encode(&path, sum->type);
    } else
        sf_ask_param(&path, "type", ask->type);
    sf_buf_add_u8(&path, 0);
    enum sf_err err = sf_buf_ok(&path) ? sf_client_get(client, (char *)path.p, "*/*", &body, why)
                                       : sf_fail(why, SF_ERR_NOMEM, "no memory");
    if (!err)
        err = balance_parts_read_part(&body, keep, sum, why);
    sf_buf_done(&path);
    sf_buf_done(&body);
    return err;
}

/* ---- writing ---- */

static void balance_parts_write_line(struct sf_buf *out, const char *name, int64_t value,
                                     const struct sf_balance *sum)
{
    struct sf_buf cell = {0};
    sf_buf_add_str(out, sf_str_from(name));
    sf_units_pad(out, NAME_COLUMNS - strlen(name));
    sf_units_amount(&cell, value, sum->unit);
    sf_units_pad(out,
                 sf_utf8_width(sf_buf_str(&cell)) < 12 ? 12 - sf_utf8_width(sf_buf_str(&cell)) : 0);
    sf_buf_add_str(out, sf_buf_str(&cell));
    sf_buf_reset(&cell);
    if (sum->received != 0)
        sf_units_percent(&cell, (double)value / (double)sum->received);
    sf_units_pad(out, cell.len < 9 ? 9 - cell.len : 1);
    sf_buf_add_str(out, sf_buf_str(&cell));
    sf_buf_add_u8(out, '\n');
    sf_buf_done(&cell);
}

static void balance_parts_write_text(const struct sf_balance *sum, struct sf_buf *out)
{
    if (sum->type.len == 0) {
        sf_buf_print(out, "%" PRIu64 " spans, and no profiles.\n", sum->n_spans);
        return;
    }
    sf_units_text(out, sum->type, 70);
    sf_buf_print(out, ", %" PRIu64 " spans\n", sum->n_spans);
    balance_parts_write_line(out, "received", sum->received, sum);
    for (uint32_t i = 0; i < SF_GRADE_ROWS; i++)
        if (sum->grades.rows[i].n_samples > 0)
            balance_parts_write_line(out, sf_grades_name((enum sf_grade_row)i),
                                     sum->grades.rows[i].value, sum);
    if (sum->has_rest)
        balance_parts_write_line(out, "no span", sum->rest, sum);
    else {
        sf_buf_add_str(out, SF_STR("the value of no span is not known: "));
        sf_units_prose(out, sum->reason, 22, 0);
        sf_buf_add_u8(out, '\n');
    }
}

int sf_balance_parts_run(const struct sf_client *client, const struct sf_balance_ask *ask)
{
    enum sf_output form = sf_answer_output(ask->command, ask->output, false);
    int64_t now_ns = sf_clock_wall_ns();
    struct sf_balance sum = {.service = sf_str_from(ask->service),
                             .from_ns = now_ns > ask->since_ns ? now_ns - ask->since_ns : 1,
                             .until_ns = now_ns,
                             .has_rest = true};
    struct sf_buf out = {0};
    struct sf_arena keep;
    struct sf_why why = {0};
    if (form == SF_OUTPUT_BAD)
        return 2;
    enum sf_err err = sf_arena_init(&keep, ARENA_LEN) ? SF_OK
                                                      : sf_fail(&why, SF_ERR_NOMEM, "no memory");
    int64_t from_ns = sum.from_ns;
    for (int i = 0; i < MAX_PARTS && !err; i++, from_ns = sum.next_ns) {
        err = ask_part(client, ask, from_ns, &keep, &sum, &why);
        if (err || sum.next_ns <= from_ns)
            break; /* also ends when a server does not advance */
    }
    if (!err && sum.next_ns != 0)
        err = sf_fail(&why, SF_ERR_LIMIT, "more than %d parts: use a shorter --since", MAX_PARTS);
    if (!err && form == SF_OUTPUT_TEXT)
        balance_parts_write_text(&sum, &out);
    if (!err && form == SF_OUTPUT_JSON) {
        sf_balance_json(&sum, &out);
        sf_buf_add_u8(&out, '\n');
    }
    int code = sf_answer_end(ask->command, err, &out, &why);
    sf_arena_done(&keep);
    return code;
}
