// Checksums of what was written, so that a flipped bit is found and not reported: a medium that rots, a copy that went
// wrong, a hand in the file. SQLite itself notices what breaks its own structure, and no more.
//
// Of a trial: a sum over its rows in all tables (the order does not matter) of a mixed CRC-32 (zlib's) of each row's
// names and values. A value that is NULL, or its column's default, is left out: a later version's new columns change
// no checksum. Not in it: what may be written later (given_up, and how a merge sets a key aside).
//
// Without one: when sessions began and ended, and which node ran which block.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "results/store/sqlite.hpp"

namespace dvfs_plan {

// Writes a trial's checksums down, one of its readings and one of all else, and adds to the sum of all; within the
// transaction that writes it.
class TrialSeals {
 public:
  explicit TrialSeals(Database& database);
  ~TrialSeals();
  void seal(std::int64_t trial);

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

// Of the experiment, its points, axes, workloads, constraints and the machine's facts.
void seal_plan(Database& database);
// What the look at the sensors found as a session began, added to the sum of all looks; within the transaction that
// writes it.
void seal_look(Database& database, std::int64_t session);
// Of a file that has none yet: all of it as it is now.
void seal_all(Database& database);
bool plan_is_whole(Database& database);  // and the looks

// Trials whose rows are others by now than those that were written; readings are looked at by who reads them. Throws
// Error if one is missing.
std::set<std::int64_t> damaged_trials(Database& database);
bool readings_are_whole(Database& database, std::int64_t trial);

}  // namespace dvfs_plan
