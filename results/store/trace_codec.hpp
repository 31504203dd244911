// Raw readings as the result file packs them, without loss: some 2 bytes a reading instead of 25 to 40 as
// rows.
//
// A column of n whole numbers is packed so: zigzag (0, -1, 1, -2 become 0, 1, 2, 3), then little-endian
// 8-byte words, then all first bytes, all second bytes, ... (Blosc calls it shuffle: high bytes are zeros,
// side by side), then zlib (RFC 1950). Times are the differences from step to step less their median; values
// are differences of whole numbers where one scale makes them whole, else the doubles' own bits (not
// zigzagged). numpy undoes it in a line each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading.hpp"

namespace dvfs_plan {

struct PackedTimes {
  std::int64_t readings = 0;
  std::int64_t first_ns = 0;
  std::int64_t period_ns = 0;
  std::string packed;
};

// A value is whole x factor / divisor; one of the two is 1, so that nothing is rounded twice. A probe that
// divides millijoules by 1000 and one that multiplies them by 0.001 give different doubles.
struct Scale {
  double factor = 1, divisor = 1;
};

struct PackedValues {
  std::optional<Scale> scale;  // nullopt: the doubles\' own bits
  std::string packed;
  std::string absences;  // empty: none
};

// One channel's readings of one trial, in time order; parallel columns.
struct Trace {
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;           // any number where there is none
  std::vector<ReadingStatus> absences;  // empty: every reading has its value
  bool has_value(std::size_t i) const { return absences.empty() || absences[i] == ReadingStatus::ok; }
};

PackedTimes pack_times(std::span<const std::int64_t> times_ns);
PackedValues pack_values(const Trace& trace);

// Throw std::runtime_error if the bytes are not what pack_* made.
std::vector<std::int64_t> unpack_times(std::int64_t readings, std::int64_t first_ns, std::int64_t period_ns,
                                       std::string_view packed);
std::vector<double> unpack_values(std::size_t readings, std::optional<Scale> scale, std::string_view packed);
std::vector<ReadingStatus> unpack_absences(std::size_t readings, std::string_view packed);

}  // namespace dvfs_plan
