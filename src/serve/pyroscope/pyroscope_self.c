#include "serve/pyroscope/pyroscope_self.h"

#include "serve/connect.h"
#include "wire/message.h"

/* The health check, over Connect or gRPC: always healthy, because the router answers before this
 * handler while the server is not ready. */
bool sf_pyroscope_self_health(struct sf_call *call,
                              __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    if (!sf_connect_admit(call))
        return true;
    sf_message_open(&m);
    if (m.is_json)
        sf_message_str(&m, 1, "status", SF_STR("SERVING"));
    else
        sf_message_u64(&m, 1, "status", 1);
    sf_message_close(&m);
    sf_connect_ok(call);
    return true;
}

bool sf_pyroscope_self_version(struct sf_call *call,
                               __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    if (!sf_connect_admit(call))
        return true;
    sf_message_open(&m);
    sf_message_u64(&m, 1, "QuerierAPI", 1);
    sf_message_close(&m);
    sf_connect_ok(call);
    return true;
}

/* The names are Pyroscope's: heat maps and exemplars belong to its second storage version. */
bool sf_pyroscope_self_features(struct sf_call *call,
                                __attribute__((unused)) struct sf_worker *worker)
{
    static const struct {
        const char *name;
        bool is_on;
    } features[] = {{"functionProjections", true},
                    {"pyroscopeRuler", true},
                    {"pyroscopeRulerFunctions", true},
                    {"utf8LabelNames", true},
                    {"v2StorageLayer", true}};
    struct sf_message m = sf_message_init(&call->response->body, sf_connect_is_json(call));
    if (!sf_connect_admit(call))
        return true;
    sf_message_open(&m);
    sf_message_list(&m, "featureFlags");
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        size_t mark = sf_message_item(&m, 1);
        sf_message_str(&m, 1, "name", sf_str_from(features[i].name));
        sf_message_bool(&m, 2, "enabled", features[i].is_on);
        sf_message_end(&m, mark);
    }
    sf_message_list_end(&m);
    sf_message_close(&m);
    sf_connect_ok(call);
    return true;
}

bool sf_pyroscope_self_buildinfo(struct sf_call *call,
                                 __attribute__((unused)) struct sf_worker *worker)
{
    static const char *const empty[] = {"branch", "buildUser", "buildDate", "goVersion"};
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    sf_str version = sf_str_from(call->service->version);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("status"), SF_STR("success"));
    sf_json_write_key(&w, SF_STR("data"));
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("version"), version);
    sf_json_write_key_str(&w, SF_STR("revision"), version);
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        sf_json_write_key_str(&w, sf_str_from(empty[i]), SF_STR_NONE);
    sf_json_write_object_end(&w);
    sf_json_write_object_end(&w);
    sf_call_ok(call, "application/json");
    return true;
}

bool sf_pyroscope_self_knows(sf_str path)
{
    static const char *const services[] = {
        "/adhocprofiles.v1.AdHocProfileService/",
        "/capabilities.v1.FeatureFlagsService/",
        "/debuginfo.v1alpha1.DebuginfoService/",
        "/push.v1.PusherService/",
        "/querier.v1.QuerierService/",
        "/settings.v1.RecordingRulesService/",
        "/settings.v1.SettingsService/",
        "/vcs.v1.VCSService/",
        "/version.v1.Version/",
    };
    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
        if (sf_str_starts(path, sf_str_from(services[i])))
            return true;
    }
    return false;
}

/* Pyroscope's pages show the text unchanged. */
const char *sf_pyroscope_self_instead(sf_str path)
{
    if (sf_str_starts(path, SF_STR("/vcs.v1.VCSService/")))
        return ": there are no links to source code here";
    return "";
}
