/* alerts_command.h - spanflame alerts. */
#pragma once

int sf_alerts_run_command(int argc, char **argv);
