#include "orchestrator/commands/recompute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "orchestrator/judge/judge_parts.hpp"
#include "results/energy/energy_source.hpp"

namespace dvfs_plan {
namespace {

struct Session {
  std::map<std::uint32_t, SensorModel> models;
  std::vector<std::uint32_t> dead;
};

// By session, what its audit found.
std::map<std::int64_t, Session> sessions_of(Store& store) {
  std::map<std::int64_t, Session> sessions;
  Statement s = store.database().prepare(
      "SELECT session_id, channel_id, state, update_s, rise_s, at_least, window_s, latency_s FROM "
      "sensor_audit ORDER BY session_id, "
      "channel_id");
  while (s.step()) {
    Session& session = sessions[s.integer(0)];
    const auto channel = static_cast<std::uint32_t>(s.integer(1) - 1);
    SensorModel& model = session.models[channel];
    if (const auto update = s.maybe_real(3)) model.update = Seconds{*update};
    if (const auto rise = s.maybe_real(4)) model.rise = Seconds{*rise};
    model.at_least = s.integer(5) != 0;
    if (const auto window = s.maybe_real(6)) model.window = Seconds{*window};
    if (const auto latency = s.maybe_real(7)) model.latency = Seconds{*latency};
    const std::string state = s.text(2);
    if (state == "dead" || state == "denied" || state == "gone") session.dead.push_back(channel);
  }
  return sessions;
}

std::vector<std::uint32_t> energy_channels_of(const std::string& source, const std::vector<Channel>& channels,
                                              const std::vector<std::uint32_t>& dead) {
  for (const EnergySource& one : energy_sources(channels, dead)) {
    if (one.name == source) return one.channels;
  }
  // Named in the objective: a domain that is none of the usual choices.
  const auto named = energy_source_of(source, channels, dead);
  return named ? named->channels : std::vector<std::uint32_t>{};
}

std::vector<Reading> readings_of(Store& store, std::int64_t trial) {
  std::vector<Reading> readings;
  for (const ChannelTrace& one : store.traces(trial)) {
    for (std::size_t i = 0; i < one.trace.values.size(); ++i) {
      const bool known = one.trace.has_value(i);
      readings.push_back({one.channel, one.trace.times_ns[i],
                          known ? std::optional(one.trace.values[i]) : std::nullopt,
                          known ? ReadingStatus::ok : one.trace.absences[i]});
    }
  }
  return readings;
}

Regions regions_of(Store& store, std::int64_t trial, const std::string& name) {
  Regions regions;
  regions.name = name;
  Statement s = store.database().prepare(
      "SELECT name, run, started_ns, ended_ns, counted FROM region WHERE trial_id = ? ORDER BY ordinal");
  s.bind(trial);
  while (s.step()) {
    RegionRecord region;
    region.name = s.text(0);
    region.run = static_cast<int>(s.integer(1));
    region.started = s.integer(2);
    region.ended = s.integer(3);
    region.counted = s.integer(4) != 0;
    regions.all.push_back(region);
  }
  return regions;
}

}  // namespace

Recomputed recompute_energies(Store& store) {
  Recomputed recomputed;
  const auto channels = store.channels();
  const auto sessions = sessions_of(store);
  const std::string source = store.energy_source();
  JudgeInput input;
  input.channels = channels;
  input.energy_needed = store.experiment().objective.minimise != Objective::time;
  Statement s = store.database().prepare(
      "SELECT id, key, role, session_id, region, region_s, started_ns, ended_ns, energy_j, "
      "energy_half_width_j, verdict FROM trial "
      "WHERE started_ns IS NOT NULL ORDER BY id");
  while (s.step()) {
    TrialRecord trial;
    trial.key = s.text(1);
    trial.role = parse_role(s.text(2));
    trial.region = s.text(4);
    trial.region_s = s.maybe_real(5);
    trial.child.end = ChildResult::End::exited;
    trial.child.started = s.integer(6);
    trial.child.ended = s.integer(7);
    try {
      trial.readings = readings_of(store, s.integer(0));
    } catch (const DamagedReadings&) {
    }
    if (trial.readings.empty()) {
      recomputed.without_readings.push_back(trial.key);
      continue;
    }
    const auto session = sessions.find(s.integer(3));
    const Session found = session == sessions.end() ? Session{} : session->second;
    input.models = found.models;
    input.energy_channels = energy_channels_of(source, channels, found.dead);
    judge_energy(trial, input, regions_of(store, s.integer(0), trial.region));
    RecomputedEnergy one{trial.key,
                         s.maybe_real(8),
                         s.maybe_real(9),
                         trial.energy_j,
                         trial.energy_half_width_j,
                         s.text(10),
                         {},
                         {}};
    if (one.stored_verdict == to_string(Verdict::ok) || one.stored_verdict.starts_with("sensor")) {
      one.verdict = to_string(trial.verdict);
      one.verdict_text = trial.verdict_text;
    } else {
      one.stored_verdict.clear();
    }
    recomputed.trials.push_back(one);
    for (const Reading& reading : trial.readings) {
      if (reading.value) input.last_values[reading.channel] = *reading.value;
    }
  }
  return recomputed;
}

std::string recomputed_text(const Recomputed& recomputed) {
  const auto amount = [](const std::optional<double>& joules, const std::optional<double>& half) {
    if (!joules) return std::string("not known");
    if (!half) return fmt::format("{:.6g} J (± not known)", *joules);
    return fmt::format("{:.6g} J ±{:.2g} %", *joules, 100 * *half / std::max(1e-12, std::abs(*joules)));
  };
  std::string text;
  std::size_t same = 0;
  double most = 0;
  for (const RecomputedEnergy& one : recomputed.trials) {
    if (one.same()) {
      ++same;
      continue;
    }
    text += fmt::format("{}: {} stored, {} now", printable(one.key),
                        amount(one.stored_j, one.stored_half_width_j), amount(one.joules, one.half_width_j));
    if (one.stored_j && one.joules && *one.stored_j > 0) {
      const double change = *one.joules / *one.stored_j - 1;
      most = std::max(most, std::abs(change));
      text += fmt::format(" ({:+.2f} %)", 100 * change);
    }
    if (one.verdict != one.stored_verdict)
      text += fmt::format("; {} stored, {} now{}", one.stored_verdict, one.verdict,
                          one.verdict_text.empty() ? "" : " (" + printable(one.verdict_text) + ")");
    text += "\n";
  }
  text +=
      fmt::format("{} of {} trials have the same energy, half-width and verdict of the sensors, bit for bit",
                  same, recomputed.trials.size());
  if (same < recomputed.trials.size())
    text += fmt::format("; the most that an energy changed by is {:.2f} %", 100 * most);
  text += ".\n";
  if (!recomputed.without_readings.empty())
    text += fmt::format("{} have no readings that can be read: {}\n", recomputed.without_readings.size(),
                        printable(join(recomputed.without_readings, ", ")));
  return text;
}

std::string json_recomputed(const Recomputed& recomputed) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json{{"trials", Json::array()}, {"without_readings", recomputed.without_readings}};
  for (const RecomputedEnergy& one : recomputed.trials)
    json["trials"].push_back({{"key", one.key},
                              {"same", one.same()},
                              {"stored_j", or_null(one.stored_j)},
                              {"stored_half_width_j", or_null(one.stored_half_width_j)},
                              {"energy_j", or_null(one.joules)},
                              {"energy_half_width_j", or_null(one.half_width_j)},
                              {"stored_verdict", one.stored_verdict},
                              {"verdict", one.verdict}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dvfs_plan
