#include "serve/own/symbols.h"

#include "exec/tenant.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { PIECE = 1 << 18 };

static enum sf_err symbols_find_id(const struct sf_call *call, struct sf_symbol_id *out,
                                   struct sf_why *why)
{
    if (!call->service->symbols)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "this server stores no symbol files");
    if (!sf_symbol_files_id_parse(call->arg, out))
        return sf_fail(
            why, SF_ERR_INPUT, "%.*s is not a build id: %d to %d hexadecimal digits, two a byte",
            SF_STR_ARG(sf_str_part(call->arg, 0, 80)), 2 * SF_SYMBOL_ID_MIN, 2 * SF_SYMBOL_ID_MAX);
    return SF_OK;
}

static enum sf_err symbols_find_tenant(const struct sf_call *call, bool can_create, uint32_t *out,
                                       struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX];
    size_t n = 0;
    enum sf_err err = sf_tenant_find(atomic_load(&call->service->store), call->tenant, can_create,
                                     tenants, &n, why);
    if (!err && n == 0)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "this tenant has no symbol files");
    if (!err)
        *out = tenants[0];
    return err;
}

static void symbols_write_file(struct sf_json_writer *w, const struct sf_symbol_info *info)
{
    sf_json_write_key_str(w, SF_STR("buildId"), sf_str_from(info->id.hex));
    sf_json_write_key_str(w, SF_STR("kind"), sf_str_from(sf_symbol_files_part_name(info->part)));
    sf_json_write_key_u64(w, SF_STR("size"), info->len);
    sf_json_write_key(w, SF_STR("hasNames"));
    sf_json_write_bool(w, info->has_names);
    sf_json_write_key(w, SF_STR("hasLines"));
    sf_json_write_bool(w, info->has_lines);
    if (info->note[0])
        sf_json_write_key_str(w, SF_STR("note"), sf_str_from(info->note));
}

/* ---- upload ---- */

static enum sf_err copy_body(struct sf_call *call, struct sf_worker *worker,
                             struct sf_symbol_writer *w, struct sf_why *why)
{
    uint64_t len = sf_exchange_body(call->ex)->len;
    uint8_t *piece = sf_arena_raw(&worker->arena, PIECE, 16);
    enum sf_err err = piece ? SF_OK : sf_no_room(why, "the upload");
    for (uint64_t off = 0; off < len && !err;) {
        size_t n = 0;
        err = sf_exchange_body_read(call->ex, off, piece, PIECE, &n, why);
        if (!err && n == 0)
            err = sf_fail(why, SF_ERR_IO, "the upload ended early");
        if (!err)
            err = sf_symbol_files_writer_add(w, piece, n, why);
        if (!err && atomic_load(sf_exchange_cancel(call->ex)))
            err = sf_fail(why, SF_ERR_CANCELLED, "the client disconnected");
        off += n;
    }
    return err;
}

static void answer_put(struct sf_call *call, const struct sf_symbol_info *info, bool is_new)
{
    struct sf_json_writer j = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    if (is_new)
        call->response->status = 201;
    sf_json_write_object(&j);
    symbols_write_file(&j, info);
    sf_json_write_object_end(&j);
    sf_buf_add_u8(&call->response->body, '\n');
}

bool sf_symbols_put(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_symbol_writer w = {0};
    struct sf_symbol_info info;
    struct sf_symbol_id id;
    struct sf_why why = {0};
    uint32_t tenant = 0;
    bool is_new = false;
    enum sf_err err = symbols_find_id(call, &id, &why);
    if (!err && call->request->coding != SF_CODING_NONE)
        err = sf_fail(&why, SF_ERR_INPUT, "send the file as it is, without a content-encoding");
    if (!err)
        err = symbols_find_tenant(call, true, &tenant, &why);
    if (!err)
        err = sf_symbol_files_writer_begin(&w, sf_symbolizer_files(call->service->symbols), tenant,
                                           sf_exchange_body(call->ex)->len, &why);
    if (!err)
        err = copy_body(call, worker, &w, &why);
    if (!err)
        err = sf_symbol_files_writer_finish(&w, tenant, &id, &info, &is_new, &why);
    sf_symbol_files_writer_done(&w);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_symbolizer_forget(call->service->symbols, tenant, &id);
    sf_service_say(
        call->service, SF_SAY_INFO, "serve: symbols put by=%s tenant=%.*s id=%s len=%llu",
        call->caller[0] ? call->caller : "-", SF_STR_ARG(sf_str_part(call->tenant, 0, 40)), id.hex,
        (unsigned long long)info.len);
    answer_put(call, &info, is_new);
    return true;
}

bool sf_symbols_delete(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_symbol_id id;
    struct sf_why why = {0};
    uint32_t tenant = 0;
    enum sf_err err = symbols_find_id(call, &id, &why);
    if (!err)
        err = symbols_find_tenant(call, false, &tenant, &why);
    if (!err)
        err = sf_symbol_files_delete(sf_symbolizer_files(call->service->symbols), tenant, &id,
                                     &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_symbolizer_forget(call->service->symbols, tenant, &id);
    sf_service_say(call->service, SF_SAY_INFO, "serve: symbols delete by=%s tenant=%.*s id=%s",
                   call->caller[0] ? call->caller : "-",
                   SF_STR_ARG(sf_str_part(call->tenant, 0, 40)), id.hex);
    sf_call_ok(call, "application/json");
    sf_buf_print(&call->response->body, "{\"deleted\":\"%s\"}\n", id.hex);
    return true;
}

/* ---- list ---- */

static void symbols_write_list(struct sf_json_writer *w, const struct sf_symbol_info *list,
                               uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct sf_buf time = {0};
        sf_json_write_object(w);
        symbols_write_file(w, &list[i]);
        sf_time_text_add(&time, (uint64_t)list[i].changed_ns);
        sf_json_write_key_str(w, SF_STR("changed"), sf_buf_str(&time));
        sf_json_write_object_end(w);
        sf_buf_done(&time);
    }
}

bool sf_symbols_list(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    uint64_t all = 0;
    if (!err && !call->service->symbols)
        err = sf_fail(&why, SF_ERR_UNSUPPORTED, "this server stores no symbol files");
    if (err)
        return sf_call_fail(call, err, &why);
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("files"));
    sf_json_write_array(&w);
    for (size_t t = 0; t < q.n_tenants && !err; t++) {
        const struct sf_symbol_info *list = NULL;
        uint32_t n = 0;
        err = sf_symbol_files_list(sf_symbolizer_files(call->service->symbols), tenants[t],
                                   &worker->arena, &list, &n, &why);
        for (uint32_t i = 0; i < n; i++)
            all += list[i].len;
        symbols_write_list(&w, list, n);
    }
    sf_json_write_array_end(&w);
    sf_json_write_key_u64(&w, SF_STR("size"), all);
    sf_json_write_object_end(&w);
    sf_buf_add_u8(&call->response->body, '\n');
    if (err) {
        sf_buf_reset(&call->response->body);
        return sf_call_fail(call, err, &why);
    }
    sf_call_ok(call, "application/json");
    return true;
}
