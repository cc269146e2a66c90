/* series_command.h - `spanflame series`: how much a service used over time. */
#pragma once

int sf_series_command_run(int argc, char **argv);
