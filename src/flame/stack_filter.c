#include "flame/stack_filter.h"

#include "base/heap.h"
#include "flame/frame_name.h"
#include "flame/tree_map.h"
#include "regex/regex.h"

struct term {
    sf_str text;
    struct sf_regex *re;       /* NULL: compare the whole name */
    enum sf_frame_group group; /* which name of a frame to compare */
};

struct sf_stack_filter {
    const sf_str *sites;
    size_t n_sites;
    uint64_t wanted, unwanted; /* bits of the terms */
    size_t n_terms;
    bool has_packages; /* some term is about packages */
    struct term terms[SF_STACK_TERMS];
};

static bool is_unwanted(enum sf_stack_term_kind kind)
{
    return kind == SF_STACK_LACKS || kind == SF_STACK_LACKS_PATTERN;
}

static enum sf_err set_term(const struct sf_stack_term *from, struct term *out, struct sf_why *why)
{
    struct sf_why own = {0};
    enum sf_err err;
    out->text = from->text;
    out->group = from->kind == SF_STACK_HAS_PACKAGE ? SF_GROUP_PACKAGE : SF_GROUP_FUNCTION;
    if (from->kind == SF_STACK_HAS || from->kind == SF_STACK_LACKS)
        return SF_OK;
    err = sf_regex_new(from->text, false, &out->re, &own);
    /* Pyroscope's wording, which its clients show. */
    return err ? sf_fail(why, err, "invalid %s %s regex \"%.*s\": %s",
                         is_unwanted(from->kind) ? "exclude" : "include",
                         out->group == SF_GROUP_PACKAGE ? "package" : "function name",
                         SF_STR_ARG(sf_str_part(from->text, 0, 80)), own.text)
               : SF_OK;
}

enum sf_err sf_stack_filter_new(const struct sf_stack_ask *ask, struct sf_stack_filter **out,
                                struct sf_why *why)
{
    struct sf_stack_filter *f;
    enum sf_err err = SF_OK;
    if (ask->n_terms > SF_STACK_TERMS)
        return sf_fail(why, SF_ERR_LIMIT, "a frame filter has at most %d names and patterns",
                       SF_STACK_TERMS);
    if (ask->n_terms == 0 && ask->n_sites == 0) {
        *out = NULL;
        return SF_OK;
    }
    f = sf_heap_new(sizeof(*f));
    if (!f)
        return sf_no_memory(why, "a frame filter");
    f->sites = ask->sites;
    f->n_sites = ask->n_sites;
    for (; !err && f->n_terms < ask->n_terms; f->n_terms++) {
        const struct sf_stack_term *t = &ask->terms[f->n_terms];
        *(is_unwanted(t->kind) ? &f->unwanted : &f->wanted) |= UINT64_C(1) << f->n_terms;
        f->has_packages |= t->kind == SF_STACK_HAS_PACKAGE;
        err = set_term(t, &f->terms[f->n_terms], why);
    }
    if (err)
        sf_stack_filter_free(f);
    else
        *out = f;
    return err;
}

void sf_stack_filter_free(struct sf_stack_filter *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n_terms; i++)
        sf_regex_free(f->terms[i].re);
    sf_heap_free(f);
}

/* ---- frames ---- */

static enum sf_err test_term(const struct term *t, sf_str name, struct sf_regex_scratch *scratch,
                             bool *out, struct sf_why *why)
{
    size_t at, end;
    if (!t->re) {
        *out = sf_str_eq(t->text, name);
        return SF_OK;
    }
    switch (sf_regex_find(t->re, name, 0, scratch, &at, &end)) {
    case SF_REGEX_FOUND: *out = true; break;
    case SF_REGEX_NONE: *out = false; break;
    case SF_REGEX_GAVE_UP:
        return sf_fail(why, SF_ERR_LIMIT, "the pattern takes too long on \"%.*s\"",
                       SF_STR_ARG(sf_str_part(name, 0, 80)));
    }
    return SF_OK;
}

/* The terms that each frame matches, as bits. */
static enum sf_err test_frames(const struct sf_stack_filter *f, const struct sf_tree *t,
                               struct sf_arena names, uint64_t *out_met, struct sf_why *why)
{
    struct sf_regex_scratch *scratch = f->n_terms ? sf_regex_scratch_new() : NULL;
    enum sf_err err = f->n_terms == 0 || scratch ? SF_OK : sf_no_memory(why, "a pattern");
    for (uint32_t i = 0; !err && i < t->n_frames; i++) {
        struct sf_arena own = names; /* names are needed only temporarily */
        bool is_met = false;
        sf_str name, package = SF_STR_NONE;
        if (!sf_frame_name(&t->frames[i], SF_GROUP_FUNCTION, &own, &name) ||
            (f->has_packages && !sf_frame_name(&t->frames[i], SF_GROUP_PACKAGE, &own, &package)))
            err = sf_no_room(why, "the flame graph");
        for (size_t k = 0; !err && k < f->n_terms; k++) {
            bool is_package = f->terms[k].group == SF_GROUP_PACKAGE;
            err = test_term(&f->terms[k], is_package ? package : name, scratch, &is_met, why);
            out_met[i] |= (uint64_t)(!err && is_met) << k;
        }
    }
    sf_regex_scratch_free(scratch);
    return err;
}

static bool is_called(const struct sf_frame *frame, sf_str name, struct sf_arena scratch)
{
    sf_str own;
    return sf_frame_name(frame, SF_GROUP_FUNCTION, &scratch, &own) && sf_str_eq(own, name);
}

/* ---- stacks ---- */

struct state {       /* of a node: the terms that its stack has matched from the root on */
    uint64_t met;    /* terms */
    uint32_t n_site; /* matched functions of the call site */
    bool is_lost;    /* another function came in between: the call site cannot match any more */
};

enum sf_err sf_stack_filter_nodes(const struct sf_stack_filter *f, const struct sf_tree *t,
                                  struct sf_arena scratch, bool *out_is_kept, struct sf_why *why)
{
    uint64_t *met = sf_arena_new_n(&scratch, (size_t)t->n_frames + 1, sizeof(*met));
    struct state *nodes = sf_arena_new_n(&scratch, (size_t)t->n_nodes + 1, sizeof(*nodes));
    enum sf_err err = met && nodes ? test_frames(f, t, scratch, met, why)
                                   : sf_no_room(why, "the flame graph");
    if (err)
        return err;
    out_is_kept[0] = false;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        const struct sf_tree_node *node = &t->nodes[i];
        struct state s = nodes[node->parent];
        s.met |= met[node->frame];
        if (!s.is_lost && s.n_site < f->n_sites) {
            s.is_lost = !is_called(&t->frames[node->frame], f->sites[s.n_site], scratch);
            s.n_site += !s.is_lost;
        }
        nodes[i] = s;
        out_is_kept[i] = s.n_site == f->n_sites && (s.met & f->wanted) == f->wanted &&
                         (s.met & f->unwanted) == 0;
    }
    return SF_OK;
}

enum sf_err sf_stack_filter_tree(const struct sf_stack_filter *f, const struct sf_tree *t,
                                 struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_arena scratch = *req;
    bool *is_kept = sf_arena_new_n(&scratch, (size_t)t->n_nodes + 1, sizeof(*is_kept));
    bool *is_way = sf_arena_new_n(&scratch, (size_t)t->n_nodes + 1, sizeof(*is_way));
    struct sf_tree_map m = {0};
    enum sf_err err = is_kept && is_way ? sf_stack_filter_nodes(f, t, scratch, is_kept, why)
                                        : sf_no_room(why, "the flame graph");
    if (!err)
        err = sf_tree_map_init(&m, t, req, why);
    for (uint32_t i = t->n_nodes; !err && i-- > 1;) {
        is_way[i] |= is_kept[i] && t->nodes[i].self;
        is_way[t->nodes[i].parent] |= is_way[i];
    }
    for (uint32_t i = 1; !err && i < t->n_nodes; i++) {
        const struct sf_tree_node *node = &t->nodes[i];
        if (is_way[i])
            m.nodes[i] = sf_tree_builder_child(
                &m.to, m.nodes[node->parent],
                sf_tree_builder_frame(&m.to, &t->frames[node->frame]));
    }
    for (uint32_t i = 0; !err && i < t->n_nodes; i++) {
        if (!is_kept[i])
            m.nodes[i] = SF_NONE; /* no selected stack ends here: drop its value */
    }
    if (!err)
        err = sf_tree_map_take(&m, out, why); /* overwrites the scratch */
    sf_tree_map_done(&m);
    return err;
}
