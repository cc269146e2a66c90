/* coverage_command.h - how well a service's traces and profiles are joined. */
#pragma once
int sf_coverage_command_run(int argc, char **argv);
