/* findings_command.h - spanflame findings: lists noteworthy observations as sentences. */
#pragma once

int sf_findings_command_run(int argc, char **argv);
