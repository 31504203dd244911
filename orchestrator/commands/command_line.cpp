#include "orchestrator/commands/command_line.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bus_errors.hpp"
#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/between_sides.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/tool_version.hpp"
#include "orchestrator/guard/rights.hpp"
#include "results/report/text_table.hpp"
#include "results/store/migrate.hpp"

namespace dvfs_plan {
namespace {

const char* const footer = R"(
A first experiment, experiment.yaml:

  workloads:
    - name: sort
      command: [sort, --parallel=1, big.txt]
  axes:
    cpu.frequency: all           # or [1.2 GHz, 1.8 GHz], {count: 5}, min, max
  repeat: 3

  dvfs-plan check experiment.yaml     what would be run and set; changes nothing
  sudo dvfs-plan experiment.yaml      runs it, or goes on with it, then reports
  dvfs-plan report experiment.sqlite  the report again

Ctrl-C, a kill or a power cut lose no finished trial; settings are put back.

Exit codes: 0 done; 1 done, some trials do not count; 2 the experiment file is
wrong; 3 the machine refuses; 4 the machine could not be put back (with the
commands that would); 5 done, but the result file was lost meanwhile: all of it
is in the file that the last line names; 6 it stopped by itself, since one trial
after another failed in the same way; 7 of recheck and compare: not known;
128 + the signal: interrupted (130 by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP).)";

void print_error(const Error& error) {
  // A diagnostic of an experiment file says where it stands itself.
  const bool located = std::strstr(error.what(), ": error: ") != nullptr;
  write_stderr(fmt::format("{}{}\n", located ? "" : "error: ", error.what()));
  if (!error.hint().empty()) write_stderr(fmt::format("  hint: {}\n", error.hint()));
}

#ifdef __clang__
constexpr const char* compiler = __VERSION__;
#else
constexpr const char* compiler = "g++ " __VERSION__;
#endif

std::string examples_text(const CommandKind& kind) {
  std::string text = "Examples:\n";
  for (const std::string& line : split_lines(kind.examples)) text += "  " + line + "\n";
  return text;
}

// Descriptions as wide as the terminal leaves room for.
class FittedHelp : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* command) const override {
    return wrapped(CLI::Formatter::make_description(command), answer_columns());
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return fitted_beside(CLI::Formatter::make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, command->get_display_name(true), fitted_beside(command->get_description()),
                             column_width_);
    return text.str();
  }

 private:
  std::string fitted_beside(const std::string& text) const {
    const int room = answer_columns() - static_cast<int>(column_width_);
    constexpr int least = 20;  // narrower columns are harder to read than lines that the terminal breaks
    return room < least ? text : wrapped(text, room);
  }
};

class CommandLineParser {
 public:
  CommandLineParser()
      : app_("dvfs-plan: finds the frequency at which a program costs the least energy", "dvfs-plan") {
    app_.footer(footer);
    app_.formatter(std::make_shared<FittedHelp>());
    app_.set_version_flag(
        "--version",
        fmt::format("dvfs-plan {}\nresult files of schema versions {} to {}; built by {} with SQLite {}",
                    tool_version, oldest_schema_version, newest_schema_version(), compiler,
                    sqlite3_libversion()));
    run_ = declare_run(app_);
    for (const CommandKind* kind : Registered<CommandKind>::all()) {
      CLI::App* app = app_.add_subcommand(std::string(kind->name), std::string(kind->what));
      if (kind->hidden) app->group("");
      app->footer("");  // that of the program itself is the program's
      commands_.push_back({app, kind, kind->declare(*app)});
      if (!kind->examples.empty()) app->footer(examples_text(*kind) + app->get_footer());
    }
    app_.require_subcommand(0, 1);
  }

  int run(int argc, char** argv) {
    // `--` parts the results before from those after; the parser would take it for the end of the options.
    std::vector<const char*> words(argv, argv + argc);
    if (argc > 1 && std::string_view(argv[1]) == "compare")
      std::replace_if(
          words.begin(), words.end(), [](const char* word) { return std::string_view(word) == "--"; },
          between_sides);
    // Words of another program's, as they are: the parser would make a list of "[a]".
    std::vector<std::string> behind;
    const auto end = std::find_if(words.begin(), words.end(),
                                  [](const char* word) { return std::string_view(word) == "--"; });
    const auto runs_another = [](const char* word) {
      const CommandKind* const kind = Registered<CommandKind>::find(word);
      return kind != nullptr && kind->runs_another;
    };
    if (end != words.end() && std::any_of(words.begin() + 1, end, runs_another)) {
      behind.assign(end + 1, words.end());
      words.erase(end, words.end());
    }
    try {
      app_.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::ParseError& error) {
      const int code = app_.exit(error);
      if (code != 0) say_what_was_meant(words);
      std::cout.flush();
      if (code == 0 && !std::cout && errno != EPIPE)
        throw Error(ExitCode::machine_refuses, system_error_text("write the answer to its end", errno),
                    "is the disk full?");
      return code == 0 ? 0 : static_cast<int>(ExitCode::bad_experiment);
    }
    refuse_empty_values();
    const auto called = std::find_if(commands_.begin(), commands_.end(),
                                     [](const Declared& one) { return one.app->parsed(); });
    const bool named = called != commands_.end();
    const DeclaredCommand& command = named ? called->command : run_;
    if (named) take_over(*run_.options, *command.options);
    command.options->behind = std::move(behind);
    if (!named && command.options->file.empty()) {
      write_stderr(fmt::format("{}", app_.help()));
      return static_cast<int>(ExitCode::bad_experiment);
    }
    if (command.options->colour != "auto") choose_colour(command.options->colour == "always");
    give_up_rights(*command.options, !named || called->kind->needs_rights,
                   named && called->kind->runs_another);
    return command.run();
  }

 private:
  // Before anything of the invoking user's is read. Nothing of root is needed to read results, nor to read a
  // recorded machine instead of this one; and what a recorded machine brings along (a library, nvidia-smi) is
  // the caller's own.
  static void give_up_rights(const CommonOptions& options, bool needs_rights, bool has_terminal) {
    if (!needs_rights || !options.sysfs_root.empty()) return become_invoking_user();
    if (const auto user = invoking_user(); user && !options.state_folder.empty())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("--state-folder {}: under sudo root writes into his own folder alone",
                              options.state_folder),
                  "leave it out, or let root himself run it");
    leave_rights_to_guardian(has_terminal);
  }

  // What all commands take may stand before the command's name too.
  static void take_over(const CommonOptions& before, CommonOptions& options) {
    options.json = options.json || before.json;
    if (before.colour != "auto") options.colour = before.colour;
    if (options.state_folder.empty()) options.state_folder = before.state_folder;
    if (options.sysfs_root.empty()) options.sysfs_root = before.sysfs_root;
  }

  // --slowdown "$limit" with a variable that is not set: what was to be a limit would be none.
  void refuse_empty_values() {
    std::vector<const CLI::App*> apps{&app_};
    for (const CLI::App* one : app_.get_subcommands()) apps.push_back(one);
    for (const CLI::App* app : apps) {
      for (const CLI::Option* option : app->get_options()) {
        if (option->count() == 0 || option->get_items_expected_max() == 0) continue;
        const auto& given = option->results();
        if (std::none_of(given.begin(), given.end(),
                         [](const std::string& value) { return trim(value).empty(); }))
          continue;
        throw Error(ExitCode::bad_experiment, fmt::format("{}: the value is empty", option->get_name()),
                    "a variable of the shell that is not set? Give a value, or leave it out");
      }
    }
  }

  // The first that its command does not have, and what comes near it. False: there is none.
  bool say_which_option(const std::vector<const char*>& words) const {
    const CLI::App* asked = &app_;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string word = words[i];
      if (asked == &app_) {
        const auto called = std::find_if(commands_.begin(), commands_.end(),
                                         [&](const Declared& one) { return one.app->get_name() == word; });
        if (called != commands_.end()) asked = called->app;
      }
      if (word.size() < 3 || !word.starts_with("--")) continue;
      std::vector<std::string> known;
      for (const CLI::Option* option : asked->get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
      }
      const std::string option = word.substr(0, word.find('='));
      if (std::find(known.begin(), known.end(), option) != known.end()) continue;
      const std::string nearest = nearest_word(option, known);
      if (nearest.empty()) continue;
      write_stderr(fmt::format("  hint: did you mean the option '{}'?\n", nearest));
      return true;
    }
    return false;
  }

  // After words that the parser could not make anything of.
  void say_what_was_meant(const std::vector<const char*>& words) const {
    if (say_which_option(words)) return;
    const std::string& word = run_.options->file;
    if (word.empty() || word.find('.') != std::string::npos) return;
    const std::string command = nearest_word(word, command_names());
    if (word == "run")
      write_stderr(fmt::format("  hint: dvfs-plan FILE.yaml runs it; there is no 'run'\n"));
    else if (!command.empty())
      write_stderr(fmt::format("  hint: did you mean the command '{}'?\n", command));
  }

  struct Declared {
    CLI::App* app;
    const CommandKind* kind;
    DeclaredCommand command;
  };
  CLI::App app_;
  DeclaredCommand run_;
  std::vector<Declared> commands_;
};

}  // namespace

void add_common_options(CLI::App& app, CommonOptions& options) {
  app.add_flag("--json", options.json, "print JSON on stdout");
  app.add_option("--color", options.colour, "auto (a terminal, unless NO_COLOR is set), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--state-folder", options.state_folder, "where the journal and the lock are kept")
      ->group("Diagnostics");
  app.add_option("--sysfs-root", options.sysfs_root, "read a recorded machine below this folder instead")
      ->group("Diagnostics");
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandKind* kind : Registered<CommandKind>::all()) {
    if (!kind->hidden) names.emplace_back(kind->name);
  }
  return names;
}

namespace {

// What is read recursively (YAML, a plan's JSON) would end in a fault of memory with less, before anything is put back.
void require_stack() {
  constexpr rlim_t least = 512 * 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= least) return;
  throw Error(ExitCode::machine_refuses,
              fmt::format("the stack may be no larger than {} KiB here (ulimit -s); dvfs-plan needs {} KiB",
                          limit.rlim_cur / 1024, least / 1024),
              "ulimit -s 8192 gives it what is usual");
}

// As a shell says it: 128 + the signal.
int by_signal(int code) {
  constexpr int from = 128;
  const bool interrupted = code == static_cast<int>(ExitCode::interrupted) && Interruption::asked() != 0;
  return interrupted ? from + Interruption::asked() : code;
}

int fail_as_usual(const Error& error) {
  print_error(error);
  return by_signal(static_cast<int>(error.code()));
}

int fail_of_ours(const std::exception& fault) {
  return fail_as_usual(
      Error(ExitCode::machine_refuses, fault.what(),
            "this is a fault of dvfs-plan itself; please report it with the command you gave"));
}

int answer(int argc, char** argv) {
  try {
    require_stack();
    return by_signal(CommandLineParser().run(argc, argv));
  } catch (const Error& error) {
    return fail_as_usual(error);
  } catch (const std::bad_alloc&) {
    return fail_as_usual(Error(ExitCode::machine_refuses, "there is not enough memory",
                               "give it more (ulimit -v, ulimit -d, memory.max of its control group)"));
  } catch (const std::filesystem::filesystem_error& fault) {
    const int cause = fault.code().value();
    const std::string what = !fault.path2().empty()  ? fault.path2().string()
                             : fault.path1().empty() ? "."
                                                     : fault.path1().string();
    return fail_as_usual(Error(
        ExitCode::machine_refuses, fmt::format("{}: {}", printable(what), fault.code().message()),
        cause == EACCES || cause == EPERM || cause == EROFS
            ? "may you write there? Name another place with --output"
        : cause == ENOSPC || cause == EDQUOT || cause == EIO ? "is there room left? (df, df -i, ulimit -f)"
        : cause == ENOENT                                    ? "is the folder still there?"
                                                             : "ls -l shows what is there"));
  } catch (const std::system_error& fault) {
    // pthread_create(3): no memory for a stack, or as many threads as may be.
    if (fault.code() == std::errc::resource_unavailable_try_again)
      return fail_as_usual(Error(ExitCode::machine_refuses,
                                 "no more threads or processes may be started here",
                                 "lift the limit (ulimit -u, pids.max of its control group), or give it more "
                                 "memory (ulimit -v, ulimit -d)"));
    return fail_of_ours(fault);
  } catch (const std::exception& fault) {
    return fail_of_ours(fault);
  }
}

// The last words are how a night went, or the commands that put a setting back: a pager that is paused for a moment, or a busy machine, must not
// swallow them. All is put back and stored by then. Who was asked to stop waits no longer than it takes to be given a processor.
void wait_for_who_reads() {
  constexpr std::chrono::seconds longest{20}, once_asked{1};
  const bool asked = Interruption::is_asked();
  wait_until_stderr_is_read(asked ? once_asked : longest, [&] { return !asked && Interruption::is_asked(); });
}

}  // namespace

int main_program(int argc, char** argv) {
  hold_standard_descriptors();
  // A file that may not become larger is an error to handle (setrlimit(2), RLIMIT_FSIZE), not a death.
  std::signal(SIGXFSZ, SIG_IGN);
  // A caller that ignores it hands that on, and the kernel then tells nobody how a child ended (waitpid(2)).
  std::signal(SIGCHLD, SIG_DFL);
  survive_bus_errors();
  const int code = answer(argc, argv);
  wait_for_who_reads();
  return code;
}

}  // namespace dvfs_plan
