#include "results/store/read_record.hpp"

namespace dvfs_plan {
namespace {

std::vector<Reading> readings_of(Store& store, std::int64_t trial) {
  std::vector<Reading> readings;
  try {
    for (const ChannelTrace& one : store.traces(trial)) {
      for (std::size_t i = 0; i < one.trace.values.size(); ++i) {
        const bool known = one.trace.has_value(i);
        readings.push_back({one.channel, one.trace.times_ns[i],
                            known ? std::optional(one.trace.values[i]) : std::nullopt,
                            known ? ReadingStatus::ok : one.trace.absences[i]});
      }
    }
  } catch (const DamagedReadings&) {
    readings.clear();
  }
  return readings;
}

std::vector<RegionRecord> regions_of(Database& database, std::int64_t trial) {
  std::vector<RegionRecord> regions;
  Statement s = database.prepare(
      "SELECT name, run, started_ns, ended_ns, counted, energy_j, energy_half_width_j FROM region WHERE "
      "trial_id = ? ORDER BY "
      "ordinal");
  s.bind(trial);
  while (s.step()) {
    RegionRecord region;
    region.name = s.text(0);
    region.run = static_cast<int>(s.integer(1));
    region.started = s.integer(2);
    region.ended = s.integer(3);
    region.counted = s.integer(4) != 0;
    region.joules = s.maybe_real(5);
    region.half_width_j = s.maybe_real(6);
    regions.push_back(region);
  }
  return regions;
}

std::optional<bool> maybe_flag(Statement& s, int column) {
  const auto value = s.maybe_integer(column);
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::vector<SettingRecord> settings_of(Database& database, std::int64_t trial) {
  std::vector<SettingRecord> settings;
  Statement s = database.prepare(
      "SELECT s.axis_id, s.target, s.requested, s.applied, s.delivered, s.delivered_low, s.delivered_high, "
      "s.delivered_readings, s.as_requested, v.number, s.clock_tolerance_hz, s.clock_or_higher, "
      "s.clock_quantity, s.clock_only_proof, s.busiest_share, s.kernel_counted_s, s.kernel_elsewhere_s "
      "FROM trial_setting s JOIN trial t ON t.id = s.trial_id LEFT JOIN point_value v ON v.point_id = "
      "t.point_id AND v.axis_id = s.axis_id WHERE s.trial_id = ? ORDER BY s.axis_id, s.target");
  s.bind(trial);
  while (s.step()) {
    SettingRecord setting;
    setting.axis = static_cast<int>(s.integer(0)) - 1;
    setting.target = s.text(1);
    setting.requested = s.text(2);
    setting.applied = s.maybe_text(3);
    setting.delivered = s.maybe_real(4);
    setting.delivered_low = s.maybe_real(5);
    setting.delivered_high = s.maybe_real(6);
    setting.delivered_readings = static_cast<int>(s.integer(7));
    setting.as_requested = maybe_flag(s, 8);
    const auto requested = s.maybe_real(9), tolerance = s.maybe_real(10);
    if (requested && tolerance)
      setting.clock = ClockRule{*requested,         *tolerance,       s.integer(11) != 0, s.text(12),
                                s.integer(13) != 0, s.maybe_real(14), s.maybe_real(15),   s.maybe_real(16)};
    settings.push_back(setting);
  }
  return settings;
}

std::map<std::string, double> power_limits_of(Database& database, std::int64_t trial) {
  std::map<std::string, double> limits;
  Statement s = database.prepare("SELECT domain, watts FROM trial_power_limit WHERE trial_id = ?");
  s.bind(trial);
  while (s.step()) limits[s.text(0)] = s.real(1);
  return limits;
}

// As far as the energy of its time depends on them.
std::vector<InstanceRecord> instances_of(Database& database, std::int64_t trial) {
  std::vector<InstanceRecord> instances;
  Statement s = database.prepare(
      "SELECT run, instance, workload, name FROM trial_instance WHERE trial_id = ? ORDER BY run");
  s.bind(trial);
  while (s.step()) {
    InstanceRecord one;
    one.run = static_cast<int>(s.integer(0));
    one.instance = static_cast<int>(s.integer(1));
    one.workload = s.text(2);
    one.name = s.text(3);
    instances.push_back(std::move(one));
  }
  return instances;
}

std::vector<EventRecord> events_of(Database& database, std::int64_t trial) {
  std::vector<EventRecord> events;
  Statement s = database.prepare("SELECT kind, message FROM event WHERE trial_id = ? ORDER BY id");
  s.bind(trial);
  while (s.step()) events.push_back({s.text(0), s.text(1)});
  return events;
}

}  // namespace

void for_each_stored_trial(Store& store, const std::function<void(const StoredTrial&)>& use) {
  Database& database = store.database();
  Statement s = database.prepare(
      "SELECT id, session_id, key, role, region, region_s, started_ns, ended_ns, energy_j, "
      "energy_half_width_j, "
      "energy_systematic_j, fresh_readings, throttle_events, power_cap_share, thermal_share, verdict, "
      "verdict_text, (SELECT w.name FROM workload w JOIN point p ON p.workload_id = w.id WHERE p.id = "
      "trial.point_id) FROM trial "
      "WHERE started_ns IS NOT NULL ORDER BY id");
  while (s.step()) {
    const std::int64_t id = s.integer(0);
    StoredTrial stored;
    stored.session = s.integer(1);
    TrialRecord& trial = stored.record;
    trial.key = s.text(2);
    trial.role = parse_role(s.text(3));
    trial.region = s.text(4);
    trial.region_s = s.maybe_real(5);
    trial.child.end = ChildResult::End::exited;
    trial.child.started = s.integer(6);
    trial.child.ended = s.integer(7);
    trial.energy_j = s.maybe_real(8);
    trial.energy_half_width_j = s.maybe_real(9);
    trial.energy_systematic_j = s.maybe_real(10);
    trial.fresh_readings = static_cast<int>(s.integer(11));
    trial.conditions.throttle_events = s.maybe_real(12);
    trial.conditions.power_cap_share = s.maybe_real(13);
    trial.conditions.thermal_share = s.maybe_real(14);
    stored.verdict = s.text(15);
    trial.verdict_text = s.text(16);
    stored.workload = s.text(17);
    trial.instances = instances_of(database, id);
    trial.regions = regions_of(database, id);
    trial.settings = settings_of(database, id);
    trial.power_limits_w = power_limits_of(database, id);
    trial.events = events_of(database, id);
    trial.readings = readings_of(store, id);
    use(stored);
  }
}

}  // namespace dvfs_plan
