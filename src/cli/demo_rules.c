/* Windows are short, so that a switch is noticed, and over, within half a minute: 20 orders a
 * second are enough for that. `page` is where the page's demo bar leads to: the evidence. */
#include "cli/demo_rules.h"

static const char rules[] =
    "alerts:\n"
    "  interval: 3s\n"
    "  rules:\n"
    "    - name: deploy\n"
    "      change: {q: '{ name = \"order.calculate_totals\" }', by: resource.commit, measure: "
    "cpu}\n"
    "      significant: true\n"
    "      window: 45s\n"
    "      annotations: {page: 'view=compare&left={ name = \"order.calculate_totals\" %26%26 "
    "resource.commit = \"abc123\" }&right={ name = \"order.calculate_totals\" %26%26 "
    "resource.commit = \"def456\" }'}\n"
    "    - name: totals\n"
    "      finding: {service: order-service}\n"
    "      above: 10%\n"
    "      window: 20s\n"
    "      annotations: {page: 'view=findings&service=order-service'}\n"
    "    - name: prices\n"
    "      finding: {service: pricing}\n"
    "      above: 10%\n"
    "      window: 20s\n"
    "      annotations: {page: 'view=findings&service=pricing'}\n"
    "    - name: stock\n"
    "      finding: {service: inventory}\n"
    "      above: 10%\n"
    "      window: 20s\n"
    "      annotations: {page: 'view=findings&service=inventory'}\n"
    "    - name: checkout\n"
    "      finding: {service: gateway}\n"
    "      above: 10%\n"
    "      window: 20s\n"
    "      annotations: {page: 'view=findings&service=gateway'}\n"
    "    - name: lock\n"
    "      ledger: {q: '{ name = \"inventory.reserve\" }', part: lock}\n"
    "      above: 1ms\n"
    "      window: 15s\n"
    "      annotations: {page: 'view=compare&split=all&q={ name = \"inventory.reserve\" }'}\n";

void sf_demo_rules_write(struct sf_buf *out)
{
    sf_buf_print(out, "%s", rules);
}
