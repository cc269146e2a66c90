#include "render/grades.h"

#include <math.h>
#include <string.h>

static const char *const names[SF_GRADE_ROWS] = {"exact", "subtree", "inherited", "shared",
                                                 "window"};

const char *sf_grades_name(enum sf_grade_row row)
{
    return names[row];
}

void sf_grades_json(const struct sf_grades *g, struct sf_json_writer *w)
{
    sf_json_write_key(w, SF_STR("grades"));
    sf_json_write_object(w);
    for (uint32_t i = 0; i < SF_GRADE_ROWS; i++) {
        sf_json_write_key(w, sf_str_from(names[i]));
        sf_json_write_object(w);
        sf_json_write_key_u64(w, SF_STR("samples"), g->rows[i].n_samples);
        sf_json_write_key(w, SF_STR("value"));
        sf_json_write_i64(w, g->rows[i].value);
        sf_json_write_object_end(w);
    }
    sf_json_write_object_end(w);
}

double sf_grades_taken(const struct sf_grades *g, double taken, int64_t value, uint64_t n)
{
    double whole = (double)sf_grades_value(g);
    if (taken <= (double)g->n_samples || whole <= 0 || value < 0)
        return (double)n;
    return round(taken * fmin(1, (double)value / whole));
}

void sf_grades_words(const struct sf_grades *g, double taken, struct sf_buf *out)
{
    for (uint32_t i = 0; i < SF_GRADE_ROWS; i++)
        if (g->rows[i].n_samples)
            sf_buf_print(out, ", %.0f %s",
                         sf_grades_taken(g, taken, g->rows[i].value, g->rows[i].n_samples),
                         names[i]);
}

const char *sf_grades_trust(const char *trust)
{
    return strcmp(trust, "thin") == 0   ? "few samples"
           : strcmp(trust, "fair") == 0 ? "fair precision"
           : strcmp(trust, "good") == 0 ? "good precision"
           : strcmp(trust, "none") == 0 ? "no samples"
                                        : trust;
}
