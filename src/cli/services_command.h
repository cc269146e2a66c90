/* services_command.h - spanflame services: what runs, how often, how slow, how broken. */
#pragma once

int sf_services_command_run(int argc, char **argv);
