#include "results/store/trace_codec.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace dvfs_plan {
namespace {

// The fastest of zlib's levels: after the shuffle the others gain little and cost a multiple.
constexpr int compression = 3;
constexpr std::size_t word = sizeof(std::uint64_t);
static_assert(std::endian::native == std::endian::little, "packed columns are little-endian");

std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), compression) != Z_OK)
    throw std::runtime_error("readings could not be packed");
  packed.resize(size);
  return packed;
}

// Zlib makes at most 1032 bytes of one (https://zlib.net/zlib_tech.html): a row that promises more is
// damaged, and must not decide how much memory is taken. So is one of more readings than ten days at 100 Hz.
constexpr std::size_t most_readings = 100'000'000;

std::string inflated(std::string_view packed, std::size_t expected) {
  if (expected > most_readings * word || expected > packed.size() * 1032 + 64)
    throw std::runtime_error("packed readings are damaged");
  std::string bytes(expected, '\0');
  uLongf size = static_cast<uLongf>(expected);
  if (uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                 static_cast<uLong>(packed.size())) != Z_OK ||
      size != expected)
    throw std::runtime_error("packed readings are damaged");
  return bytes;
}

std::string shuffled(const std::vector<std::uint64_t>& words) {
  std::string bytes(words.size() * word, '\0');
  for (std::size_t plane = 0; plane < word; ++plane) {
    char* out = bytes.data() + plane * words.size();
    for (std::size_t i = 0; i < words.size(); ++i) out[i] = static_cast<char>(words[i] >> (8 * plane));
  }
  return bytes;
}

std::vector<std::uint64_t> unshuffled(std::string_view bytes) {
  std::vector<std::uint64_t> words(bytes.size() / word);
  for (std::size_t plane = 0; plane < word; ++plane) {
    const char* in = bytes.data() + plane * words.size();
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[i])) << (8 * plane);
  }
  return words;
}

std::uint64_t zigzag(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63);
}
std::int64_t unzigzag(std::uint64_t z) {
  return static_cast<std::int64_t>(z >> 1) ^ -static_cast<std::int64_t>(z & 1);
}
// Differences wrap around: they are undone by sums that do.
std::int64_t minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// What sensors count in: powers of ten (mW, uJ, m°C), and RAPL's 2^-32 J as perf events scale it.
constexpr std::array<Scale, 14> scales{{{1, 1},
                                        {1, 1e1},
                                        {1e-1, 1},
                                        {1, 1e2},
                                        {1e-2, 1},
                                        {1, 1e3},
                                        {1e-3, 1},
                                        {1, 1e4},
                                        {1e-4, 1},
                                        {1, 1e6},
                                        {1e-6, 1},
                                        {1, 1e9},
                                        {1e-9, 1},
                                        {1, 4294967296.0}}};

double scaled(double whole, const Scale& scale) {
  return whole * scale.factor / scale.divisor;
}
double whole_of(double value, const Scale& scale) {
  return std::nearbyint(value * scale.divisor / scale.factor);
}

bool whole_by(const Scale& scale, const Trace& trace) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    if (!trace.has_value(i)) continue;
    const double value = trace.values[i], whole = whole_of(value, scale);
    // !(<) is true of what is no number, too.
    if (!(std::abs(whole) < exact) || scaled(whole, scale) != value || (value == 0 && std::signbit(value)))
      return false;
  }
  return true;
}

}  // namespace

PackedTimes pack_times(std::span<const std::int64_t> times_ns) {
  PackedTimes times;
  times.readings = static_cast<std::int64_t>(times_ns.size());
  if (times_ns.empty()) return times;
  times.first_ns = times_ns.front();
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < times_ns.size(); ++i) steps.push_back(minus(times_ns[i], times_ns[i - 1]));
  if (!steps.empty()) {
    auto sorted = steps;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    times.period_ns = *middle;
  }
  std::vector<std::uint64_t> words;
  for (const std::int64_t step : steps) words.push_back(zigzag(minus(step, times.period_ns)));
  times.packed = deflated(shuffled(words));
  return times;
}

PackedValues pack_values(const Trace& trace) {
  PackedValues packed;
  for (const Scale& scale : scales) {
    if (!whole_by(scale, trace)) continue;
    packed.scale = scale;
    break;
  }
  std::vector<std::uint64_t> words;
  std::int64_t before = 0;
  std::uint64_t bits_before = 0;
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    // What is absent repeats what was there: it costs nothing and unpacks to a number nobody looks at.
    if (!packed.scale) {
      if (trace.has_value(i)) bits_before = std::bit_cast<std::uint64_t>(trace.values[i]);
      words.push_back(bits_before);
      continue;
    }
    const std::int64_t whole =
        trace.has_value(i) ? static_cast<std::int64_t>(whole_of(trace.values[i], *packed.scale)) : before;
    words.push_back(zigzag(minus(whole, before)));
    before = whole;
  }
  packed.packed = deflated(shuffled(words));
  if (!trace.absences.empty()) {
    std::string codes;
    for (const ReadingStatus status : trace.absences) codes += static_cast<char>(status);
    packed.absences = deflated(codes);
  }
  return packed;
}

std::vector<std::int64_t> unpack_times(std::int64_t readings, std::int64_t first_ns, std::int64_t period_ns,
                                       std::string_view packed) {
  if (readings <= 0) return {};
  if (static_cast<std::uint64_t>(readings) > most_readings)
    throw std::runtime_error("packed readings are damaged");
  const auto words = unshuffled(inflated(packed, static_cast<std::size_t>(readings - 1) * word));
  std::vector<std::int64_t> times{first_ns};
  times.reserve(static_cast<std::size_t>(readings));
  for (const std::uint64_t z : words) times.push_back(plus(times.back(), plus(period_ns, unzigzag(z))));
  return times;
}

std::vector<double> unpack_values(std::size_t readings, std::optional<Scale> scale, std::string_view packed) {
  const auto words = unshuffled(inflated(packed, readings * word));
  if (scale && !(std::isfinite(scale->factor) && scale->factor > 0 && std::isfinite(scale->divisor) &&
                 scale->divisor > 0))
    throw std::runtime_error("packed readings are damaged");
  std::vector<double> values;
  values.reserve(words.size());
  std::int64_t whole = 0;
  for (const std::uint64_t z : words) {
    if (!scale) {
      values.push_back(std::bit_cast<double>(z));
      continue;
    }
    whole = plus(whole, unzigzag(z));
    values.push_back(scaled(static_cast<double>(whole), *scale));
  }
  return values;
}

std::vector<ReadingStatus> unpack_absences(std::size_t readings, std::string_view packed) {
  std::vector<ReadingStatus> absences;
  if (packed.empty()) return absences;
  for (const char code : inflated(packed, readings)) {
    if (code < 0 || code > static_cast<char>(ReadingStatus::impossible))
      throw std::runtime_error("packed readings are damaged");
    absences.push_back(static_cast<ReadingStatus>(code));
  }
  return absences;
}

}  // namespace dvfs_plan
