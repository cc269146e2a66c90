/* keep_command.h - spanflame keep: how much sample detail each retention rule would keep; pins
 * traces. */
#pragma once

int sf_keep_command_run(int argc, char **argv);
