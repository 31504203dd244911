// synthetic_night FILE [--core N] [--memory M] [--repeat R] [--seconds S] [--hertz H] [--channels C]
// [--hostile] [--rows]
//
// A result file as a night on a board with N core and M memory clocks leaves it, through the store itself:
// made-up arithmetic (power as f V^2, time as cycles and bytes), noise, drift, failures, throttling. For
// tests of the page and for the benchmark of the file; no measurement of anything. --rows also keeps each
// reading as a plain row, to compare.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "experiments/plan/diagnostics.hpp"
#include "experiments/plan/plan.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"
#include "tests/support/parse.hpp"

namespace dvfs_plan {
namespace {

struct NightOptions {
  std::string file;
  int core = 20, memory = 11, repeat = 3, channels = 6;
  double seconds = 10, hertz = 10;
  bool hostile = false, rows = false, one_axis = false;
};

const std::string hostile_text =
    "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked=2\">'\"&amp; \x1b[31m \xe2\x80\xae"
    "gnp.exe";

std::vector<AxisValue> clocks(int count, double lowest_mhz, double step_mhz) {
  std::vector<AxisValue> values;
  for (int i = 0; i < count; ++i) {
    const double mhz = lowest_mhz + step_mhz * i;
    values.push_back({fmt::format("{:g} MHz", mhz), mhz * 1e6});
  }
  return values;
}

Plan night_plan(const NightOptions& o) {
  Diagnostics diagnostics("night.yaml");
  const std::string axes = o.one_axis ? "{gpu.core: all}" : "{gpu.core: all, gpu.memory: all}";
  const std::string text = fmt::format(
      "name: synthetic-night\ndescription: Made up by tests/support/synthetic_night.cpp; no measurement.\n"
      "workloads: [{{name: w, command: [/bin/true], metrics: [lines]}}]\naxes: {}\nrepeat: {}\nseed: 7\n"
      "conditions: {{idle: none, warm up: 0}}\nobjective: {{minimise: energy, subject to: {{accuracy: \">= "
      "0.7\", slowdown: 60 %}}}}\n",
      axes, o.repeat);
  auto experiment = parse_experiment(text, "night.yaml", diagnostics);
  if (!experiment) throw std::runtime_error(diagnostics.text());
  ResolveWorld world;
  world.path = "/bin";
  world.offers.offers["gpu.core"] = {
      Dimension::frequency, clocks(o.core, 600, 1380.0 / std::max(1, o.core - 1)), {}};
  if (!o.one_axis)
    world.offers.offers["gpu.memory"] = {
        Dimension::frequency, clocks(o.memory, 800, 1820.0 / std::max(1, o.memory - 1)), {}};
  auto plan = resolve_plan(*experiment, world, diagnostics);
  if (!plan) throw std::runtime_error(diagnostics.text());
  if (o.hostile) {
    const std::string name = "w" + hostile_text;
    for (auto& workload : plan->workloads) workload.spec.name = name;
    for (auto& point : plan->points) {
      point.scenario = name;
      point.key = name + point.key.substr(1);
    }
    plan->experiment.name = "night " + hostile_text;
    plan->experiment.description = hostile_text;
    plan->experiment.file = "/tmp/" + hostile_text + ".yaml";
    plan->experiment.text += "# " + hostile_text + "\n";
  }
  return std::move(*plan);
}

Channel channel(const char* name, const char* unit, ChannelKind kind, const char* domain) {
  Channel one;
  one.name = name;
  one.probe = "nvidia";
  one.unit = unit;
  one.kind = kind;
  one.domain = domain;
  one.source = "made up";
  return one;
}

const std::vector<Channel> all_channels{
    channel("nvidia:gpu-0/energy", "J", ChannelKind::counter, "gpu-0"),
    channel("nvidia:gpu-0/power", "W", ChannelKind::gauge, "gpu-0"),
    channel("nvidia:gpu-0/core_clock", "Hz", ChannelKind::gauge, "gpu-0"),
    channel("nvidia:gpu-0/memory_clock", "Hz", ChannelKind::gauge, "gpu-0"),
    channel("nvidia:gpu-0/temperature", "C", ChannelKind::gauge, "gpu-0"),
    channel("nvidia:gpu-0/power_cap_time", "s", ChannelKind::counter, "gpu-0"),
    channel("rapl:package-0", "J", ChannelKind::counter, "package-0"),
    channel("nvidia:gpu-0/utilization", "%", ChannelKind::gauge, "gpu-0")};

class Night {
 public:
  Night(const NightOptions& o, const Plan& plan) : o_(o), plan_(plan) {}

  TrialRecord trial(const PlannedTrial& planned, int number) {
    TrialRecord t;
    static_cast<PlannedTrial&>(t) = planned;
    t.position = number;
    const auto& values = plan_.points[static_cast<std::size_t>(planned.point)].values;
    const double core = *values.front()->number / 1e9,
                 memory = o_.one_axis ? 2.62 : *values.back()->number / 1e9;
    const double drift = 1 + 0.004 * std::sin(number / 150.0);
    const double cycles = 0.62 * 1.98 / core, bytes = 0.38 * 2.62 / memory;
    const double time = o_.seconds * (cycles + bytes) * (1 + 0.003 * normal_(random_)) * drift;
    const double volt = 0.7 + 0.35 * std::max(0.0, core - 1.1);
    const double power = (90 + 210 * core * volt * volt + 38 * memory) * (1 + 0.006 * normal_(random_));
    const bool throttled = core > 1.9 && number % 7 == 0;
    const bool failed = number % 97 == 13, cut = number % 131 == 50;
    const Nanoseconds start = clock_ + 1'000'000'000;
    const Nanoseconds end = start + static_cast<Nanoseconds>(time * 1e9);
    clock_ = end + 2'000'000'000;
    t.started_at = fmt::format("2026-11-{:02}T{:02}:{:02}:{:02}Z", 1 + clock_ / 86'400'000'000'000 % 28,
                               clock_ / 3'600'000'000'000 % 24, clock_ / 60'000'000'000 % 60,
                               clock_ / 1'000'000'000 % 60);
    t.slot_s = time + 3;
    t.child.end = ChildResult::End::exited;
    t.child.exit_code = failed ? 1 : 0;
    t.child.started = start;
    t.child.ended = end;
    t.child.output.tail = "accuracy 0.71\n";
    if (failed)
      t.child.errors.tail = "Traceback: " + (o_.hostile ? hostile_text : std::string("out of memory")) + "\n";
    t.runs = {{start, end}};
    t.verdict = failed      ? Verdict::exited
                : throttled ? Verdict::throttled
                : cut       ? Verdict::foreign_load
                            : Verdict::ok;
    t.verdict_text = failed      ? "exit code 1"
                     : throttled ? "slowed by heat for 12 % of the region"
                     : cut       ? "other processes took 40 % of a CPU"
                                 : "";
    t.regions = {{"", 1, start, end, true, power * time}};
    t.region_s = time;
    t.energy_j = power * time;
    t.energy_half_width_j = 0.002 * power * time;
    t.fresh_readings = static_cast<int>(time * 10);
    t.objective = power * time;
    t.metrics = {{"accuracy", 0.71 + 0.001 * normal_(random_), ""}};
    for (std::size_t a = 0; a < values.size(); ++a) {
      SettingRecord s;
      s.axis = static_cast<int>(a);
      s.target = "gpu-0";
      s.requested = values[a]->text;
      s.applied = values[a]->text;
      s.delivered = *values[a]->number - (a == 0 && throttled ? 9e7 : 0);
      s.delivered_low = *s.delivered - 15e6;
      s.delivered_high = *s.delivered;
      s.delivered_readings = 30;
      s.as_requested = !throttled;
      t.settings.push_back(s);
    }
    t.conditions.temperature_c = 38 + 12 * (1 - std::exp(-number / 60.0)) + 0.4 * normal_(random_);
    t.conditions.foreign_cpu_s = 0.01;
    readings(t, start, end, power, core, memory, throttled);
    for (int c = 0; c < o_.channels; ++c) {
      if (!measures_energy(all_channels[static_cast<std::size_t>(c)])) continue;
      ChannelEnergy e;
      e.channel = static_cast<std::uint32_t>(c);
      e.joules = power * time;
      e.half_width_j = 0.002 * power * time;
      e.readings = e.fresh = t.fresh_readings;
      t.energies.push_back(e);
    }
    return t;
  }

 private:
  // Read every 1/hertz with some tens of microseconds of jitter; what the counters hold goes on from trial to
  // trial.
  void readings(TrialRecord& t, Nanoseconds start, Nanoseconds end, double power, double core, double memory,
                bool throttled) {
    const auto period = static_cast<Nanoseconds>(1e9 / o_.hertz);
    const auto jitter = [&] { return static_cast<Nanoseconds>(std::abs(normal_(random_)) * 15000); };
    double watts = power;
    for (Nanoseconds at = start - period; at <= end + period; at += period) {
      const Nanoseconds time = at + jitter();
      const bool inside = at >= start && at <= end;
      // The value renews itself every 100 ms, whoever looks meanwhile.
      if (at / 100'000'000 != renewed_) {
        renewed_ = at / 100'000'000;
        watts = (inside ? power : 95) * (1 + 0.01 * normal_(random_)) + (random_() % 400 == 0 ? 120 : 0);
        energy_ += watts * 0.1;
        temperature_ += 0.02 * ((inside ? 40 + power / 20 : 38) - temperature_);
        if (throttled && inside) capped_ += random_() % 8 == 0 ? 0.1 : 0;
      }
      const double all[] = {
          std::floor(energy_ * 1000) / 1000,
          std::floor(watts * 1000) / 1000,
          inside ? std::round(core * 1000 - (throttled ? 90 : 0)) * 1e6 : 345e6,
          std::round(memory * 1000) * 1e6,
          std::round(temperature_),
          std::floor(capped_ * 1e6) / 1e6,
          std::floor((package_ += 65.0 / o_.hertz * (1 + 0.05 * normal_(random_))) * 4294967296.0) /
              4294967296.0,
          inside ? 98.0 : 0.0};
      for (int c = 0; c < o_.channels; ++c)
        t.readings.push_back(
            {static_cast<std::uint32_t>(c), c == 6 ? time + 300000 : time, all[c], ReadingStatus::ok});
    }
  }

  const NightOptions& o_;
  const Plan& plan_;
  std::mt19937_64 random_{7};
  std::normal_distribution<double> normal_;
  Nanoseconds clock_ = 3'600'000'000'000;
  Nanoseconds renewed_ = 0;
  double energy_ = 1000, temperature_ = 40, capped_ = 0, package_ = 500;
};

void write(const NightOptions& o) {
  for (const char* suffix : {"", "-wal", "-shm", ".new"}) std::filesystem::remove(o.file + suffix);
  const Plan plan = night_plan(o);
  const std::vector<Channel> channels(all_channels.begin(), all_channels.begin() + o.channels);
  Store store = Store::create(
      o.file, plan, channels,
      {"gpu-0", "0.1.0", "2026-11-01T20:00:00Z", {{"cpu model", "made up"}, {"host", "nowhere"}}, {}}, {});
  if (o.rows)
    store.database().execute(
        "CREATE TABLE plain (trial_id INTEGER, channel_id INTEGER, time_ns INTEGER, value REAL, PRIMARY KEY "
        "(trial_id, channel_id, time_ns)) WITHOUT ROWID");
  store.begin_session(1, "boot", "0.1.0", "2026-11-01T20:00:00Z");
  Night night(o, plan);
  std::int64_t readings = 0;
  double packed_s = 0, rows_s = 0;
  int number = 0;
  for (const PlannedTrial& planned : plan.trials) {
    const TrialRecord trial = night.trial(planned, ++number);
    readings += static_cast<std::int64_t>(trial.readings.size());
    const auto began = std::chrono::steady_clock::now();
    store.write_trial(trial);
    const auto packed = std::chrono::steady_clock::now();
    packed_s += std::chrono::duration<double>(packed - began).count();
    if (!o.rows) continue;
    Transaction transaction(store.database());
    Statement row = store.database().prepare("INSERT INTO plain VALUES (?,?,?,?)");
    for (const Reading& r : trial.readings)
      row.bind(number)
          .bind(static_cast<std::int64_t>(r.channel) + 1)
          .bind(static_cast<std::int64_t>(r.time))
          .bind(r.value)
          .run();
    transaction.commit();
    rows_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - packed).count();
  }
  store.end_session("done", "2026-11-02T06:00:00Z", conclusions_of(summary_of(store)));
  fmt::print("{{\"trials\": {}, \"readings\": {}, \"write_s\": {:.3f}, \"rows_write_s\": {:.3f}}}\n", number,
             readings, packed_s, rows_s);
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  dvfs_plan::NightOptions o;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::atof(argv[++i]) : 0; };
    if (word == "--core")
      o.core = static_cast<int>(number());
    else if (word == "--memory")
      o.memory = static_cast<int>(number());
    else if (word == "--repeat")
      o.repeat = static_cast<int>(number());
    else if (word == "--channels")
      o.channels = static_cast<int>(number());
    else if (word == "--seconds")
      o.seconds = number();
    else if (word == "--hertz")
      o.hertz = number();
    else if (word == "--hostile")
      o.hostile = true;
    else if (word == "--rows")
      o.rows = true;
    else if (word == "--one-axis")
      o.one_axis = true;
    else
      o.file = word;
  }
  try {
    dvfs_plan::write(o);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
