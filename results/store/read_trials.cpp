// Rows out of the file, for reports and strategies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "results/energy/energy_curve.hpp"
#include "results/energy/energy_source.hpp"
#include "results/store/digest.hpp"
#include "results/store/store.hpp"
#include "results/trial/several.hpp"

namespace dvfs_plan {
namespace {

// Of what a growth says that it changed: "reference: w v=2; order: listed -> shuffled".
bool changes_order(const std::string& changes) {
  const std::string all = "; " + changes + ";";
  return all.find("; order: listed -> shuffled;") != std::string::npos ||
         all.find("; order: shuffled -> listed;") != std::string::npos;
}

ConstraintSpec::Relation parse_relation(std::string_view text) {
  using R = ConstraintSpec::Relation;
  for (const R relation : {R::at_most, R::less, R::at_least, R::more}) {
    if (text == to_string(relation)) return relation;
  }
  return R::at_most;
}

using S = const Statement&;
int whole(S s, int column) {
  return static_cast<int>(s.integer(column));
}

// What of the view `trials` reports go by.
struct RowColumn {
  const char* name;
  void (*read)(S, int, TrialRow&);
};
const RowColumn row_columns[] = {
    {"trial", [](S s, int c, TrialRow& r) { r.id = s.integer(c); }},
    {"key", [](S s, int c, TrialRow& r) { r.key = s.text(c); }},
    {"workload", [](S s, int c, TrialRow& r) { r.workload = s.text(c); }},
    {"scenario", [](S s, int c, TrialRow& r) { r.scenario = s.text(c); }},
    {"point", [](S s, int c, TrialRow& r) { r.point = s.text(c); }},
    {"is_reference", [](S s, int c, TrialRow& r) { r.is_reference = s.integer(c) != 0; }},
    {"node", [](S s, int c, TrialRow& r) { r.node = s.text(c); }},
    {"left_out", [](S s, int c, TrialRow& r) { r.left_out = s.text(c); }},
    {"role", [](S s, int c, TrialRow& r) { r.role = parse_role(s.text(c)); }},
    {"attempt", [](S s, int c, TrialRow& r) { r.attempt = whole(s, c); }},
    {"given_up", [](S s, int c, TrialRow& r) { r.given_up = s.integer(c) != 0; }},
    {"confirms", [](S s, int c, TrialRow& r) { r.confirms = s.integer(c) != 0; }},
    {"block", [](S s, int c, TrialRow& r) { r.block = whole(s, c); }},
    {"position", [](S s, int c, TrialRow& r) { r.position = whole(s, c); }},
    {"started_at", [](S s, int c, TrialRow& r) { r.started_at = s.text(c); }},
    {"outcome", [](S s, int c, TrialRow& r) { r.outcome = s.text(c); }},
    {"verdict", [](S s, int c, TrialRow& r) { r.verdict = s.text(c); }},
    {"verdict_text", [](S s, int c, TrialRow& r) { r.verdict_text = s.text(c); }},
    {"exit_code",
     [](S s, int c, TrialRow& r) {
       if (!s.is_null(c)) r.exit_code = whole(s, c);
     }},
    {"signal", [](S s, int c, TrialRow& r) { r.signal = s.maybe_text(c); }},
    {"region", [](S s, int c, TrialRow& r) { r.region = s.text(c); }},
    {"runs", [](S s, int c, TrialRow& r) { r.runs = whole(s, c); }},
    {"time_s", [](S s, int c, TrialRow& r) { r.time_s = s.maybe_real(c); }},
    {"energy_j", [](S s, int c, TrialRow& r) { r.energy_j = s.maybe_real(c); }},
    {"energy_half_width_j", [](S s, int c, TrialRow& r) { r.energy_half_width_j = s.maybe_real(c); }},
    {"energy_systematic_j", [](S s, int c, TrialRow& r) { r.energy_systematic_j = s.maybe_real(c); }},
    {"above_idle_j", [](S s, int c, TrialRow& r) { r.above_idle_j = s.maybe_real(c); }},
    {"mean_power_w", [](S s, int c, TrialRow& r) { r.mean_power_w = s.maybe_real(c); }},
    {"idle_half_width_w", [](S s, int c, TrialRow& r) { r.idle_half_width_w = s.maybe_real(c); }},
    {"idle_systematic_w", [](S s, int c, TrialRow& r) { r.idle_systematic_w = s.maybe_real(c); }},
    {"objective_value", [](S s, int c, TrialRow& r) { r.objective_value = s.maybe_real(c); }},
    {"more_than", [](S s, int c, TrialRow& r) { r.more_than = s.maybe_real(c); }},
    {"units", [](S s, int c, TrialRow& r) { r.units = s.maybe_real(c); }},
    {"energy_per_unit_j", [](S s, int c, TrialRow& r) { r.energy_per_unit_j = s.maybe_real(c); }},
    {"time_per_unit_s", [](S s, int c, TrialRow& r) { r.time_per_unit_s = s.maybe_real(c); }},
    {"temperature_c", [](S s, int c, TrialRow& r) { r.temperature_c = s.maybe_real(c); }},
    {"foreign_cpu_s", [](S s, int c, TrialRow& r) { r.foreign_cpu_s = s.maybe_real(c); }},
    {"power_cap_share", [](S s, int c, TrialRow& r) { r.power_cap_share = s.maybe_real(c); }},
    {"power_limit_w", [](S s, int c, TrialRow& r) { r.power_limit_w = s.maybe_real(c); }},
    {"all_running_s", [](S s, int c, TrialRow& r) { r.all_running_s = s.maybe_real(c); }},
    {"all_running_j", [](S s, int c, TrialRow& r) { r.all_running_j = s.maybe_real(c); }},
    {"all_running_half_width_j",
     [](S s, int c, TrialRow& r) { r.all_running_half_width_j = s.maybe_real(c); }},
    {"fresh_readings", [](S s, int c, TrialRow& r) { r.fresh_readings = whole(s, c); }},
};

// What each trial tells of each metric, by the trial's id.
std::map<std::int64_t, std::map<std::string, ToldMetric>> metrics_of_trials(Database& database) {
  struct OfTrial {
    std::vector<MetricRecord> told;
    std::size_t at_once = 1, starts = 1;
  };
  std::map<std::int64_t, OfTrial> trials;
  Statement metric = database.prepare(
      "SELECT m.trial_id, m.name, m.value, m.unit, m.count_of, m.run, t.instances, t.runs FROM metric m "
      "JOIN trial t ON t.id = m.trial_id ORDER BY m.trial_id, m.ordinal");
  while (metric.step()) {
    OfTrial& trial = trials[metric.integer(0)];
    MetricRecord one;
    one.name = metric.text(1);
    one.value = metric.real(2);
    one.unit = metric.text(3);
    one.count_of = metric.maybe_real(4);
    one.run = static_cast<int>(metric.integer(5));
    trial.told.push_back(std::move(one));
    trial.at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, metric.integer(6)));
    trial.starts = static_cast<std::size_t>(std::max<std::int64_t>(1, metric.integer(7)));
  }
  std::map<std::int64_t, std::map<std::string, ToldMetric>> all;
  for (const auto& [id, trial] : trials) all[id] = told_metrics(trial.told, trial.at_once, trial.starts);
  return all;
}

void note_metrics(TrialRow& row, const std::map<std::string, ToldMetric>& metrics) {
  for (const auto& [name, told] : metrics) {
    row.units_of_metrics[name] = told.unit;
    if (told.of > 0) row.counts_of_metrics[name] = {told.count, told.of};
    if (!told.counts_of_copies.empty()) row.counts_of_copies[name] = told.counts_of_copies;
    if (told.told > 0) row.metrics[name] = told.value;
    if (told.told > 1) row.extremes_of_metrics[name] = {told.least, told.highest};
  }
}

}  // namespace

std::vector<FinishedTrial> Store::history(PlacesIn places) {
  std::vector<FinishedTrial> trials;
  std::map<std::int64_t, int> in_points;
  if (places == PlacesIn::points) {
    Statement ids = database_.prepare("SELECT id FROM point ORDER BY id");
    while (ids.step()) in_points.emplace(ids.integer(0), static_cast<int>(in_points.size()));
  }
  const auto metrics = metrics_of_trials(database_);
  Statement s = database_.prepare(
      "SELECT t.key, point_id, t.block, role, attempt, verdict, objective, slot_s, energy_half_width_j / "
      "energy_j, "
      "region_s, energy_j, runs, units, confirms, coalesce(r.node, ''), given_up, t.id, energy_systematic_j "
      "/ energy_j FROM trial t JOIN "
      "session s "
      "ON s.id = "
      "t.session_id LEFT JOIN block_run r ON r.id = s.block_run_id JOIN point p ON p.id = t.point_id WHERE "
      "r.left_out IS NULL AND NOT s.recheck AND "
      "(p.in_plan OR t.role IN ('idle_before', 'idle_after')) ORDER BY t.id");
  std::map<std::tuple<int, int, TrialRole>, int> nth;
  const auto damaged = damaged_trials(database_);
  while (s.step()) {
    FinishedTrial trial;
    trial.key = s.text(0);
    trial.role = parse_role(s.text(3));
    trial.point =
        places == PlacesIn::points ? in_points.at(s.integer(1)) : point_index(s.integer(1), trial.role);
    if (trial.point < 0) continue;
    trial.block = static_cast<int>(s.integer(2));
    trial.attempt = static_cast<int>(s.integer(4));
    const std::string verdict =
        damaged.contains(s.integer(16)) ? to_string(Verdict::damaged).data() : s.text(5);
    // Which of several it was is not in the file: they are in its order.
    int& runs_so_far =
        nth[trial.role == TrialRole::warm_up ? std::tuple(-1, trial.block, trial.role)
                                             : std::tuple(trial.point, trial.block, trial.role)];
    if (trial.attempt == 1) ++runs_so_far;
    trial.nth = runs_so_far;
    trial.counts = trial_counts(verdict, trial.role);
    trial.given_up = s.integer(15) != 0;
    trial.may_pass = trial.given_up || may_pass(std::string_view(verdict));
    trial.objective = s.maybe_real(6);
    trial.slot_s = s.real(7);
    trial.sensor_share = s.maybe_real(8);
    trial.systematic_share = s.maybe_real(17);
    if (const auto told = metrics.find(s.integer(16)); told != metrics.end()) set_told(trial, told->second);
    set_work(trial, s.maybe_real(9), s.maybe_real(10), static_cast<std::size_t>(s.integer(11)),
             s.maybe_real(12));
    trial.confirms = s.integer(13) != 0;
    trial.node = s.text(14);
    trials.push_back(trial);
  }
  return trials;
}

static bool by_gauge(const std::string& source, const std::vector<Channel>& channels) {
  for (const EnergySource& one : energy_sources(channels, {})) {
    if (one.name != source) continue;
    return std::any_of(one.channels.begin(), one.channels.end(),
                       [&](std::uint32_t i) { return channels[i].kind == ChannelKind::gauge; });
  }
  // Some of its parts were dead: whatever is left.
  return std::any_of(channels.begin(), channels.end(), [](const Channel& channel) {
    return measures_energy(channel) && channel.kind == ChannelKind::gauge;
  });
}

std::map<std::int64_t, std::vector<std::uint32_t>> Store::unusable_channels() {
  std::map<std::int64_t, std::vector<std::uint32_t>> unusable;
  Statement s = database_.prepare(
      "SELECT session_id, channel_id FROM sensor_audit WHERE state IN ('dead', 'denied', 'gone', 'absent') "
      "ORDER BY session_id, channel_id");
  while (s.step()) unusable[s.integer(0)].push_back(static_cast<std::uint32_t>(s.integer(1) - 1));
  return unusable;
}

std::vector<std::uint32_t> Store::energy_channels() {
  const std::string source = energy_source();
  if (source.empty()) return {};
  const auto all = channels();
  auto unusable = unusable_channels();
  Statement sessions = database_.prepare(
      "SELECT id FROM session s WHERE NOT recheck AND EXISTS (SELECT 1 FROM trial t WHERE t.session_id = "
      "s.id AND t.energy_j IS NOT NULL) ORDER BY id");
  while (sessions.step()) {
    auto of_session = channels_of_source(source, all, unusable[sessions.integer(0)]);
    if (!of_session.empty()) return of_session;
  }
  return {};
}

std::vector<std::string> Store::energy_sensors() {
  const auto all = channels();
  std::vector<std::string> names;
  for (const std::uint32_t channel : energy_channels()) names.push_back(all[channel].name);
  return names;
}

ExperimentRow Store::experiment() {
  ExperimentRow row;
  Statement s = database_.prepare(
      "SELECT name, description, objective, energy_source, planned_trials, created_at, tool_version, "
      "per_metric, "
      "currency, price_per_j, price_per_s, drift_limit, until, shuffled FROM experiment");
  if (!s.step()) throw Error(ExitCode::machine_refuses, "result file: it holds no experiment");
  row.name = s.text(0);
  row.description = s.text(1);
  row.objective.minimise = parse_objective(s.text(2)).value_or(Objective::energy);
  row.energy_source = s.maybe_text(3);
  row.energy_by_gauge = row.energy_source && by_gauge(*row.energy_source, channels());
  if (row.energy_source) {
    for (const Channel& channel : channels()) {
      const std::string all = " " + *row.energy_source + " ";
      if (channel.told_when_new && !channel.late_by_s && measures_energy(channel) &&
          all.find(" " + channel.domain + " ") != std::string::npos)
        row.told_by_programs.push_back(channel.name);
    }
  }
  row.planned_trials = static_cast<int>(s.integer(4));
  row.created_at = s.text(5);
  row.tool_version = s.text(6);
  row.objective.per = s.text(7);
  if (s.maybe_text(8)) row.objective.price = PriceSpec{s.real(9), s.real(10), s.text(8)};
  row.drift_limit = s.real(11);
  row.until = s.maybe_real(12);
  row.shuffled = s.integer(13) != 0;
  Statement search = database_.prepare("SELECT method, regret, confidence, at_most FROM search");
  if (search.step()) {
    row.search = SearchRow{search.text(0), search.real(1), search.real(2), std::nullopt};
    if (const auto most = search.maybe_integer(3)) row.search->at_most = static_cast<int>(*most);
  }
  Statement points =
      database_.prepare("SELECT scenario, count(*) FROM point WHERE in_plan GROUP BY scenario");
  while (points.step()) row.points_of_scenario[points.text(0)] = static_cast<int>(points.integer(1));
  Statement session = database_.prepare(std::string("SELECT ended_how, ") + trials_left_now +
                                        " FROM session WHERE NOT recheck "
                                        "ORDER BY id DESC LIMIT 1");
  row.of_machines = database_.prepare("SELECT 1 FROM block_run UNION ALL SELECT 1 FROM submission").step();
  if (session.step()) {
    row.last_session_ended = session.text(0);
    if (const auto left = session.maybe_integer(1)) row.trials_left = static_cast<int>(*left);
  }
  Statement workloads =
      database_.prepare("SELECT name, objective, per_metric, target FROM workload ORDER BY id");
  while (workloads.step()) {
    if (const auto target = workloads.maybe_text(3)) row.targets[workloads.text(0)] = *target;
    if (workloads.is_null(1)) continue;
    ObjectiveSpec& own = row.own_objectives[workloads.text(0)];
    own = row.objective;
    own.minimise = parse_objective(workloads.text(1)).value_or(Objective::energy);
    own.per = workloads.text(2);
  }
  Statement rules = database_.prepare(
      "SELECT r.name, r.relation, r.bound, w.name, r.text FROM constraint_rule r LEFT JOIN workload w ON "
      "w.id = r.workload_id ORDER BY r.id");
  while (rules.step()) {
    ConstraintSpec constraint;
    constraint.name = rules.text(0);
    constraint.relation = parse_relation(rules.text(1));
    constraint.limit = rules.real(2);
    // "p99_latency <= 40 ms": what is measured has its unit by its name.
    const auto words = split_words(rules.text(4));
    if (words.size() == 4 && words[0] == constraint.name) constraint.unit = words[3];
    const auto workload = rules.maybe_text(3);
    (workload ? row.own_objectives[*workload] : row.objective).constraints.push_back(constraint);
  }
  // Which axes say how many copies run at once: {"workloads": {"w": {"instances": "{copies}"}}}.
  Statement plan = database_.prepare(
      "SELECT DISTINCT trim(json_extract(w.value, '$.instances'), '{}') FROM experiment e, json_each(CASE "
      "WHEN json_valid(e.plan_json) THEN "
      "e.plan_json ELSE '{}' END, '$.workloads') w WHERE json_extract(w.value, '$.instances') LIKE '{%}'");
  while (plan.step()) row.axes_of_instances.insert(plan.text(0));
  Statement budget = database_.prepare(
      "SELECT json_extract(CASE WHEN json_valid(plan_json) THEN plan_json ELSE '{}' END, '$.budget') IS NOT "
      "NULL FROM experiment");
  row.has_budget = budget.step() && budget.integer(0) != 0;
  row.planned_at_most = is_planned_at_most(database_, row.last_session_ended);
  Statement axes = database_.prepare("SELECT name, kind FROM axis ORDER BY id");
  while (axes.step()) row.axes.emplace_back(axes.text(0), axes.text(1));
  Statement grown = database_.prepare(
      "SELECT grown_at, changes, first_block, new_blocks + max(0, old_blocks), "
      // Of a joined result it is 1, whichever blocks they are: of each machine others.
      "growth.first_block = 1 OR EXISTS (SELECT 1 FROM trial t WHERE t.block < growth.first_block), "
      "growth.first_block > 1 AND EXISTS (SELECT 1 FROM trial t JOIN session s ON s.id = t.session_id WHERE "
      "NOT s.recheck AND t.block >= growth.first_block AND t.block < "
      "coalesce((SELECT min(g.first_block) FROM growth g WHERE g.id > growth.id), 9e9)) "
      "FROM growth ORDER BY id");
  while (grown.step()) {
    const bool blocks = grown.integer(3) > 0;
    row.order_changed = row.order_changed || (grown.integer(4) != 0 && changes_order(grown.text(1)));
    const auto first = static_cast<int>(grown.integer(2));
    row.grown.push_back({grown.text(0), grown.text(1), blocks ? std::optional(first) : std::nullopt,
                         !blocks && grown.integer(5) != 0 ? std::optional(first) : std::nullopt});
  }
  return row;
}

std::vector<PointRow> Store::points() {
  std::vector<PointRow> points;
  std::map<std::int64_t, std::size_t> index;
  Statement s = database_.prepare(
      "SELECT p.id, p.key, w.name, p.scenario, p.is_reference, p.in_plan FROM point p JOIN workload w ON "
      "w.id = "
      "p.workload_id "
      "ORDER BY p.id");
  while (s.step()) {
    index[s.integer(0)] = points.size();
    points.push_back({s.text(1), s.text(2), s.text(3), s.integer(4) != 0, {}, s.integer(5) != 0});
  }
  Statement values = database_.prepare(
      "SELECT v.point_id, a.name, v.text, v.number FROM point_value v JOIN axis a ON a.id = v.axis_id ORDER "
      "BY "
      "v.point_id, a.id");
  while (values.step())
    points[index.at(values.integer(0))].settings.push_back(
        {values.text(1), values.text(2), values.maybe_real(3)});
  return points;
}

std::vector<PriorShape> Store::prior() {
  std::vector<PriorShape> shapes;
  Statement s =
      database_.prepare("SELECT source, log_time, log_power FROM prior_shape ORDER BY source, point_id");
  while (s.step()) {
    const std::string source = s.text(0);
    if (shapes.empty() || shapes.back().source != source) shapes.push_back({source, {}, {}});
    shapes.back().log_time.push_back(s.real(1));
    if (const auto power = s.maybe_real(2)) shapes.back().log_power.push_back(*power);
  }
  return shapes;
}

std::string Store::damaged_text() {
  const auto damaged = damaged_trials(database_);
  std::vector<std::string> texts;
  if (!damaged.empty())
    texts.push_back(
        fmt::format("{} of the trials {} not as written (the checksum differs): {}; a report leaves {} out",
                    damaged.size(), damaged.size() == 1 ? "is" : "are",
                    some_keys({damaged.begin(), damaged.end()}), damaged.size() == 1 ? "it" : "them"));
  if (const auto lost = trials_without_their_readings(database_); !lost.empty())
    texts.push_back(fmt::format("the readings of {} trial{} are not in the file any more: {}", lost.size(),
                                lost.size() == 1 ? "" : "s", some_keys(lost)));
  if (!later_is_whole(database_))
    texts.push_back(
        "what it says of sessions, nodes, trials that were given up and how many were planned is not as "
        "written (the "
        "checksum differs)");
  return join(texts, "; ");
}

std::string Store::damaged_readings_text() {
  std::vector<std::int64_t> damaged;
  Statement trials = database_.prepare("SELECT id FROM trial ORDER BY id");
  while (trials.step()) {
    if (!readings_are_whole(database_, trials.integer(0))) damaged.push_back(trials.integer(0));
  }
  if (damaged.empty()) return {};
  return fmt::format("the readings of {} trial{} are not those that were written (the checksum differs): {}",
                     damaged.size(), damaged.size() == 1 ? "" : "s", some_keys(damaged));
}

std::string Store::some_keys(const std::vector<std::int64_t>& trials) {
  constexpr std::size_t most = 5;
  std::vector<std::string> keys;
  Statement key = database_.prepare("SELECT key FROM trial WHERE id = ?");
  for (std::size_t i = 0; i < std::min(most, trials.size()); ++i) {
    key.reset();
    key.bind(trials[i]);
    if (key.step()) keys.push_back(printable(key.text(0)));
  }
  return join(keys, ", ") + (keys.size() < trials.size() ? ", ..." : "");
}

std::vector<TrialRow> Store::trials() {
  std::map<std::string, std::vector<AxisSetting>> settings;
  Statement values = database_.prepare(
      "SELECT p.key, a.name, v.text, v.number FROM point_value v JOIN point p ON p.id = v.point_id JOIN axis "
      "a ON a.id = v.axis_id ORDER BY p.id, a.id");
  while (values.step())
    settings[values.text(0)].push_back({values.text(1), values.text(2), values.maybe_real(3)});
  std::map<std::int64_t, std::vector<TrialRow::Applied>> applied;
  Statement delivered = database_.prepare(
      "SELECT trial, axis, target, requested, applied, delivered, as_requested, delivered_low, "
      "delivered_high FROM settings ORDER BY trial, "
      "axis, target");
  while (delivered.step()) {
    applied[delivered.integer(0)].push_back({delivered.text(1),
                                             delivered.text(2),
                                             delivered.text(3),
                                             delivered.maybe_text(4),
                                             delivered.maybe_real(5),
                                             delivered.maybe_real(7),
                                             delivered.maybe_real(8),
                                             {}});
    if (const auto so = delivered.maybe_integer(6))
      applied[delivered.integer(0)].back().as_requested = *so != 0;
  }
  const auto metrics = metrics_of_trials(database_);
  std::map<std::int64_t, std::vector<TrialRow::Instance>> instances;
  Statement instance = database_.prepare(
      "SELECT trial_id, name, workload, sum(region_s), sum(units), count(*) FROM trial_instance GROUP BY "
      "trial_id, instance "
      "ORDER BY trial_id, instance");
  while (instance.step())
    instances[instance.integer(0)].push_back({instance.text(1), instance.text(2), instance.maybe_real(3),
                                              instance.maybe_real(4), static_cast<int>(instance.integer(5))});
  std::map<std::int64_t, std::map<std::string, double>> boards;
  Statement board = database_.prepare(
      "SELECT e.trial_id, c.domain, e.joules / max(1, t.runs) FROM channel_energy e JOIN channel c ON c.id = "
      "e.channel_id JOIN trial t ON "
      "t.id = e.trial_id WHERE c.domain GLOB 'gpu-*' AND c.contained_in IS NULL AND e.joules IS NOT NULL AND "
      "c.unit IN ('J', 'W') "
      "ORDER BY e.trial_id, c.kind");
  while (board.step()) boards[board.integer(0)].emplace(board.text(1), board.real(2));

  std::vector<TrialRow> rows;
  std::string names;
  for (const RowColumn& column : row_columns) names += std::string(names.empty() ? "" : ", ") + column.name;
  Statement s = database_.prepare("SELECT " + names + " FROM trials ORDER BY trial");
  const auto damaged = damaged_trials(database_);
  while (s.step()) {
    TrialRow row;
    int at = 0;
    for (const RowColumn& column : row_columns) column.read(s, at++, row);
    if (damaged.contains(row.id)) {
      row.verdict = to_string(Verdict::damaged);
      row.verdict_text =
          "its rows in the file are not those that were written (their checksum differs): a medium that "
          "fails, a copy that "
          "went wrong, or somebody's hand";
    }
    row.settings = settings[row.point];
    row.applied = std::move(applied[row.id]);
    if (const auto told = metrics.find(row.id); told != metrics.end()) note_metrics(row, told->second);
    row.instances = std::move(instances[row.id]);
    row.joules_of_boards = std::move(boards[row.id]);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ChannelEnergies> Store::channel_energies() {
  std::vector<ChannelEnergies> rows;
  Statement s = database_.prepare(
      "SELECT t.id, t.block, t.role, t.verdict = 'ok', coalesce(t.region_s, 0), c.name, e.joules, "
      "e.half_width_j IS NOT NULL, e.systematic_j FROM "
      "trial "
      "t JOIN session s ON s.id = "
      "t.session_id JOIN channel_energy e ON e.trial_id = t.id JOIN channel c ON c.id = e.channel_id WHERE "
      "NOT s.recheck AND e.joules IS NOT "
      "NULL ORDER BY t.id, c.id");
  while (s.step()) {
    if (rows.empty() || rows.back().trial != s.integer(0))
      rows.push_back({s.integer(0), static_cast<int>(s.integer(1)), parse_role(s.text(2)), s.integer(3) != 0,
                      s.real(4)});
    rows.back().joules[s.text(5)] = s.real(6);
    if (s.integer(7) != 0) rows.back().systematic_j[s.text(5)] = s.maybe_real(8).value_or(0);
  }
  return rows;
}

std::vector<NoticedRow> Store::noticed() {
  std::vector<NoticedRow> rows;
  Statement s = database_.prepare(
      "SELECT id, key, kind, message FROM ("
      "SELECT t.id, t.key, e.kind, e.message, e.id AS place, t.session_id FROM event e JOIN trial t ON t.id "
      "= e.trial_id "
      "UNION ALL SELECT id, key, verdict, verdict_text, 0, session_id FROM trial WHERE verdict <> 'ok' AND "
      "role IN "
      "('warm_up', 'idle_before', 'idle_after')) WHERE session_id IN (SELECT id FROM session WHERE NOT "
      "recheck) ORDER BY "
      "id, place");
  while (s.step()) rows.push_back({s.integer(0), s.text(1), s.text(2), s.text(3)});
  return rows;
}

std::vector<std::string> Store::sensor_lines() {
  std::vector<std::string> lines;
  Statement s = database_.prepare(
      "SELECT channel, domain, state, update_s, fresh_per_s, rise_s, period_s, at_least, window_s, latency_s "
      "FROM sensors WHERE "
      "session = "
      "(SELECT max(session_id) FROM sensor_audit WHERE session_id IN (SELECT id FROM session WHERE NOT "
      "recheck)) AND unit IN ('J', 'W') ORDER BY channel");
  while (s.step()) {
    std::string line = fmt::format("{} ({}): {}", s.text(0), s.text(1), s.text(2));
    if (s.maybe_real(3))
      line += fmt::format(", updates {}every {}", s.integer(7) != 0 ? "at least " : "",
                          format_duration(Seconds{s.real(3)}));
    if (s.maybe_real(4)) line += fmt::format(", {:.3g} fresh readings/s", s.real(4));
    if (s.maybe_real(5))
      line += fmt::format(", follows a step within {}", format_duration(Seconds{s.real(5)}));
    if (s.maybe_real(8)) line += fmt::format(", a mean over {}", format_duration(Seconds{s.real(8)}));
    if (s.maybe_real(9)) line += fmt::format(", {} late", format_duration(Seconds{s.real(9)}));
    lines.push_back(line + fmt::format(", read every {}", format_duration(Seconds{s.real(6)})));
  }
  Statement pairs = database_.prepare(
      "SELECT channel, other, is_part, ratio FROM sensor_agreements WHERE session = (SELECT max(session_id) "
      "FROM sensor_audit WHERE session_id IN (SELECT id FROM session WHERE NOT recheck)) ORDER BY channel, "
      "other");
  while (pairs.step()) {
    lines.push_back(pairs.integer(2) != 0 ? fmt::format("{} is {:.1f} % of {}", pairs.text(0),
                                                        100 * pairs.real(3), pairs.text(1))
                                          : fmt::format("{} and {} differ by {:+.2f} %", pairs.text(0),
                                                        pairs.text(1), 100 * (pairs.real(3) - 1)));
  }
  Statement machines = database_.prepare(
      "SELECT r.node, (SELECT count(DISTINCT r.node) FROM session s JOIN block_run r ON r.id = "
      "s.block_run_id "
      "WHERE NOT s.recheck) AS machines FROM session s JOIN block_run r ON r.id = s.block_run_id WHERE s.id "
      "= "
      "(SELECT max(session_id) FROM sensor_audit WHERE session_id IN (SELECT id FROM session WHERE NOT "
      "recheck)) AND machines > 1");
  if (machines.step())
    lines.push_back(
        fmt::format("these are those of {}, one of {} machines; `dvfs-plan sql RESULT 'select * from "
                    "sensors'` has all",
                    machines.text(0), machines.integer(1)));
  return lines;
}

}  // namespace dvfs_plan
