// All results of a folder in one table: what a group has found so far, and where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/report/text_table.hpp"
#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

// One answer of one result.
struct IndexRow {
  std::string file, page;  // ways from where the index stands; page: empty where there is none beside it
  std::string experiment, machine, begun_at, objective;
  std::string scenario, best, reference;  // settings of the two; empty: none can be named
  bool best_is_reference = false;
  // The best's numeric settings as shares of the reference's, so that machines compare: "cpu.frequency 60 %".
  std::string share_of_reference;
  std::optional<Change> gain;      // of the objective against the reference, a share, 95 %
  std::optional<Change> slowdown;  // likewise
  int trials = 0, counted = 0;
  bool left_at_most = false;     // `left` is the most that there may be
  std::optional<int> left = {};  // of its result's, still to be run; nullopt: none that are known
  std::vector<std::string> doubts = {};
  std::string rechecked;  // "2026-11-24 stands"; empty: never
};

struct Index {
  std::string folder;
  std::vector<IndexRow> rows;
  std::vector<std::string> unread;  // files that are none or are damaged, with the reason
};

std::string index_text(const Index& index, const TextLook& look);
std::string index_json(const Index& index);
// Throws Error if it cannot be written.
void write_index_page(const Index& index, const std::string& path);

}  // namespace dvfs_plan
