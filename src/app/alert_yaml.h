/* alert_yaml.h - rules of alerts as YAML: the list below alerts.rules, and files of rules.
 *
 *     rules:
 *       - {name: errors, traceql: '{ status = error } | rate()', above: 1, for: 5m}
 *
 * A mistake is one sentence with file and line. */
#pragma once
#include "alert/alert_rule.h"
#include "app/config.h"
#include "app/yaml.h"

/* The rest of a list whose beginning is the newest event. */
bool sf_alert_yaml_list(struct sf_yaml_reader *yaml, struct sf_alert_rules *rules);
/* Files that match the patterns of alerts.rules_files, if `reads_files`, and receivers, into the
 * configuration's rules. INPUT, LIMIT, NOT_FOUND: a file that is named and is not there. */
enum sf_err sf_alert_yaml_finish(struct sf_config *c, bool reads_files, struct sf_why *why);
