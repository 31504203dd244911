// Lines of "name<TAB>value" in the files of the state folder, written and read by the guardian alone; bytes that would
// break a line stand as \xNN, so that the part with rights needs no parser of anything richer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

// With a last line "end<TAB>CRC-32 of what stands before it": a byte that changed on a disk is not to become a former value.
std::string sealed(std::string lines);
// Without that line. Throws std::runtime_error where it is missing or says otherwise.
std::string_view unsealed(std::string_view text);
// What versions up to 1.2.2 wrote, without a checksum: that ends with this. nullopt: it does not.
std::optional<std::string_view> without_end(std::string_view text, std::string_view end);

std::string escaped_part(std::string_view text);
// Of one line, without its end. Throws std::runtime_error if it is none.
std::vector<std::string> parts_of_line(std::string_view line);

}  // namespace dvfs_plan
