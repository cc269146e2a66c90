/* metrics_command.h - spanflame metrics 'QUERY': a TraceQL metrics query, drawn as a chart in the
 * terminal. */
#pragma once

int sf_metrics_command_run(int argc, char **argv);
