#include "cli/alerts_command.h"
#include "cli/command.h"
#include "cli/compare_command.h"
#include "cli/control_command.h"
#include "cli/coverage_command.h"
#include "cli/demo_command.h"
#include "cli/deploys_command.h"
#include "cli/diff_command.h"
#include "cli/erase_command.h"
#include "cli/export_command.h"
#include "cli/findings_command.h"
#include "cli/flame_command.h"
#include "cli/fsck_command.h"
#include "cli/guard_command.h"
#include "cli/keep_command.h"
#include "cli/labels_command.h"
#include "cli/ledger_command.h"
#include "cli/mcp_command.h"
#include "cli/metrics_command.h"
#include "cli/record_command.h"
#include "cli/search_command.h"
#include "cli/series_command.h"
#include "cli/services_command.h"
#include "cli/source_command.h"
#include "cli/spans_with_command.h"
#include "cli/store_command.h"
#include "cli/symbols_command.h"
#include "cli/tags_command.h"
#include "cli/targets_command.h"
#include "cli/top_command.h"
#include "cli/trace_command.h"
#include "cli/upload_command.h"
#include "cli/why_command.h"

const struct sf_command sf_cli_commands[] = {
    {"demo", "start a server and a shop with planted problems, and find them", sf_demo_command_run,
     NULL},
    {"services", "list services with rate, errors and latency", sf_services_command_run, NULL},
    {"search", "find traces by a TraceQL query", sf_search_command_run, NULL},
    {"metrics", "count spans over time by a TraceQL query, as a chart", sf_metrics_command_run,
     NULL},
    {"tags", "list attributes, or the values of one", sf_tags_command_run, NULL},
    {"trace", "show one trace as a waterfall", sf_trace_command_run, NULL},
    {"why", "explain why a span, a trace, a query or a deploy is slow", sf_why_command_run, NULL},
    {"ledger", "show where a span's time went", sf_ledger_command_run, NULL},
    {"compare", "compare two span sets, such as slow and fast spans", sf_compare_command_run, NULL},
    {"guard", "fail if a new version of a service costs more", sf_guard_command_run, NULL},
    {"alerts", "list alerts, or show when a rule would have fired", sf_alerts_command_run, NULL},
    {"deploys", "list deploys, record one, or compare two versions", sf_deploys_command_run, NULL},
    {"targets", "list the targets that the server scrapes, with their status",
     sf_targets_command_run, NULL},
    {"spans-with", "list the spans that ran a function", sf_spans_with_command_run, NULL},
    {"findings", "list performance problems of a service, a trace or a span",
     sf_findings_command_run, NULL},
    {"control", "switch the profiling of running programs, or capture a profile now",
     sf_control_command_run, NULL},
    {"coverage", "report how well a service's traces and profiles are linked",
     sf_coverage_command_run, NULL},
    {"mcp", "connect an AI assistant to a server (MCP)", sf_mcp_command_run, NULL},
    {"flame", "draw a flame graph of a profile in the terminal", sf_flame_command_run, NULL},
    {"top", "list the most expensive functions of a profile", sf_top_command_run, NULL},
    {"source", "show a function's source with what each line cost", sf_source_command_run, NULL},
    {"diff", "compare two profiles: slower, faster", sf_diff_command_run, NULL},
    {"series", "show the values of profiles over time", sf_series_command_run, NULL},
    {"labels", "list the labels of profiles, or the values of one", sf_labels_command_run, NULL},
    {"upload", "send profile files to a server", sf_upload_command_run, NULL},
    {"symbols", "upload, list or delete files used to symbolize profiles", sf_symbols_command_run,
     NULL},
    {"export", "write a profile in another format", sf_export_command_run, NULL},
    {"record", "run a program and show where its CPU time went", sf_record_command_run, NULL},
    {"fsck", "verify a data directory", sf_fsck_command_run, NULL},
    {"store", "show how much of a node's data has reached ClickHouse, or verify it",
     sf_store_command_run, NULL},
    {"keep", "show which requests' samples the retention rules keep", sf_keep_command_run, NULL},
    {"erase", "erase traces, a service or a time range", sf_erase_command_run, NULL},
};
const size_t sf_cli_n_commands = sizeof(sf_cli_commands) / sizeof(sf_cli_commands[0]);
