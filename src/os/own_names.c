#include "os/own_names.h"

#include <unistd.h>

#include "base/str.h"
#include "os/text_file.h"

enum { HOSTS_MAX_LEN = 1 << 20, NAMES_MAX_LEN = 4096 };

/* The next word of a line; false at its end or at a comment. */
static bool own_names_next_word(sf_str *rest, sf_str *out)
{
    *rest = sf_str_trim(*rest);
    size_t len = 0;
    while (len < rest->len && rest->p[len] != ' ' && rest->p[len] != '\t' && rest->p[len] != '#')
        len++;
    *out = sf_str_part(*rest, 0, len);
    *rest = sf_str_from_at(*rest, len);
    return len > 0;
}

void sf_own_names_add_aliases(struct sf_buf *out, sf_str hosts_text, sf_str name)
{
    sf_str line, word;
    while (sf_str_split_next(&hosts_text, '\n', &line)) {
        sf_str rest = line;
        bool is_ours = false, is_address = true;
        for (; own_names_next_word(&rest, &word); is_address = false)
            is_ours = is_ours || (!is_address && sf_str_ieq(word, name));
        rest = line;
        if (!is_ours || !own_names_next_word(&rest, &word)) /* skip the address */
            continue;
        while (own_names_next_word(&rest, &word)) {
            if (!sf_str_ieq(word, name) && out->len + word.len < NAMES_MAX_LEN) {
                sf_buf_add_u8(out, ' ');
                sf_buf_add_str(out, word);
            }
        }
    }
}

void sf_own_names_add(struct sf_buf *out)
{
    struct sf_buf hosts = {0};
    char name[256] = {0};
    if (gethostname(name, sizeof(name) - 1) || !name[0])
        return;
    if (out->len)
        sf_buf_add_u8(out, ' ');
    sf_buf_add_str(out, sf_str_from(name));
    if (!sf_text_file_read("/etc/hosts", HOSTS_MAX_LEN, &hosts, NULL))
        sf_own_names_add_aliases(out, sf_buf_str(&hosts), sf_str_from(name));
    sf_buf_done(&hosts);
}
