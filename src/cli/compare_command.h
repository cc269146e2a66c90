/* compare_command.h - spanflame compare: what slow requests do that fast ones do not. */
#pragma once

int sf_compare_command_run(int argc, char **argv);
