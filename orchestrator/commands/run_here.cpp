// A run on this machine, from the guardian's first word to the report.
#include <fmt/format.h>
#include <malloc.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/same_file.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/chosen_probes.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/page_beside.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/run_as.hpp"
#include "orchestrator/commands/run_here.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "orchestrator/commands/tool_version.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/state_places.hpp"
#include "orchestrator/knobs/cpu_frequency_by_slurm.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "orchestrator/run/attached_services.hpp"
#include "orchestrator/run/local_executor.hpp"
#include "orchestrator/run/metrics_server.hpp"
#include "orchestrator/run/night_metrics.hpp"
#include "orchestrator/run/progress.hpp"
#include "orchestrator/run/run_loop.hpp"
#include "orchestrator/sensors/energy_choice.hpp"
#include "orchestrator/sensors/sensor_check.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/strategies/prior_results.hpp"
#include "orchestrator/strategies/stored_finalists.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/writer_lock.hpp"
#include "results/surface/plan_surface.hpp"

namespace dvfs_plan {
namespace {

// Moves a former result out of the way, whole: what is finished is never lost.
void set_aside(const std::string& path, const Clock& clock, Progress& progress) {
  if (::access(path.c_str(), F_OK) != 0) return;
  const ActingAs owner(invoking_owner());
  Store::fold_log(path);
  const std::string aside = move_aside(path, aside_stem(path, clock));
  progress.say(fmt::format("the former result is kept as {}", aside));
}

// While somebody reads a result its log stays beside it, with what is newest: who copies the file alone would copy an older night.
std::string rest_in_log(const std::string& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path + "-wal", none);
  if (none || bytes == 0) return {};
  return fmt::format(" and, while somebody reads it, in {}-wal: copy both, or wait for the reader's end",
                     path);
}

// Of a result that was moved away or removed while its last trials were still in its log: a new file of its name would empty it.
void keep_stray_logs(const std::string& path, const Clock& clock, Progress& progress) {
  if (::access(path.c_str(), F_OK) == 0) return;
  const ActingAs owner(invoking_owner());
  for (const char* const ending : {"-wal", "-journal"}) {
    const std::string stray = path + ending;
    std::error_code none;
    const auto bytes = std::filesystem::file_size(stray, none);
    if (none || bytes == 0) continue;
    const std::string aside = aside_stem(path, clock) + ".sqlite" + ending;
    std::filesystem::rename(stray, aside);
    progress.say(
        fmt::format("note: {} lay here without {}, and may hold the last trials of a result that was moved "
                    "away: kept as {}; put it "
                    "beside that result, under its name with {} behind it, before anything opens it",
                    stray, path, aside, ending));
  }
}

// What SQLite keeps beside a result (-wal) is of one name: under another one of the same file, what is finished there is not seen, and is
// written over where the first name is gone on with (https://sqlite.org/howtocorrupt.html, 2.5).
void require_one_name(const std::string& path) {
  struct stat file {
  }, unfinished{};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
  // A run that was killed as it gave its new result its name left both names.
  const std::string before = path + ".new";
  if (file.st_nlink > 1 && ::lstat(before.c_str(), &unfinished) == 0 && is_same_file(file, unfinished)) {
    const ActingAs owner(invoking_owner());
    if (::unlink(before.c_str()) == 0) --file.st_nlink;
  }
  if (file.st_nlink < 2) return;
  const std::string quoted = shell_quote(path);
  throw Error(ExitCode::machine_refuses,
              fmt::format("{} is a file of {} names (hard links): trials that are finished under one of them "
                          "could be lost under another",
                          path, file.st_nlink),
              fmt::format("give this name a file of its own: cp {0} {0}.own && mv {0}.own {0}", quoted));
}

class Run {
 public:
  Run(const RunOptions& options, RunPart* part)
      : options_(options),
        part_(part),
        sysfs_(options.sysfs_root),
        progress_(clock_, ::isatty(STDERR_FILENO) != 0, options.quiet) {}

  // Until the first trial a program of the user's that hangs, asked what is set now, does not keep a signal waiting. From
  // then on it has its time: what it says may decide whether a finished trial counts.
  int run() {
    end_programs_that_hang_when(&Interruption::is_asked);
    try {
      return prepare_and_run();
    } catch (const Error& error) {
      end_programs_that_hang_when(nullptr);
      const bool is_refusal =
          error.code() == ExitCode::bad_experiment || error.code() == ExitCode::machine_refuses;
      if (begun_ || !is_refusal || interruption_.pending() == 0) throw;
    }
    progress_.say("interrupted before the first trial; nothing was set");
    return static_cast<int>(ExitCode::interrupted);
  }

 private:
  int prepare_and_run() {
    // First of all: takes the machine, and puts back what an earlier run left, whatever else may be wrong.
    GuardClient guard({.experiment = options_.file,
                       .state_folder = options_.state_folder,
                       .sysfs_root = options_.sysfs_root,
                       .mode = options_.wait ? GuardWish::Mode::waits : GuardWish::Mode::now,
                       .tell = [this](const std::string& line) { progress_.say(line); },
                       .stop = [this] { return interruption_.pending() != 0 ? interruption_.count() : 0; }});
    sysfs_.use(&guard);
    for (const GuardNote& note : guard.notes()) progress_.say("note: " + note.text);
    tell_of_an_earlier_run(guard);
    launcher_.group().use_control_group("dvfs-plan." + guard.run());
    launcher_.group().has_only_marked(guard.run());
    guard.note_traces({{}, launcher_.group().control_group()});
    launcher_.group().own_marked(clock_holder_mark());
    auto prepared = prepare_experiment(options_.file, sysfs_, options_.text);
    if (!prepared.warnings.empty()) progress_.say(prepared.warnings);
    Plan& plan = prepared.plan;
    const std::string path = part_ != nullptr ? part_->file() : result_path(options_.output, plan.experiment);
    const auto users = workload_users(plan);
    service_users_ = service_users(plan);
    warn_about_root("workload", users);
    warn_about_root("service", service_users_);
    const auto facts = facts_of(prepared, sysfs_);
    if (part_ != nullptr) part_->require(plan, facts);
    if (!options_.metrics.empty()) require_metrics_place(options_.metrics);
    writer_ = std::make_unique<WriterLock>(path, invoking_owner());
    if (!options_.fresh && ::access(path.c_str(), F_OK) == 0) {
      require_one_name(path);
      // Before anything is touched: a changed plan is refused while the machine is as it was.
      if (part_ == nullptr) grow_where_the_file_changed(plan, facts, path);
      Store existing = open_as_owner(path, Database::Mode::read_only);
      if (!is_apart()) require_same_plan(existing, plan, facts, path);  // else part_ did
      follow_result(existing, plan);
      if (strategy_for(plan, existing)->next(History(existing.history())) == nullptr) {
        if (part_ != nullptr) return part_->ended(existing, RunEnd::done, {});
        progress_.say(fmt::format("{} is finished; --fresh runs it again", path));
        return report_of_finished(existing, path);
      }
    }

    if (const auto obstacle = board_obstacle(prepared, sysfs_)) throw *obstacle;
    if (const auto obstacle = attached_obstacle(plan)) throw *obstacle;
    require_allowed(prepared, guard);
    if (!settings_of(prepared.knobs).empty()) guard.require_known_former();
    guard.keep_from(launcher_.group());  // a meter that is ended ends what it left
    auto probes = choose_probes(plan.experiment, prepared.gpus, sysfs_, guard.run(), launcher_, clock_);
    for (const std::string& note : probes.notes) progress_.say("note: " + note);
    const auto settings = watch_settings(prepared);
    if (settings) probes.probes.push_back(watching_probe(settings));
    Sampler sampler(std::move(probes.probes), clock_);
    sampler.hurry_when([this] { return interruption_.pending() != 0; });
    std::optional<NightMetrics> metrics;
    std::optional<MetricsServer> server;
    if (!options_.metrics.empty()) {
      metrics.emplace(clock_, plan, sampler.channels(), tool_version);
      server.emplace(options_.metrics, [&metrics] { return metrics->text(); });
      metrics_ = &*metrics;
      progress_.say("metrics: " + server->address());
    }
    const SensorCheck sensors = look_at_sensors(prepared, sampler, probes.fixed_rate);
    if (interruption_.pending() != 0) {
      progress_.say("interrupted before the first trial; nothing was set");
      return static_cast<int>(ExitCode::interrupted);
    }
    for (const auto& fault : sensors.faults) progress_.say("warning: " + describe(fault, sampler.channels()));
    Store store = open_store(path, plan, sampler.channels(), facts, sensors);
    if (part_ != nullptr && part_->only_looks()) return part_->ended(store, RunEnd::done, {});
    store.begin_session(::getpid(), boot_id(sysfs_), tool_version, clock_.wall_time(), is_apart());
    keep_look_at_sensors(store, sensors, sampler);
    if (part_ != nullptr) part_->begun(store, facts);
    if (const std::string why = store.keep_rescue_copy(path, invoking_owner()); !why.empty())
      progress_.say(fmt::format("note: no second copy of the result is kept meanwhile: {}", why));
    log_.emplace(options_.log, plan.experiment.name, clock_);
    if (!log_->begun(path)) progress_.say("note: --log journal: there is no journald here");
    auto strategy = strategy_for(plan, store);
    if (is_apart()) of_the_result_ = History(store.history()).workload_trials();
    BoardUse boards(watch_boards(prepared.gpus.used, sysfs_));
    LocalMachine machine{.plan = plan,
                         .interruption = interruption_,
                         .clock = clock_,
                         .sysfs = sysfs_,
                         .knobs = prepared.knobs,
                         .guard = guard,
                         .settings = settings.get(),
                         .boards = prepared.gpus.used.empty() ? nullptr : &boards,
                         .power_limit_w = power_limits(prepared.gpus.used, sysfs_),
                         .sensors = {.sampler = sampler,
                                     .energy_channels = energy_.channels,
                                     .earlier = {sensors.last_values, {}},
                                     .models = sensors.models(),
                                     .idle_window = idle_window(plan.experiment.conditions.idle,
                                                                energy_.channels, sensors, sampler)},
                         .programs = {.launcher = launcher_,
                                      .path = current_environment()["PATH"],
                                      .environments = environments(prepared, users),
                                      .users = users,
                                      .service_environments = service_environments(prepared, service_users_),
                                      .service_users = service_users_,
                                      .log_folder = beside_result(path, ".logs")},
                         .told = told_in_earlier_trials(store, plan)};
    LocalExecutor executor(machine);
    RunParts parts{plan,
                   *strategy,
                   executor,
                   store,
                   interruption_,
                   clock_,
                   part_ != nullptr ? 0 : plan.experiment.conditions.give_up_after};
    if (!prepared.gpus.used.empty() && !boards.lists_processes()) warn_that_processes_are_unknown(store);
    return run_and_report(parts, machine);
  }

 private:
  void grow_where_the_file_changed(Plan& plan, const std::map<std::string, std::string>& facts,
                                   const std::string& path) {
    PlanChange change;
    {
      Store existing = open_as_owner(path, Database::Mode::read_only);
      change = change_since(existing, plan, facts, path);
    }
    if (!change.any()) return;
    Store store = open_as_owner(path, Database::Mode::read_write);
    store.grow(plan, change, clock_.wall_time());
    conclude(store);
    for (const std::string& line : change_lines(change)) progress_.say(line);
  }

  bool is_apart() const { return part_ != nullptr && part_->apart(); }

  std::unique_ptr<Strategy> strategy_for(const Plan& plan, Store& store) {
    StrategyRequest request{plan, store.prior(), stored_finalists(store, plan), store.first_block_of_form()};
    return part_ != nullptr ? part_->strategy(std::move(request), interruption_)
                            : make_strategy(std::move(request));
  }

  // What was put back, overwritten or left is no progress.
  void tell_of_an_earlier_run(const GuardClient& guard) {
    for (const std::string& line : earlier_run_lines(guard.found_journal())) progress_.insist(line);
    found_journal_ = guard.found_journal().has_value();
  }

  // Which other folders a user's records may be in is noted in the home that the user database names. Who is in none has no such place.
  void tell_of_a_killed_session(const Store::Progress& so_far) {
    if (!so_far.session_ended_how.empty() || found_journal_ || !options_.state_folder.empty() ||
        ::geteuid() == 0 || ::getpwuid(::geteuid()) != nullptr)
      return;
    progress_.insist(
        fmt::format("note: the session of this result before was killed, and no record of what it had set is "
                    "in {}; the user {} "
                    "has no home in the user database: had it another $HOME or $XDG_STATE_HOME, its record "
                    "is there, and `dvfs-plan "
                    "restore` with that puts it back",
                    default_state_folder(), ::geteuid()));
  }

  SensorCheck look_at_sensors(const PreparedExperiment& prepared, Sampler& sampler,
                              const std::set<std::string>& fixed_rate) {
    // A recorded machine answers no load, and this one is none of its business.
    TestLoads loads = options_.sysfs_root.empty() ? test_loads(prepared.gpus.used, clock_) : TestLoads{};
    // Once the boards' sensors have been read for a while, and before anything of ours computes on them.
    bool boards_are_free = false;
    loads.say = [&](const std::string& line) {
      if (!boards_are_free) refuse_busy_boards(prepared, sampler);
      boards_are_free = true;
      progress_.say(line);
    };
    SensorCheck sensors = check_sensors(sampler, clock_, fixed_rate, &interruption_, loads);
    if (!boards_are_free && interruption_.pending() == 0) refuse_busy_boards(prepared, sampler);
    for (const std::string& note : sensors.notes) progress_.say("note: " + note);
    return sensors;
  }

  // From the first setting to the report, whatever comes between.
  int run_and_report(RunParts& parts, LocalMachine& machine) {
    Store& store = parts.store;
    try {
      const auto settings = settings_to_arm(machine.knobs, sysfs_);
      end_programs_that_hang_when(nullptr);
      begun_ = true;
      machine.guard.arm(settings);
      end_ = run_and_restore(parts, machine.guard);
      trials_are_over_ = true;
    } catch (...) {
      trials_are_over_ = true;
      fault("error", text_of_current_exception());
      rescue_if_lost(store);
      end_session(store, "error");
      rescue_unless_whole(store);
      if (rescued_) progress_.say(fmt::format("all that is finished is in {}", store.path()));
      throw;
    }
    rescue_if_lost(store);
    end_session(store, end_ == RunEnd::done ? "done" : end_ == RunEnd::gave_up ? "gave_up" : "interrupted");
    seal(store);
    if (rescue_unless_whole(store)) seal(store);
    if (part_ != nullptr) {
      if (end_ == RunEnd::gave_up) write_stderr(fmt::format("error: it stops here: {}\n", gave_up_));
      return part_->ended(store, end_, but_for_notes());
    }
    // The cause first, and with --quiet too.
    if (end_ == RunEnd::gave_up)
      write_stderr(
          fmt::format("error: the night stops here: {}\n  hint: nothing stays set{}. Mend that, and the same "
                      "command runs "
                      "them again and goes on; `conditions: {{give up after: ...}}` says after how many\n",
                      gave_up_, but_for_notes()));
    try {
      return report(store, store.path());
    } catch (const StoreDamaged& damage) {
      rescued(store.go_on_elsewhere(damage.what()));
    } catch (const Error&) {
      if (!rescue_if_lost(store)) throw;
    }
    seal(store);
    return report(store, store.path());
  }

  // What the look at the sensors found, in the file and on the terminal.
  void keep_look_at_sensors(Store& store, const SensorCheck& sensors, const Sampler& sampler) {
    std::vector<double> periods;
    for (std::uint32_t i = 0; i < sampler.channels().size(); ++i) {
      const ChannelAudit* one = sensors.audit.of(i);
      periods.push_back(one && one->told_every ? one->told_every->value() : sampler.period(i).value());
    }
    store.write_audit(sensors.audit, periods);
    for (const Agreement& pair : sensors.audit.agreements) {
      if (!pair.impossible()) continue;
      const std::string text = agreement_text(pair, sampler.channels());
      progress_.say("warning: " + text);
      store.write_event({"sensors_disagree", text});
    }
    for (const auto& fault : sensors.faults)
      store.write_event(
          {"sensor_" + std::string(to_string(fault.fault)), describe(fault, sampler.channels())});
  }

  static std::map<std::string, std::map<std::string, std::string>> environments(
      const PreparedExperiment& prepared, const std::map<std::string, std::optional<Credentials>>& users) {
    std::map<std::string, std::map<std::string, std::string>> environments;
    for (const PlanWorkload& workload : prepared.plan.workloads)
      environments[workload.spec.name] =
          environment_of(prepared, workload.spec, users.at(workload.spec.name));
    return environments;
  }

  static std::map<std::string, std::map<std::string, std::string>> service_environments(
      const PreparedExperiment& prepared, const std::map<std::string, std::optional<Credentials>>& users) {
    std::map<std::string, std::map<std::string, std::string>> environments;
    for (const PlanService& service : prepared.plan.services)
      environments[service.spec.name] = environment_of(prepared, service.spec, users.at(service.spec.name));
    return environments;
  }

  static std::map<std::string, std::string> environment_of(const PreparedExperiment& prepared,
                                                           const ProgramSpec& program,
                                                           const std::optional<Credentials>& user) {
    auto environment = environment_for(user, program.keep);
    for (const auto& [name, value] : visible_devices(prepared.gpus)) environment[name] = value;
    return environment;
  }

  void warn_that_processes_are_unknown(Store& store) {
    const std::string text = "the boards do not tell who is on them: work of others would not be seen";
    progress_.say("note: " + text);
    store.write_event({"gpu_processes_unknown", text});
  }

  // Refuses to begin where trials would be refused.
  static void require_allowed(const PreparedExperiment& prepared, GuardClient& guard) {
    const auto refused = refused_settings(prepared, guard);
    if (!refused.empty())
      throw Error(ExitCode::machine_refuses, fmt::format("axis '{}': {}", refused[0].axis, refused[0].why),
                  refused[0].next_step);
  }

  std::shared_ptr<SettingsWatch> watch_settings(const PreparedExperiment& prepared) const {
    if (prepared.knobs.empty()) return nullptr;
    return std::make_shared<SettingsWatch>(settings_of(prepared.knobs), sysfs_, clock_);
  }

  // In a container the processes of others are not to be seen; what they do to the board is.
  static void refuse_busy_boards(const PreparedExperiment& prepared, Sampler& sampler) {
    if (prepared.gpus.used.empty() || prepared.plan.experiment.conditions.flag_gpu_processes) return;
    constexpr double busy_percent = 10;
    // A stream may have nothing new at this very moment: look until it has.
    std::map<std::uint32_t, double> load;
    constexpr int looks = 20;
    for (int i = 0; i < looks && load.empty(); ++i) {
      for (const Reading& reading : sampler.look("%")) {
        if (reading.value && quantity_of(sampler.channels()[reading.channel]) == "utilisation")
          load[reading.channel] = *reading.value;
      }
      if (load.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    for (const auto& [index, percent] : load) {
      const Channel& channel = sampler.channels()[index];
      if (percent < busy_percent) continue;
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("{} is busy ({:.0f} %) although nothing of this run is on it, and whose work it is "
                      "cannot be seen from here",
                      channel.domain, percent),
          board_hint);
    }
  }

  // Links in the user's folders lead where the user may go, and no further.
  static Store open_as_owner(const std::string& path, Database::Mode mode) {
    const ActingAs owner(invoking_owner());
    return Store::open(path, mode);
  }

  void rescued(const Store::Rescued& result) {
    write_stderr(fmt::format(
        "warning: the result file cannot be used any more ({}); all finished trials are in {}{}\n",
        result.what, result.where, trials_are_over_ ? "" : ", and the night goes on there"));
    fault("result_lost", result.what + "; it goes on in " + result.where);
    rescued_ = true;
  }

  // True: all goes on in another file.
  bool rescue_if_lost(Store& store) {
    return rescue_where([&] { return store.go_on_elsewhere_if_lost(); });
  }
  bool rescue_unless_whole(Store& store) {
    return rescue_where([&] { return store.go_on_elsewhere_unless_whole(); });
  }
  bool rescue_where(const std::function<std::optional<Store::Rescued>()>& lost) {
    try {
      const auto result = lost();
      if (result) rescued(*result);
      return result.has_value();
    } catch (const Error& error) {
      progress_.say(fmt::format("warning: {}", error.what()));
      return false;
    }
  }

  // How it ended is worth knowing, but never at the price of what is being reported.
  void end_session(Store& store, const char* how) {
    if (log_) log_->ended(how);
    if (metrics_ != nullptr) metrics_->ends();
    auto conclusions = conclusions_for_sql(store);
    // What is written into a file makes it ours; and to conclude takes a while.
    if (rescue_if_lost(store)) conclusions = conclusions_for_sql(store);
    try {
      store.end_session(how, clock_.wall_time(), conclusions);
    } catch (const StoreDamaged& damage) {
      rescued(store.go_on_elsewhere(damage.what()));
      store.end_session(how, clock_.wall_time(), conclusions_for_sql(store));
    } catch (const Error& error) {
      if (rescue_if_lost(store))
        store.end_session(how, clock_.wall_time(), conclusions_for_sql(store));
      else
        progress_.say(fmt::format("warning: {}", error.what()));
    }
  }

  void seal(Store& store) {
    try {
      store.seal();
    } catch (const Error& error) {
      progress_.say(fmt::format("warning: {}", error.what()));
    }
  }

  // For those who read SQL; the report knows the answer all the same.
  std::optional<Conclusions> conclusions_for_sql(Store& store) {
    try {
      return conclusions_of(summary_of(store));
    } catch (const Error& error) {
      progress_.say(fmt::format("warning: the answer is not in the result file's views: {}", error.what()));
      return std::nullopt;
    }
  }

  // So that an unfinished night has an answer in SQL too. Where that takes long (an adaptive search of many
  // trials), not after each block: a twentieth of the night at most.
  void conclude_block(Store& store) {
    constexpr int share = 20;
    const Nanoseconds now = clock_.now();
    if (now - concluded_at_ < share * concluding_took_) return;
    rescue_if_lost(store);  // what is written into a file makes it ours, whatever became of it
    try {
      conclude(store);
      if (metrics_ != nullptr) tell_drift(store);
      const auto best = best_so_far(store.progress());
      if (!best.empty())
        progress_.best(best.size() == 1 ? best.front() : fmt::format("{} answers", best.size()));
    } catch (const Error&) {
      // Somebody holds the file, or it is lost: the next trial's write finds out.
    }
    // All trials were looked at: what that took is kept by malloc(3) else, and a night of 30 000 trials grows by it.
    ::malloc_trim(0);
    concluded_at_ = clock_.now();
    concluding_took_ = concluded_at_ - now;
  }

  // A run that was killed or failed after its last trial has not said that it was the last; one that was killed as it took in that the file
  // changed has not concluded.
  int report_of_finished(Store& existing, const std::string& path) {
    // Who wrote it last may have been killed, a recheck too: what it left beside the result is put into it.
    if (!rest_in_log(path).empty()) try {
        const ActingAs owner(invoking_owner());
        Store::fold_log(path);
      } catch (const Error&) {
        // A disk that may only be read: what is told of it below says where the rest is.
      }
    if (existing.experiment().last_session_ended != "done") {
      Store store = open_as_owner(path, Database::Mode::read_write);
      store.end_last_session("done", clock_.wall_time(), conclusions_for_sql(store));
    } else if (!existing.is_concluded()) {
      Store store = open_as_owner(path, Database::Mode::read_write);
      conclude(store);
    }
    return report(existing, path);
  }

  void warn_about_root(const char* kind, const std::map<std::string, std::optional<Credentials>>& users) {
    if (::geteuid() != 0) return;
    for (const auto& [name, user] : users) {
      if (!user)
        progress_.say(fmt::format("note: {} '{}' runs as root; `run_as: USER` makes it run as somebody else",
                                  kind, printable(name)));
    }
  }

  Store open_store(const std::string& path, const Plan& plan, const std::vector<Channel>& channels,
                   const std::map<std::string, std::string>& facts, const SensorCheck& sensors) {
    if (!options_.fresh && ::access(path.c_str(), F_OK) == 0) {
      Store store = open_as_owner(path, Database::Mode::read_write);
      store.use_plan(plan);
      energy_ =
          choose_energy(plan.experiment, channels, sensors, {store.energy_source(), store.energy_sensors()});
      store.use_channels(channels);
      if (!is_apart()) {
        const Store::Progress so_far = store.progress();
        progress_.say(fmt::format("resuming {}: {} of {}{} trials are finished", path, so_far.finished,
                                  so_far.at_most || so_far.may_end_early ? "at most " : "", so_far.planned));
        tell_of_a_killed_session(so_far);
      }
      return store;
    }
    if (is_apart())
      throw Error(ExitCode::machine_refuses, fmt::format("{} was removed or renamed while this waited", path),
                  "put it back, or name it where it is now");
    energy_ = choose_energy(plan.experiment, channels, sensors,
                            {part_ != nullptr ? part_->energy_source() : std::string(), {}});
    if (const auto note = note_on_choice(plan.experiment, channels, energy_)) progress_.say("note: " + *note);
    // Before the old result is moved: a prior that cannot be read is no reason to.
    PriorResults prior = read_priors(plan, facts);
    for (const std::string& note : prior.notes) progress_.say("note: " + note);
    if (options_.fresh) set_aside(path, clock_, progress_);
    keep_stray_logs(path, clock_, progress_);
    return Store::create(path, plan, channels,
                         {energy_.name, tool_version, clock_.wall_time(), facts, std::move(prior.shapes)},
                         invoking_owner());
  }

  static PriorResults read_priors(const Plan& plan, const std::map<std::string, std::string>& facts) {
    const ActingAs owner(invoking_owner());
    return read_prior_results(plan, facts);
  }

  RunEnd run_and_restore(RunParts& parts, GuardClient& guard) {
    const RunEvents events{[this, &guard](const PlannedTrial& trial, int finished, int remaining) {
                             progress_.begins(trial, finished - of_the_result_, remaining);
                             if (metrics_ != nullptr)
                               metrics_->begins(trial, finished - of_the_result_, remaining,
                                                progress_.expected(remaining));
                             if (const auto left = progress_.expected(remaining))
                               guard.note_until(clock_.wall_time_in(*left));
                           },
                           [this, &parts](const TrialRecord& trial) {
                             progress_.finished(trial);
                             log_->finished(trial);
                             if (metrics_ != nullptr) metrics_->finished(trial);
                             if (part_ != nullptr) part_->finished(parts.store, trial);
                           },
                           [this](const std::string& why) {
                             progress_.say(fmt::format("warning: {}; trying again for ten minutes", why));
                             fault("result_busy", why);
                           },
                           [this](const std::string& text) { progress_.say(text); },
                           [this](const Store::Rescued& result) { rescued(result); },
                           [this, &parts] { conclude_block(parts.store); },
                           [this](const std::string& why) {
                             gave_up_ = why;
                             fault("gave_up", why);
                           }};
    RunEnd end = RunEnd::done;
    try {
      end = run_trials(parts, events);
    } catch (...) {
      put_back(guard);
      parts.executor.finish();
      throw;
    }
    put_back(guard);
    parts.executor.finish();
    return end;
  }

  static std::string text_of_current_exception() {
    try {
      throw;
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "unknown";
    }
  }

  // Of the night, for those who watch it from elsewhere.
  void fault(const std::string& kind, const std::string& why) {
    if (log_) log_->fault(kind, why);
    if (metrics_ != nullptr) metrics_->fault(kind, why);
  }

  void tell_drift(Store& store) {
    std::map<std::string, double> changes;
    Statement last = store.database().prepare(
        "SELECT scenario, change FROM drift WHERE block = (SELECT max(block) FROM drift) AND change IS NOT "
        "NULL");
    while (last.step()) changes[last.text(0)] = last.real(1);
    metrics_->drift(changes);
  }

  // Settings that others changed meanwhile were left as they are: said even after an error, and with --quiet.
  void put_back(GuardClient& guard) {
    const RestoreOutcome outcome = guard.restore();
    for (const std::string& note : outcome.notes) write_stderr(fmt::format("note: {}\n", note));
    left_as_noted_ = outcome.left > 0;
    require_restored(outcome);
  }

  std::string but_for_notes() const { return left_as_noted_ ? ", but for what is noted above" : ""; }

  int report(Store& store, std::string path) {
    const auto trials = store.trials();
    const Summary summary = summary_of(store, trials);
    if (!options_.no_html)
      write_page_beside(store, summary, trials, path,
                        [this](const std::string& line) { progress_.say(line); });
    interruption_.let_signals_end_us();
    const bool answered = answer(
        options_.json ? json_report(store, summary, trials) : terminal_report(summary, trials, text_look()),
        path);
    // To report takes a while too.
    if (rescue_if_lost(store)) {
      seal(store);
      path = store.path();
    }
    if (end_ == RunEnd::interrupted) {
      progress_.say(fmt::format(
          "interrupted; the settings are as before{}. The same command goes on: {}dvfs-plan {}{}",
          but_for_notes(), ::geteuid() == 0 || came_through_sudo() ? "sudo " : "", shell_quote(options_.file),
          rescued_                  ? " --output " + shell_quote(path)
          : options_.output.empty() ? ""
                                    : " --output " + shell_quote(options_.output)));
      return static_cast<int>(ExitCode::interrupted);
    }
    progress_.say(fmt::format("all of it is in {}{}", path, rest_in_log(path)));
    if (end_ == RunEnd::gave_up) return static_cast<int>(ExitCode::gave_up);
    if (!answered && !rescued_) return static_cast<int>(ExitCode::machine_refuses);
    if (rescued_) {
      write_stderr(fmt::format(
          "warning: {} is not the file that this run began with, which was lost; to go on with it: "
          "dvfs-plan {} --output {}\n",
          path, shell_quote(options_.file), shell_quote(path)));
      return static_cast<int>(ExitCode::result_rescued);
    }
    return static_cast<int>(summary.unmended == 0 ? ExitCode::done : ExitCode::some_trials_failed);
  }

  // False: what reads it (a script, a later command) has not got all of it.
  static bool answer(const std::string& text, const std::string& path) {
    try {
      write_answer(text);
      return true;
    } catch (const Error& error) {
      write_stderr(fmt::format("error: {}\n  hint: nothing is lost: dvfs-plan report {} says it again\n",
                               error.what(), shell_quote(path)));
      return false;
    }
  }

  const RunOptions& options_;
  RunPart* part_;  // nullptr: it is all of it
  Interruption interruption_;
  SystemClock& clock_ = system_clock();  // the sampler's threads may outlive us
  Sysfs sysfs_;
  Progress progress_;
  std::optional<NightLog> log_;
  NightMetrics* metrics_ = nullptr;  // nobody wants them
  Launcher launcher_;
  EnergySource energy_;
  bool begun_ = false;          // from the first setting on
  bool found_journal_ = false;  // of an earlier run
  RunEnd end_ = RunEnd::done;
  std::string gave_up_;
  int of_the_result_ = 0;  // trials that a part which is apart from them does not count
  std::unique_ptr<WriterLock> writer_;
  Nanoseconds concluded_at_ = 0, concluding_took_ = 0;
  std::map<std::string, std::optional<Credentials>> service_users_;
  bool trials_are_over_ = false;
  bool rescued_ = false;        // the result file was lost, and the night went on in another
  bool left_as_noted_ = false;  // a setting is as somebody else made it meanwhile
};

}  // namespace

int run_here(const RunOptions& options, RunPart* part) {
  return Run(options, part).run();
}

}  // namespace dvfs_plan
