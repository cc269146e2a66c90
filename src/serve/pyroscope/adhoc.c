/* adhoc.c - ad hoc profiles: upload, get, list, diff. An upload is decoded and redacted at once,
 * and the normalised batch is what is stored; get and diff read it back, choose a type and answer
 * with a flamebearer tree. */
#include "serve/pyroscope/adhoc.h"

#include "base/text.h"
#include "base/time_unit.h"
#include "decode/profile_format.h"
#include "flame/batch_tree.h"
#include "flame/flamebearer.h"
#include "flame/tree_cut.h"
#include "flame/tree_group.h"
#include "intake/redact.h"
#include "model/profile_codec.h"
#include "os/clock.h"
#include "render/profile_json.h"
#include "serve/connect.h"
#include "serve/pyroscope/adhoc_files.h"
#include "wire/deflate.h"
#include "wire/json.h"
#include "wire/message.h"

enum { DEFAULT_NODES = 8192, MAX_NODES = 1 << 20, BODY_MAX = 2 * SF_LIMIT_ADHOC_LEN };

/* ---- the query ---- */

enum method { UPLOAD, GET, LIST, DIFF };
enum slot { NAME, PROFILE, ID, LEFT, RIGHT, TYPE, TEXTS, NODES = TEXTS };

static const struct {
    enum method method;
    uint32_t number;
    const char *key, *other_key;
    enum slot slot;
} fields[] = {
    {UPLOAD, 1, "name", NULL, NAME},
    {UPLOAD, 2, "profile", NULL, PROFILE},
    {UPLOAD, 3, "maxNodes", "max_nodes", NODES},
    {GET, 1, "id", NULL, ID},
    {GET, 2, "profileType", "profile_type", TYPE},
    {GET, 3, "maxNodes", "max_nodes", NODES},
    {DIFF, 1, "leftId", "left_id", LEFT},
    {DIFF, 2, "rightId", "right_id", RIGHT},
    {DIFF, 3, "profileType", "profile_type", TYPE},
    {DIFF, 4, "maxNodes", "max_nodes", NODES},
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

struct work {
    struct sf_call *call;
    struct sf_arena *req;
    struct sf_message m; /* the answer */
    sf_str texts[TEXTS];
    int64_t max_nodes;
    uint64_t n_unknown;
    struct sf_why why;
};

static void adhoc_read_pb(struct work *x, enum method method, struct sf_pb *pb)
{
    while (sf_pb_next(pb)) {
        size_t i = 0;
        while (i < FIELDS && !(fields[i].method == method && fields[i].number == pb->field))
            i++;
        if (i < FIELDS && fields[i].slot == NODES) {
            x->max_nodes = sf_pb_i64(pb);
        } else if (i < FIELDS) {
            x->texts[fields[i].slot] = sf_pb_str(pb);
        } else {
            x->n_unknown++;
            sf_pb_skip(pb);
        }
    }
}

static void adhoc_read_json(struct work *x, enum method method, struct sf_json *j)
{
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        size_t i = 0;
        while (i < FIELDS &&
               !(fields[i].method == method &&
                 (sf_str_eq(key, sf_str_from(fields[i].key)) ||
                  (fields[i].other_key && sf_str_eq(key, sf_str_from(fields[i].other_key))))))
            i++;
        if (i < FIELDS && fields[i].slot == NODES) {
            x->max_nodes = sf_json_i64(j);
        } else if (i < FIELDS) {
            x->texts[fields[i].slot] = sf_json_str(j);
        } else {
            x->n_unknown++;
            sf_json_skip(j);
        }
    }
}

static enum sf_err adhoc_read_body(struct work *x, enum method method)
{
    struct sf_json *j = sf_arena_new(x->req, sizeof(*j));
    struct sf_pb pb;
    sf_str body;
    enum sf_err err = j ? sf_connect_body(x->call, BODY_MAX, x->req, &body, &x->why)
                        : sf_no_room(&x->why, "the request");
    if (err || body.len == 0)
        return err;
    if (x->m.is_json) {
        sf_json_init(j, body, x->req);
        adhoc_read_json(x, method, j);
        err = sf_json_why(j, "request", &x->why);
    } else {
        pb = sf_pb_init(sf_str_bytes(body));
        adhoc_read_pb(x, method, &pb);
        err = sf_pb_why(&pb, "request", &x->why);
    }
    sf_counters_add(x->call->service->counters, SF_COUNT_UNKNOWN_PYROSCOPE, x->n_unknown);
    if (!err && (x->max_nodes < 0 || x->max_nodes > MAX_NODES))
        err = sf_fail(&x->why, SF_ERR_INPUT, "max_nodes is 0 to %d", MAX_NODES);
    return err;
}

/* ---- a file, and what is in it ----
 *
 * What is kept is the decoded profile without secrets, as the log keeps profiles: an uploaded file
 * may carry an environment or a command line, and none of that may reach the disk. A file is a line
 * that names the format, and the batch, compressed. */

static const sf_str file_head = SF_STR("spanflame ad hoc profile 1\n");

struct profile {
    struct sf_buf file, inflated; /* memory that the batch points into */
    struct sf_profile_batch batch;
    const struct sf_batch_type *types;
    uint32_t n_types;
};

static void profile_done(struct profile *p)
{
    sf_buf_done(&p->file);
    sf_buf_done(&p->inflated);
}

static enum sf_err find_types(struct work *x, struct profile *p)
{
    enum sf_err err = sf_batch_tree_types(&p->batch, x->req, &p->types, &p->n_types, &x->why);
    if (!err && p->n_types == 0)
        err = sf_fail(&x->why, SF_ERR_INPUT, "the profile has no samples");
    return err;
}

static enum sf_err adhoc_redact(struct work *x, struct profile *p)
{
    const struct sf_redactor *redactor = x->call->service->intake.redactor;
    struct sf_attr name = {SF_STR("name"), {.type = SF_VALUE_STR, .str = x->texts[NAME]}};
    uint64_t n = 0, n_name = 0;
    enum sf_err err = SF_OK;
    if (redactor)
        err = sf_redact_profiles(redactor, &p->batch, x->req, NULL, &n, &x->why);
    if (!err && redactor)
        err = sf_redact_attr(redactor, x->req, &name, &n_name, &x->why);
    x->texts[NAME] = name.val.str;
    sf_counters_add(x->call->service->counters, SF_COUNT_REDACTIONS, n + n_name);
    return err;
}

/* Encodes the profile for its file. */
static enum sf_err pack(struct work *x, const struct profile *p, struct sf_buf *out)
{
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf plain = {.max = SF_LIMIT_INFLATED_LEN};
    enum sf_err err = z ? SF_OK : sf_no_memory(&x->why, "the profile");
    sf_profile_codec_encode(&p->batch, &plain);
    sf_buf_add_str(out, file_head);
    if (!err && sf_buf_ok(&plain))
        err = sf_deflate_zstd(z, 3, true, sf_buf_bytes(&plain), out, &x->why);
    if (!err && (!sf_buf_ok(&plain) || !sf_buf_ok(out) || out->len > SF_LIMIT_ADHOC_LEN))
        err = sf_fail(&x->why, SF_ERR_INPUT, "profile payload size exceeds limit of %u bytes",
                      SF_LIMIT_ADHOC_LEN);
    sf_buf_done(&plain);
    sf_deflate_free(z);
    return err;
}

static enum sf_err unpack(struct work *x, struct profile *p)
{
    struct sf_inflate *z = sf_inflate_new();
    sf_str file = sf_buf_str(&p->file);
    enum sf_err err = z ? SF_OK : sf_no_memory(&x->why, "the profile");
    if (!err && !sf_str_starts(file, file_head))
        err = sf_fail(&x->why, SF_ERR_CORRUPT, "not a file of an ad hoc profile");
    if (!err)
        err = sf_inflate_bytes(z, SF_INFLATE_ZSTD,
                               sf_str_bytes(sf_str_from_at(file, file_head.len)),
                               SF_LIMIT_INFLATED_LEN, &p->inflated, &x->why);
    if (!err)
        err = sf_profile_codec_decode(sf_buf_bytes(&p->inflated), x->req, &p->batch, &x->why);
    if (!err)
        err = find_types(x, p);
    if (err == SF_ERR_INPUT || err == SF_ERR_UNSUPPORTED)
        err = SF_ERR_CORRUPT; /* our own bytes */
    sf_inflate_free(z);
    return err;
}

static enum sf_err adhoc_read_profile(struct work *x, struct profile *p)
{
    struct sf_profile_hint hint = {.now_ns = sf_clock_wall_ns(),
                                   .max_frames = x->call->service->max_frames};
    struct sf_inflate *z = sf_inflate_new();
    sf_str plain;
    enum sf_err err = z ? sf_profile_format_unwrap(z, sf_buf_str(&p->file), SF_LIMIT_INFLATED_LEN,
                                                   &p->inflated, &plain, &x->why)
                        : sf_no_memory(&x->why, "the profile");
    if (!err)
        err = sf_profile_format_decode(plain, &hint, x->req, &p->batch, &x->why);
    if (!err)
        err = find_types(x, p);
    sf_inflate_free(z);
    if (err != SF_ERR_INPUT && err != SF_ERR_UNSUPPORTED && err != SF_ERR_LIMIT)
        return err;
    sf_why_prefix(&x->why, "failed to parse profile");
    return SF_ERR_INPUT;
}

static enum sf_err open_profile(struct work *x, sf_str id, struct profile *p)
{
    enum sf_err err = sf_adhoc_files_read(x->call->service->adhoc, x->call->tenant, id, &p->file,
                                          &x->why);
    return err ? err : unpack(x, p);
}

static uint32_t adhoc_type_of(const struct profile *p, sf_str name)
{
    uint32_t i = 0;
    while (i < p->n_types && !sf_str_eq(p->types[i].type.sample_type, name))
        i++;
    return i;
}

static enum sf_err functions_of(struct work *x, const struct profile *p, uint32_t type,
                                struct sf_tree *out)
{
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    struct sf_tree tree;
    enum sf_err err = sf_batch_tree(&p->batch, &p->types[type].type, x->req, &tree, &x->why);
    return err ? err : sf_tree_group(&tree, how, x->req, out, &x->why);
}

static uint32_t adhoc_nodes_of(const struct work *x)
{
    return x->max_nodes ? (uint32_t)x->max_nodes : DEFAULT_NODES;
}

/* ---- the answers ---- */

static void adhoc_write_flame(struct work *x, uint32_t field, const struct sf_flamebearer *flame,
                              bool is_double, const struct sf_profile_type *type, enum sf_err *err)
{
    struct sf_buf text = {0};
    if (!*err)
        *err = sf_profile_json_pyroscope(flame, is_double, type, SF_STR_NONE, &text, &x->why);
    if (!*err)
        sf_message_str(&x->m, field, "flamebearerProfile", sf_buf_str(&text));
    sf_buf_done(&text);
}

static void adhoc_write_file(struct sf_message *m, const struct sf_adhoc_file *f)
{
    sf_message_str(m, 1, "id", f->id);
    sf_message_str(m, 2, "name", f->name);
    sf_message_i64(m, 3, "uploadedAt", f->uploaded_ms);
}

static enum sf_err adhoc_write_profile(struct work *x, const struct sf_adhoc_file *f,
                                       const struct profile *p)
{
    uint32_t type = adhoc_type_of(p, x->texts[TYPE]);
    struct sf_flamebearer flame;
    struct sf_tree grouped, cut;
    enum sf_err err;
    if (type == p->n_types)
        type = 0; /* as Pyroscope does */
    err = functions_of(x, p, type, &grouped);
    if (!err)
        err = sf_tree_cut(&grouped, adhoc_nodes_of(x), x->req, &cut, &x->why);
    if (!err)
        err = sf_flamebearer_single(&cut, x->req, &flame, &x->why);
    adhoc_write_file(&x->m, f);
    sf_message_str(&x->m, 4, "profileType", p->types[type].type.sample_type);
    sf_message_list(&x->m, "profileTypes");
    for (uint32_t i = 0; i < p->n_types; i++)
        sf_message_item_str(&x->m, 5, p->types[i].type.sample_type);
    sf_message_list_end(&x->m);
    adhoc_write_flame(x, 6, &flame, false, &p->types[type].type, &err);
    return err;
}

static enum sf_err adhoc_upload(struct work *x)
{
    struct profile p = {.file = {.max = SF_LIMIT_ADHOC_LEN}};
    struct sf_adhoc_file f = {0};
    struct sf_buf packed = {0};
    char name[SF_ADHOC_NAME_LEN + 1];
    sf_str id;
    size_t at;
    enum sf_err err = SF_OK;
    if (sf_str_find_char(x->call->tenant, '|', &at))
        return sf_fail(&x->why, SF_ERR_INPUT, "an upload is for one tenant");
    if (x->texts[PROFILE].len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile is missing");
    if (!sf_base64_decode(&p.file, x->texts[PROFILE]))
        err = p.file.err == SF_ERR_LIMIT
                  ? sf_fail(&x->why, SF_ERR_INPUT, "profile payload size exceeds limit of %u bytes",
                            SF_LIMIT_ADHOC_LEN)
                  : sf_fail(&x->why, SF_ERR_INPUT, "profile: no base64");
    if (!err)
        err = adhoc_read_profile(x, &p);
    if (!err)
        err = adhoc_redact(x, &p);
    if (!err)
        err = find_types(x, &p); /* redaction may have changed the types' names */
    if (!err)
        err = pack(x, &p, &packed);
    sf_adhoc_files_name(x->texts[NAME], name);
    if (!err)
        err = sf_adhoc_files_add(x->call->service->adhoc, x->call->tenant, name,
                                 sf_clock_wall_ns() / SF_NS_PER_MS, sf_buf_bytes(&packed), x->req,
                                 &id, &x->why);
    sf_buf_done(&packed);
    if (!err)
        err = sf_adhoc_files_id_parse(id, &f, &x->why);
    if (!err)
        err = adhoc_write_profile(x, &f, &p);
    profile_done(&p);
    return err;
}

static enum sf_err adhoc_get(struct work *x)
{
    struct profile p = {0};
    struct sf_adhoc_file f;
    enum sf_err err = sf_adhoc_files_id_parse(x->texts[ID], &f, &x->why);
    if (!err)
        err = open_profile(x, x->texts[ID], &p);
    if (!err)
        err = adhoc_write_profile(x, &f, &p);
    profile_done(&p);
    return err;
}

static enum sf_err adhoc_list(struct work *x)
{
    const struct sf_adhoc_file *files;
    size_t n = 0;
    enum sf_err err = sf_adhoc_files_list(x->call->service->adhoc, x->call->tenant, x->req, &files,
                                          &n, &x->why);
    if (err || n == 0)
        return err;
    sf_message_list(&x->m, "profiles");
    for (size_t i = 0; i < n; i++) {
        size_t mark = sf_message_item(&x->m, 1);
        adhoc_write_file(&x->m, &files[i]);
        sf_message_end(&x->m, mark);
    }
    sf_message_list_end(&x->m);
    return SF_OK;
}

static bool has_type(const struct profile *p, const struct sf_batch_type *type)
{
    uint32_t i = adhoc_type_of(p, type->type.sample_type);
    return i < p->n_types && sf_str_eq(p->types[i].type.sample_unit, type->type.sample_unit);
}

static void adhoc_add_types(struct sf_buf *out, const struct profile *p)
{
    for (uint32_t i = 0; i < p->n_types; i++)
        sf_buf_print(out, "%s%.*s", i ? ", " : "",
                     SF_STR_ARG(sf_str_part(p->types[i].type.sample_type, 0, 40)));
}

/* The type to compare: the requested one, or the first that both profiles have. */
static enum sf_err common_type(struct work *x, const struct profile *p, uint32_t *out)
{
    struct sf_buf left = {.max = 80}, right = {.max = 80};
    uint32_t first = 0, asked = adhoc_type_of(&p[0], x->texts[TYPE]);
    enum sf_err err = SF_OK;
    while (first < p[0].n_types && !has_type(&p[1], &p[0].types[first]))
        first++;
    adhoc_add_types(&left, &p[0]);
    adhoc_add_types(&right, &p[1]);
    if (first == p[0].n_types)
        err = sf_fail(&x->why, SF_ERR_INPUT,
                      "no common profile types between left (%.*s) and right (%.*s)",
                      SF_STR_ARG(sf_buf_str(&left)), SF_STR_ARG(sf_buf_str(&right)));
    else if (x->texts[TYPE].len && (asked == p[0].n_types || !has_type(&p[1], &p[0].types[asked])))
        err = sf_fail(&x->why, SF_ERR_INPUT,
                      "profile type mismatch: %.*s is not in both, left (%.*s) and right (%.*s)",
                      SF_STR_ARG(sf_str_part(x->texts[TYPE], 0, 40)), SF_STR_ARG(sf_buf_str(&left)),
                      SF_STR_ARG(sf_buf_str(&right)));
    *out = x->texts[TYPE].len ? asked : first;
    sf_buf_done(&left);
    sf_buf_done(&right);
    return err;
}

static enum sf_err adhoc_compare(struct work *x, const struct profile *p)
{
    struct sf_tree_diff whole, cut;
    struct sf_flamebearer flame;
    struct sf_tree trees[2];
    uint32_t type;
    enum sf_err err = common_type(x, p, &type);
    if (err)
        return err;
    err = functions_of(x, &p[0], type, &trees[0]);
    if (!err)
        err = functions_of(x, &p[1], adhoc_type_of(&p[1], p[0].types[type].type.sample_type),
                           &trees[1]);
    if (!err)
        err = sf_tree_diff(&trees[0], &trees[1], x->req, &whole, &x->why);
    if (!err)
        err = sf_tree_diff_cut(&whole, adhoc_nodes_of(x), x->req, &cut, &x->why);
    if (!err)
        err = sf_flamebearer_double(&cut, x->req, &flame, &x->why);
    sf_message_list(&x->m, "profileTypes");
    for (uint32_t i = 0; i < p[0].n_types; i++) {
        if (has_type(&p[1], &p[0].types[i]))
            sf_message_item_str(&x->m, 1, p[0].types[i].type.sample_type);
    }
    sf_message_list_end(&x->m);
    adhoc_write_flame(x, 2, &flame, true, &p[0].types[type].type, &err);
    return err;
}

static enum sf_err diff(struct work *x)
{
    static const char *const sides[] = {"left", "right"};
    struct profile p[2] = {0};
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < 2; i++) {
        err = open_profile(x, x->texts[LEFT + i], &p[i]);
        if (err)
            sf_why_prefix(&x->why, "%s", sides[i]);
    }
    if (!err)
        err = adhoc_compare(x, p);
    profile_done(&p[0]);
    profile_done(&p[1]);
    return err;
}

static bool adhoc_answer(struct sf_call *call, struct sf_worker *worker, enum method method,
                         enum sf_err (*make)(struct work *x))
{
    struct work x = {.call = call,
                     .req = &worker->arena,
                     .m = sf_message_init(&call->response->body, sf_connect_is_json(call))};
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    err = call->service->adhoc ? adhoc_read_body(&x, method)
                               : sf_fail(&x.why, SF_ERR_UNSUPPORTED, "there is no data directory");
    sf_message_open(&x.m);
    if (!err)
        err = make(&x);
    sf_message_close(&x.m);
    if (!err && !sf_buf_ok(x.m.out))
        err = sf_no_memory(&x.why, "the answer");
    if (err)
        return sf_call_fail(call, err, &x.why);
    sf_connect_ok(call);
    return true;
}

bool sf_adhoc_upload(struct sf_call *call, struct sf_worker *worker)
{
    return adhoc_answer(call, worker, UPLOAD, adhoc_upload);
}

bool sf_adhoc_get(struct sf_call *call, struct sf_worker *worker)
{
    return adhoc_answer(call, worker, GET, adhoc_get);
}

bool sf_adhoc_list(struct sf_call *call, struct sf_worker *worker)
{
    return adhoc_answer(call, worker, LIST, adhoc_list);
}

bool sf_adhoc_diff(struct sf_call *call, struct sf_worker *worker)
{
    return adhoc_answer(call, worker, DIFF, diff);
}
