/* ledger_command.h - spanflame ledger: where a span's time went. */
#pragma once

int sf_ledger_command_run(int argc, char **argv);
