/* guard_report.c - writes the verdict of `spanflame guard` in four forms: text, JSON, JUnit XML,
 * Markdown. All four show the same rows (measure, before, after, change with interval, function
 * that grew most); names from telemetry are escaped for each form. */
#include "cli/guard_report.h"

#include <inttypes.h>
#include <math.h>

#include "base/time_unit.h"
#include "cli/client.h"
#include "render/units.h"
#include "render/xml_text.h"
#include "wire/json_write.h"

static const char *verdict_word(enum sf_guard_verdict v)
{
    return v == SF_GUARD_PASS ? "pass" : v == SF_GUARD_REGRESSION ? "regression" : "unknown";
}

static sf_str guard_report_name_of(const struct sf_guard_report *r, unsigned measure)
{
    return r->rows[measure].name.len ? r->rows[measure].name
                                     : sf_str_from(sf_guard_ask_measure_name(measure));
}

/* The note that an interval from two files does not include the variation between runs. */
static const char by_samples[] =
    "One run of each: the interval covers only the sampling error, and two runs of one build may "
    "differ by more. For a reliable result, give two directories with at least eight runs each.";

/* ---- values ---- */

/* The absolute value, in the unit of its measure. */
static void guard_report_add_value(struct sf_buf *out, unsigned measure, double v)
{
    double size = fmin(fabs(v), 9e18);
    if (measure == SF_GUARD_ERRORS)
        sf_units_percent(out, size);
    else if (measure == SF_GUARD_ALLOC)
        sf_units_bytes(out, (uint64_t)size);
    else
        sf_units_duration(out, (uint64_t)size);
}

static void guard_report_add_signed(struct sf_buf *out, unsigned measure, double v)
{
    sf_buf_add_u8(out, v < 0 ? '-' : '+');
    guard_report_add_value(out, measure, v);
}

/* "+12 ms (+8 ms to +16 ms), +24 %" */
static void guard_report_add_change(struct sf_buf *out, unsigned measure,
                                    const struct sf_guard_measure *m)
{
    guard_report_add_signed(out, measure, m->delta);
    if (m->has_interval) {
        sf_buf_print(out, " (");
        guard_report_add_signed(out, measure, m->low);
        sf_buf_print(out, " to ");
        guard_report_add_signed(out, measure, m->high);
        sf_buf_print(out, ")");
    }
    if (m->left > 0 && measure != SF_GUARD_ERRORS)
        sf_buf_print(out, ", %+.0f %%", 100 * m->delta / m->left);
}

static void guard_report_add_function(struct sf_buf *out, unsigned measure,
                                      const struct sf_guard_row *row)
{
    sf_units_plain(out, row->function);
    sf_buf_add_u8(out, ' ');
    guard_report_add_signed(out, measure, row->function_delta);
}

/* One sentence that explains the exit code. */
static void add_headline(const struct sf_guard_said *s, struct sf_buf *out)
{
    const struct sf_guard_report *r = s->report;
    unsigned n = 0;
    if (s->verdict == SF_GUARD_UNKNOWN && r->is_by_samples) {
        sf_buf_print(out, "too little data: at least %d samples of each file are needed",
                     SF_GUARD_SAMPLES);
        return;
    }
    if (s->verdict == SF_GUARD_UNKNOWN) {
        sf_buf_print(out,
                     "too little data: %" PRIu64 " %ss of the baseline, %" PRIu64
                     " of the candidate; at least %" PRIu64 " of each are needed",
                     r->n_left, s->things, r->n_right, s->min_spans);
        return;
    }
    if (s->verdict == SF_GUARD_PASS) {
        sf_buf_print(out, "pass: no measure grew significantly by more than %g %%",
                     100 * s->max_increase);
        return;
    }
    sf_buf_print(out, "regression: ");
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++) {
        const struct sf_guard_row *row = &r->rows[i];
        if (!row->is_there || row->m.verdict != SF_GUARD_REGRESSION)
            continue;
        sf_buf_print(out, "%s%.*s ", n++ ? "; " : "", SF_STR_ARG(guard_report_name_of(r, i)));
        guard_report_add_signed(out, i, row->m.delta);
        if (row->m.left > 0 && i != SF_GUARD_ERRORS)
            sf_buf_print(out, " (%+.0f %%)", 100 * row->m.delta / row->m.left);
        if (row->function.len) {
            sf_buf_print(out, ", mostly ");
            guard_report_add_function(out, i, row);
        }
    }
}

/* A link to the same comparison on the page, with absolute times so that it stays valid. */
static void guard_report_add_link(const struct sf_guard_said *s, struct sf_buf *out)
{
    const struct {
        const char *name, *value;
    } params[] = {{"q", s->question->query},
                  {"by", s->question->by},
                  {"left", s->question->left},
                  {"right", s->question->right}};
    if (!s->server)
        return;
    sf_buf_print(out, "%s/?view=compare&from=%" PRId64 "&until=%" PRId64, s->server,
                 (s->report->asked_ns - s->question->since_ns) / SF_NS_PER_MS,
                 s->report->asked_ns / SF_NS_PER_MS);
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        sf_buf_print(out, "&%s=", params[i].name);
        sf_client_encode(out, sf_str_from(params[i].value));
    }
}

/* ---- text ---- */

void sf_guard_report_text(const struct sf_guard_said *s, struct sf_buf *out)
{
    const struct sf_guard_report *r = s->report;
    add_headline(s, out);
    sf_buf_print(out, "\nbaseline ");
    sf_units_plain(out, sf_str_from(s->question->left));
    sf_buf_print(out, ": %" PRIu64 " %ss, candidate ", r->n_left, s->things);
    sf_units_plain(out, sf_str_from(s->question->right));
    sf_buf_print(out, ": %" PRIu64 " %ss; per %s:\n", r->n_right, s->things, s->things);
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++) {
        const struct sf_guard_row *row = &r->rows[i];
        sf_buf_print(out, "  %-11.*s ", SF_STR_ARG(guard_report_name_of(r, i)));
        if (!row->is_there) {
            sf_buf_print(out, "not measured\n");
            continue;
        }
        sf_buf_print(out, "%-10s ", verdict_word(row->m.verdict));
        guard_report_add_value(out, i, row->m.left);
        sf_buf_print(out, " -> ");
        guard_report_add_value(out, i, row->m.right);
        sf_buf_print(out, ", ");
        guard_report_add_change(out, i, &row->m);
        if (row->function.len) {
            sf_buf_print(out, ", mostly ");
            guard_report_add_function(out, i, row);
        }
        sf_buf_add_u8(out, '\n');
    }
    if (r->summary.len || r->is_by_samples) {
        sf_units_prose(out, r->summary.len ? r->summary : sf_str_from(by_samples), 0, 0);
        sf_buf_add_u8(out, '\n');
    }
}

/* ---- JSON ---- */

static void guard_report_write_row(struct sf_json_writer *w, unsigned measure,
                                   const struct sf_guard_report *report)
{
    const struct sf_guard_row *row = &report->rows[measure];
    static const char *const units[SF_GUARD_N_MEASURES] = {"nanoseconds", "nanoseconds",
                                                           "nanoseconds", "bytes", "share"};
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("measure"), guard_report_name_of(report, measure));
    sf_json_write_key_str(w, SF_STR("unit"), sf_str_from(units[measure]));
    sf_json_write_key_str(w, SF_STR("verdict"), sf_str_from(verdict_word(row->m.verdict)));
    const struct {
        sf_str key;
        double value;
        bool is_there;
    } numbers[] = {{SF_STR("baseline"), row->m.left, true},
                   {SF_STR("candidate"), row->m.right, true},
                   {SF_STR("delta"), row->m.delta, true},
                   {SF_STR("low"), row->m.low, row->m.has_interval},
                   {SF_STR("high"), row->m.high, row->m.has_interval}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!numbers[i].is_there)
            continue;
        sf_json_write_key(w, numbers[i].key);
        sf_json_write_f64(w, numbers[i].value);
    }
    if (row->function.len) {
        sf_json_write_key_str(w, SF_STR("function"), row->function);
        sf_json_write_key(w, SF_STR("functionDelta"));
        sf_json_write_f64(w, row->function_delta);
    }
    sf_json_write_object_end(w);
}

void sf_guard_report_json(const struct sf_guard_said *s, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    struct sf_buf text = {0};
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("verdict"),
                          s->verdict == SF_GUARD_UNKNOWN ? SF_STR("too_little_data")
                                                         : sf_str_from(verdict_word(s->verdict)));
    add_headline(s, &text);
    sf_json_write_key_str(&w, SF_STR("sentence"), sf_buf_str(&text));
    sf_json_write_key_str(&w, SF_STR("q"), sf_str_from(s->question->query));
    sf_json_write_key_str(&w, SF_STR("by"), sf_str_from(s->question->by));
    sf_json_write_key_str(&w, SF_STR("baseline"), sf_str_from(s->question->left));
    sf_json_write_key_str(&w, SF_STR("candidate"), sf_str_from(s->question->right));
    sf_json_write_key_u64(&w, SF_STR("baselineSpans"), s->report->n_left);
    sf_json_write_key_u64(&w, SF_STR("candidateSpans"), s->report->n_right);
    sf_json_write_key(&w, SF_STR("maxIncrease"));
    sf_json_write_f64(&w, s->max_increase);
    sf_json_write_key_str(&w, SF_STR("summary"),
                          s->report->is_by_samples ? sf_str_from(by_samples) : s->report->summary);
    sf_buf_reset(&text);
    guard_report_add_link(s, &text);
    sf_json_write_key_str(&w, SF_STR("link"), sf_buf_str(&text));
    sf_json_write_key(&w, SF_STR("measures"));
    sf_json_write_array(&w);
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++) {
        if (s->report->rows[i].is_there)
            guard_report_write_row(&w, i, s->report);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, '\n');
    sf_buf_done(&text);
}

/* ---- JUnit ---- */

/* Names come from telemetry: characters that XML does not allow are replaced first. */
static void add_xml(struct sf_buf *out, sf_str text)
{
    struct sf_buf plain = {0};
    sf_units_plain(&plain, text);
    sf_xml_text_drop_noncharacters(&plain);
    sf_xml_text_escape(out, sf_buf_str(&plain));
    sf_buf_done(&plain);
}

static void write_case(const struct sf_guard_said *s, unsigned measure, struct sf_buf *out)
{
    const struct sf_guard_row *row = &s->report->rows[measure];
    struct sf_buf text = {0};
    sf_buf_print(out, "  <testcase classname=\"spanflame.guard\" name=\"");
    add_xml(out, guard_report_name_of(s->report, measure));
    sf_buf_print(out, "\">");
    if (s->verdict == SF_GUARD_UNKNOWN || !row->is_there || row->m.verdict == SF_GUARD_UNKNOWN) {
        sf_buf_print(out, "<skipped message=\"%s\"/>",
                     row->is_there ? "too little data" : "not measured");
    } else {
        guard_report_add_change(&text, measure, &row->m);
        if (row->function.len) {
            sf_buf_print(&text, ", mostly ");
            guard_report_add_function(&text, measure, row);
        }
        sf_buf_print(out, row->m.verdict == SF_GUARD_REGRESSION ? "<failure message=\""
                                                                : "<system-out>");
        add_xml(out, sf_buf_str(&text));
        sf_buf_print(out, row->m.verdict == SF_GUARD_REGRESSION ? "\"/>" : "</system-out>");
    }
    sf_buf_print(out, "</testcase>\n");
    sf_buf_done(&text);
}

void sf_guard_report_junit(const struct sf_guard_said *s, struct sf_buf *out)
{
    unsigned n_failed = 0, n_skipped = 0;
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++) {
        const struct sf_guard_row *row = &s->report->rows[i];
        bool is_known = s->verdict != SF_GUARD_UNKNOWN && row->is_there &&
                        row->m.verdict != SF_GUARD_UNKNOWN;
        n_skipped += !is_known;
        n_failed += is_known && row->m.verdict == SF_GUARD_REGRESSION;
    }
    sf_buf_print(out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<testsuite name=\"spanflame guard\" tests=\"%d\" failures=\"%u\" errors=\"0\" "
                 "skipped=\"%u\">\n",
                 SF_GUARD_N_MEASURES, n_failed, n_skipped);
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++)
        write_case(s, i, out);
    sf_buf_print(out, "</testsuite>\n");
}

/* ---- Markdown ---- */

/* For a table cell and `code` in it: no mark-up, no cell separator. */
static void guard_report_add_code(struct sf_buf *out, sf_str text)
{
    struct sf_buf plain = {0};
    sf_units_plain(&plain, text);
    sf_str rest = sf_buf_str(&plain);
    sf_buf_add_u8(out, '`');
    for (size_t i = 0; i < rest.len; i++)
        sf_buf_add_u8(out, rest.p[i] == '`' || rest.p[i] == '|' ? '\'' : (uint8_t)rest.p[i]);
    sf_buf_add_u8(out, '`');
    sf_buf_done(&plain);
}

void sf_guard_report_markdown(const struct sf_guard_said *s, struct sf_buf *out)
{
    const struct sf_guard_report *r = s->report;
    static const char *const titles[] = {"No regression", "Regression", "Too little data"};
    sf_buf_print(out, "### Spanflame guard: %s\n\n", titles[s->verdict]);
    if (s->question->query) {
        guard_report_add_code(out, sf_str_from(s->question->query));
        sf_buf_print(out, " by ");
        guard_report_add_code(out, sf_str_from(s->question->by));
        sf_buf_print(out, ": baseline ");
    } else {
        sf_buf_print(out, "Profiles: baseline ");
    }
    guard_report_add_code(out, sf_str_from(s->question->left));
    sf_buf_print(out, " (%" PRIu64 " %ss), candidate ", r->n_left, s->things);
    guard_report_add_code(out, sf_str_from(s->question->right));
    sf_buf_print(out,
                 " (%" PRIu64 " %ss). Values per %s; intervals of 95 %%, allowed increase %g "
                 "%%.\n\n| measure | verdict | baseline | candidate | change (interval) | mostly "
                 "|\n|---|---|---|---|---|---|\n",
                 r->n_right, s->things, s->things, 100 * s->max_increase);
    for (unsigned i = 0; i < SF_GUARD_N_MEASURES; i++) {
        const struct sf_guard_row *row = &r->rows[i];
        sf_buf_print(out, "| ");
        if (row->name.len)
            guard_report_add_code(out, row->name); /* a name from a file */
        else
            sf_buf_print(out, "%s", sf_guard_ask_measure_name(i));
        sf_buf_print(out, " | ");
        if (!row->is_there) {
            sf_buf_print(out, "not measured | | | | |\n");
            continue;
        }
        sf_buf_print(out, row->m.verdict == SF_GUARD_REGRESSION ? "**%s** | " : "%s | ",
                     verdict_word(row->m.verdict));
        guard_report_add_value(out, i, row->m.left);
        sf_buf_print(out, " | ");
        guard_report_add_value(out, i, row->m.right);
        sf_buf_print(out, " | ");
        guard_report_add_change(out, i, &row->m);
        sf_buf_print(out, " | ");
        if (row->function.len) {
            guard_report_add_code(out, row->function);
            sf_buf_add_u8(out, ' ');
            guard_report_add_signed(out, i, row->function_delta);
        }
        sf_buf_print(out, " |\n");
    }
    if (r->is_by_samples)
        sf_buf_print(out, "\n%s\n", by_samples);
    if (s->svg)
        sf_buf_print(out, "\n![Flame graph: the candidate, red where it costs more](%s)\n", s->svg);
    if (!s->server)
        return;
    sf_buf_print(out, "\n[Open the comparison](");
    guard_report_add_link(s, out);
    sf_buf_print(out, ")\n");
}
