#include "results/energy/energy_source.hpp"

#include <algorithm>

#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {
namespace {

std::vector<std::uint32_t> channels_where(std::span<const Channel> channels, auto condition) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    if (measures_energy(channels[i]) && condition(channels[i])) found.push_back(i);
  }
  return found;
}

std::string names_of(std::span<const Channel> channels, const std::vector<std::uint32_t>& chosen) {
  std::string name;
  for (const std::uint32_t i : chosen) name += (name.empty() ? "" : " + ") + channels[i].domain;
  return name;
}

// One channel a domain: one that works before one that does not, a counter before a gauge.
std::vector<std::uint32_t> one_a_domain(std::span<const Channel> channels, std::vector<std::uint32_t> chosen,
                                        std::span<const std::uint32_t> dead = {}) {
  const auto rank = [&](std::uint32_t i) {
    const bool is_dead = std::find(dead.begin(), dead.end(), i) != dead.end();
    return (is_dead ? 2 : 0) + (channels[i].kind == ChannelKind::counter ? 0 : 1);
  };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t i : chosen) {
    const bool there = std::any_of(kept.begin(), kept.end(),
                                   [&](std::uint32_t k) { return channels[k].domain == channels[i].domain; });
    if (!there) kept.push_back(i);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

std::vector<EnergySource> energy_sources(std::span<const Channel> channels,
                                         std::span<const std::uint32_t> dead) {
  std::vector<EnergySource> sources;
  bool any_group = false;
  // A source stands only with all its members alive: one dead package of two is no smaller machine.
  const auto add = [&](auto condition) {
    const auto chosen = one_a_domain(channels, channels_where(channels, condition), dead);
    if (chosen.empty()) return;
    any_group = true;
    const bool all_alive = std::none_of(chosen.begin(), chosen.end(), [&](std::uint32_t i) {
      return std::find(dead.begin(), dead.end(), i) != dead.end();
    });
    const std::string name = names_of(channels, chosen);
    const bool known =
        std::any_of(sources.begin(), sources.end(), [&](const EnergySource& s) { return s.name == name; });
    if (all_alive && !known) sources.push_back({name, chosen});
  };
  const auto is_package = [](const Channel& c) { return c.domain.starts_with("package"); };
  // Boards are measured only where the experiment is about them; then no source goes without them.
  const auto is_board = [](const Channel& c) {
    return c.domain.starts_with("gpu-") && c.domain.find('/') == std::string::npos &&
           !c.within.starts_with("package");
  };
  add([](const Channel& c) { return c.domain == "system"; });
  const bool psys = std::any_of(channels.begin(), channels.end(),
                                [](const Channel& c) { return c.domain == "psys" && measures_energy(c); });
  if (psys) add([&](const Channel& c) { return c.domain == "psys" || is_board(c); });
  // NVIDIA's superchips: a module holds its boards; a Grace socket by itself does not.
  const auto is_module = [](const Channel& c) { return c.domain.starts_with("module-"); };
  const auto is_grace = [](const Channel& c) {
    return c.domain.starts_with("grace-") && c.domain.find('/') == std::string::npos;
  };
  if (std::any_of(channels.begin(), channels.end(), is_module)) add(is_module);
  const bool boards_hold_grace = std::any_of(channels.begin(), channels.end(), [&](const Channel& c) {
    return is_board(c) && measures_energy(c) && c.within.starts_with("module-");
  });
  if (!boards_hold_grace && std::any_of(channels.begin(), channels.end(), is_grace))
    add([&](const Channel& c) { return is_grace(c) || is_board(c); });
  const bool packages = std::any_of(channels.begin(), channels.end(), is_package);
  if (packages)
    add([&](const Channel& c) { return is_package(c) || c.domain.starts_with("dram") || is_board(c); });
  if (packages) add([&](const Channel& c) { return is_package(c) || is_board(c); });
  add(is_board);
  // A machine with none of these: its single sensors, each under its own name. Never instead of a wider one
  // that died: what a rail draws is no answer to what the machine draws.
  if (any_group) return sources;
  for (std::uint32_t i = 0; i < channels.size(); ++i) {
    add([&](const Channel& c) { return &c == &channels[i]; });
  }
  for (EnergySource& one : sources) one.single_sensor = true;
  return sources;
}

std::optional<EnergySource> energy_source_of(std::string_view domain, std::span<const Channel> channels,
                                             std::span<const std::uint32_t> dead) {
  auto chosen = channels_where(channels, [&](const Channel& c) { return c.domain == domain; });
  if (chosen.empty()) {
    const std::string numbered = std::string(domain) + "-";
    chosen = channels_where(channels, [&](const Channel& c) { return c.domain.starts_with(numbered); });
  }
  // "gpu" means the boards, not what lies inside one of them as well.
  std::erase_if(chosen, [&](std::uint32_t part) {
    return std::any_of(chosen.begin(), chosen.end(), [&](std::uint32_t whole) {
      return channels[part].within == channels[whole].domain && part != whole;
    });
  });
  chosen = one_a_domain(channels, chosen, dead);
  if (chosen.empty()) return std::nullopt;
  return EnergySource{names_of(channels, chosen), chosen};
}

std::vector<std::uint32_t> channels_of_source(const std::string& name, std::span<const Channel> channels,
                                              std::span<const std::uint32_t> dead) {
  for (const EnergySource& one : energy_sources(channels, dead)) {
    if (one.name == name) return one.channels;
  }
  // Named in the objective: a domain that is none of the usual choices.
  const auto named = energy_source_of(name, channels, dead);
  return named ? named->channels : std::vector<std::uint32_t>{};
}

}  // namespace dvfs_plan
