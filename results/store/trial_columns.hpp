// The columns of the table `trial`, each described once: what it is called, what it holds, and where it comes
// from. The table, what is written, the view `trials`, results/SCHEMA.md, JSON and exported tables are made
// from this.
//
// A new one is a line here and a member of TrialRecord (what comes from the child is added up over the runs
// of a trial in trial_runner.cpp, AllRuns); for files that exist, an ALTER TABLE in the next
// migrations/from_N.sql. The view `trials` leaves idle windows out.
#pragma once

#include <string>
#include <vector>

#include "results/store/sqlite.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

struct TrialColumn {
  const char* name;     // ends in its unit: _s, _j, _w, _c, _bytes, _ns
  const char* type;     // as SQL says it, with what it may hold
  const char* meaning;  // NULL is "not known", never 0
  bool shown;           // `trials` shows it as it is; what is left out there is shown per run, or not at all
  void (*bind)(Statement&, const TrialRecord&);
};
// Beside the keys: id, key, point_id, session_id.
const std::vector<TrialColumn>& trial_columns();

// schema.sql and views.sql with these columns in the places that they leave for them.
std::string schema_sql();
std::string views_sql();

}  // namespace dvfs_plan
