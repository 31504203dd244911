// A look at a node: a result file without trials, made there, which has the plan that follows from what the node offers.
#pragma once

#include <string>
#include <string_view>

namespace dvfs_plan {

// Its name in the shared folder.
std::string look_name(const std::string& task);
// The file's bytes behind their checksum, and out of it again; throws Error where they are not what was handed in.
std::string look_bytes(std::string_view file);
std::string look_content(std::string_view bytes);

// The name in the shared folder of an experiment's text as it was submitted: of its digest, so that it is what it says.
std::string text_name(std::string_view text);

std::string read_file(const std::string& path);                    // throws Error
void write_file(const std::string& path, std::string_view bytes);  // a new one of mode 0600; throws Error

}  // namespace dvfs_plan
