#include "results/store/trial_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "results/store/schema_text.hpp"

namespace dvfs_plan {
namespace {

using T = const TrialRecord&;

const char* outcome_text(const TrialRecord& trial) {
  if (trial.knob_refused) return "knob_refused";
  if (is_idle(trial.role)) return "idle";
  switch (trial.child.end) {
    case ChildResult::End::exited:
      return trial.child.exit_code == 0 ? "completed" : "exited";
    case ChildResult::End::signalled:
      return "signalled";
    case ChildResult::End::timed_out:
      return "timed_out";
    case ChildResult::End::interrupted:
    case ChildResult::End::ended_with_others:
    case ChildResult::End::not_launched:
      break;
  }
  return "not_launched";
}

int instances_of(const TrialRecord& trial) {
  return static_cast<int>(std::max<std::size_t>(1, trial.runs.size() / trial.starts()));
}
std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
bool launched(const TrialRecord& trial) {
  return trial.child.end != ChildResult::End::not_launched;
}
// Of its process there is something to say.
bool ran(const TrialRecord& trial) {
  return launched(trial) && !is_idle(trial.role);
}
template <class Value>
std::optional<Value> if_so(bool so, Value value) {
  return so ? std::optional(value) : std::nullopt;
}

}  // namespace

const std::vector<TrialColumn>& trial_columns() {
  constexpr bool shown = true, otherwise = false;
  static const std::vector<TrialColumn> columns{
      {"role",
       "TEXT NOT NULL CHECK (role IN ('point', 'reference_first', 'reference_last', 'warm_up', "
       "'idle_before', "
       "'idle_after'))",
       "'point', 'reference_first', 'reference_last', 'warm_up'", shown,
       [](Statement& s, T t) { s.bind(to_string(t.role)); }},
      {"attempt", "INTEGER NOT NULL", "2: run again because the first was disturbed", shown,
       [](Statement& s, T t) { s.bind(t.attempt); }},
      {"given_up", "INTEGER NOT NULL DEFAULT 0 CHECK (given_up IN (0, 1))",
       "1: one of several in a row that failed alike, behind which the night stopped; it is run again where "
       "the night "
       "goes on",
       shown, [](Statement& s, T) { s.bind(0); }},
      {"digest", "INTEGER", "checksum of its rows: results/store/digest.hpp", otherwise,
       [](Statement& s, T) { s.bind_null(); }},
      {"readings_digest", "INTEGER", "the same of its readings", otherwise,
       [](Statement& s, T) { s.bind_null(); }},
      {"confirms", "INTEGER NOT NULL DEFAULT 0 CHECK (confirms IN (0, 1))",
       "1: in a block of the best points of the blocks before it, run to confirm what is said of the best",
       shown, [](Statement& s, T t) { s.bind(t.confirms ? 1 : 0); }},
      {"block", "INTEGER NOT NULL", "repetition k is in block k", shown,
       [](Statement& s, T t) { s.bind(t.block); }},
      {"position", "INTEGER NOT NULL", "place in the planned order, from 1", shown,
       [](Statement& s, T t) { s.bind(t.position); }},
      {"started_at", "TEXT NOT NULL",
       "UTC, ISO 8601, when its turn came: before its settings are applied and settle, and before a wait for "
       "the machine; what it ran is somewhere in slot_s from then",
       shown, [](Statement& s, T t) { s.bind(t.started_at); }},
      {"outcome",
       "TEXT NOT NULL CHECK (outcome IN ('completed', 'exited', 'signalled', 'timed_out', 'not_launched', "
       "'knob_refused', 'idle'))",
       "'completed', 'exited', 'signalled', 'timed_out', 'not_launched', 'knob_refused'", shown,
       [](Statement& s, T t) { s.bind(outcome_text(t)); }},
      {"exit_code", "INTEGER", "NULL: it did not exit by itself", shown,
       [](Statement& s, T t) {
         s.bind(if_so(ran(t) && t.child.end == ChildResult::End::exited, t.child.exit_code));
       }},
      {"signal", "TEXT", "that ended it", shown,
       [](Statement& s, T t) { s.bind(if_so(t.child.signal != 0, signal_name(t.child.signal))); }},
      {"verdict", "TEXT NOT NULL", "'ok', or why it does not count: see results/trial/trial_record.hpp",
       shown, [](Statement& s, T t) { s.bind(to_string(t.verdict)); }},
      {"verdict_text", "TEXT NOT NULL", "the same in a sentence; '' if ok", shown,
       [](Statement& s, T t) { s.bind(t.verdict_text); }},
      {"region", "TEXT NOT NULL", "the marked region that was measured; '' is the whole process", shown,
       [](Statement& s, T t) { s.bind(t.region); }},
      {"runs", "INTEGER NOT NULL",
       "of the command within the trial; of several at once, how often all were started", shown,
       [](Statement& s, T t) { s.bind(static_cast<std::int64_t>(t.starts())); }},
      {"instances", "INTEGER NOT NULL DEFAULT 1", "that ran at once: table trial_instance has each of them",
       shown, [](Statement& s, T t) { s.bind(instances_of(t)); }},
      {"all_running_s", "REAL",
       "of the region, in which all that ran at once were running, all runs together; NULL: one ran alone",
       shown, [](Statement& s, T t) { s.bind(t.all_running_s); }},
      {"all_running_j", "REAL",
       "the energy of that time, all runs together; NULL: not known, or too short for the sensors to tell",
       shown, [](Statement& s, T t) { s.bind(t.all_running_j); }},
      {"all_running_half_width_j", "REAL", "95 %, what the sensors alone add to all_running_j", shown,
       [](Statement& s, T t) { s.bind(t.all_running_half_width_j); }},
      {"fresh_readings", "INTEGER NOT NULL",
       "values of the energy source in the region that were no repeats; 0 too where its energy is not known",
       shown, [](Statement& s, T t) { s.bind(t.fresh_readings); }},
      {"units", "REAL",
       "of work, all runs together; NULL: the objective is per run, of several at once of all of them", shown,
       [](Statement& s, T t) { s.bind(t.units); }},
      {"slot_s", "REAL NOT NULL", "from the first setting to the verdict: what the night paid for it", shown,
       [](Statement& s, T t) { s.bind(t.slot_s); }},
      {"temperature_c", "REAL", "the hottest sensor at the start", shown,
       [](Statement& s, T t) { s.bind(t.conditions.temperature_c); }},
      {"gate", "TEXT CHECK (gate IN ('in_band', 'waited', 'timed_out'))",
       "'in_band', 'waited', 'timed_out'; NULL: no temperature gate", shown,
       [](Statement& s, T t) { s.bind(text_or_null(t.conditions.gate)); }},
      {"gate_wait_s", "REAL", "for the temperature; NULL: no gate", shown,
       [](Statement& s, T t) { s.bind(t.conditions.gate_wait_s); }},
      {"settle", "TEXT CHECK (settle IN ('held', 'timed_out'))",
       "'held', 'timed_out'; NULL: no clock can be read at rest", shown,
       [](Statement& s, T t) { s.bind(text_or_null(t.conditions.settle)); }},
      {"settle_s", "REAL", "from the last setting to the launch", shown,
       [](Statement& s, T t) { s.bind(t.conditions.settle_s); }},
      {"foreign_cpu_s", "REAL", "CPU time of other processes meanwhile", shown,
       [](Statement& s, T t) { s.bind(t.conditions.foreign_cpu_s); }},
      {"run_queue", "INTEGER", "other runnable threads just before", shown,
       [](Statement& s, T t) { s.bind(t.conditions.run_queue); }},
      {"throttle_events", "REAL", "thermal throttle events of the CPUs meanwhile", shown,
       [](Statement& s, T t) { s.bind(t.conditions.throttle_events); }},
      {"power_cap_share", "REAL",
       "share of the region in which a power limit held a board's clocks down, or a package drew what it is "
       "limited to",
       shown, [](Statement& s, T t) { s.bind(t.conditions.power_cap_share); }},
      {"thermal_share", "REAL", "likewise by heat; NULL: no board counts it", shown,
       [](Statement& s, T t) { s.bind(t.conditions.thermal_share); }},
      {"power_limit_w", "REAL", "the lowest in force of the boards used, else of the packages it was set for",
       shown, [](Statement& s, T t) { s.bind(t.conditions.power_limit_w); }},
      {"user_s", "REAL", "CPU time, all runs together", shown,
       [](Statement& s, T t) { s.bind(if_so(ran(t), t.child.user_time.value())); }},
      {"system_s", "REAL", "CPU time in the kernel, all runs together", shown,
       [](Statement& s, T t) { s.bind(if_so(ran(t), t.child.system_time.value())); }},
      {"max_rss_bytes", "INTEGER",
       "most memory of one process that was waited for; NULL: no more than dvfs-plan used itself, which the "
       "kernel counts for what it starts",
       shown, [](Statement& s, T t) { s.bind(ran(t) ? t.child.max_rss_bytes : std::nullopt); }},
      {"leftovers", "INTEGER NOT NULL", "processes it left behind, which were ended", shown,
       [](Statement& s, T t) { s.bind(t.child.leftovers); }},
      {"output_bytes", "INTEGER NOT NULL", "all that was written to stdout, kept or not", shown,
       [](Statement& s, T t) { s.bind(static_cast<std::int64_t>(t.child.output.bytes)); }},
      {"error_bytes", "INTEGER NOT NULL", "likewise to stderr", shown,
       [](Statement& s, T t) { s.bind(static_cast<std::int64_t>(t.child.errors.bytes)); }},
      // Of all runs together; the view shows them per run, per unit of work or as text.
      {"started_ns", "INTEGER", "just before the (first) launch", otherwise,
       [](Statement& s, T t) { s.bind(if_so(launched(t), static_cast<std::int64_t>(t.child.started))); }},
      {"ended_ns", "INTEGER", "the (last) child was gone", otherwise,
       [](Statement& s, T t) { s.bind(if_so(launched(t), static_cast<std::int64_t>(t.child.ended))); }},
      {"region_s", "REAL", "length of the region, all runs together", otherwise,
       [](Statement& s, T t) { s.bind(t.region_s); }},
      {"energy_j", "REAL", "total over region_s, of experiment.energy_source", otherwise,
       [](Statement& s, T t) { s.bind(t.energy_j); }},
      {"energy_half_width_j", "REAL", "95 %, what the sensors alone add to it", otherwise,
       [](Statement& s, T t) { s.bind(t.energy_half_width_j); }},
      {"energy_systematic_j", "REAL", "of energy_half_width_j, what may be the same in all trials of a point",
       otherwise, [](Statement& s, T t) { s.bind(t.energy_systematic_j); }},
      {"objective", "REAL", "per run or per unit", otherwise, [](Statement& s, T t) { s.bind(t.objective); }},
      {"output_tail", "BLOB NOT NULL",
       "the last of stdout; of a command that was run several times, of its last run", otherwise,
       [](Statement& s, T t) { s.bind_blob(valid_utf8(t.child.output.tail)); }},
      {"error_tail", "BLOB NOT NULL", "the last of stderr, likewise", otherwise,
       [](Statement& s, T t) { s.bind_blob(valid_utf8(t.child.errors.tail)); }},
  };
  return columns;
}

namespace {

// The text with the line that is `place`, but for blanks, replaced.
std::string with_line_replaced(std::string_view text, std::string_view place, const std::string& lines) {
  const auto at = text.find(place);
  const auto begin = text.rfind('\n', at) + 1, end = text.find('\n', at) + 1;
  return std::string(text.substr(0, begin)) + lines + std::string(text.substr(end));
}

}  // namespace

std::string schema_sql() {
  std::string lines;
  for (const TrialColumn& column : trial_columns()) {
    const bool last = &column == &trial_columns().back();
    lines += fmt::format("  {} {}{}  -- {}\n", column.name, column.type, last ? "" : ",", column.meaning);
  }
  return with_line_replaced(schema_text, "-- COLUMNS OF A TRIAL", lines);
}

std::string views_sql() {
  std::string meanings, shown;
  for (const TrialColumn& column : trial_columns()) {
    if (!column.shown) continue;
    meanings += fmt::format("--| {}: {}\n", column.name, column.meaning);
    shown += fmt::format("         t.{},\n", column.name);
  }
  return with_line_replaced(with_line_replaced(views_text, "--| COLUMNS OF A TRIAL", meanings),
                            "-- THE COLUMNS OF A TRIAL THAT ARE SHOWN AS THEY ARE", shown);
}

}  // namespace dvfs_plan
