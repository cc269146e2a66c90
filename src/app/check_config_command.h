/* check_config_command.h - spanflame check-config: what is in effect, and why. */
#pragma once

int sf_check_config_command_run(int argc, char **argv);
