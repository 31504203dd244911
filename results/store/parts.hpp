// A result that several machines make: what each of them ran travels as parts, and is taken into one file.
//
// A part is rows of the machine's own result file: a session with its channels and what its sensors are worth, or one
// trial with all that belongs to it. Rows name channels, axes and points instead of numbering them, so that they mean
// the same in any file of the same plan. As bytes: a line that says what it is, the SHA-256 of the rest, then CBOR
// (RFC 8949), which keeps each number and blob as it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/store/store.hpp"

namespace dvfs_plan {

// A block as one machine runs it.
struct BlockRun {
  std::string origin;  // which file of which machine: nobody else's
  int block = 1;
  std::string node;
  std::string task;  // of Slurm: "1234_3 start 1"; empty: none
  bool complete = false;
  std::string left_out = {};
  int trials = 0;  // of workloads that are there, warm-ups apart
};

// In the machine's own file, once a session has begun: of which block it is.
void note_block_run(Store& own, const BlockRun& run);
// What note_block_run() noted, with what is finished; nullopt: nothing.
std::optional<BlockRun> block_run_of(Store& own);

// Parts of the machine's own file, as bytes.
std::string session_part(Store& own, const std::map<std::string, std::string>& facts);  // of the last session
std::string trial_part(Store& own, const std::string& key);
std::string end_part(Store& own, const std::string& now);  // the block is complete

struct TakenPart {
  enum class How {
    taken,
    known,    // it is in the file already
    waits,    // for its session's part, which is not there yet
    refused,  // `why`
  };
  How how = How::taken;
  std::string why = {};
};

// Takes parts into a result. Between take() and settle() whole batches may be in one transaction.
class PartTaker {
 public:
  explicit PartTaker(Store& into);
  ~PartTaker();
  // `name` is unique to the part; what was taken under it once is not taken again.
  TakenPart take(const std::string& name, std::string_view bytes);
  // All of another result of the same plan, its blocks behind those that are there; where one machine made it,
  // `node` is what that is called. How many trials were taken: none if they had been before.
  int take_result(Store& other, const std::string& node);
  // Which of the machines that ran the same block counts: one that completed it, of these the one that was begun
  // first; else, and of a search always, the one that got furthest. Goes by what is in the file alone, whatever order it came in.
  void settle();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Leaves the plan and takes all else out.
void forget_trials(Store& store);

std::vector<BlockRun> block_runs(Store& store);
std::map<std::string, std::map<std::string, std::string>> node_facts(Store& store);

// A cluster's bookkeeping, which no other program writes.
struct Submission {
  std::string job;
  std::vector<int> blocks;
  std::string submitted_at;
};
void note_submission(Store& store, const Submission& submission);
std::vector<Submission> submissions(Store& store);
// The file of an experiment that means the same as before for what is run: another partition, a comment.
void note_experiment_text(Store& store, const Experiment& experiment);
// Of all machines together, where results of several are joined.
void note_planned_trials(Store& store, int trials);
void leave_node_out(Store& store, const std::string& node, const std::string& why);
// All of them: they are tried again.
void take_nodes_again(Store& store);
// "meter file /x/meter.py": of the user's own meters and setters, where machines had different ones.
std::vector<std::string> programs_that_differ(Store& store);
std::map<std::string, std::string> nodes_left_out(Store& store);

}  // namespace dvfs_plan
