// dvfs_bench settings | trial N | sampler HZ SECONDS [slow] | tick HZ SECONDS | marks PROGRAM STEPS US: what the
// program itself costs. tests/bench/run prints it beside hyperfine, in one go on one machine: absolute times
// mean little on a shared one.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.hpp"
#include "orchestrator/run/local_executor.hpp"
#include "orchestrator/run/run_loop.hpp"
#include "probes/probe.hpp"
#include "probes/sysfs_probe.hpp"
#include "tests/support/parse.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Spawn to row committed, with nothing to set and nothing to sample.
int bench_trial(int count) {
  Interruption interruption;
  SystemClock clock;
  const Sysfs sysfs;
  Launcher launcher;
  Diagnostics diagnostics("bench.yaml");
  const auto experiment =
      parse_experiment(fmt::format("name: bench\nobjective: time\nconditions: {{warm up: 0, foreign load: "
                                   "off}}\nrepeat: {}\nworkloads: [{{name: w, command: [/bin/true]}}]\n",
                                   count),
                       "bench.yaml", diagnostics);
  const auto plan = resolve_plan(*experiment, {{}, "/bin"}, diagnostics);
  const std::string file = "dvfs-bench.sqlite";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
  Store store = Store::create(file, *plan, {}, {}, {});
  store.begin_session(1, "", "", "");
  Sampler sampler({}, clock);
  std::vector<KnobFinding> knobs;
  const auto strategy = make_strategy({*plan});
  launcher.group().use_control_group(fmt::format("dvfs-bench.{}", ::getpid()));
  // What a run without settings has: a lock, and no guardian.
  const TemporaryFolder state;
  GuardClient guard({.experiment = "bench.yaml", .state_folder = state / "state"});
  LocalMachine machine{.plan = *plan,
                       .interruption = interruption,
                       .clock = clock,
                       .sysfs = sysfs,
                       .knobs = knobs,
                       .guard = guard,
                       .sensors = {.sampler = sampler},
                       .programs = {launcher, "/bin", {{"w", {}}}, {{"w", std::nullopt}}}};
  LocalExecutor executor(machine);
  RunParts parts{*plan, *strategy, executor, store, interruption, clock};
  std::vector<double> whole, child;
  Nanoseconds began = 0;
  const RunEvents events{[&](const PlannedTrial&, int, int) { began = clock.now(); },
                         [&](const TrialRecord& trial) {
                           whole.push_back(seconds(clock.now() - began).value() * 1e3);
                           child.push_back(seconds(trial.child.ended - trial.child.started).value() * 1e3);
                         },
                         {},
                         {}};
  run_trials(parts, events);

  // What the commit alone costs: the same durable transaction around one small row.
  std::vector<double> commit;
  for (int i = 0; i < count; ++i) {
    const Nanoseconds before = clock.now();
    store.write_event({"bench", "one small row"});
    commit.push_back(seconds(clock.now() - before).value() * 1e3);
  }
  fmt::print("trial of /bin/true, spawn to row committed: mean {:.3f} ms, median {:.3f} ms (n = {})\n",
             mean(whole), median(whole), count);
  fmt::print("  of it the child, launch to reaped:         mean {:.3f} ms, median {:.3f} ms\n", mean(child),
             median(child));
  fmt::print("  one durable SQLite commit by itself:       mean {:.3f} ms, median {:.3f} ms\n", mean(commit),
             median(commit));
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix);
  return 0;
}

// Eight real attribute files, whatever this machine has of the likely ones.
// A BMC that takes its time: each answer 2 s.
class SlowProbe : public Probe {
 public:
  SlowProbe() {
    Channel channel;
    channel.name = "bmc:power";
    channel.probe = name_;
    channel.unit = "W";
    channels_.push_back(channel);
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{0.5}; }
  bool asks_device() const override { return true; }
  void read(std::span<Sample> samples) override {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    samples[0] = {231, ReadingStatus::ok};
  }

 private:
  std::string name_ = "bmc";
  std::vector<Channel> channels_;
};

int bench_sampler(double hertz, double duration, bool beside_a_slow_one = false) {
  const Sysfs sysfs;
  SystemClock clock;
  auto probe = std::make_unique<SysfsProbe>("bench", Seconds{1 / hertz}, SysfsProbe::Answer::from_memory);
  std::vector<std::string> candidates;
  for (const std::string& hwmon : sysfs.list("/sys/class/hwmon")) {
    for (const std::string& file : sysfs.list("/sys/class/hwmon/" + hwmon)) {
      if (file.ends_with("_input") || file.ends_with("_average"))
        candidates.push_back("/sys/class/hwmon/" + hwmon + "/" + file);
    }
  }
  for (const char* file : {"mtu", "tx_queue_len", "ifindex", "flags", "statistics/rx_bytes",
                           "statistics/tx_bytes", "statistics/rx_packets", "statistics/tx_packets"}) {
    candidates.push_back(std::string("/sys/class/net/lo/") + file);
  }
  int channels = 0;
  for (const std::string& path : candidates) {
    if (channels == 8 || !sysfs.text(path)) continue;
    Channel channel;
    channel.name = path;
    channel.unit = "W";
    probe->add(channel, sysfs, path, 1);
    ++channels;
  }
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::move(probe));
  if (beside_a_slow_one) probes.push_back(std::make_unique<SlowProbe>());
  Sampler sampler(std::move(probes), clock, true);
  const Nanoseconds before = clock.now();
  sampler.start();  // returns when each has been read once: a workload is started then
  const Nanoseconds started = clock.now();
  clock.sleep_until(started + nanoseconds(Seconds{duration}));
  const auto readings = sampler.stop();
  const double elapsed = seconds(clock.now() - before).value();
  const auto cost = sampler.cost();
  // Of the quick channels alone: by how much longer than a period two looks at the first of them lie apart.
  std::vector<double> late;
  std::optional<Nanoseconds> last;
  for (const Reading& reading : readings) {
    if (reading.channel != 0 || reading.time < started) continue;
    if (last) late.push_back(std::max(0.0, seconds(reading.time - *last).value() - 1 / hertz));
    last = reading.time;
  }
  std::sort(late.begin(), late.end());
  const auto at = [&](double share) {
    return 1e6 * late[static_cast<std::size_t>(share * static_cast<double>(late.size() - 1))];
  };
  fmt::print(
      "sampler, {} sysfs channels at {:.0f} Hz{}: {:.2f} % of a core, {:.0f} wake-ups/s, {} readings; late "
      "by "
      "{:.0f} us (median), {:.0f} us (99 %), {:.0f} us (longest)\n",
      channels, hertz, beside_a_slow_one ? " beside a BMC that takes 2 s an answer" : "",
      100 * cost.cpu_seconds / elapsed, static_cast<double>(cost.wake_ups) / elapsed, readings.size(),
      at(0.5), at(0.99), at(1));
  return 0;
}

// What waking up costs on this machine before anything is read: a thread that only sleeps to the next tick.
int bench_tick(double hertz, double duration) {
  SystemClock clock;
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  const Nanoseconds start = clock.now();
  const int ticks = static_cast<int>(hertz * duration);
  for (int i = 1; i <= ticks; ++i) clock.sleep_until(start + static_cast<Nanoseconds>(i * 1e9 / hertz));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  fmt::print("  an empty tick at {:.0f} Hz, nothing read:     {:.2f} % of a core\n", hertz,
             100 * used / duration);
  return 0;
}

// What marking a region costs the workload, read by the real reader.
int bench_marks(const std::string& program, const std::string& steps, const std::string& microseconds) {
  Launcher launcher;
  SystemClock clock;
  LaunchSpec spec;
  spec.executable = program;
  spec.argv = {program, steps, microseconds};
  spec.regions = true;
  auto launched = launcher.launch(spec, clock);
  if (!launched.child) throw Error(ExitCode::machine_refuses, launched.problem);
  const ChildResult result = launched.child->wait({}, nullptr, clock);
  fmt::print("a mark, {} steps of {} us: {}", steps, microseconds, result.output.tail);
  return result.exit_code;
}

// What reading settings back costs: the files of eight CPU policies (copies: opening and reading a regular
// file costs no less than an attribute's), this machine's own where it has cpufreq, and what NVML tells of
// each board. Nothing is set.
int bench_settings() {
  SystemClock clock;
  const auto time = [&](const std::string& what, const std::vector<SavedSetting>& settings,
                        const Sysfs& sysfs) {
    SettingsWatch watch(settings, sysfs, clock);
    std::vector<double> ends, looks;
    for (int i = 0; i < 200; ++i) {
      watch.begin();
      looks.push_back(watch.cost_of_a_look().value() * 1e3);
      const Nanoseconds before = clock.now();
      watch.end();
      ends.push_back(seconds(clock.now() - before).value() * 1e3);
    }
    std::sort(ends.begin(), ends.end());
    // How often the sampler looks follows from what a look costs (settings_watch.cpp).
    const double period = std::max(0.2, 2000 * median(looks) * 1e-3);
    fmt::print(
        "{}: {} settings; a look at a trial's end: median {:.3f} ms, 99 % {:.3f} ms; during a trial {:.3f} "
        "ms "
        "every {:.2g} s, {:.3f} % of one CPU\n",
        what, settings.size(), median(ends), ends[ends.size() * 99 / 100], median(looks), period,
        100 * median(looks) * 1e-3 / period);
  };
  const std::filesystem::path root = "dvfs-bench-machine";
  std::vector<SavedSetting> eight;
  for (int policy = 0; policy < 8; ++policy) {
    for (const char* file : {"scaling_governor", "scaling_max_freq", "scaling_min_freq",
                             "energy_performance_preference", "boost"}) {
      const std::string path = fmt::format("/sys/devices/system/cpu/cpufreq/policy{}/{}", policy, file);
      std::filesystem::create_directories((root / path.substr(1)).parent_path());
      std::ofstream(root / path.substr(1)) << "3000000\n";
      eight.push_back({"cpu.frequency", path, ""});
    }
  }
  time("8 CPU policies, files", eight, Sysfs(std::filesystem::absolute(root).string()));
  std::filesystem::remove_all(root);
  const Sysfs machine;
  std::vector<SavedSetting> own;
  for (const CpufreqPolicy& policy : cpufreq_access(machine)->policies()) {
    for (const char* file : {"scaling_governor", "scaling_max_freq", "scaling_min_freq"})
      own.push_back({"cpu.frequency", policy.path + "/" + file, ""});
  }
  if (own.empty())
    fmt::print("this machine has no cpufreq: its own attributes were not read\n");
  else
    time("this machine's policies", own, machine);
  const auto nvml = NvmlLibrary::open(machine);
  if (!nvml.library) {
    fmt::print("{}: no board was read\n", nvml.problem);
    return 0;
  }
  for (const NvmlLibrary::BoardInfo& board : nvml.library->boards()) {
    for (const char* name : {"power.limit", "clocks.applications"})
      time(board.name + " " + name, {{"gpu", "nvidia:" + board.uuid + "/" + name, ""}}, machine);
  }
  return 0;
}

// Applying a clock to `count` CPU policies (files), written by this process itself and by the guardian, in
// turn.
int bench_apply(int count) {
  TemporaryFolder root;
  const std::string folder = "/sys/devices/system/cpu/cpufreq/";
  for (int i = 0; i < count; ++i) {
    const std::string policy = fmt::format("{}policy{}/", folder, i);
    for (const auto& [file, text] :
         std::map<std::string, std::string>{{"affected_cpus", std::to_string(i)},
                                            {"scaling_driver", "acpi-cpufreq"},
                                            {"scaling_governor", "schedutil"},
                                            {"scaling_available_governors", "schedutil"},
                                            {"cpuinfo_min_freq", "1000000"},
                                            {"cpuinfo_max_freq", "3000000"},
                                            {"scaling_min_freq", "1000000"},
                                            {"scaling_max_freq", "3000000"},
                                            {"scaling_available_frequencies", "3000000 2000000 1000000"}})
      root.attribute(policy + file, text);
  }
  const Sysfs sysfs(root.path());
  auto knobs = find_knobs({"cpu.frequency"}, sysfs, {});
  TrackingWriter direct(sysfs, {});
  const TemporaryFolder state;
  GuardClient guard({.experiment = "bench.yaml", .state_folder = state / "state", .sysfs_root = root.path()});
  guard.arm(settings_of(knobs));
  SystemClock clock;
  std::vector<double> by_itself, by_guardian;
  constexpr int rounds = 1000;
  for (int i = 0; i < rounds; ++i) {
    for (SettingWriter* writer :
         {static_cast<SettingWriter*>(&direct), static_cast<SettingWriter*>(&guard)}) {
      const Hertz hertz{i % 2 == 0 ? 1e9 : 2e9};
      const Nanoseconds before = clock.now();
      const auto applied =
          knobs[0].knob->apply({format(hertz), hertz.value(), Dimension::frequency}, *writer);
      const double took = seconds(clock.now() - before).value() * 1e6;
      if (!applied[0].problem.empty()) fmt::print("{}\n", applied[0].problem);
      (writer == &direct ? by_itself : by_guardian).push_back(took);
    }
  }
  fmt::print(
      "a clock applied to {} policies and read back: by itself median {:.0f} us, by the guardian {:.0f} us: "
      "{:.0f} us more\n",
      count, median(by_itself), median(by_guardian), median(by_guardian) - median(by_itself));
  return 0;
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "trial") == 0) return dvfs_plan::bench_trial(std::atoi(argv[2]));
  if (argc == 5 && std::strcmp(argv[1], "sampler") == 0 && std::strcmp(argv[4], "slow") == 0)
    return dvfs_plan::bench_sampler(std::atof(argv[2]), std::atof(argv[3]), true);
  if (argc == 4 && std::strcmp(argv[1], "sampler") == 0)
    return dvfs_plan::bench_sampler(std::atof(argv[2]), std::atof(argv[3]));
  if (argc == 4 && std::strcmp(argv[1], "tick") == 0)
    return dvfs_plan::bench_tick(std::atof(argv[2]), std::atof(argv[3]));
  if (argc == 5 && std::strcmp(argv[1], "marks") == 0)
    return dvfs_plan::bench_marks(argv[2], argv[3], argv[4]);
  if (argc == 3 && std::strcmp(argv[1], "apply") == 0) return dvfs_plan::bench_apply(std::atoi(argv[2]));
  if (argc == 2 && std::strcmp(argv[1], "settings") == 0) return dvfs_plan::bench_settings();
  fmt::print(stderr,
             "usage: dvfs_bench settings | apply POLICIES | trial N | sampler HZ SECONDS | tick HZ SECONDS | "
             "marks PROGRAM STEPS "
             "MICROSECONDS\n");
  return 2;
}
