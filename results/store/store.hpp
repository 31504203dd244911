// The result file: everything a night produces, one SQLite file an experiment (schema.sql).
//
// One transaction closes one trial, synchronously: when write_trial() returns, the trial survives a power
// cut. A file is created as the invoking user, so that a result made with sudo is theirs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/acting_as.hpp"
#include "experiments/plan/plan.hpp"
#include "results/energy/sensor_audit.hpp"
#include "results/store/conclusions.hpp"
#include "results/store/rows.hpp"
#include "results/store/sqlite.hpp"
#include "results/store/trace_codec.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

struct ExperimentFacts {
  std::string energy_source;  // empty: none
  std::string tool_version;
  std::string created_at;
  std::map<std::string, std::string> machine;
  std::vector<PriorShape> prior = {};  // one value a point of the plan
};

// As the view `workloads` shows it.
std::string command_text(const WorkloadSpec& spec);

// What one channel delivered during one trial.
struct ChannelTrace {
  std::uint32_t channel = 0;  // index into Store::channels()
  Trace trace;
};

// Packed readings that are not what was written: which trial's and channel's, and what to do.
class DamagedReadings : public Error {
 public:
  using Error::Error;
};

class Store {
 public:
  // A new file for `plan`; fails if there is one already. Written beside its place and moved there whole.
  static Store create(const std::string& path, const Plan& plan, const std::vector<Channel>& channels,
                      const ExperimentFacts& facts, std::optional<FileOwner> owner);
  // What a run or a merge that was killed left of a file that it was making. Throws Error where it is somebody else's, or holds trials.
  static void remove_unfinished(const std::string& path);
  // An existing one. Says what is wrong with a file that is not ours, is cut short, or is newer than this
  // program. One of an older schema is brought up to this one: in place where it is opened to be written,
  // else in a private copy.
  static Store open(const std::string& path, Database::Mode mode);
  // Folds an existing file's write-ahead log into it, so that it may be moved; of whatever version.
  static void fold_log(const std::string& path);

  std::string plan_hash();
  std::string experiment_file();  // its text
  std::string canonical_plan();
  std::string energy_source();
  // Channels (indices into channels()) that told nothing in the look at their session's start, by session.
  std::map<std::int64_t, std::vector<std::uint32_t>> unusable_channels();
  // By which channels the first session that ran trials measured that: it hangs on which of the sensors of one domain worked. Since 1.2.22
  // later sessions measure by the same or are refused. Empty: there is none.
  std::vector<std::uint32_t> energy_channels();
  std::vector<std::string> energy_sensors();  // their names
  std::map<std::string, std::string> machine_facts();
  std::vector<Channel> channels();
  // The channels of this session by the ids the file gives them; channels not in the file yet are added.
  void use_channels(const std::vector<Channel>& channels);

  // Another file's plan in place of the one that is there (experiments/plan/plan.hpp: PlanChange): what it adds is planned in blocks behind all
  // that are there, what it asks is asked of the trials that are there. What is concluded of the former is gone. Nothing is changed where
  // it throws.
  void grow(const Plan& plan, const PlanChange& change, const std::string& now);
  // What is asked of each trial that was measured: its objective by this one; nullopt of a workload: as it stands.
  using ObjectiveOf = std::function<std::optional<ObjectiveSpec>(const std::string& workload)>;
  void ask_of_trials(const ObjectiveOf& objective_of_workload);
  struct Stages {
    std::vector<PlanStage> stages;  // empty: it never grew
    std::map<std::string, int> of_point;
  };
  Stages stages();
  // From here on trials' points are indices into this plan's points, which are all in the file; else into points(). Trials of points that it
  // has no more are none.
  void use_plan(const Plan& plan);

  // `recheck`: its trials only show whether the answer still stands.
  void begin_session(int pid, const std::string& boot_id, const std::string& tool_version,
                     const std::string& now, bool recheck = false);
  // Ids of the trials that this session has finished, in their order.
  std::vector<std::int64_t> trials_of_this_session();
  // What a recheck found, in this session.
  void write_rechecks(const std::vector<RecheckRow>& rows);
  // With what is concluded from all trials, in one transaction.
  void end_session(const std::string& how, const std::string& now,
                   const std::optional<Conclusions>& conclusions);
  // All that is read from now on is of one moment, whatever a run writes meanwhile.
  void hold_snapshot() { database_.execute("BEGIN"); }
  // Makes the file one without a log beside it, which can be read where nothing can be written. Nothing is
  // written after it.
  void seal();
  // The last one, which did not live to end itself.
  void end_last_session(const std::string& how, const std::string& now,
                        const std::optional<Conclusions>& conclusions);

  // All that is finished, in the order it was run: what a strategy goes by, on resume too.
  // Whose places in a list FinishedTrial::point counts: the plan's that is used (use_plan), as strategies want it, or points()'. They
  // differ where the experiment has grown.
  enum class PlacesIn { plan, points };
  std::vector<FinishedTrial> history(PlacesIn places = PlacesIn::plan);
  // What the experiment's file asks for since it last changed is in blocks from this one on, where it added any.
  int first_block_of_form();
  // Stores a finished trial, in one transaction.
  void write_trial(const TrialRecord& trial);
  // Which one comes next (empty: none), and how many of workloads are left with it.
  void note_current(const std::string& key, int left);
  void write_event(const EventRecord& event);
  // The night stops behind these trials, which failed alike: they are run again where it goes on.
  void give_up(const std::vector<std::string>& keys, const std::string& why);
  void forget_fact(const std::string& name);            // a machine fact that is none after all
  void take_back(const TrialRecord::TakenBack& trial);  // one that counted, and does not after all
  // `periods`: how often each channel is read from now on, s.
  void write_audit(const SensorAudit& audit, const std::vector<double>& periods);

  struct Progress {
    std::string name;
    int planned = 0;
    int finished = 0;
    bool at_most =
        false;  // that many are planned: blocks may be to come that confirm, or that the scatter of the first ones decides about
    int counted = 0;
    int excluded = 0;                          // of all runs of trials, reruns among them
    bool may_end_early = false;                // a search one by one: `planned` is the most
    std::optional<int> left;                   // trials, as the run expects; nullopt: it has not said so
    std::optional<double> mean_trial_seconds;  // with warm-ups and idle windows, over the last trials
    std::string last_finished_at;
    std::string current_trial;  // empty if none is under way
    int session_pid = 0;
    std::string session_boot_id;
    std::string host;  // that the result says it is of
    std::string session_started_at;
    std::string session_ended_how;  // empty: running, or killed
    std::vector<EventRecord> last_warnings;
    // The last trial of a workload that is finished, and what each domain drew over what counts in it, W.
    struct LastTrial {
      std::string key, verdict;
      std::optional<double> time_s, energy_j;
      std::map<std::string, double> watts;
    };
    std::optional<LastTrial> last_trial;
    std::map<std::string, double>
        drift;  // of the reference within the last block that tells it, a share, by scenario
    // What is concluded by now, of so many trials; empty: nothing is, or it is not as written.
    struct BestSoFar {
      std::string point, reference;  // keys; empty: none
      std::optional<double> gain, low, high;
    };
    std::vector<BestSoFar> best;
    int best_of_trials = 0;
  };
  Progress progress();

  // Warnings of whole sessions (sensors that were dead at the start, say), each once.
  std::vector<std::string> session_warnings();
  ExperimentRow experiment();
  // A text of the trials whose rows are not those that were written; empty: there is none. For who hands rows out as they
  // are: trials() says so of each.
  std::string damaged_text();
  // The same of readings, all of which are read for it.
  std::string damaged_readings_text();
  std::vector<TrialRow> trials();
  std::vector<ChannelEnergies> channel_energies();  // idle windows too, in the order of the trials
  std::vector<NoticedRow> noticed();                // in the order of the trials
  // Throws DamagedReadings.
  std::vector<ChannelTrace> traces(std::int64_t trial);  // by its row id; a trial of 60 s in some ms
  std::vector<PointRow> points();                        // in the plan's order
  std::vector<PriorShape> prior();
  // What is concluded from all trials that are in the file now, in place of what was before.
  void write_conclusions(const Conclusions& conclusions);
  // Whether it is of all trials that are in the file.
  bool is_concluded();
  // From here on all is read from and written to a copy in memory and an unlinked temporary file.
  void go_on_in_private_copy();
  std::vector<std::string> sensor_lines();  // the last audit, for people
  Database& database() { return database_; }

  // From here on all that is written goes into a second copy too, which has no name (SQLite keeps it in
  // memory and in an unlinked temporary file): whatever becomes of the file, the night is not lost. `path` is
  // the file's, `owner` who a new one will belong to. Without room for a copy there is none, and the reason
  // is returned.
  std::string keep_rescue_copy(const std::string& path, std::optional<FileOwner> owner);
  // Without a copy, where all that is in it can be had again: of a file that is only moved or removed what is open here is still ours.
  void look_after_file(const std::string& path, std::optional<FileOwner> owner);
  // "" or "it was removed or renamed", "another file was put in its place": what is open here is still ours.
  std::string was_taken_away();
  // Whether the file still is what we made of it: the same file under its name, no shorter, with our header
  // and its log beside it. If not, all goes on in a new file beside the old name, and the old one is left as
  // it is.
  struct Rescued {
    std::string what;   // happened to it: "it was removed"
    std::string where;  // the night goes on
  };
  std::optional<Rescued> go_on_elsewhere_if_lost();
  // The same of a file in which all is written: by a connection of its own, with all checksums.
  std::optional<Rescued> go_on_elsewhere_unless_whole();
  // "it was removed or renamed"; empty: it is as it was left, or nobody looks after it.
  std::string what_became_of_the_file();
  // The same after a write that failed because the file is damaged, or (`old_one_is_whole`) because there is no room: then what is finished
  // in it stays readable there too.
  Rescued go_on_elsewhere(const std::string& what, bool old_one_is_whole = false);
  // The file that is written to; empty without keep_rescue_copy().
  std::string path() const;

 private:
  explicit Store(Database database);
  Rescued move_to(const std::string& where, const std::string& what, bool old_one_is_whole);
  std::string some_keys(const std::vector<std::int64_t>& trials);
  void write_readings(std::int64_t trial, const std::vector<Reading>& readings);
  void put_conclusions(const Conclusions& conclusions);
  void write_plan(const Plan& plan, const ExperimentFacts& facts);
  void write_prior(const std::vector<PriorShape>& shapes);
  void write_rules(const Experiment& experiment);
  std::int64_t add_growth(const Plan& plan, const PlanChange& change, const std::string& now);
  int point_index(std::int64_t id, TrialRole role) const;
  std::int64_t point_id(int index) const;
  std::int64_t pragma(const char* sql, const std::string& path);
  void check_ours(const std::string& path);
  void check_whole(const std::string& path);
  int check_version(const std::string& path);
  void check_schema(const std::string& path, int version);
  void check_plan(const std::string& path);
  void prepare_statements();

  Database database_;
  std::int64_t session_ = 0;
  std::vector<std::int64_t> channel_ids_;
  std::vector<ChannelKind> channel_kinds_;
  std::vector<std::int64_t> point_ids_;  // by the index of the plan's point; empty: in their order
  std::map<std::int64_t, int>
      idle_indices_;       // of who stands for their operating point, by id; -1: none is left
  struct TrialStatements;  // trial_statements.hpp
  std::shared_ptr<TrialStatements> statements_;
  std::shared_ptr<Statement> read_traces_;
  struct Rescue;  // rescue.cpp
  std::shared_ptr<Rescue> rescue_;
  template <class Write>
  void into_copy(Write write);
  Store* copy();
  std::optional<FileOwner> owner_of_rescue() const;
  void drop_copy();
  void remember_file();  // as our own write left it
  void remember_log();   // after it was folded into the file
};

template <class Write>
void Store::into_copy(Write write) {
  if (copy() == nullptr) return;
  try {
    write(*copy());
  } catch (const Error&) {
    drop_copy();  // no room for it any more: the file itself is what counts
  }
}

// Of a row of `session`: its trials_left, less the trial that was begun last where that is finished by now (looked at between two trials).
inline constexpr const char* trials_left_now =
    "max(0, trials_left - EXISTS (SELECT 1 FROM trial t WHERE t.key = session.current_trial AND t.attempt = "
    "1 "
    "AND t.role NOT IN ('warm_up', 'idle_before', 'idle_after')))";

// Whether blocks may be to come whose trials are not known yet, that confirm its answer, or that a budget or the scatter of the first ones adds: how
// many trials are planned is the most then. `ended`: how the last session did.
bool is_planned_at_most(Database& database, std::string_view ended);

}  // namespace dvfs_plan
