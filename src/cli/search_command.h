/* search_command.h - spanflame search 'QUERY': lists the traces that match. */
#pragma once

int sf_search_command_run(int argc, char **argv);
