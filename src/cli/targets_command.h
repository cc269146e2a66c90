/* targets_command.h - "spanflame targets". */
#pragma once
int sf_targets_command_run(int argc, char **argv);
