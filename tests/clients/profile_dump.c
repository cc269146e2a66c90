/* profile_dump FILE - what we make of a profile, as text for comparing with other readers:
 *
 *     type<TAB>value<TAB>count<TAB>thread<TAB>span<TAB>start<TAB>length<TAB>root;...;leaf
 *
 * a line for each sample, and its labels in lines that begin with "label". */
#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "decode/profile_format.h"

static void print(sf_str s)
{
    printf("%.*s", SF_STR_ARG(s));
}

static void print_stack(const struct sf_profile_batch *b, uint32_t at)
{
    const struct sf_stack *s = &b->stacks[at];
    const char *between = "";
    for (uint32_t i = s->n; i-- > 0;) {
        const struct sf_location *l = &b->locations[s->locations[i]];
        for (uint32_t k = l->n_lines; k-- > 0; between = ";") {
            printf("%s", between);
            print(b->functions[l->lines[k].function].name);
        }
        if (!l->n_lines) {
            printf("%s0x%" PRIx64, between, l->addr);
            between = ";";
        }
    }
    printf("\n");
}

static void print_batch(const struct sf_profile_batch *b)
{
    for (uint32_t i = 0; i < b->n_samples; i++) {
        const struct sf_sample *s = &b->samples[i];
        const struct sf_profile_type *t = &b->series[s->series].type;
        print(t->name);
        printf(":");
        print(t->sample_type);
        printf(":");
        print(t->sample_unit);
        printf("\t%" PRId64 "\t%" PRIu32 "\t", s->value, s->count);
        print(s->thread_name);
        printf("\t%016" PRIx64 "\t%" PRId64 "\t%" PRId64 "\t", s->span_id, s->start_ns,
               s->length_ns);
        print_stack(b, s->stack);
    }
    for (uint32_t i = 0; i < b->n_series; i++) {
        for (uint32_t k = 0; k < b->series[i].n_labels; k++) {
            printf("label\t");
            print(b->series[i].labels[k].key);
            printf("\t");
            print(b->series[i].labels[k].val);
            printf("\n");
        }
    }
}

static bool read_all(const char *path, struct sf_buf *out)
{
    FILE *f = fopen(path, "rb");
    size_t n = 1;
    while (f && n) {
        uint8_t *to = sf_buf_take(out, 1 << 16);
        n = to ? fread(to, 1, 1 << 16, f) : 0;
        out->len -= to ? (1 << 16) - n : 0;
    }
    if (f)
        fclose(f);
    return f && sf_buf_ok(out);
}

int main(int argc, char **argv)
{
    struct sf_buf file = {0}, plain = {0};
    struct sf_arena a = {0};
    struct sf_inflate *z = sf_inflate_new();
    struct sf_profile_batch b;
    struct sf_why why = {"cannot be read"};
    sf_str bytes;
    int status = 1;

    if (argc == 2 && z && sf_arena_init(&a, SF_LIMIT_ARENA_LEN) && read_all(argv[1], &file) &&
        !sf_profile_format_unwrap(z, sf_buf_str(&file), SF_LIMIT_INFLATED_LEN, &plain, &bytes,
                                  &why) &&
        !sf_profile_format_decode(bytes, NULL, &a, &b, &why)) {
        print_batch(&b);
        status = 0;
    } else {
        fprintf(stderr, "%s: %s\n", argc == 2 ? argv[1] : "one file", why.text);
    }
    sf_inflate_free(z);
    sf_buf_done(&file);
    sf_buf_done(&plain);
    sf_arena_done(&a);
    return status;
}
