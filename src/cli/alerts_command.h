/* alerts_command.h - spanflame alerts. */
#pragma once

int sf_alerts_command_run(int argc, char **argv);
