/* compare_command.h - spanflame compare: on which code slow requests spend more than fast ones. */
#pragma once

int sf_compare_command_run(int argc, char **argv);
