#include "serve/own/links.h"

#include "wire/json_write.h"

bool sf_links_handle(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    const struct sf_service *s = call->service;
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("source"), sf_str_from(s->source_link));
    sf_json_write_key_str(&w, SF_STR("sourceRoot"), sf_str_from(s->source_root));
    sf_json_write_key_str(&w, SF_STR("logs"), sf_str_from(s->logs_link));
    sf_json_write_key(&w, SF_STR("hasFiles"));
    sf_json_write_bool(&w, s->source_folder && s->source_folder[0] != 0);
    sf_json_write_object_end(&w);
    return true;
}
