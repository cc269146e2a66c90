/* metrics_command.h - spanflame metrics 'QUERY': numbers over time, drawn in the terminal. */
#pragma once

int sf_metrics_command_run(int argc, char **argv);
