// What a session that rechecks an answer leaves in the file.
#include "results/store/digest.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

std::vector<std::int64_t> Store::trials_of_this_session() {
  std::vector<std::int64_t> ids;
  Statement s = database_.prepare("SELECT id FROM trial WHERE session_id = ? ORDER BY id");
  s.bind(session_);
  while (s.step()) ids.push_back(s.integer(0));
  return ids;
}

void Store::write_rechecks(const std::vector<RecheckRow>& rows) {
  {
    Transaction transaction(database_);
    LaterSeal later(database_);
    Statement row = database_.prepare(
        "INSERT INTO recheck (session_id, scenario, verdict, why, best_point_id, blocks, trials, counted, "
        "saving_before, "
        "saving_before_low, saving_before_high, saving, saving_low, saving_high, change, change_low, "
        "change_high, question) VALUES "
        "(?,?,?,?,(SELECT id FROM point WHERE key = ?),?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (const RecheckRow& one : rows) {
      row.bind(session_)
          .bind(one.scenario)
          .bind(one.verdict)
          .bind(one.why)
          .bind(one.point)
          .bind(one.blocks)
          .bind(one.trials)
          .bind(one.counted)
          .bind(one.saving_before.value)
          .bind(one.saving_before.low)
          .bind(one.saving_before.high)
          .bind(one.saving.value)
          .bind(one.saving.low)
          .bind(one.saving.high)
          .bind(one.change.value)
          .bind(one.change.low)
          .bind(one.change.high)
          .bind(one.question)
          .run();
    }
    later.seal();
    transaction.commit();
  }
  into_copy([&](Store& copy) { copy.write_rechecks(rows); });
  remember_file();
}

}  // namespace dvfs_plan
