/* metrics_command.h - spanflame metrics 'QUERY': numbers over time, drawn in the terminal. */
#pragma once

int sf_metrics_run_command(int argc, char **argv);
