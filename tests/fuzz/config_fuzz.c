/* A configuration from any bytes: accepted or refused with a sentence that names a line; what was
 * accepted has no address without a host and renders. */
#include <stdlib.h>
#include <string.h>

#include "app/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct sf_config *c = NULL;
    struct sf_why why = {0};
    struct sf_buf out = {0};

    if (size)
        memcpy(copy, data, size);
    if (sf_config_parse((sf_str){copy, size}, "f", &c, &why)) {
        if (!why.text[0] || c)
            abort();
    } else {
        for (size_t i = 0; i < c->n_addresses; i++) {
            if (!c->addresses[i].host[0])
                abort();
            if (c->addresses[i].tls && !c->addresses[i].tls->key_file)
                abort();
        }
        for (size_t i = 0; i < sf_config_n_keys; i++) {
            sf_config_render_value(c, i, &out);
            sf_config_render_origin(c, i, &out);
        }
        sf_config_address_check_public(c, &why);
    }
    sf_buf_done(&out);
    sf_config_free(c);
    free(copy);
    return 0;
}
