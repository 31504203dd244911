#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "experiments/plan/experiment.hpp"
#include "experiments/plan/parse_axis.hpp"
#include "experiments/plan/parse_machines.hpp"
#include "experiments/plan/parse_measurement.hpp"
#include "experiments/plan/parse_own_knobs.hpp"
#include "experiments/plan/parse_program.hpp"
#include "experiments/plan/yaml_reader.hpp"

namespace dvfs_plan {
namespace {

class ExperimentParser {
 public:
  ExperimentParser(const Vocabulary& vocabulary, Diagnostics& diagnostics, Experiment& experiment)
      : vocabulary_(vocabulary), read_(diagnostics), experiment_(experiment) {}

  void parse(const YamlNode& root) {
    if (!read_.map(root, "the experiment", keys("experiment"))) return;
    with(root, "name", [&](const YamlNode& n) { take_name(n); });
    with(root, "description", [&](const YamlNode& n) {
      if (auto text = read_.word(n, "'description'")) experiment_.description = text->text;
    });
    with(root, "workloads", [&](const YamlNode& n) { workloads(n); });
    if (root.find("workloads") == nullptr) {
      error(root.mark,
            "no workloads: name at least one, for example  workloads: [{name: mine, command: [./program]}]");
    }
    with(root, "services", [&](const YamlNode& n) { parse_services(n, read_, experiment_.services); });
    with(root, "sysfs", [&](const YamlNode& n) { parse_sysfs_knobs(n, read_, experiment_.sysfs); });
    with(root, "set", [&](const YamlNode& n) { parse_command_knobs(n, read_, experiment_.set); });
    with(root, "axes", [&](const YamlNode& n) { axes(n); });
    with(root, "exclude", [&](const YamlNode& n) { exclude(n); });
    with(root, "repeat", [&](const YamlNode& n) { parse_repeat(n, read_, experiment_.repeat); });
    with(root, "budget", [&](const YamlNode& n) { parse_budget(n, read_, experiment_.budget); });
    with(root, "search",
         [&](const YamlNode& n) { parse_search(n, vocabulary_.searches, read_, experiment_.search); });
    with(root, "measure", [&](const YamlNode& n) { parse_measure(n, read_, experiment_.measure); });
    with(root, "conditions", [&](const YamlNode& n) { parse_conditions(n, read_, experiment_.conditions); });
    with(root, "order", [&](const YamlNode& n) { order(n); });
    with(root, "seed", [&](const YamlNode& n) {
      if (auto seed = read_.integer(n, "'seed'", 0, INT64_MAX)) {
        experiment_.seed = static_cast<std::uint64_t>(*seed);
      }
    });
    with(root, "settle",
         [&](const YamlNode& n) { take_seconds(n, "'settle'", experiment_.conditions.settle); });
    with(root, "machines", [&](const YamlNode& n) { experiment_.slurm = parse_machines(n, read_); });
    if (experiment_.search.each_node && !experiment_.slurm)
      error(experiment_.search.mark,
            "'for: each node' in 'stop' is about several machines: it needs 'machines'");
    with(root, "gpus", [&](const YamlNode& n) {
      experiment_.gpus = read_.words(n, "'gpus'");
      if (experiment_.gpus && experiment_.gpus->size() == 1 && experiment_.gpus->front().text == "none")
        error(n.mark,
              "'gpus' lists boards: all, [0, 1] or UUIDs; an experiment that is about none leaves it out");
    });
    with(root, "probes", [&](const YamlNode& n) { probes(n); });
    with(root, "objective",
         [&](const YamlNode& n) { parse_objective_spec(n, read_, experiment_.objective); });
    with(root, "workloads", [&](const YamlNode& n) { questions_of_workloads(n); });
    with(root, "reference", [&](const YamlNode& n) {
      if (!read_.map(n, "'reference'", {})) return;
      experiment_.reference = conditions(n);
      for (const ExcludeRule::Condition& one : experiment_.reference) {
        if (one.values.size() > 1)
          error(one.mark, fmt::format("'reference' names one value of '{}'; found a list of {}",
                                      printable(one.axis), one.values.size()));
      }
    });
    with(root, "result", [&](const YamlNode& n) { experiment_.result = read_.word(n, "'result'"); });
  }

 private:
  void error(Mark mark, std::string message) { read_.diagnostics().error(mark, std::move(message)); }

  void take_seconds(const YamlNode& node, std::string_view what, Seconds& into) {
    if (const auto value = parse_seconds(node, read_, what)) into = *value;
  }

  void take_name(const YamlNode& node) {
    const auto name = read_.word(node, "'name'");
    if (!name) return;
    if (name->text.empty()) {
      error(name->mark, "'name' is empty: it becomes the result's file name, for example  name: sort");
      return;
    }
    const bool fits = name->text.size() <= 64 && name->text.find('/') == std::string::npos &&
                      name->text[0] != '.' && printable(name->text) == name->text;
    if (!fits) {
      error(name->mark,
            "'name' becomes a file name: at most 64 characters, no '/', no '.' in front, no control "
            "characters");
      return;
    }
    experiment_.name = name->text;
  }

  void workloads(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::sequence || node.items.empty()) {
      error(node.mark, "'workloads' must be a list with at least one workload");
      return;
    }
    std::map<std::string, Mark> names;
    for (const YamlPointer& item : node.items) {
      if (auto parsed = workload(*item)) {
        const auto [first, is_new] = names.emplace(parsed->name, parsed->mark);
        if (!is_new) {
          error(parsed->mark,
                fmt::format("two workloads are named '{}' (the first in line {}); give each its own name",
                            parsed->name, first->second.line));
        }
        experiment_.workloads.push_back(std::move(*parsed));
      }
    }
  }

  // What a workload is asked for beside what the experiment asks of all: read when that is known.
  void questions_of_workloads(const YamlNode& node) {
    for (const YamlPointer& item : node.items) {
      const YamlNode* name = item->kind == YamlNode::Kind::map ? item->find("name") : nullptr;
      if (name == nullptr) continue;
      for (WorkloadSpec& spec : experiment_.workloads) {
        if (spec.name != name->scalar || spec.mark.line != name->mark.line) continue;
        with(*item, "measure", [&](const YamlNode& n) {
          spec.measure = experiment_.measure;
          parse_measure(n, read_, *spec.measure);
        });
        with(*item, "objective", [&](const YamlNode& n) {
          spec.objective = experiment_.objective;
          parse_objective_of_workload(n, read_, *spec.objective);
        });
        with(*item, "subject to", [&](const YamlNode& n) {
          if (!spec.objective) spec.objective = experiment_.objective;
          spec.objective->constraints.clear();
          parse_constraints(n, read_, *spec.objective);
        });
      }
    }
  }

  std::optional<WorkloadSpec> workload(const YamlNode& node) {
    if (!read_.map(node, "a workload", keys("workload"))) return std::nullopt;
    WorkloadSpec spec;
    if (!parse_program(node, "workload", read_, spec)) return std::nullopt;
    with(node, "together", [&](const YamlNode& n) { together(n, node, spec); });
    if (node.find("together") == nullptr) require_one_command(node, "workload", read_, spec.name);
    with(node, "instances", [&](const YamlNode& n) { instances(n, spec); });
    with(node, "timeout", [&](const YamlNode& n) {
      take_seconds(n, "'timeout'", spec.timeout);
      if (!(spec.timeout.value() > 0))
        error(n.mark, fmt::format("'timeout' is when the workload is ended, above 0; found '{}'", n.scalar));
    });
    with(node, "output_cap", [&](const YamlNode& n) {
      const auto bytes = read_.quantity(n, "'output_cap'", Dimension::bytes);
      if (!bytes) return;
      if (*bytes < 0 || *bytes > 256.0 * 1024 * 1024)
        error(n.mark, "'output_cap' must be from 0 B to 256 MiB");
      else
        spec.output_cap = static_cast<std::size_t>(*bytes);
    });
    with(node, "metrics", [&](const YamlNode& n) { metrics(n, spec); });
    with(node, "services", [&](const YamlNode& n) { spec.services = parse_service_names(n, read_); });
    return spec;
  }

  // What runs at once is described by the others: each keeps its own time limit, metrics and services.
  void together(const YamlNode& node, const YamlNode& workload, WorkloadSpec& spec) {
    for (const YamlEntry& entry : workload.entries) {
      static const std::set<std::string> own{"name", "together", "measure", "objective", "subject to"};
      if (!own.contains(entry.key))
        error(entry.key_mark, fmt::format("workload '{}' runs others together: '{}' belongs to one of those",
                                          spec.name, entry.key));
    }
    if (auto names = read_.words(node, "'together'")) spec.together = *names;
    if (spec.together.size() == 1)
      error(node.mark,
            fmt::format("workload '{}': 'together' names one workload; name two or more, for example "
                        "together: [train, infer], or use 'instances' for copies of one",
                        spec.name));
  }

  void instances(const YamlNode& node, WorkloadSpec& spec) {
    spec.instances = read_.word(node, "'instances'");
    if (!spec.instances || spec.instances->text.find('{') != std::string::npos) return;
    if (!is_instance_count(spec.instances->text))
      error(node.mark, fmt::format("'instances' must be a whole number from 1 to {}, or an axis in braces "
                                   "such as {{copies}}; found '{}'",
                                   most_instances, spec.instances->text));
  }

  void metrics(const YamlNode& node, WorkloadSpec& spec) {
    if (node.kind != YamlNode::Kind::sequence) {
      error(node.mark,
            "'metrics' must be a list of 'lines', 'json', {name, regex, unit} or {name, json, unit, file}");
      return;
    }
    for (const YamlPointer& item : node.items) {
      if (item->kind == YamlNode::Kind::map)
        named_metric(*item, spec);
      else if (item->scalar == "lines")
        spec.metrics.push_back({MetricRule::Kind::lines});
      else if (item->scalar == "json")
        spec.metrics.push_back({MetricRule::Kind::json});
      else if (item->kind != YamlNode::Kind::scalar)
        error(item->mark,
              fmt::format("a metric must be 'lines', 'json', {{name, regex, unit}} or {{name, json, "
                          "unit, file}}; {}",
                          YamlReader::found(*item)));
      else
        error(item->mark, fmt::format("unknown metric form '{}'{}", item->scalar,
                                      did_you_mean(item->scalar, {"lines", "json", "regex"})));
    }
  }

  void named_metric(const YamlNode& node, WorkloadSpec& spec) {
    if (!read_.map(node, "a metric", keys("metric"))) return;
    MetricRule rule;
    const YamlNode* name = node.find("name");
    const YamlNode* regex = node.find("regex");
    const YamlNode* pointer = node.find("json");
    if (name == nullptr || (regex == nullptr) == (pointer == nullptr)) {
      error(node.mark,
            "a metric needs 'name' and either 'regex', for example  {name: rate, regex: 'rate: ([0-9.]+)', "
            "unit: "
            "1/s}, or 'json', for example  {name: p99, json: /latencies/99th, unit: ns}");
      return;
    }
    rule.kind = regex != nullptr ? MetricRule::Kind::regex : MetricRule::Kind::pointer;
    if (auto text = read_.word(*name, "'name'")) rule.name = text->text;
    with(node, "unit", [&](const YamlNode& n) {
      if (auto unit = read_.word(n, "'unit'")) rule.unit = unit->text;
    });
    with(node, "file", [&](const YamlNode& n) {
      rule.file = read_.word(n, "'file'");
      if (regex != nullptr)
        error(n.mark,
              fmt::format("metric '{}': 'file' is for 'json'; a 'regex' looks at the output", rule.name));
    });
    const auto pattern = regex != nullptr ? read_.word(*regex, "'regex'") : read_.word(*pointer, "'json'");
    if (!pattern) return;
    rule.pattern = pattern->text;
    if (regex != nullptr)
      check_regex(*pattern, rule);
    else if (!rule.pattern.starts_with('/'))
      error(pattern->mark,
            fmt::format(
                "metric '{}': 'json' says where the number is, from the top and with '/' between names: "
                "/latencies/99th; found '{}'",
                rule.name, rule.pattern));
    spec.metrics.push_back(rule);
  }

  void check_regex(const RawValue& pattern, const MetricRule& rule) {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    const RE2 compiled(rule.pattern, quiet);
    if (!compiled.ok()) {
      error(pattern.mark, fmt::format("metric '{}': {} (RE2 syntax)", rule.name, compiled.error()));
    } else if (compiled.NumberOfCapturingGroups() != 1) {
      error(
          pattern.mark,
          fmt::format("metric '{}': the expression needs exactly one group ( ) around the number; it has {}",
                      rule.name, compiled.NumberOfCapturingGroups()));
    }
  }

  void axes(const YamlNode& node) {
    if (!read_.map(node, "'axes'", {})) return;
    for (const YamlEntry& entry : node.entries) {
      if (!check_axis_name(entry)) continue;
      if (auto axis = parse_axis(entry.key, entry.key_mark, *entry.value, read_)) {
        experiment_.axes.push_back(std::move(*axis));
      } else {
        experiment_.faulty_axes.insert(entry.key);
      }
    }
  }

  bool check_axis_name(const YamlEntry& entry) {
    if (!is_knob_axis(entry.key)) {
      const bool identifier =
          !entry.key.empty() &&
          entry.key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
              std::string::npos &&
          !(entry.key[0] >= '0' && entry.key[0] <= '9');
      if (!identifier) {
        error(
            entry.key_mark,
            fmt::format("axis '{}': a workload parameter is named with letters, digits and '_'", entry.key));
      }
      return identifier;
    }
    const std::string base = split_axis_name(entry.key).base;
    for (const std::string& known : vocabulary_.knobs) {
      if (known.ends_with('.') ? base.starts_with(known) && base.size() > known.size() : base == known)
        return true;
    }
    if (std::find(vocabulary_.knobs.begin(), vocabulary_.knobs.end(), base) != vocabulary_.knobs.end()) {
      error(entry.key_mark, fmt::format("axis '{}' lacks a name behind its dot", entry.key));
      return false;
    }
    error(entry.key_mark,
          fmt::format("unknown axis '{}'{}; a name without a dot is a parameter of the workload", entry.key,
                      did_you_mean(base, vocabulary_.knobs)));
    return false;
  }

  void exclude(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::sequence) {
      error(node.mark, "'exclude' must be a list of rules such as {cpu.frequency: 1 GHz, batch: [32, 64]}");
      return;
    }
    for (const YamlPointer& item : node.items) {
      if (!read_.map(*item, "an exclude rule", {})) continue;
      if (item->entries.empty())
        error(item->mark, "an exclude rule needs at least one axis");
      else
        experiment_.exclude.push_back({item->mark, conditions(*item)});
    }
  }

  std::vector<ExcludeRule::Condition> conditions(const YamlNode& node) {
    std::vector<ExcludeRule::Condition> result;
    for (const YamlEntry& entry : node.entries) {
      if (auto values = read_.words(*entry.value, fmt::format("'{}'", entry.key))) {
        result.push_back({entry.key, entry.key_mark, *values});
      }
    }
    return result;
  }

  void order(const YamlNode& node) {
    const auto text = read_.word(node, "'order'");
    if (!text) return;
    if (text->text == "shuffled")
      experiment_.shuffled = true;
    else if (text->text == "listed")
      experiment_.shuffled = false;
    else
      error(text->mark,
            fmt::format("'order' must be 'shuffled' (randomised complete blocks) or 'listed'; found '{}'",
                        text->text));
  }

  void probes(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::sequence) {
      error(node.mark,
            "'probes' must be a list such as [rapl, hwmon]; leave it out to use all that the machine has");
      return;
    }
    experiment_.probes.emplace();
    std::set<std::string> names;
    for (const YamlPointer& item : node.items) {
      if (auto probe = parse_probe(*item, vocabulary_, read_)) {
        if (!names.insert(probe->name).second) {
          error(probe->mark, fmt::format("probe '{}' is listed twice", probe->name));
        }
        experiment_.probes->push_back(std::move(*probe));
      }
    }
  }

  const Vocabulary& vocabulary_;
  YamlReader read_;
  Experiment& experiment_;
};

}  // namespace

std::optional<Experiment> parse_experiment(std::string_view text, const std::string& file,
                                           const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  const YamlPointer root = parse_yaml(text, diagnostics);
  if (!root) return std::nullopt;
  Experiment experiment;
  experiment.file = file;
  experiment.text = std::string(text);
  const std::filesystem::path path(file);
  experiment.folder = path.parent_path().empty() ? "." : path.parent_path().string();
  experiment.name = path.stem().string();
  ExperimentParser(vocabulary, diagnostics, experiment).parse(*root);
  return experiment;
}

const std::map<std::string, std::vector<std::string>>& experiment_keys() {
  static const std::map<std::string, std::vector<std::string>> keys{
      {"experiment",
       {"name",   "description", "workloads", "services",  "axes",   "sysfs",   "set",     "exclude",
        "repeat", "budget",      "search",    "order",     "seed",   "settle",  "measure", "conditions",
        "gpus",   "probes",      "objective", "reference", "result", "machines"}},
      {"workload",
       {"name", "command", "shell", "environment", "folder", "timeout", "grace", "output_cap", "run_as",
        "metrics", "services", "instances", "together", "measure", "objective", "subject to"}},
      {"service",
       {"name", "command", "shell", "environment", "folder", "grace", "run_as", "ready", "warm up",
        "attach"}},
      {"ready", {"port", "line", "command", "within"}},
      {"attach", {"pid", "address"}},
      {"metric", {"name", "regex", "json", "file", "unit"}},
      {"axis", {"values", "count", "from", "to", "step", "times", "nearest", "by", "was"}},
      {"sysfs", {"path", "values"}},
      {"set", {"command", "read", "restore", "values"}},
      {"repeat", {"min", "max", "until", "confirm"}},
      {"budget", {"time", "trials"}},
      {"search", {"method", "stop", "at most", "prior"}},
      {"stop", {"regret", "confidence", "for"}},
      {"measure", {"region", "at least"}},
      {"condition",
       {"warm up", "idle", "references", "settle limit", "temperature", "drift", "foreign load", "reruns",
        "give up after", "gpu processes"}},
      {"temperature", {"band", "limit"}},
      {"probe",
       {"name", "rate", "command", "every", "run_as", "channels", "meter", "at", "outlet", "credentials",
        "ca", "domain", "averages over", "late by", "power query", "range query"}},
      {"channel", {"unit", "domain", "averages over", "late by"}},
      {"objective", {"minimise", "of", "per", "across", "same work", "to", "subject to", "price"}},
      {"price", {"energy", "machine"}},
      {"machines", {"slurm"}},
      {"slurm",
       {"nodes", "at once", "partition", "account", "qos", "constraint", "reservation", "time", "extra",
        "folder", "give up after", "types"}},
  };
  return keys;
}

bool is_instance_count(std::string_view text) {
  const auto count = parse_number(text);
  return count && *count >= 1 && *count <= most_instances && *count == static_cast<int>(*count);
}

AxisName split_axis_name(std::string_view name) {
  const auto at = name.find('@');
  if (at == std::string_view::npos) return {std::string(name), {}};
  return {std::string(name.substr(0, at)), std::string(name.substr(at + 1))};
}

bool is_knob_axis(std::string_view name) {
  return name.find('.') != std::string_view::npos;
}

bool uses_gpus(const Experiment& experiment) {
  const auto is_gpu_axis = [](const AxisSpec& axis) { return axis.name.starts_with("gpu."); };
  const auto is_gpu_probe = [](const ProbeSpec& probe) { return probe.of_boards; };
  return experiment.gpus || std::any_of(experiment.axes.begin(), experiment.axes.end(), is_gpu_axis) ||
         (experiment.probes &&
          std::any_of(experiment.probes->begin(), experiment.probes->end(), is_gpu_probe)) ||
         (experiment.objective.energy_of && experiment.objective.energy_of->text.starts_with("gpu"));
}

}  // namespace dvfs_plan
