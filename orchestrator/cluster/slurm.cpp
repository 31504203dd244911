#include "orchestrator/cluster/slurm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/child.hpp"
#include "base/invoking_user.hpp"
#include "base/run_program.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "experiments/plan/yaml_tree.hpp"

namespace dvfs_plan {
namespace {

constexpr std::array<const char*, 5> slurm_programs{"sbatch", "squeue", "scancel", "sinfo", "scontrol"};

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t at = 0;
  for (;;) {
    const auto bar = line.find('|', at);
    fields.push_back(line.substr(at, bar - at));
    if (bar == std::string::npos) return fields;
    at = bar + 1;
  }
}

// A controller that restarts, is busy or cut off: man slurm.conf, MessageTimeout.
bool may_answer_later(const std::string& said) {
  for (const char* words : {"Unable to contact slurm controller", "Socket timed out", "Connection refused",
                            "Transport endpoint", "Zero Bytes were transmitted", "temporarily",
                            "Connection timed out", "Slurm backup controller in standby mode"}) {
    if (said.find(words) != std::string::npos) return true;
  }
  return false;
}

// What it said, without its own name before it: "sbatch: error: ".
std::string said_by(const std::string& program, const std::string& text) {
  const auto lines = split_lines(text);
  if (lines.empty()) return "it said nothing";
  std::string_view line = lines.front();
  for (const std::string& prefix : {program + ": ", std::string("error: ")}) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  }
  return printable(line);
}

// What a user wishes of his own questions is none of ours: SQUEUE_PARTITION would hide tasks, SCANCEL_STATE keep some, SBATCH_WAIT wait for
// the job's end (ENVIRONMENT VARIABLES of squeue(1), sinfo(1), scancel(1), sbatch(1)). How jobs are submitted (SBATCH_ACCOUNT) stays his, and
// what they inherit.
std::vector<std::string> environment_of(const std::string& program) {
  const bool submits = program == "sbatch";
  std::vector<std::string> environment;
  if (!submits) environment.emplace_back("SLURM_BITSTR_LEN=0");  // indices of an array in full
  for (const auto& [name, value] : current_environment()) {
    const bool of_questions = name.starts_with("SQUEUE_") || name.starts_with("SINFO_") ||
                              name.starts_with("SCANCEL_") || name == "SLURM_BITSTR_LEN";
    if (submits ? name != "SBATCH_WAIT" : !of_questions) environment.push_back(name + "=" + value);
  }
  return environment;
}

// "[days-]hours:minutes:seconds" or "minutes:seconds" (man sinfo, %l); nullopt: "infinite", "n/a".
std::optional<Seconds> slurm_time(const std::string& text) {
  const auto dash = text.find('-');
  double days = 0, seconds = 0;
  if (dash != std::string::npos) {
    const auto number = parse_number(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
  }
  for (std::size_t at = dash == std::string::npos ? 0 : dash + 1; at <= text.size();) {
    const auto end = std::min(text.find(':', at), text.size());
    const auto number = parse_number(text.substr(at, end - at));
    if (!number) return std::nullopt;
    seconds = seconds * 60 + *number;
    at = end + 1;
  }
  return Seconds{days * 86400 + seconds};
}

}  // namespace

bool SlurmNode::works(bool reserved) const {
  // A state's suffixes: * does not answer, ~ # powered down or up, $ reserved for maintenance (man sinfo). Planned: idle, for a job of the
  // backfill scheduler's.
  static const std::set<std::string> working{"idle", "mixed", "allocated", "completing", "planned",
                                             "mix",  "alloc", "comp",      "plnd"},
      in_a_reservation{"reserved", "resv", "maint"};
  const std::string plain = state.substr(0, state.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
  return (working.contains(plain) || (reserved && in_a_reservation.contains(plain))) &&
         state.find('*') == std::string::npos;
}

std::string SlurmTask::name() const {
  return fmt::format("{}_{}", job, index);
}

bool SlurmTask::ended() const {
  static const std::set<std::string> alive{
      "PENDING",      "RUNNING",  "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED",    "REQUEUE_FED",
      "REQUEUE_HOLD", "RESIZING", "SIGNALING",   "STAGE_OUT",  "STOPPED",   "SPECIAL_EXIT"};
  return !alive.contains(state);
}

Slurm::Slurm() {
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "";
  for (const char* program : slurm_programs) {
    programs_[program] = find_executable(program, {}, path);
    if (programs_[program].empty())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("'machines: slurm' needs Slurm's commands, and {} is not in PATH", program),
                  "run it on a login node of the cluster, or leave 'machines' out to sweep this machine");
  }
}

std::string Slurm::ask(const std::string& program, const std::vector<std::string>& arguments,
                       Seconds patience) const {
  const ProgramAnswer answer =
      run_program_in(environment_of(program), programs_.at(program), arguments, patience);
  if (!answer.ran())
    throw SlurmSilent(ExitCode::machine_refuses, answer.problem,
                      "is the controller up? `scontrol ping` says");
  if (answer.exit_code == 0) return answer.output;
  const std::string said = said_by(program, answer.output);
  if (may_answer_later(answer.output))
    throw SlurmSilent(ExitCode::machine_refuses, fmt::format("{}: {}", program, said),
                      "is the controller up? `scontrol ping` says");
  throw Error(ExitCode::machine_refuses, fmt::format("{}: {}", program, said));
}

std::vector<std::string> Slurm::arguments_of(const SlurmSubmission& submission) {
  std::string indices;
  for (const int index : submission.indices)
    indices += fmt::format("{}{}", indices.empty() ? "" : ",", index);
  if (submission.at_once) indices += fmt::format("%{}", *submission.at_once);
  std::vector<std::string> arguments{"--parsable", "--job-name=" + submission.name, "--array=" + indices,
                                     "--output=" + submission.output};
  if (!submission.mark.empty())
    arguments.push_back(fmt::format("--comment={}:{}", submission.mark,
                                    submission.offset ? std::to_string(*submission.offset) : "look"));
  arguments.insert(arguments.end(), submission.options.begin(), submission.options.end());
  arguments.push_back("--wrap=" + submission.command);
  return arguments;
}

std::string Slurm::judge(const SlurmSubmission& submission) const {
  auto arguments = arguments_of(submission);
  arguments.insert(arguments.begin(), "--test-only");
  return said_by("sbatch", ask("sbatch", arguments));
}

std::string Slurm::submit(const SlurmSubmission& submission, Seconds patience) const {
  const std::string said = ask("sbatch", arguments_of(submission), patience);
  // "1234" or "1234;cluster", behind what a site's plugin may have said.
  for (const std::string& line : split_lines(said)) {
    const std::string job = line.substr(0, line.find(';'));
    if (!job.empty() && job.find_first_not_of("0123456789") == std::string::npos) return job;
  }
  throw Error(ExitCode::machine_refuses, fmt::format("sbatch named no job: {}", said_by("sbatch", said)));
}

std::string job_name(const std::string& experiment) {
  return "dvfs-plan:" + experiment;
}

std::string job_mark(const SharedFolder& folder) {
  return "dvfs-plan:" + sha256(folder.path()).substr(0, 16);
}

std::set<std::string> job_names(const SharedFolder& folder, const std::string& experiment) {
  std::set<std::string> names{job_name(experiment)};
  for (const std::string& submitted : folder.names(".yaml")) {
    Diagnostics faults(submitted);
    const YamlPointer file = parse_yaml(folder.read(submitted), faults);
    const YamlNode* node = file.get();
    for (const char* key : {"machines", "slurm", "extra"}) node = node != nullptr ? node->find(key) : nullptr;
    bool is_next = false;
    for (const YamlPointer& item : node != nullptr ? node->items : std::vector<YamlPointer>{}) {
      const std::string& word = item->scalar;
      if (std::exchange(is_next, word == "--job-name" || word == "-J"))
        names.insert(word);
      else if (const auto value = word.find('='); word.starts_with("--job-name="))
        names.insert(word.substr(value + 1));
      else if (word.starts_with("-J") && word != "-J")
        names.insert(word.substr(2));
    }
  }
  return names;
}

std::optional<std::vector<int>> array_indices(std::string_view text) {
  if (text == "N/A" || text.empty()) return std::vector<int>{0};
  const auto number = [](std::string_view word) -> std::optional<int> {
    int value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    return problem == std::errc() && end == word.data() + word.size() && value >= 0 ? std::optional(value)
                                                                                    : std::nullopt;
  };
  std::vector<int> indices;
  std::string_view rest = text.substr(0, text.find('%'));
  for (;;) {
    const std::string_view range = rest.substr(0, rest.find(','));
    const auto dash = range.find('-'), colon = range.find(':');
    const auto first = number(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number(range.substr(dash + 1, colon - dash - 1));
    const auto step = colon == std::string_view::npos ? std::optional(1) : number(range.substr(colon + 1));
    constexpr int most = 4'000'001;  // slurm.conf(5), MaxArraySize
    if (!first || !last || !step || *step < 1 || *last > most) return std::nullopt;
    for (int index = *first; index <= *last; index += *step) indices.push_back(index);
    if (range.size() == rest.size()) return indices;
    rest.remove_prefix(range.size() + 1);
  }
}

std::vector<SlurmTask> Slurm::tasks(const std::vector<std::string>& jobs, const std::set<std::string>& names,
                                    const std::string& mark) const {
  std::vector<SlurmTask> tasks;
  const std::set<std::string> ours(jobs.begin(), jobs.end());
  // By user and not by job: a job that Slurm has forgotten is an error of squeue's. Not a line a task (--array): of a range with a step
  // ("1-29:2") that leaves out the last (seen with 22.05). Without --all those in hidden partitions are not told.
  for (const std::string& line : split_lines(
           ask("squeue", {"--noheader", "--all", "--states=all", "--user=" + std::to_string(::getuid()),
                          "--format=%F|%K|%T|%N|%r|%j|%k"}))) {
    const auto parts = fields(line);
    constexpr std::size_t before_name = 5;
    if (parts.size() <= before_name) continue;
    std::string name_and_comment = parts[before_name];  // which may hold bars
    for (std::size_t i = before_name + 1; i < parts.size(); ++i) name_and_comment += "|" + parts[i];
    const bool named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name_and_comment.starts_with(name + "|");
    });
    const std::string before_offset = "|" + mark + ":";
    const auto comment = name_and_comment.rfind(before_offset);
    SlurmTask task{parts[0], 0, parts[2], parts[3], parts[4]};
    const bool marked = comment != std::string::npos;
    // Of another night of that name: numbers begin anew where a controller loses its state.
    const bool of_another =
        !marked && name_and_comment.find("|" + mark.substr(0, mark.find(':') + 1)) != std::string::npos;
    if (!marked && (of_another || !named || !ours.contains(task.job))) continue;
    if (marked) {
      const auto offset = parse_number(name_and_comment.substr(comment + before_offset.size()));
      if (offset) task.offset = static_cast<int>(*offset);
    }
    const auto indices = array_indices(parts[1]);
    if (!indices)
      throw SlurmSilent(ExitCode::machine_refuses,
                        fmt::format("squeue: job {}: what indices '{}' are is not known", printable(task.job),
                                    printable(parts[1])),
                        "is SLURM_BITSTR_LEN=0 of squeue(1) known to this Slurm?");
    for (const int index : *indices) {
      task.index = index;
      tasks.push_back(task);
    }
  }
  return tasks;
}

void Slurm::cancel(const std::vector<std::string>& jobs) const {
  if (jobs.empty()) return;
  ask("scancel", jobs);
}

void Slurm::cancel_waiting(const SlurmTask& task) const {
  ask("scancel", {"--state=PENDING", task.name()});
}

std::vector<SlurmNode> Slurm::nodes(const std::string& partition) const {
  std::vector<std::string> arguments{"--noheader", "--Node", "--format=%N|%T|%c|%z|%m|%G|%f|%P"};
  arguments.push_back(partition.empty() ? "--all" : "--partition=" + partition);
  std::vector<SlurmNode> nodes;
  for (const std::string& line : split_lines(ask("sinfo", arguments))) {
    const auto parts = fields(line);
    // The default partition is marked by a star.
    if (parts.size() < 8 || (partition.empty() && !parts[7].ends_with('*'))) continue;
    // Of several partitions ("a,b") a node is in more than one.
    if (std::any_of(nodes.begin(), nodes.end(), [&](const SlurmNode& node) { return node.name == parts[0]; }))
      continue;
    SlurmNode node{
        parts[0],
        parts[1],
        fmt::format("{} CPUs ({}), {} MB, {}, features {}", parts[2], parts[3], parts[4], parts[5], parts[6]),
        {}};
    for (std::size_t at = 0; at < parts[6].size();) {
      const auto end = std::min(parts[6].find(',', at), parts[6].size());
      node.features.push_back(parts[6].substr(at, end - at));
      at = end + 1;
    }
    nodes.push_back(std::move(node));
  }
  if (nodes.empty())
    throw Error(ExitCode::machine_refuses,
                partition.empty() ? "Slurm has no default partition"
                                  : fmt::format("Slurm has no partition '{}', or it has no nodes", partition),
                "`sinfo` lists the partitions; write one as  machines: {slurm: {partition: ...}}");
  return nodes;
}

std::optional<Seconds> Slurm::time_limit(const std::string& partition) const {
  std::vector<std::string> arguments{"--noheader", "--format=%l|%P"};
  arguments.push_back(partition.empty() ? "--all" : "--partition=" + partition);
  for (const std::string& line : split_lines(ask("sinfo", arguments))) {
    const auto parts = fields(line);
    if (parts.size() < 2 || (partition.empty() && !parts[1].ends_with('*'))) continue;
    return slurm_time(parts[0]);
  }
  return std::nullopt;
}

int Slurm::most_array_index() const {
  for (const std::string& line : split_lines(ask("scontrol", {"show", "config"}))) {
    if (!line.starts_with("MaxArraySize")) continue;
    const auto number = parse_number(trim(std::string_view(line).substr(line.find('=') + 1)));
    if (number) return static_cast<int>(*number) - 1;
  }
  return 1000;  // its default
}

}  // namespace dvfs_plan
