// dvfs-plan report: what a result file says.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/draw_figures.hpp"
#include "orchestrator/commands/output_file.hpp"
#include "orchestrator/commands/recompute.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "results/page/html_report.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct ReportOptions : CommonOptions {
  std::string html;        // the page to write
  std::string svg, png;    // prefixes of the figures to draw
  bool recompute = false;  // judge anew from the readings
  std::string objective;   // what is asked otherwise (experiments/plan/question.hpp)
  std::vector<std::string> subject_to, reference;
};

int report_command(const ReportOptions& options) {
  const Question question = parse_question(options.objective, options.subject_to, options.reference);
  if (question.any() && options.recompute)
    throw Error(ExitCode::bad_experiment,
                "--recompute judges each trial anew, whatever is asked of them together",
                "leave it out, or --objective, --subject-to and --reference");
  if (options.recompute && !(options.html.empty() && options.svg.empty() && options.png.empty()))
    throw Error(ExitCode::bad_experiment,
                "--recompute says what differs from what is stored, in words or --json alone",
                "leave it out, or --html, --svg and --png; nothing was written");
  Store store = Store::open(options.file, Database::Mode::read_only);
  store.hold_snapshot();
  if (options.recompute) {
    if (const std::string damaged = store.damaged_text(); !damaged.empty())
      write_stderr(fmt::format("warning: {}\n", damaged));
    const Recomputed recomputed = recompute(store);
    write_answer(options.json ? json_recomputed(recomputed) : recomputed_text(recomputed));
    return static_cast<int>(ExitCode::done);
  }
  auto trials = store.trials();
  const Summary summary = question.any() ? summary_of(store, trials, question) : summary_of(store, trials);
  const bool to_files = !options.html.empty() || !options.svg.empty() || !options.png.empty();
  if (!options.html.empty()) {
    refuse_the_result_itself(options.html, "--html", options.file);
    refuse_what_is_no_page(options.html, "--html");
    for (const std::string& why : write_html_report(store, summary, trials, options.html))
      write_stderr(fmt::format("warning: {}\n", printable(why)));
    write_stderr(fmt::format("the page is {}\n", options.html));
  }
  for (const auto& [prefix, format] :
       {std::pair{options.svg, FigureFormat::svg}, {options.png, FigureFormat::png}}) {
    if (prefix.empty()) continue;
    for (const std::string& file : draw_figures(summary, prefix, format))
      write_stderr(fmt::format("drew {}\n", file));
  }
  if (to_files && !options.json) return static_cast<int>(ExitCode::done);
  write_answer(fmt::format("{}", options.json ? json_report(store, summary, trials)
                                              : terminal_report(summary, trials, text_look())));
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> report(
    {.name = "report",
     .place = 40,
     .what = "the report of a result file, finished or not",
     .examples = "dvfs-plan report night.sqlite --html night.html\n"
                 "dvfs-plan report night.sqlite --objective edp --subject-to 'slowdown<=3%'",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<ReportOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_option("--html", options->html, "write it as one page for a browser, which needs no network");
       app.add_option("--svg", options->svg,
                      "draw the two main figures, PREFIX-settings.svg and PREFIX-trade-off.svg")
           ->type_name("PREFIX");
       app.add_option("--png", options->png, "the same as PNG")->type_name("PREFIX");
       app.add_flag(
           "--recompute", options->recompute,
           "judge all energies anew from the stored readings, and say what differs from what is stored");
       app.add_option("--objective", options->objective,
                      "minimise this instead: energy, time, edp, ed2p, or '{minimise: cost, price: {energy: "
                      "0.30 EUR/kWh, machine: 2.50 EUR/h}}'");
       app.add_option("--subject-to", options->subject_to,
                      "what must hold instead of what the experiment says, such as 'slowdown<=3%'; or none")
           ->type_size(1);
       app.add_option("--reference", options->reference,
                      "compare with this point instead, such as 'cpu.frequency=2.2 GHz'")
           ->type_size(1);
       return declared(app, options, report_command);
     }});

}  // namespace
}  // namespace dvfs_plan
