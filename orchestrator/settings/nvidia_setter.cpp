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

}  // namespace

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

}  // namespace dvfs_plan
