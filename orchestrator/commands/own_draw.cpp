#include "orchestrator/commands/own_draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "orchestrator/conditions/cpu_load.hpp"
#include "orchestrator/machine/used_boards.hpp"
#include "probes/probe_table.hpp"
#include "results/energy/energy_source.hpp"
#include "results/report/json_values.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

constexpr std::array<std::string_view, sampling_rates> rate_names{"as in a night", "a tenth as often",
                                                                  "not at all"};

std::vector<double> of_rate(const OwnDraw& draw, SamplingRate rate) {
  std::vector<double> watts;
  for (const auto& round : draw.watts) watts.push_back(round[static_cast<std::size_t>(rate)]);
  return watts;
}

// More than without sampling, round by round.
std::optional<Estimate> own_part(const OwnDraw& draw, SamplingRate rate) {
  std::vector<double> more;
  for (const auto& round : draw.watts)
    more.push_back(round[static_cast<std::size_t>(rate)] -
                   round[static_cast<std::size_t>(SamplingRate::none)]);
  return estimate(more);
}

EnergySource source_of_counters(const Sampler& sampler, const SensorCheck& check) {
  for (const EnergySource& source : energy_sources(sampler.channels(), check.unusable())) {
    const bool counts = std::all_of(
        source.channels.begin(), source.channels.end(),
        [&](std::uint32_t channel) { return sampler.channels()[channel].kind == ChannelKind::counter; });
    if (counts) return source;
  }
  throw Error(
      ExitCode::machine_refuses,
      "doctor --self: nothing here counts energy by itself (RAPL, a board's or a meter's counter), and a "
      "power that is not read says nothing of what it is while nobody reads",
      "`dvfs-plan doctor` says what is missing; as root more is there");
}

std::string watts_text(const Estimate& estimate) {
  return fmt::format("{:.3f} W{}", estimate.mean,
                     estimate.half_width ? fmt::format(" +- {:.3f}", *estimate.half_width) : "");
}

}  // namespace

OwnDrawReport find_own_draw(const Sysfs& sysfs, Seconds lasts) {
  Interruption interruption;
  SystemClock clock;
  const UsedBoards boards = all_boards(sysfs);
  std::vector<std::unique_ptr<Probe>> probes;
  for (ProbeFinding& finding : find_probes({sysfs, boards.used})) {
    if (finding.probe) probes.push_back(std::move(finding.probe));
  }
  if (probes.empty())
    throw Error(ExitCode::machine_refuses, "doctor --self: there is no probe here",
                "`dvfs-plan doctor` says what is missing");
  Sampler sampler(std::move(probes), clock);
  const SensorCheck check = check_sensors(sampler, clock, {}, &interruption);
  const EnergySource source = source_of_counters(sampler, check);
  // Edges are as sharp as a counter's renewal, or a look at it.
  Seconds slowest{0.01};
  for (const auto& [channel, model] : check.models()) {
    if (model.update &&
        std::find(source.channels.begin(), source.channels.end(), channel) != source.channels.end())
      slowest = std::max(slowest, *model.update);
  }
  constexpr int fewest_rounds = 3;
  OwnDrawReport report{{}, source.name, std::max(Seconds{1}, slowest * 50), 0};
  const auto rounds = static_cast<int>(lasts.value() / (sampling_rates * report.window.value()));
  const auto before = read_cpu_times(sysfs);
  const Seconds own_before = own_cpu_time();
  const Nanoseconds began = clock.now();
  int asked = 0;
  report.draw =
      measure_own_draw(sampler, clock, check, source.channels, report.window, std::max(fewest_rounds, rounds),
                       static_cast<unsigned>(began), [&] { return (asked |= interruption.pending()) != 0; });
  if (asked != 0) throw Error(ExitCode::interrupted, "interrupted", "nothing was set");
  const double used =
      process_time_between(before, read_cpu_times(sysfs)).value() - (own_cpu_time() - own_before).value();
  report.others = std::max(0.0, used) / seconds(clock.now() - began).value();
  return report;
}

std::string own_draw_text(const OwnDrawReport& report) {
  const OwnDraw& draw = report.draw;
  std::string text = fmt::format(
      "this program's own sampling, while the machine rests: {} rounds of {:.3g} s each, in random order; "
      "power of {}\n",
      draw.watts.size(), report.window.value(), report.source);
  if (draw.watts.empty())
    return text + "  no round was whole: a counter was not renewed within 2 s, or went back\n";
  for (std::size_t at = 0; at < sampling_rates; ++at) {
    const auto rate = static_cast<SamplingRate>(at);
    const auto all = estimate(of_rate(draw, rate));
    text += fmt::format("  read {:<17} {}", rate_names[at], all ? watts_text(*all) : "");
    if (rate == SamplingRate::none) {
      text += '\n';
      continue;
    }
    text += fmt::format("; {:.2f} % of a CPU, {:.0f} wake-ups a second", 100 * draw.cpu_share[at],
                        draw.wake_ups_per_s[at]);
    if (const auto more = own_part(draw, rate); more && all)
      text += fmt::format("; its own part: {} ({:.2f} % of that)", watts_text(*more),
                          100 * more->mean / all->mean);
    text += '\n';
  }
  const auto night = own_part(draw, SamplingRate::full);
  const bool told = night && night->half_width && std::abs(night->mean) > *night->half_width;
  text += told ? "it draws something: it is in each trial's energy alike, and in that of idle windows\n"
               : "what it draws cannot be told from nothing in this time: --lasts 10min tells more\n";
  constexpr double much = 0.2;
  if (report.others > much)
    text +=
        fmt::format("note: other processes kept {:.2f} CPUs busy meanwhile; a machine at rest tells more\n",
                    report.others);
  return text;
}

std::string own_draw_json(const OwnDrawReport& report) {
  using Json = nlohmann::ordered_json;
  Json rates = Json::array();
  for (std::size_t at = 0; at < sampling_rates; ++at) {
    const auto rate = static_cast<SamplingRate>(at);
    const auto all = estimate(of_rate(report.draw, rate));
    Json one{{"read", rate_names[at]},
             {"power_w", all ? Json(all->mean) : Json(nullptr)},
             {"power_half_width_w", all ? or_null(all->half_width) : Json(nullptr)}};
    if (rate != SamplingRate::none) {
      const auto more = own_part(report.draw, rate);
      one.update({{"cpu_share", report.draw.cpu_share[at]},
                  {"wake_ups_per_s", report.draw.wake_ups_per_s[at]},
                  {"own_w", more ? Json(more->mean) : Json(nullptr)},
                  {"own_half_width_w", more ? or_null(more->half_width) : Json(nullptr)}});
    }
    rates.push_back(std::move(one));
  }
  const Json json{{"source", report.source},
                  {"rounds", report.draw.watts.size()},
                  {"window_s", report.window.value()},
                  {"other_cpus", report.others},
                  {"rates", std::move(rates)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dvfs_plan
