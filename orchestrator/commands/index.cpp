// dvfs-plan index FOLDER: a table of all results there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/error_of_file.hpp"
#include "orchestrator/commands/output_file.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "results/page/index_page.hpp"
#include "results/page/page_shell.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

namespace fs = std::filesystem;

struct IndexOptions : CommonOptions {
  std::string html, sort = "result";
};

// The processor, and the boards it had.
std::string machine_text(Store& store) {
  std::vector<std::string> parts;
  std::string host;
  for (const auto& [name, value] : store.machine_facts()) {
    if (name == "host" && value != "(none)") host = value;
    if (name == "cpu.model") parts.insert(parts.begin(), value);
    const bool board = name.starts_with("gpu-") && name.find('.') == std::string::npos;
    const std::string model = value.substr(0, value.find(','));
    if (board && std::find(parts.begin(), parts.end(), model) == parts.end()) parts.push_back(model);
  }
  if (!host.empty()) parts.insert(parts.begin(), host);
  return join(parts, ", ");
}

std::string settings_of_point(Store& store, const std::string& point) {
  std::vector<std::string> texts;
  Statement s = store.database().prepare("SELECT axis, text FROM point_values WHERE point = ?");
  s.bind(point);
  while (s.step()) texts.push_back(fmt::format("{} = {}", s.text(0), s.text(1)));
  return join(texts, ", ");
}

std::string share_of_reference(Store& store, const std::string& best, const std::string& reference) {
  std::vector<std::string> texts;
  Statement s = store.database().prepare(
      "SELECT b.axis, b.number / r.number FROM point_values b JOIN point_values r ON r.axis = b.axis WHERE "
      "b.point = ? AND r.point = ? "
      "AND b.number IS NOT NULL AND r.number <> 0 AND b.number <> r.number");
  s.bind(best).bind(reference);
  while (s.step()) texts.push_back(fmt::format("{} {:.0f} %", s.text(0), 100 * s.real(1)));
  return join(texts, ", ");
}

// Of the scenario's best (a point's key) as it was then: where another is the best since, of which.
std::string last_recheck(Store& store, const std::string& scenario, const std::string& best) {
  Statement s = store.database().prepare(
      "SELECT substr(k.at, 1, 10) || ' ' || k.verdict, k.point, coalesce(k.question <> s.question, 0) AS "
      "other FROM rechecks k JOIN scenarios s ON s.scenario = k.scenario WHERE k.scenario = ? "
      "ORDER BY other, k.session DESC LIMIT 1");
  s.bind(scenario);
  if (!s.step()) return {};
  const bool other = s.integer(2) != 0;
  if (s.text(1) == best) return s.text(0) + (other ? " (asked otherwise)" : "");
  const std::string setting = settings_of_point(store, s.text(1));
  return fmt::format("{} (of {}{})", s.text(0), setting.empty() ? s.text(1) : setting,
                     other ? ", asked otherwise" : "");
}

// A value and the ends of its interval, from column `at` on.
std::optional<Change> change_in(Statement& s, int at) {
  if (s.is_null(at)) return std::nullopt;
  return Change{0, s.real(at), s.maybe_real(at + 1), s.maybe_real(at + 2)};
}

class Gatherer {
 public:
  Gatherer(Index& index, fs::path base) : index_(index), base_(std::move(base)) {}

  void read(const fs::path& file) {
    Store store = Store::open(file.string(), Database::Mode::read_only);
    const std::string damaged = conclude_for_reading(store);
    const ExperimentRow experiment = store.experiment();
    IndexRow common;
    common.file = way_to(file);
    const fs::path page = beside_result(file.string(), ".html");
    std::error_code none;
    if (fs::exists(page, none)) common.page = way_to(page);
    common.experiment = experiment.name;
    common.machine = machine_text(store);
    common.begun_at = experiment.created_at;
    const auto progress = store.progress();
    // Those behind which it stopped by itself are run again.
    const int left = progress.session_ended_how == "gave_up" && progress.left
                         ? *progress.left
                         : progress.planned - progress.finished;
    if (!progress.may_end_early && left > 0) common.left = left;
    common.left_at_most = progress.at_most;
    if (!damaged.empty()) common.doubts.push_back(damaged);
    Statement s = store.database().prepare(
        "SELECT n.scenario, b.point, (SELECT p.workload FROM points p WHERE p.scenario = n.scenario LIMIT "
        "1), b.reference, b.gain, b.gain_low, b.gain_high, b.slowdown, b.slowdown_low, b.slowdown_high, "
        "n.trials, n.counted, b.delivered_instead, "
        "(SELECT p.delivered_instead FROM points p WHERE p.point = b.reference), "
        "(SELECT count(*) FROM points p WHERE p.scenario = n.scenario AND p.energy_j IS NOT NULL AND "
        "p.energy_sensors_half_width_j IS NULL) "
        "FROM scenarios n LEFT JOIN best b USING (scenario)");
    bool any = false;
    while (s.step()) {
      IndexRow row = common;
      row.scenario = s.text(0);
      row.objective = to_string(experiment.objective_for(s.text(2)).minimise);
      if (!s.is_null(1)) row.best = settings_of_point(store, s.text(1));
      if (!s.is_null(3)) row.reference = settings_of_point(store, s.text(3));
      row.best_is_reference = !s.is_null(1) && !s.is_null(3) && s.text(1) == s.text(3);
      // What ran at another clock must not be called by the one that was asked for, nor be a share by it.
      const bool delivered = s.is_null(12);
      if (!delivered) row.best += fmt::format(" ({} delivered)", s.text(12));
      if (!s.is_null(13)) row.reference += fmt::format(" ({} delivered)", s.text(13));
      if (delivered && s.is_null(13) && !s.is_null(1) && !s.is_null(3))
        row.share_of_reference = share_of_reference(store, s.text(1), s.text(3));
      row.gain = change_in(s, 4);
      row.slowdown = change_in(s, 7);
      row.trials = static_cast<int>(s.integer(10));
      row.counted = static_cast<int>(s.integer(11));
      if (s.integer(14) != 0 && row.objective != to_string(Objective::time))
        row.doubts.emplace_back(sensors_part_unknown_text);
      row.rechecked = last_recheck(store, row.scenario, s.is_null(1) ? "" : s.text(1));
      index_.rows.push_back(std::move(row));
      any = true;
    }
    if (any) return;
    common.objective = to_string(experiment.objective.minimise);
    common.scenario = "(no trial yet)";
    index_.rows.push_back(std::move(common));
  }

 private:
  std::string way_to(const fs::path& file) const {
    std::error_code error;
    const fs::path way = fs::relative(file, base_, error);
    return error || way.empty() ? file.string() : way.string();
  }

  Index& index_;
  fs::path base_;  // that ways are told from
};

void sort_rows(Index& index, const std::string& by) {
  const NaturalOrder natural;
  const auto gain_of = [](const IndexRow& row) { return row.gain ? row.gain->value : -INFINITY; };
  std::stable_sort(index.rows.begin(), index.rows.end(), [&](const IndexRow& a, const IndexRow& b) {
    if (by == "saving") return gain_of(a) > gain_of(b);
    if (by == "date") return a.begun_at > b.begun_at;
    if (by == "machine") return natural(a.machine, b.machine);
    return natural(a.file, b.file);
  });
}

int index_command(const IndexOptions& options) {
  std::error_code error;
  if (!fs::is_directory(options.file, error))
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{} is no folder{}", options.file, error ? fmt::format(": {}", error.message()) : ""),
        "name a folder that holds results; `dvfs-plan report` is for one of them");
  Index index{options.file, {}, {}};
  const fs::path base =
      options.html.empty() ? fs::path(options.file) : fs::absolute(options.html).parent_path();
  Gatherer gatherer(index, base);
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(options.file, fs::directory_options::skip_permission_denied, error),
      end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code none;
    if (at->path().extension() == ".sqlite" && at->is_regular_file(none)) files.push_back(at->path());
  }
  if (error)
    throw Error(ExitCode::machine_refuses, fmt::format("{}: {}", options.file, error.message()),
                "may you read it?");
  for (const fs::path& file : files) {
    try {
      gatherer.read(file);
    } catch (const Error& fault) {
      index.unread.push_back(error_of_file(file.string(), fault).what());
    } catch (const std::exception& fault) {
      // A fault of ours in one of them hides no other.
      index.unread.push_back(fmt::format("{}: it cannot be concluded ({}): a fault of dvfs-plan itself",
                                         printable(file.string()), fault.what()));
    }
  }
  sort_rows(index, options.sort);
  if (!options.html.empty()) {
    refuse_what_is_no_page(options.html, "--html");
    write_index_page(index, options.html);
    write_stderr(fmt::format("the page is {}\n", options.html));
    if (!options.json) return static_cast<int>(ExitCode::done);
  }
  write_answer(options.json ? index_json(index) : index_text(index, text_look()));
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> index_of_results(
    {.name = "index",
     .place = 45,
     .what = "a table of all results in a folder: machine, work, best, saving",
     .examples = "dvfs-plan index .\n"
                 "dvfs-plan index . --sort saving --html index.html",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<IndexOptions>();
       app.add_option("FOLDER", options->file, "it and the folders in it are looked through for *.sqlite")
           ->required();
       app.add_option("--sort", options->sort, "by result (default), saving, date or machine")
           ->check(CLI::IsMember({"result", "saving", "date", "machine"}));
       app.add_option("--html", options->html,
                      "write it as one page for a browser, with links to each result's own");
       return declared(app, options, index_command);
     }});

}  // namespace
}  // namespace dvfs_plan
