/* Two forms in which old Pyroscope clients send stacks, one layout, depth first:
 *
 *     node := name length (varint), name, value (varint), number of children (varint), children
 *
 * In a tree a name is one frame. In a trie the names along a path are concatenated and the result
 * is split at semicolons: a node may end inside a name, even inside a character. There is neither a
 * magic number nor a length: missing or additional bytes are errors. A file without a given format
 * is recognised when it consists of nodes from the first byte to the last, under a root without a
 * name, and all names are text; as a trie when a name contains a semicolon. */
#include <inttypes.h>

#include "base/limits.h"
#include "decode/text/stack_text.h"

enum { MIN_NODE_LEN = 3 };

struct level {
    uint64_t n_left; /* children still to come */
    size_t n_frames; /* of the path to this node; of a trie: those that have ended */
    size_t n_chars;  /* of a trie: the path's characters, */
    size_t name_at;  /* and where the frame that has not ended begins among them */
};

struct tree {
    struct sf_stack_text text;
    const char *what;
    const uint8_t *start, *at, *end;
    struct sf_profile_list levels; /* open nodes */
    struct sf_profile_list path;   /* locations */
    struct sf_buf chars;           /* for a trie: the path's characters */
    uint64_t work;                 /* for a trie: bytes of names and of paths that were made */
    const char *fault;
};

static uint64_t pyroscope_tree_read_varint(struct tree *t)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t c;
        if (t->at == t->end) {
            t->fault = "ends inside a node";
            return 0;
        }
        c = *t->at++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            if (shift == 63 && c > 1)
                break;
            return v;
        }
    }
    t->fault = "has a number of more than 64 bits";
    return 0;
}

struct node {
    sf_str name;
    int64_t value;
    uint64_t n_children;
};

static bool read_node(struct tree *t, struct node *out)
{
    uint64_t len = pyroscope_tree_read_varint(t), value;
    if (!t->fault && len > (size_t)(t->end - t->at))
        t->fault = "has a name longer than what is left";
    if (t->fault)
        return false;
    out->name = (sf_str){(const char *)t->at, (size_t)len};
    t->at += len;
    value = pyroscope_tree_read_varint(t);
    out->n_children = pyroscope_tree_read_varint(t);
    if (!t->fault && value > INT64_MAX)
        t->fault = "has a value of more than 63 bits";
    if (!t->fault && out->n_children > (size_t)(t->end - t->at) / MIN_NODE_LEN)
        t->fault = "has more children than bytes left";
    out->value = (int64_t)value;
    return !t->fault;
}

static bool open_level(struct tree *t, const struct node *n, struct level level)
{
    struct level *to = sf_profile_list_more(t->text.b, &t->levels, sizeof(*to));
    if (!to)
        return false;
    level.n_left = n->n_children;
    *to = level;
    t->levels.n++;
    return true;
}

static bool pyroscope_tree_push(struct tree *t, sf_str name)
{
    uint32_t *to = sf_profile_list_more(t->text.b, &t->path, sizeof(*to));
    if (!to)
        return false;
    *to = sf_stack_text_frame(&t->text, name);
    t->path.n += *to != SF_NONE;
    return true;
}

static void visit_tree(struct tree *t, const struct node *n, struct level above)
{
    bool is_root = t->levels.n == 0 && !n->name.len;
    t->path.n = (uint32_t)above.n_frames;
    if (!is_root && !pyroscope_tree_push(t, n->name))
        return;
    if (n->value)
        sf_stack_text_add_path(&t->text, t->path.items, t->path.n, n->value);
    open_level(t, n, (struct level){.n_frames = t->path.n});
}

/* The frame that begins at `at` and ends before `end`. Names are in the batch, so its characters
 * are copied, again for each node in which a frame ends that began above it. */
static bool push_chars(struct tree *t, size_t at, size_t end)
{
    sf_str name = sf_str_part(sf_buf_str(&t->chars), at, end - at);
    t->work += name.len;
    return name.len == 0 || pyroscope_tree_push(t, sf_profile_table_copy(t->text.b, name));
}

/* Only the characters of the node are searched for semicolons, and only the frames that end in it
 * are looked up. A limit applies to a trie that expands to much more than its size. */
static void visit_trie(struct tree *t, const struct node *n, struct level above)
{
    size_t name_at = above.name_at;
    uint32_t n_ended;
    t->chars.len = above.n_chars;
    t->path.n = (uint32_t)above.n_frames;
    sf_buf_add_str(&t->chars, n->name);
    if (t->chars.err)
        return;
    for (size_t i = above.n_chars; i < t->chars.len; i++) {
        if (t->chars.p[i] != ';')
            continue;
        if (t->work > SF_LIMIT_TRIE_WORK || !push_chars(t, name_at, i))
            return;
        name_at = i + 1;
    }
    n_ended = t->path.n;
    if (n->value && t->chars.len) {
        if (!push_chars(t, name_at, t->chars.len) ||
            (t->path.n == 0 && !pyroscope_tree_push(t, SF_STR("(unknown)")))) /* separators only */
            return;
        t->work += (t->path.n < SF_LIMIT_FRAMES ? t->path.n : SF_LIMIT_FRAMES) * sizeof(uint32_t);
        sf_stack_text_add_path(&t->text, t->path.items, t->path.n, n->value);
    }
    open_level(t, n,
               (struct level){.n_frames = n_ended, .n_chars = t->chars.len, .name_at = name_at});
}

static bool can_go_on(const struct tree *t)
{
    return sf_profile_build_ok(t->text.b) && !t->fault && !t->chars.err &&
           t->work <= SF_LIMIT_TRIE_WORK;
}

static void pyroscope_tree_walk(struct tree *t,
                                void (*visit)(struct tree *, const struct node *, struct level))
{
    struct node n;
    if (t->at == t->end || !read_node(t, &n))
        return;
    visit(t, &n, (struct level){0});
    while (t->levels.n && can_go_on(t)) {
        struct level *top = (struct level *)t->levels.items + t->levels.n - 1;
        if (!top->n_left) {
            t->levels.n--;
            continue;
        }
        top->n_left--;
        if (read_node(t, &n))
            visit(t, &n, *top); /* a copy: the list may move */
    }
    if (can_go_on(t) && t->at < t->end)
        t->fault = "goes on behind its last node";
}

static enum sf_err pyroscope_tree_decode(struct sf_profile_build *b, sf_str bytes, bool is_trie)
{
    sf_bytes body = sf_str_bytes(bytes);
    struct tree t = {.what = is_trie ? "trie" : "tree",
                     .start = body.p,
                     .at = body.p,
                     .end = body.len ? body.p + body.len : body.p, /* empty body: NULL */
                     .chars = {.max = SF_LIMIT_LINE_LEN}};
    enum sf_err err = sf_stack_text_init(&t.text, b);
    if (err)
        return err;
    pyroscope_tree_walk(&t, is_trie ? visit_trie : visit_tree);
    if (t.chars.err == SF_ERR_NOMEM)
        err = sf_fail(b->why, SF_ERR_NOMEM, "trie: no memory for a path");
    else if (t.chars.err || t.work > SF_LIMIT_TRIE_WORK)
        err = sf_fail(b->why, SF_ERR_LIMIT, "trie: its paths are too long, at byte %zu",
                      (size_t)(t.at - t.start));
    else if (t.fault)
        err = sf_fail(b->why, SF_ERR_INPUT, "%s: %s, at byte %zu", t.what, t.fault,
                      (size_t)(t.at - t.start));
    sf_buf_done(&t.chars);
    return err;
}

static enum sf_err decode_tree(struct sf_profile_build *b, sf_str bytes)
{
    return pyroscope_tree_decode(b, bytes, false);
}

static enum sf_err decode_trie(struct sf_profile_build *b, sf_str bytes)
{
    return pyroscope_tree_decode(b, bytes, true);
}

/* Whether all bytes are nodes with text as names. Counts names with a semicolon. */
static bool is_nodes(sf_str bytes, size_t *out_n_glued)
{
    sf_bytes body = sf_str_bytes(bytes);
    struct tree t = {.start = body.p, .at = body.p, .end = body.p + body.len};
    uint64_t n_open = 1, n_nodes = 0; /* number of nodes to come: the levels need not be tracked */
    bool has_value = false;
    struct node n;
    *out_n_glued = 0;
    while (n_open && read_node(&t, &n)) {
        n_open += n.n_children - 1;
        if (n_open > (size_t)(t.end - t.at) / MIN_NODE_LEN || (n_nodes++ == 0 && n.name.len))
            return false;
        has_value |= n.value > 0;
        for (size_t i = 0; i < n.name.len; i++) {
            if ((unsigned char)n.name.p[i] < ' ')
                return false;
        }
        *out_n_glued += sf_str_find_char(n.name, ';', &(size_t){0});
    }
    return !t.fault && !n_open && t.at == t.end && n_nodes > 1 && has_value;
}

static bool pyroscope_tree_is_tree(sf_str bytes)
{
    size_t n_glued;
    return bytes.len && !bytes.p[0] && is_nodes(bytes, &n_glued) && !n_glued;
}

static bool is_trie(sf_str bytes)
{
    size_t n_glued;
    return bytes.len && !bytes.p[0] && is_nodes(bytes, &n_glued) && n_glued;
}

const struct sf_profile_format sf_tree_format = {
    .name = "tree",
    .also = "",
    .is = pyroscope_tree_is_tree,
    .decode = decode_tree,
};

const struct sf_profile_format sf_trie_format = {
    .name = "trie",
    .also = "",
    .is = is_trie,
    .decode = decode_trie,
};
