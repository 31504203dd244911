#include "orchestrator/settings/nvidia_setter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

bool contains_words(std::string_view text, std::string_view words) {
  return std::search(text.begin(), text.end(), words.begin(), words.end(), [](char a, char b) {
           const auto lower = [](char c) {
             return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
           };
           return lower(a) == lower(b);
         }) != text.end();
}

// The lines that say something, without the ones that say nothing.
std::string gist(std::string_view output) {
  std::vector<std::string> lines;
  for (const std::string& line : split_lines(output)) {
    const std::string text(trim(line));
    if (text.empty() || text == "All done." || text.starts_with("Terminating early") ||
        text.starts_with("Treating as warning") || contains_words(text, "persistence mode is disabled"))
      continue;
    lines.push_back(printable(text.substr(0, 300)));
    if (lines.size() == 3) break;
  }
  return join(lines, " / ");
}

std::string lock_option(NvidiaSetter::Clock clock, bool reset) {
  if (clock == NvidiaSetter::Clock::core) return reset ? "-rgc" : "-lgc";
  return reset ? "-rmc" : "-lmc";
}

constexpr const char* no_profiles = "none";

std::string joined(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (const int number : numbers) words.push_back(std::to_string(number));
  return words.empty() ? no_profiles : join(words, ",");
}

// nullopt: it is no such list.
std::optional<std::vector<int>> profile_numbers(const std::string& text) {
  std::vector<int> numbers;
  if (text == no_profiles) return numbers;
  constexpr std::size_t longest = 3;  // NVML_POWER_PROFILE_MAX is 255
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, end - from);
    if (word.empty() || word.size() > longest || word.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    numbers.push_back(std::stoi(word));
    from = end + 1;
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<WorkloadProfile>> parse_workload_profiles(std::string_view text) {
  std::vector<WorkloadProfile> profiles;
  for (const std::string& line : split_lines(text)) {
    const auto dot = line.find(". ");
    if (dot == std::string::npos || dot == 0 ||
        line.substr(0, dot).find_first_not_of("0123456789") != std::string::npos || dot > 3)
      continue;
    profiles.push_back({std::stoi(line.substr(0, dot)), std::string(trim(line.substr(dot + 2)))});
  }
  if (profiles.empty() && !contains_words(text, "No profiles are currently")) return std::nullopt;
  return profiles;
}

SmiVerdict judge_smi_answer(const ProgramAnswer& answer, std::string_view confirmation) {
  SmiVerdict verdict;
  if (!answer.ran()) {
    verdict.problem = answer.problem;
    return verdict;
  }
  const std::string said = gist(answer.output);
  if (contains_words(answer.output, "permission")) {
    verdict.forbidden = true;
    verdict.problem = fmt::format(
        "nvidia-smi refuses: {}; only root may set it: run with sudo (in a container also with "
        "CAP_SYS_ADMIN, or on the host)",
        said);
    return verdict;
  }
  // "Setting locked GPU clocks is not supported for GPU ...", then "Treating as warning and moving on.",
  // then exit code 0.
  if (contains_words(answer.output, "is not supported") ||
      contains_words(answer.output, "not supported in")) {
    verdict.unsupported = !contains_words(answer.output, "combination");
    verdict.problem = "nvidia-smi refuses: " + said;
    return verdict;
  }
  const bool refused =
      answer.exit_code != 0 || contains_words(answer.output, "moving on") ||
      contains_words(answer.output, "unable to") || contains_words(answer.output, "failed") ||
      contains_words(answer.output, "not a valid") || contains_words(answer.output, "no devices were found");
  if (refused) {
    verdict.problem = fmt::format("nvidia-smi refuses (exit code {}): {}", answer.exit_code,
                                  said.empty() ? "it says nothing" : said);
    return verdict;
  }
  if (!confirmation.empty() && !contains_words(answer.output, confirmation)) {
    verdict.problem =
        fmt::format("nvidia-smi neither confirms nor refuses; it says: {}", said.empty() ? "nothing" : said);
    return verdict;
  }
  verdict.done = true;
  return verdict;
}

SmiVerdict NvidiaSetter::ask(const std::string& uuid, const std::vector<std::string>& request,
                             std::string_view confirmation) const {
  std::vector<std::string> arguments{"-i", uuid};
  arguments.insert(arguments.end(), request.begin(), request.end());
  return judged(uuid, arguments, confirmation);
}

SmiVerdict NvidiaSetter::judged(const std::string& uuid, const std::vector<std::string>& arguments,
                                std::string_view confirmation) const {
  SmiVerdict verdict = judge_smi_answer(smi_.run(arguments), confirmation);
  if (verdict.unsupported) verdict.problem += explain_unsupported(uuid);
  return verdict;
}

// Why a board does not offer what its kind does.
std::string NvidiaSetter::explain_unsupported(const std::string& uuid) const {
  const ProgramAnswer all = smi_.run({"-q", "-i", uuid});
  bool in_mig = false;
  for (const std::string& line : split_lines(all.output)) {
    const std::string_view text = trim(line);
    if (text.starts_with("MIG Mode")) {
      in_mig = true;
    } else if (in_mig && text.starts_with("Current") && text.ends_with("Enabled")) {
      return "; MIG is enabled: take it off while the board is idle (sudo nvidia-smi -i 0 -mig 0)";
    } else if (text.starts_with("Pending")) {
      in_mig = false;
    } else if (text.starts_with("Virtualization Mode") && contains_words(text, "vgpu")) {
      return "; this is a vGPU: its clocks and limits belong to the host, where the sweep would have to run";
    }
  }
  return "; this board does not offer it (laptops and many consumer boards do not)";
}

SmiVerdict NvidiaSetter::lock(const std::string& uuid, Clock clock, int mhz) const {
  return ask(uuid, {lock_option(clock, false), fmt::format("{},{}", mhz, mhz)},
             fmt::format("ClkMin {}, {}ClkMax {})", mhz, clock == Clock::core ? "gpu" : "mem", mhz));
}

SmiVerdict NvidiaSetter::reset_lock(const std::string& uuid, Clock clock) const {
  SmiVerdict verdict = ask(uuid, {lock_option(clock, true)}, {});
  // What cannot be locked need not be reset.
  if (verdict.unsupported) return {true, true, false, {}};
  return verdict;
}

SmiVerdict NvidiaSetter::set_application_clocks(const std::string& uuid,
                                                const std::string& memory_and_core) const {
  return ask(uuid, {"-ac", memory_and_core}, "applications clocks set to");
}

SmiVerdict NvidiaSetter::set_power_limit(const std::string& uuid, const std::string& watts) const {
  SmiVerdict verdict = ask(uuid, {"-pl", watts}, "power limit for GPU");
  if (!verdict.done) return verdict;
  const auto now = power_limit(uuid);
  constexpr double rounding = 0.51;  // boards take whole watts
  if (!now || std::abs(parse_number(*now).value_or(0) - parse_number(watts).value_or(-1)) > rounding)
    return {false, false, false,
            fmt::format("asked for {} W, read back {}", watts, now ? *now + " W" : "nothing")};
  return verdict;
}

std::optional<std::string> NvidiaSetter::application_clocks(const std::string& uuid, bool by_default) const {
  const std::string prefix = by_default ? "clocks.default_applications." : "clocks.applications.";
  const auto table = smi_.query({prefix + "memory", prefix + "graphics"}, uuid).table;
  const auto memory = table.number(0, prefix + "memory"), core = table.number(0, prefix + "graphics");
  if (!memory || !core) return std::nullopt;
  return fmt::format("{:.0f},{:.0f}", *memory, *core);
}

std::optional<std::string> NvidiaSetter::power_limit(const std::string& uuid, bool by_default) const {
  const std::string field = by_default ? "power.default_limit" : "power.limit";
  const auto watts = smi_.query({field}, uuid).table.number(0, field);
  if (!watts) return std::nullopt;
  return fmt::format("{:.2f}", *watts);
}

std::vector<WorkloadProfile> NvidiaSetter::workload_profiles(const std::string& uuid) const {
  const ProgramAnswer answer = smi_.run({"power-profiles", "-i", uuid, "-l"});
  if (!answer.ran() || answer.exit_code != 0) return {};
  return parse_workload_profiles(answer.output).value_or(std::vector<WorkloadProfile>{});
}

std::optional<std::string> NvidiaSetter::profiles(const std::string& uuid, const char* which) const {
  const ProgramAnswer answer = smi_.run({"power-profiles", "-i", uuid, which});
  if (!answer.ran() || answer.exit_code != 0) return std::nullopt;
  const auto profiles = parse_workload_profiles(answer.output);
  if (!profiles) return std::nullopt;
  std::vector<int> numbers;
  for (const WorkloadProfile& profile : *profiles) numbers.push_back(profile.number);
  std::sort(numbers.begin(), numbers.end());
  return joined(numbers);
}

std::optional<std::string> NvidiaSetter::requested_profiles(const std::string& uuid) const {
  return profiles(uuid, "-gr");
}

std::optional<std::string> NvidiaSetter::enforced_profiles(const std::string& uuid) const {
  return profiles(uuid, "-ge");
}

SmiVerdict NvidiaSetter::request_profiles(const std::string& uuid, const std::string& profiles) const {
  const auto wanted = profile_numbers(profiles);
  if (!wanted) return {false, false, false, fmt::format("'{}' is no list of profiles", profiles)};
  const auto now = requested_profiles(uuid);
  const auto before = now ? profile_numbers(*now) : std::nullopt;
  if (!before)
    return {false, false, true, "nvidia-smi does not tell which workload power profiles are asked for"};
  const auto without = [](std::vector<int> these, const std::vector<int>& others) {
    std::erase_if(these,
                  [&](int one) { return std::find(others.begin(), others.end(), one) != others.end(); });
    return these;
  };
  const std::vector<int> clear = without(*before, *wanted), add = without(*wanted, *before);
  SmiVerdict verdict{true, false, false, {}};
  if (!clear.empty())
    verdict = judged(uuid, {"power-profiles", "-i", uuid, "-cr", joined(clear)},
                     "Successfully cleared the requested profiles");
  if (verdict.done && !add.empty())
    verdict = judged(uuid, {"power-profiles", "-i", uuid, "-sr", joined(add)},
                     "Successfully set the requested profiles");
  return verdict;
}

}  // namespace dvfs_plan
