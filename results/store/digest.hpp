// Checksums of what was written, so that a flipped bit is found and not reported: a medium that rots, a copy that went
// wrong, a hand in the file. SQLite itself notices what breaks its own structure, and no more.
//
// Of a trial: a sum over its rows in all tables (the order does not matter) of a mixed CRC-32 (zlib's) of each row's
// names and values. A value that is NULL, or its column's default, is left out: a later version's new columns change
// no checksum. Not in it: what may be written later (given_up, and how a merge sets a key aside).
//
// Of what is written as nights go on (sessions, which node ran which block, what nodes are and which were left out, jobs
// submitted, which trials were given up, how many are planned) there is one sum. Without any: what is under way
// (current_trial, trials_left), and the names of files that were handed in.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "results/store/sqlite.hpp"

namespace dvfs_plan {

// Writes a trial's checksums down, one of its readings and one of all else, and adds to the sum of all; within the
// transaction that writes it.
class TrialSeals {
 public:
  explicit TrialSeals(Database& database);
  ~TrialSeals();
  void seal(std::int64_t trial);
  void seal_again(std::int64_t trial);  // one that was sealed, and is meant to be other now

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

// Of the experiment, its points, axes, workloads, constraints and the machine's facts.
void seal_plan(Database& database);
// The tables of a plan, by which its blocks are run.
std::span<const char* const> plan_tables();
// What the look at the sensors found as a session began, added to the sum of all looks; within the transaction that
// writes it.
void seal_look(Database& database, std::int64_t session);
// Of what is written as nights go on. Made before it is changed, within the same transaction; seal() after it. A file in
// which it is not as written stays so: what is written next must not make it look whole.
class LaterSeal {
 public:
  explicit LaterSeal(Database& database);
  void seal();

 private:
  Database& database_;
  bool was_whole_;
};
void seal_later(Database& database);  // as it is now
bool later_is_whole(Database& database);
// Of a file that has none yet: all of it as it is now.
void seal_all(Database& database);
bool plan_is_whole(Database& database);  // and the looks

// Of what is concluded; within the transaction that writes it.
void seal_conclusions(Database& database);
bool conclusions_are_whole(Database& database);

// Trials whose rows are others by now than those that were written; readings are looked at by who reads them. Throws
// Error if one is missing.
std::set<std::int64_t> damaged_trials(Database& database);
bool readings_are_whole(Database& database, std::int64_t trial);
// Of trials that had readings: ids of those whose readings are not in the file any more.
std::vector<std::int64_t> trials_without_their_readings(Database& database);

}  // namespace dvfs_plan
