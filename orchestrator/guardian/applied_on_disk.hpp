// Keeps the record of what a session has set (guard/applied_record.hpp) at least as new as what it has set.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "orchestrator/guard/applied_record.hpp"
#include "orchestrator/guard/restore_settings.hpp"

namespace dvfs_plan {

class AppliedOnDisk {
 public:
  // Empty: where it cannot be written it is taken away, so that nothing is known, and nothing false. Else why neither could be done.
  std::string note(StateFolder& folder, const std::string& run, const AppliedByUs& applied,
                   std::set<std::string> unsettled, AppliedByUs overwritten = {},
                   std::set<std::string> unshown = {});
  // As it lies there.
  void take(AppliedRecord record) { last_ = std::move(record); }
  // One of them is back: what it reads from now on is not the run's, unless what is at work yet changes it by the way.
  void note_back(StateFolder& folder, const std::string& path);
  // Behind a putting back: what is back is nobody's but its owner's. What failed is known by what it reads now; where its program did not end it
  // may read anything.
  void note_failures(StateFolder& folder, const std::string& run, const RestoreOutcome& outcome);
  // Somebody may have deleted it.
  void write_again(StateFolder& folder);
  // It was removed, with the journal.
  void forget() { last_.reset(); }

 private:
  std::string keep(StateFolder& folder, AppliedRecord record);  // written where it is another than the last
  std::string write(StateFolder& folder);

  std::optional<AppliedRecord> last_;
};

}  // namespace dvfs_plan
