// dvfs-plan compare BEFORE AFTER
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/output.hpp"
#include "orchestrator/commands/options.hpp"
#include "results/compare/comparison_json.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

ComparedResult read_result(const std::string& file) {
  Store store = Store::open(file, Database::Mode::read_only);
  store.hold_snapshot();
  std::map<std::string, std::string> commands;
  Statement s = store.database().prepare("SELECT name, command FROM workload");
  while (s.step()) commands[s.text(0)] = s.text(1);
  return {file, store.plan_hash(), store.machine_facts(), commands, summary_of(store), store.trials()};
}

}  // namespace

int compare_command(const Options& options) {
  const Comparison comparison = compare(read_result(options.file), read_result(options.other));
  if (!options.html.empty()) {
    refuse_the_result_itself(options.html, "--html", options.file);
    refuse_the_result_itself(options.html, "--html", options.other);
    write_html_comparison(comparison, options.html);
    write_stderr(fmt::format("the page is {}\n", options.html));
    if (!options.json) return static_cast<int>(ExitCode::done);
  }
  write_answer(options.json ? json_comparison(comparison)
                            : terminal_comparison(comparison, is_terminal_stdout()));
  return static_cast<int>(ExitCode::done);
}

}  // namespace dvfs_plan
