/* Texts of a batch that were made to collide cost what others cost. */
#include "model/codec.h"
#include "test.h"

#include "support/collide.h"

static uint64_t steps_of(bool is_colliding)
{
    struct sf_buf out = {0};
    struct sf_encoder e;
    uint64_t before = sf_table_steps;
    static char texts[COLLIDE_KEYS][COLLIDE_LEN];
    sf_codec_put_begin(&e, 1, &out);
    for (int round = 0; round < 2; round++) {
        uint64_t at = 0;
        for (int i = 0; i < COLLIDE_KEYS; i++)
            sf_codec_put_str(&e, collide_text(texts[i], &at, is_colliding));
    }
    assert_int_equal(e.n_strings, COLLIDE_KEYS);
    sf_codec_put_end(&e);
    sf_buf_done(&out);
    return sf_table_steps - before;
}

TEST(collide, texts_of_a_batch)
{
    collide_check(steps_of(true), steps_of(false));
}
