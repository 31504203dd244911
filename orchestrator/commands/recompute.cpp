#include "orchestrator/commands/recompute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "results/energy/energy_source.hpp"
#include "results/store/read_record.hpp"
#include "results/trial/judge_parts.hpp"

namespace dvfs_plan {
namespace {

struct Session {
  std::map<std::uint32_t, SensorModel> models;
  std::vector<std::uint32_t> unusable;
};

// By session, what its audit found.
std::map<std::int64_t, Session> sessions_of(Store& store) {
  std::map<std::int64_t, Session> sessions;
  Statement s = store.database().prepare(
      "SELECT session_id, channel_id, update_s, rise_s, at_least, window_s, latency_s, resolution FROM "
      "sensor_audit ORDER BY session_id, channel_id");
  while (s.step()) {
    Session& session = sessions[s.integer(0)];
    const auto channel = static_cast<std::uint32_t>(s.integer(1) - 1);
    SensorModel& model = session.models[channel];
    if (const auto update = s.maybe_real(2)) model.update = Seconds{*update};
    if (const auto rise = s.maybe_real(3)) model.rise = Seconds{*rise};
    model.at_least = s.integer(4) != 0;
    if (const auto window = s.maybe_real(5)) model.window = Seconds{*window};
    if (const auto latency = s.maybe_real(6)) model.latency = Seconds{*latency};
    model.resolution = s.maybe_real(7);
  }
  for (auto& [id, channels] : store.unusable_channels()) sessions[id].unusable = std::move(channels);
  return sessions;
}

bool is_one_of(std::string_view verdict, std::initializer_list<Verdict> verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [&](Verdict one) { return verdict == to_string(one); });
}

// How the trial stands when its readings are judged anew. The first cause stays: what is judged before the
// readings is, as recorded; what is judged after them counts where these find nothing.
std::string verdict_of(const StoredTrial& stored, const TrialRecord& now) {
  if (is_one_of(
          stored.verdict,
          {Verdict::not_launched, Verdict::exited, Verdict::signalled, Verdict::timed_out, Verdict::stopped,
           Verdict::knob_refused, Verdict::changed_meanwhile, Verdict::no_region, Verdict::marks_unpaired,
           Verdict::marks_lost, Verdict::service_not_ready, Verdict::service_died, Verdict::instance_failed}))
    return stored.verdict;
  if (now.verdict != Verdict::ok) return std::string(to_string(now.verdict));
  const auto& events = stored.record.events;
  const bool capped = std::any_of(events.begin(), events.end(), [](const EventRecord& event) {
    return event.kind == "capped_by_firmware";
  });
  const bool of_something_else =
      is_one_of(stored.verdict, {Verdict::foreign_load, Verdict::no_metric, Verdict::censored}) ||
      (capped && is_one_of(stored.verdict, {Verdict::throttled}));
  return of_something_else ? stored.verdict : std::string(to_string(Verdict::ok));
}

// The trial as it was before it was judged.
TrialRecord unjudged(const TrialRecord& stored) {
  TrialRecord trial;
  trial.key = stored.key;
  trial.role = stored.role;
  trial.region = stored.region;
  trial.region_s = stored.region_s;
  trial.child = stored.child;
  trial.instances = stored.instances;
  trial.regions = stored.regions;
  for (RegionRecord& region : trial.regions) region.joules.reset();
  for (const SettingRecord& one : stored.settings) {
    SettingRecord setting;
    setting.axis = one.axis;
    setting.target = one.target;
    setting.requested = one.requested;
    setting.applied = one.applied;
    setting.clock = one.clock;
    trial.settings.push_back(setting);
  }
  trial.power_limits_w = stored.power_limits_w;
  trial.readings = stored.readings;
  trial.conditions.throttle_events = stored.conditions.throttle_events;
  return trial;
}

std::string amount(const std::optional<double>& value, const char* unit) {
  return value ? fmt::format("{:.6g} {}", *value, unit) : "not known";
}

std::string as_requested_text(const std::optional<bool>& as_requested) {
  return !as_requested ? "not judged" : *as_requested ? "as requested" : "not as requested";
}

std::vector<std::string> differences_between(const TrialRecord& stored, const TrialRecord& now,
                                             bool limits_judged) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < now.settings.size(); ++i) {
    const SettingRecord &was = stored.settings[i], &is = now.settings[i];
    if (!is.clock) continue;
    if (was.delivered == is.delivered && was.delivered_low == is.delivered_low &&
        was.delivered_high == is.delivered_high && was.delivered_readings == is.delivered_readings &&
        was.as_requested == is.as_requested)
      continue;
    texts.push_back(fmt::format("{} requested on {}: {} delivered ({}) stored, {} ({}) now",
                                printable(is.requested), printable(is.target), amount(was.delivered, "Hz"),
                                as_requested_text(was.as_requested), amount(is.delivered, "Hz"),
                                as_requested_text(is.as_requested)));
  }
  const auto share = [&](const char* what, const std::optional<double>& was,
                         const std::optional<double>& is) {
    if (limits_judged && was != is)
      texts.push_back(fmt::format("share {}: {} stored, {} now", what,
                                  was ? fmt::format("{:.6g}", *was) : "not known",
                                  is ? fmt::format("{:.6g}", *is) : "not known"));
  };
  share("of the region at a power limit", stored.conditions.power_cap_share, now.conditions.power_cap_share);
  share("of the region slowed by heat", stored.conditions.thermal_share, now.conditions.thermal_share);
  for (std::size_t i = 0; i < now.regions.size(); ++i) {
    if (stored.regions[i].joules != now.regions[i].joules)
      texts.push_back(fmt::format("region {} ('{}'): {} stored, {} now", i + 1,
                                  printable(now.regions[i].name), amount(stored.regions[i].joules, "J"),
                                  amount(now.regions[i].joules, "J")));
  }
  return texts;
}

}  // namespace

Recomputed recompute(Store& store) {
  Recomputed recomputed;
  const auto channels = store.channels();
  const auto sessions = sessions_of(store);
  const std::string source = store.energy_source();
  const std::vector<std::uint32_t> at_first = store.energy_channels();
  JudgeInput input;
  input.channels = channels;
  const ExperimentRow experiment = store.experiment();
  for_each_stored_trial(store, [&](const StoredTrial& stored) {
    if (stored.record.readings.empty()) {
      recomputed.without_readings.push_back(stored.record.key);
      return;
    }
    const auto session = sessions.find(stored.session);
    const Session found = session == sessions.end() ? Session{} : session->second;
    input.models = found.models;
    input.energy_needed = experiment.objective_for(stored.workload).minimise != Objective::time;
    // A later session goes on with the sensors of the first where they work.
    const bool as_at_first = std::none_of(at_first.begin(), at_first.end(), [&](std::uint32_t channel) {
      return std::find(found.unusable.begin(), found.unusable.end(), channel) != found.unusable.end();
    });
    input.energy_channels =
        as_at_first && !at_first.empty() ? at_first : channels_of_source(source, channels, found.unusable);
    TrialRecord trial = unjudged(stored.record);
    Regions regions;
    regions.name = trial.region;
    regions.all = trial.regions;
    judge_readings(trial, input, regions);
    const bool clock_of_old =
        std::any_of(trial.settings.begin(), trial.settings.end(), [&](const auto& setting) {
          return !setting.clock &&
                 stored.record.settings[static_cast<std::size_t>(&setting - trial.settings.data())]
                     .as_requested;
        });
    recomputed.clocks_not_judged += clock_of_old ? 1 : 0;
    RecomputedTrial one{trial.key,
                        stored.record.energy_j,
                        stored.record.energy_half_width_j,
                        trial.energy_j,
                        trial.energy_half_width_j,
                        stored.verdict,
                        verdict_of(stored, trial),
                        trial.verdict_text,
                        differences_between(stored.record, trial, !is_idle(trial.role))};
    // Its clock was judged then, and cannot be now.
    if (clock_of_old && trial.verdict == Verdict::ok &&
        is_one_of(stored.verdict, {Verdict::not_delivered, Verdict::throttled, Verdict::not_in_force}))
      one.verdict = stored.verdict;
    recomputed.trials.push_back(one);
    if (is_idle(trial.role)) ++recomputed.idle_windows;
    input.earlier.add(trial.readings);
  });
  return recomputed;
}

std::string recomputed_text(const Recomputed& recomputed) {
  const auto energy = [](const std::optional<double>& joules, const std::optional<double>& half) {
    if (!joules) return std::string("not known");
    if (!half) return fmt::format("{:.6g} J (± not known)", *joules);
    return fmt::format("{:.6g} J ±{:.2g} %", *joules, 100 * *half / std::max(1e-12, std::abs(*joules)));
  };
  std::string text;
  std::size_t same = 0;
  double most = 0;
  for (const RecomputedTrial& one : recomputed.trials) {
    if (one.same()) {
      ++same;
      continue;
    }
    text += fmt::format("{}: {} stored, {} now", printable(one.key),
                        energy(one.stored_j, one.stored_half_width_j), energy(one.joules, one.half_width_j));
    if (one.stored_j && one.joules && *one.stored_j > 0) {
      const double change = *one.joules / *one.stored_j - 1;
      most = std::max(most, std::abs(change));
      text += fmt::format(" ({:+.2f} %)", 100 * change);
    }
    if (one.verdict != one.stored_verdict)
      text += fmt::format("; {} stored, {} now{}", one.stored_verdict, one.verdict,
                          one.verdict_text.empty() ? "" : " (" + printable(one.verdict_text) + ")");
    for (const std::string& difference : one.differences) text += "; " + difference;
    text += "\n";
  }
  text += fmt::format(
      "{} of {} {} have the same energies, half-widths, delivered clocks, limits and verdict, bit for bit",
      same, recomputed.trials.size(), recomputed.idle_windows > 0 ? "trials and idle windows" : "trials");
  if (same < recomputed.trials.size())
    text += fmt::format("; the most that an energy changed by is {:.2f} %", 100 * most);
  text += ".\n";
  if (!recomputed.without_readings.empty())
    text += fmt::format("{} have no readings that can be read: {}\n", recomputed.without_readings.size(),
                        printable(join(recomputed.without_readings, ", ")));
  if (recomputed.clocks_not_judged > 0)
    text += fmt::format(
        "{} trials requested a clock, and the file is of a version that did not keep what it was "
        "judged by: whether it was delivered stands as it was.\n",
        recomputed.clocks_not_judged);
  return text;
}

std::string json_recomputed(const Recomputed& recomputed) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json{{"trials", Json::array()},
            {"without_readings", recomputed.without_readings},
            {"clocks_not_judged", recomputed.clocks_not_judged}};
  for (const RecomputedTrial& one : recomputed.trials)
    json["trials"].push_back({{"key", one.key},
                              {"same", one.same()},
                              {"stored_j", or_null(one.stored_j)},
                              {"stored_half_width_j", or_null(one.stored_half_width_j)},
                              {"energy_j", or_null(one.joules)},
                              {"energy_half_width_j", or_null(one.half_width_j)},
                              {"stored_verdict", one.stored_verdict},
                              {"verdict", one.verdict},
                              {"differences", one.differences}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dvfs_plan
