// Writing to stdout and stderr for people. A reader that is gone (a closed terminal, `| head`) or a full disk
// behind a log is no reason to end a night: what cannot be written is left unwritten.
#pragma once

#include <string_view>

namespace dvfs_plan {

void write_stdout(std::string_view text);
void write_stderr(std::string_view text);
bool is_terminal_stdout();

}  // namespace dvfs_plan
