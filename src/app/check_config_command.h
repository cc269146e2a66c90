/* check_config_command.h - spanflame check-config: shows the effective values and where each comes
 * from. */
#pragma once

int sf_check_config_command_run(int argc, char **argv);
