// One finished trial into the file, whole or not at all.
#include "base/text.hpp"
#include "results/store/store.hpp"
#include "results/store/trial_columns.hpp"
#include "results/store/trial_statements.hpp"

namespace dvfs_plan {
namespace {

template <class T>
std::optional<std::string> or_null(const T& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::string outcome_word(const InstanceRecord& one) {
  switch (one.end) {
    case ChildResult::End::exited:
      return one.exit_code == 0 ? "completed" : "exited";
    case ChildResult::End::timed_out:
      return "timed_out";
    case ChildResult::End::ended_with_others:
      return "ended_with_others";
    default:
      return "signalled";
  }
}

std::string insert_of_trial() {
  std::string names = "key, point_id, session_id", places = "?,?,?";
  for (const TrialColumn& column : trial_columns()) {
    names += std::string(", ") + column.name;
    places += ",?";
  }
  return "INSERT INTO trial (" + names + ") VALUES (" + places + ")";
}

}  // namespace

Store::TrialStatements::TrialStatements(Database& db)
    : seals(db),
      trial(db.prepare(insert_of_trial())),
      setting(
          db.prepare("INSERT INTO trial_setting (trial_id, axis_id, target, requested, applied, delivered, "
                     "delivered_low, delivered_high, delivered_readings, as_requested, clock_tolerance_hz, "
                     "clock_or_higher, clock_quantity, clock_only_proof, busiest_share, kernel_counted_s, "
                     "kernel_elsewhere_s) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")),
      power_limit(db.prepare("INSERT INTO trial_power_limit (trial_id, domain, watts) VALUES (?,?,?)")),
      times(db.prepare(
          "INSERT INTO reading_times (trial_id, readings, first_ns, period_ns, packed) VALUES (?,?,?,?,?)")),
      values(
          db.prepare("INSERT INTO reading_values (trial_id, channel_id, times_id, factor, divisor, packed, "
                     "absences) VALUES (?,?,?,?,?,?,?)")),
      energy(db.prepare(
          "INSERT INTO channel_energy (trial_id, channel_id, method, joules, half_width_j, as_read_j, "
          "readings, fresh_readings, fault, systematic_j) VALUES (?,?,?,?,?,?,?,?,?,?)")),
      metric(db.prepare(
          "INSERT INTO metric (trial_id, ordinal, name, value, unit, run, time_ns, counted_s, energy_j, "
          "energy_half_width_j, count_of) VALUES (?,?,?,?,?,?,?,?,?,?,?)")),
      instance(db.prepare(
          "INSERT INTO trial_instance (trial_id, run, instance, workload, name, outcome, exit_code, signal, "
          "started_ns, ended_ns, region_s, units, user_s, system_s, output_tail, error_tail) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")),
      region(db.prepare("INSERT INTO region (trial_id, ordinal, name, run, started_ns, ended_ns, counted, "
                        "energy_j, process, energy_half_width_j) "
                        "VALUES (?,?,?,?,?,?,?,?,?,?)")),
      event(db.prepare("INSERT INTO event (session_id, trial_id, kind, message) VALUES (?,?,?,?)")),
      next(db.prepare("UPDATE session SET current_trial = ?, trials_left = ? WHERE id = ?")) {}

void Store::prepare_statements() {
  statements_ = std::make_shared<TrialStatements>(database_);
}

void Store::write_trial(const TrialRecord& trial) {
  TrialStatements& s = *statements_;
  Transaction transaction(database_);
  s.trial.bind(trial.key).bind(point_id(trial.point)).bind(session_);
  for (const TrialColumn& column : trial_columns()) column.bind(s.trial, trial);
  s.trial.run();
  const std::int64_t id = database_.last_row();
  for (const SettingRecord& setting : trial.settings) {
    s.setting.bind(id)
        .bind(setting.axis + 1)
        .bind(setting.target)
        .bind(setting.requested)
        .bind(setting.applied)
        .bind(setting.delivered)
        .bind(setting.delivered_low)
        .bind(setting.delivered_high)
        .bind(setting.delivered_readings)
        .bind(setting.as_requested ? std::optional(*setting.as_requested ? 1 : 0) : std::nullopt);
    const ClockRule rule = setting.clock.value_or(ClockRule{});
    const auto of_clock = [&](auto value) { return setting.clock ? std::optional(value) : std::nullopt; };
    s.setting.bind(of_clock(rule.tolerance))
        .bind(of_clock(rule.or_higher ? 1 : 0))
        .bind(or_null(rule.quantity))
        .bind(of_clock(rule.only_proof ? 1 : 0))
        .bind(rule.busiest)
        .bind(rule.counted_s)
        .bind(rule.elsewhere_s)
        .run();
  }
  for (const auto& [domain, watts] : trial.power_limits_w)
    s.power_limit.bind(id).bind(domain).bind(watts).run();
  write_readings(id, trial.readings);
  for (const ChannelEnergy& energy : trial.energies) {
    const bool counter = channel_kinds_.at(energy.channel) == ChannelKind::counter;
    s.energy.bind(id)
        .bind(channel_ids_.at(energy.channel))
        .bind(counter ? "counter" : "integral")
        .bind(energy.joules)
        .bind(energy.half_width_j)
        .bind(energy.as_read_j)
        .bind(energy.readings)
        .bind(energy.fresh)
        .bind(energy.fault == EnergyFault::none ? std::nullopt
                                                : std::optional(std::string(to_string(energy.fault))))
        .bind(energy.systematic_j)
        .run();
  }
  for (std::size_t i = 0; i < trial.metrics.size(); ++i) {
    const MetricRecord& metric = trial.metrics[i];
    s.metric.bind(id)
        .bind(static_cast<int>(i) + 1)
        .bind(metric.name)
        .bind(metric.value)
        .bind(metric.unit)
        .bind(metric.run)
        .bind(metric.time ? std::optional(static_cast<std::int64_t>(*metric.time)) : std::nullopt)
        .bind(metric.counted_s)
        .bind(metric.joules)
        .bind(metric.half_width_j)
        .bind(metric.count_of)
        .run();
  }
  for (const InstanceRecord& one : trial.instances) {
    s.instance.bind(id)
        .bind(one.run)
        .bind(one.instance)
        .bind(one.workload)
        .bind(one.name)
        .bind(outcome_word(one));
    const bool exited = one.end == ChildResult::End::exited;
    s.instance.bind(exited ? std::optional(one.exit_code) : std::nullopt)
        .bind(one.signal != 0 ? std::optional(signal_name(one.signal)) : std::nullopt)
        .bind(static_cast<std::int64_t>(one.started))
        .bind(static_cast<std::int64_t>(one.ended))
        .bind(one.region_s)
        .bind(one.units)
        .bind(one.user_time.value())
        .bind(one.system_time.value())
        .bind_blob(valid_utf8(one.output_tail))
        .bind_blob(valid_utf8(one.error_tail))
        .run();
  }
  for (std::size_t i = 0; i < trial.regions.size(); ++i) {
    const RegionRecord& region = trial.regions[i];
    s.region.bind(id)
        .bind(static_cast<int>(i) + 1)
        .bind(region.name)
        .bind(region.run)
        .bind(static_cast<std::int64_t>(region.started))
        .bind(static_cast<std::int64_t>(region.ended))
        .bind(region.counted ? 1 : 0)
        .bind(region.joules)
        .bind(or_null(region.process))
        .bind(region.half_width_j)
        .run();
  }
  for (const EventRecord& event : trial.events)
    s.event.bind(session_).bind(id).bind(event.kind).bind(event.message).run();
  s.seals.seal(id);
  transaction.commit();
  into_copy([&](Store& copy) { copy.write_trial(trial); });
  remember_file();
}

void Store::note_current(const std::string& key, int left) {
  // Nice to know for `status`, and no loss with the power: not worth a flush of the disk.
  database_.execute("PRAGMA synchronous = NORMAL");
  try {
    statements_->next.bind(key.empty() ? std::nullopt : std::optional(key)).bind(left).bind(session_).run();
  } catch (const StoreBusy&) {
  } catch (const StoreDamaged&) {
    // The next trial's write finds out what happened.
  }
  database_.execute("PRAGMA synchronous = FULL");
}

void Store::write_event(const EventRecord& event) {
  statements_->event.bind(session_).bind_null().bind(event.kind).bind(event.message).run();
  into_copy([&](Store& copy) { copy.write_event(event); });
}

void Store::give_up(const std::vector<std::string>& keys, const std::string& why) {
  Transaction transaction(database_);
  LaterSeal later(database_);
  Statement mark = database_.prepare("UPDATE trial SET given_up = 1 WHERE key = ?");
  for (const std::string& key : keys) mark.bind(key).run();
  later.seal();
  statements_->event.bind(session_).bind_null().bind("gave_up").bind(why).run();
  transaction.commit();
  into_copy([&](Store& copy) { copy.give_up(keys, why); });
  remember_file();
}

void Store::forget_fact(const std::string& name) {
  Transaction transaction(database_);
  database_.prepare("DELETE FROM machine_fact WHERE name = ?").bind(name).run();
  seal_plan(database_);
  transaction.commit();
  into_copy([&](Store& copy) { copy.forget_fact(name); });
}

void Store::take_back(const TrialRecord::TakenBack& trial) {
  Transaction transaction(database_);
  Statement found = database_.prepare("SELECT id FROM trial WHERE key = ? AND verdict = 'ok'");
  found.bind(trial.key);
  std::vector<std::int64_t> ids;
  while (found.step()) ids.push_back(found.integer(0));
  std::set<std::int64_t> damaged;  // what is not as written must not look whole
  try {
    damaged = damaged_trials(database_);
  } catch (const StoreBusy&) {
    throw;
  } catch (const Error&) {
    damaged.insert(ids.begin(), ids.end());  // who reads it is told
  }
  TrialSeals seals(database_);
  for (const std::int64_t id : ids) {
    if (damaged.contains(id)) continue;
    database_.prepare("UPDATE trial SET verdict = ?, verdict_text = ? WHERE id = ?")
        .bind(std::string(to_string(trial.verdict)))
        .bind(trial.text)
        .bind(id)
        .run();
    seals.seal_again(id);
  }
  transaction.commit();
  into_copy([&](Store& copy) { copy.take_back(trial); });
  remember_file();
}

void Store::write_audit(const SensorAudit& audit, const std::vector<double>& periods) {
  Transaction transaction(database_);
  Statement one = database_.prepare(
      "INSERT INTO sensor_audit (session_id, channel_id, state, readings, update_s, at_least, fresh_per_s, "
      "resolution, rise_s, period_s, energy_j, half_width_j, window_s, latency_s) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  const auto value_of = [](const std::optional<Seconds>& s) {
    return s ? std::optional(s->value()) : std::nullopt;
  };
  for (const ChannelAudit& channel : audit.channels) {
    one.bind(session_)
        .bind(channel_ids_.at(channel.channel))
        .bind(to_string(channel.state))
        .bind(channel.readings)
        .bind(value_of(channel.update))
        .bind(channel.at_least ? 1 : 0)
        .bind(channel.fresh_per_second)
        .bind(channel.resolution)
        .bind(value_of(channel.rise))
        .bind(periods.at(channel.channel))
        .bind(channel.joules)
        .bind(channel.half_width_j)
        .bind(value_of(channel.window))
        .bind(value_of(channel.latency))
        .run();
  }
  Statement pair = database_.prepare(
      "INSERT OR IGNORE INTO sensor_agreement (session_id, channel_id, other_id, is_part, energy_j, other_j) "
      "VALUES (?,?,?,?,?,?)");
  for (const Agreement& agreement : audit.agreements) {
    pair.bind(session_)
        .bind(channel_ids_.at(agreement.channel))
        .bind(channel_ids_.at(agreement.other))
        .bind(agreement.part_of_other ? 1 : 0)
        .bind(agreement.joules)
        .bind(agreement.other_joules)
        .run();
  }
  seal_look(database_, session_);
  transaction.commit();
}

}  // namespace dvfs_plan
