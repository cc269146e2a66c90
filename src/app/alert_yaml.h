/* alert_yaml.h - rules of alerts as YAML: the list below alerts.rules, and files of rules.
 *
 *     rules:
 *       - {name: errors, traceql: '{ status = error } | rate()', above: 1, for: 5m}
 *
 * A mistake is one sentence with file and line. */
#pragma once
#include <yaml.h>

#include "app/config.h"
#include "serve/alerts/alert_rule.h"

/* The rest of a list whose beginning the parser has just given out. INPUT, LIMIT, NOMEM. */
enum sf_err sf_alert_yaml_list(yaml_parser_t *parser, const char *file,
                               struct sf_alert_rules *rules, struct sf_why *why);
/* Files that match the patterns of alerts.rules_files, if `reads_files`, and receivers, into the
 * configuration's rules. INPUT, LIMIT, NOT_FOUND: a file that is named and is not there. */
enum sf_err sf_alert_yaml_finish(struct sf_config *c, bool reads_files, struct sf_why *why);
