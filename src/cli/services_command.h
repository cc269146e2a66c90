/* services_command.h - spanflame services: request rates, durations and errors of all services. */
#pragma once

int sf_services_command_run(int argc, char **argv);
