/* alert_yaml.h - reads alert rules from YAML: the list below alerts.rules, and rule files.
 *
 *     rules:
 *       - {name: errors, traceql: '{ status = error } | rate()', above: 1, for: 5m}
 *
 * Errors name file and line. */
#pragma once
#include "alert/alert_rule.h"
#include "app/config.h"
#include "app/yaml.h"

/* Reads the rest of a list whose start is the newest event. */
bool sf_alert_yaml_list(struct sf_yaml_reader *yaml, struct sf_alert_rules *rules);
/* Adds the files that match the patterns of alerts.rules_files (if `reads_files`) and the receivers
 * to the configuration's rules. INPUT, LIMIT; NOT_FOUND: a named file does not exist. */
enum sf_err sf_alert_yaml_finish(struct sf_config *c, bool reads_files, struct sf_why *why);
