#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "base/child.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "experiments/plan/axis_values.hpp"
#include "experiments/plan/command_line.hpp"
#include "experiments/plan/plan.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t most_trials = 1'000'000;

struct ResolvedCondition {
  std::size_t axis;
  std::vector<AxisValue> values;
};

class PlanResolver {
 public:
  PlanResolver(const Experiment& experiment, const ResolveWorld& world, Diagnostics& diagnostics)
      : world_(world), diagnostics_(diagnostics) {
    plan_.experiment = experiment;
  }

  std::optional<Plan> resolve() {
    axes();
    across_names_parameters();
    placeholders_name_axes();
    if (diagnostics_.has_errors()) {
      // Say what else is wrong before giving up.
      programs();
      excluded();
      conditions(plan_.experiment.reference, "'reference'");
      return std::nullopt;
    }
    const auto exclude = excluded();
    const auto reference = conditions(plan_.experiment.reference, "'reference'");
    if (diagnostics_.has_errors()) return std::nullopt;
    points(exclude);
    tell_impossible_pairs();
    programs();
    mark_references(reference);
    if (diagnostics_.has_errors()) return std::nullopt;
    search_fits();
    if (diagnostics_.has_errors()) return std::nullopt;
    if (!plan_.experiment.search.one_by_one())
      plan_.trials = schedule(plan_.points, plan_.experiment.repeat.min, schedule_options(plan_.experiment));
    plan_.canonical = canonical_plan(plan_);
    plan_.hash = sha256(plan_.canonical);
    return std::move(plan_);
  }

 private:
  void error(Mark mark, std::string message) { diagnostics_.error(mark, std::move(message)); }

  void axes() {
    for (const AxisSpec& spec : plan_.experiment.axes) {
      const AxisOffer* offer = nullptr;
      if (is_knob_axis(spec.name)) {
        const auto missing = world_.offers.missing.find(spec.name);
        if (missing != world_.offers.missing.end()) {
          error(spec.mark, fmt::format("axis '{}': {}", spec.name, missing->second));
          faulty_.insert(spec.name);
          continue;
        }
        const auto found = world_.offers.offers.find(spec.name);
        if (found == world_.offers.offers.end()) {  // an unknown knob was reported by the parser
          faulty_.insert(spec.name);
          continue;
        }
        offer = &found->second;
      }
      const auto told = diagnostics_.all().size();
      plan_.axes.push_back(resolve_axis(spec, offer, diagnostics_));
      if (diagnostics_.all().size() != told) faulty_.insert(spec.name);
    }
    for (const ServiceSpec& spec : plan_.experiment.services) plan_.services.push_back({{}, spec});
    axis_of_instances();
    for (const WorkloadSpec& spec : plan_.experiment.workloads) {
      plan_.workloads.push_back({{}, spec});
      if (spec.together.empty()) plan_.workloads.back().services = services_of(spec);
    }
    for (PlanWorkload& workload : plan_.workloads) join_members(workload);
    for (const PlanWorkload& workload : plan_.workloads) target_fits(workload);
  }

  // What counts ends where the target is reached: of one run, at one moment.
  void target_fits(const PlanWorkload& workload) {
    const ObjectiveSpec& objective = objective_of(plan_.experiment, workload.spec);
    if (!objective.target) return;
    const auto refuse = [&](const std::string& what) {
      error(workload.spec.mark,
            fmt::format("workload '{}': 'to: {}' is about one run until it gets there, and {}",
                        workload.spec.name, constraint_text(*objective.target), what));
    };
    if (!objective.per.empty())
      refuse(fmt::format("'per: {}' about units of work: keep one of the two", objective.per));
    if (measure_of(plan_.experiment, workload.spec).at_least)
      refuse("'at least' runs it again: take that away");
    if (!workload.members.empty() || (workload.spec.instances && workload.spec.instances->text != "1"))
      refuse("several run at once here: give it one of its own (ranks of one launcher are one)");
    if (plan_.experiment.search.one_by_one())
      refuse(fmt::format("'search: {}' knows no lower bounds: use 'search: full'",
                         plan_.experiment.search.method));
  }

  // An axis named `instances` that no command names says how many copies run of each workload that does not say it itself.
  void axis_of_instances() {
    if (axis_spec("instances") == nullptr) return;
    std::vector<WorkloadSpec>& workloads = plan_.experiment.workloads;
    const bool named =
        std::any_of(workloads.begin(), workloads.end(),
                    [](const WorkloadSpec& spec) {
                      return names_axis(spec, "instances") ||
                             (spec.instances && names(*spec.instances, "instances"));
                    }) ||
        std::any_of(plan_.services.begin(), plan_.services.end(),
                    [&](const PlanService& service) { return names_axis_in_service(service, "instances"); });
    if (named) return;
    for (WorkloadSpec& spec : workloads) {
      if (!spec.instances && spec.together.empty()) spec.instances = RawValue{"{instances}", spec.mark};
    }
  }

  void join_members(PlanWorkload& workload) {
    std::vector<std::string> names;
    for (const PlanWorkload& other : plan_.workloads) {
      if (other.spec.together.empty()) names.push_back(other.spec.name);
    }
    std::set<std::string> seen;
    for (const RawValue& name : workload.spec.together) {
      const auto found =
          std::find_if(plan_.workloads.begin(), plan_.workloads.end(),
                       [&](const PlanWorkload& other) { return other.spec.name == name.text; });
      if (found == plan_.workloads.end() || !found->spec.together.empty())
        error(name.mark,
              fmt::format("workload '{}': 'together' names '{}', which is {}{}", workload.spec.name,
                          name.text, found == plan_.workloads.end() ? "no workload" : "made of others itself",
                          found == plan_.workloads.end() ? did_you_mean(name.text, names) : ""));
      else if (!seen.insert(name.text).second)
        error(
            name.mark,
            fmt::format("workload '{}': 'together' names '{}' twice; for copies write 'instances: 2' at '{}'",
                        workload.spec.name, name.text, name.text));
      else
        workload.members.push_back(static_cast<int>(found - plan_.workloads.begin()));
    }
    std::map<std::string, std::string> files;  // that metrics are read from, and whose
    for (const int member : workload.members) {
      const WorkloadSpec& spec = plan_.workloads[static_cast<std::size_t>(member)].spec;
      for (const MetricRule& rule : spec.metrics) {
        if (!rule.file) continue;
        const auto [first, is_new] = files.emplace(folder_of(spec) + "/" + rule.file->text, spec.name);
        if (!is_new && first->second != spec.name)
          error(rule.file->mark,
                fmt::format("workload '{}': '{}' and '{}' would write one file '{}' at once, from which "
                            "metric '{}' is read",
                            workload.spec.name, first->second, spec.name, rule.file->text, rule.name));
      }
      const auto& theirs = plan_.workloads[static_cast<std::size_t>(member)].services;
      workload.services.insert(workload.services.end(), theirs.begin(), theirs.end());
    }
    std::sort(workload.services.begin(), workload.services.end());
    workload.services.erase(std::unique(workload.services.begin(), workload.services.end()),
                            workload.services.end());
  }

  std::vector<int> services_of(const WorkloadSpec& spec) {
    std::vector<int> indices;
    std::vector<std::string> names;
    for (const PlanService& service : plan_.services) {
      if (!spec.services) indices.push_back(static_cast<int>(names.size()));
      names.push_back(service.spec.name);
    }
    for (const RawValue& name : spec.services.value_or(std::vector<RawValue>{})) {
      const auto found = std::find(names.begin(), names.end(), name.text);
      if (found == names.end())
        error(name.mark, fmt::format("workload '{}': there is no service '{}'{}", spec.name, name.text,
                                     did_you_mean(name.text, names)));
      else
        indices.push_back(static_cast<int>(found - names.begin()));
    }
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
  }

  const AxisSpec* axis_spec(std::string_view name) const {
    for (const AxisSpec& spec : plan_.experiment.axes) {
      if (spec.name == name) return &spec;
    }
    return nullptr;
  }

  // `counted`: of a workload of which copies run, so that {instance} has a value.
  void check_placeholders(const RawValue& raw, bool counted = false) {
    std::vector<std::string> names;
    for (const AxisSpec& spec : plan_.experiment.axes) names.push_back(spec.name);
    for (const std::string& name : placeholders(raw.text)) {
      if (axis_spec(name) != nullptr) {
        used_.insert(name);
        continue;
      }
      if (name == "instance" && counted) continue;
      if (plan_.experiment.faulty_axes.contains(name)) continue;  // its own fault is told
      error(raw.mark,
            fmt::format(
                "{{{}}} names no axis{}; add 'axes: {{{}: [...]}}', or write {{{{{}}}}} for the text itself",
                name, did_you_mean(name, names), name, name));
    }
  }

  void check_placeholders_of(const ProgramSpec& spec, std::string_view kind, bool counted = false) {
    for (const RawValue& word : spec.command) check_placeholders(word, counted);
    for (const auto& [name, value] : spec.environment) check_placeholders(value, counted);
    if (!spec.shell) return;
    check_placeholders(*spec.shell, counted);
    if (placeholder_after_dollar(spec.shell->text)) {
      error(spec.shell->mark, fmt::format("{} '{}': '${{name}}' in 'shell': write {{name}} for an "
                                          "axis, ${{{{NAME}}}} for the shell's own variable",
                                          kind, spec.name));
    }
    if (placeholder_inside_quotes(spec.shell->text)) {
      error(spec.shell->mark,
            fmt::format("{} '{}': a {{name}} in 'shell' is quoted already; take the quotes around it away",
                        kind, spec.name));
    }
  }

  void placeholders_name_axes() {
    for (const WorkloadSpec& spec : plan_.experiment.workloads) {
      check_placeholders_of(spec, "workload", spec.instances.has_value());
      if (!spec.instances) continue;
      check_placeholders(*spec.instances);
      counts_instances(spec);
    }
    for (const ServiceSpec& spec : plan_.experiment.services) {
      check_placeholders_of(spec, "service");
      for (const RawValue& word : words_of(spec)) check_placeholders(word);
      knobs_start_no_service(spec);
    }
    services_are_not_confined();
    for (const AxisSpec& spec : plan_.experiment.axes) {
      if (!is_knob_axis(spec.name) && !used_.contains(spec.name)) {
        error(spec.mark, fmt::format("axis '{}' is used by no workload: put {{{}}} into a command", spec.name,
                                     spec.name));
      }
    }
  }

  // What is filled in must be a number of copies, at each value of each axis that it names.
  void counts_instances(const WorkloadSpec& spec) {
    const std::string& text = spec.instances->text;
    for (const MetricRule& rule : spec.metrics) {
      if (rule.file && text != "1")
        error(rule.file->mark,
              fmt::format("workload '{}': all its copies would write '{}', from which metric '{}' is read: "
                          "have each print its document instead, and take 'file' away",
                          spec.name, rule.file->text, rule.name));
    }
    const auto axes = placeholders(text);
    if (axes.empty()) return;
    if (axes.size() != 1 || text != "{" + axes[0] + "}") {
      error(spec.instances->mark,
            fmt::format("'instances' must be a number or one axis in braces; found '{}'", text));
      return;
    }
    for (const PlanAxis& axis : plan_.axes) {
      if (axis.name != axes[0]) continue;
      for (const AxisValue& value : axis.values) {
        if (!is_instance_count(value.text))
          error(axis_spec(axis.name)->mark, fmt::format("axis '{}' is the number of copies of workload '{}', "
                                                        "a whole number from 1 to {}; found '{}'",
                                                        axis.name, spec.name, most_instances, value.text));
      }
    }
  }

  // The knob gives CPUs to what a trial starts.
  void services_are_not_confined() {
    if (plan_.experiment.services.empty()) return;
    for (const AxisSpec& axis : plan_.experiment.axes) {
      if (split_axis_name(axis.name).base == "cpu.cores")
        error(axis.mark, fmt::format("axis '{}' confines what a trial starts, and service '{}' is up before: "
                                     "confine it in its own command, by a "
                                     "parameter: [taskset, -c, \"{{cpus}}\", ...]",
                                     axis.name, plan_.experiment.services.front().name));
    }
  }

  // A setting changes under a running service: one that is told of it would have to be started anew for each.
  void knobs_start_no_service(const ServiceSpec& spec) {
    for (const AxisSpec& axis : plan_.experiment.axes) {
      if (!is_knob_axis(axis.name) || !names_axis(spec, axis.name)) continue;
      error(spec.mark,
            fmt::format(
                "service '{}': {{{}}} is a setting of the machine, which changes while the service stays up; "
                "only the workload's command may be told of it",
                spec.name, axis.name));
    }
  }

  // What of a service besides its command may hold placeholders.
  static std::vector<RawValue> words_of(const ServiceSpec& spec) {
    std::vector<RawValue> words = spec.ready.command;
    words.push_back(spec.ready.text);
    words.insert(words.end(), spec.warm_up_command.begin(), spec.warm_up_command.end());
    for (const auto& one : {spec.attached_pid, spec.attached_address}) {
      if (one) words.push_back(*one);
    }
    return words;
  }

  static bool names(const RawValue& raw, const std::string& axis) {
    const auto found = placeholders(raw.text);
    return std::find(found.begin(), found.end(), axis) != found.end();
  }

  // Whether the program that is started is another one, or called otherwise, at each value of the axis.
  static bool names_axis(const ProgramSpec& spec, const std::string& axis) {
    return std::any_of(spec.command.begin(), spec.command.end(),
                       [&](const RawValue& raw) { return names(raw, axis); }) ||
           std::any_of(spec.environment.begin(), spec.environment.end(),
                       [&](const auto& v) { return names(v.second, axis); }) ||
           (spec.shell && names(*spec.shell, axis));
  }

  bool names_axis_in_service(const PlanService& service, const std::string& axis) const {
    const auto words = words_of(service.spec);
    return names_axis(service.spec, axis) ||
           std::any_of(words.begin(), words.end(), [&](const RawValue& raw) { return names(raw, axis); });
  }

  // Whether the workload's command or a service of it refers to the axis; knobs act on every workload.
  bool uses(const PlanWorkload& workload, const PlanAxis& axis) const {
    return axis.knob || names_axis(workload.spec, axis.name) ||
           (workload.spec.instances && names(*workload.spec.instances, axis.name)) ||
           std::any_of(
               workload.members.begin(), workload.members.end(),
               [&](int member) { return uses(plan_.workloads[static_cast<std::size_t>(member)], axis); }) ||
           std::any_of(workload.services.begin(), workload.services.end(), [&](int service) {
             return names_axis_in_service(plan_.services[static_cast<std::size_t>(service)], axis.name);
           });
  }

  std::vector<ResolvedCondition> conditions(const std::vector<ExcludeRule::Condition>& written,
                                            std::string_view what) {
    std::vector<ResolvedCondition> resolved;
    for (const ExcludeRule::Condition& condition : written) {
      if (faulty_.contains(condition.axis)) continue;  // what its values are is not known
      const auto axis = std::find_if(plan_.axes.begin(), plan_.axes.end(),
                                     [&](const PlanAxis& a) { return a.name == condition.axis; });
      if (axis == plan_.axes.end()) {
        std::vector<std::string> names;
        for (const PlanAxis& a : plan_.axes) names.push_back(a.name);
        const std::string near = did_you_mean(condition.axis, names);
        error(condition.mark,
              fmt::format("{} names axis '{}', which is not in 'axes'{}", what, condition.axis,
                          !near.empty()   ? near
                          : names.empty() ? "; there is no axis"
                                          : fmt::format("; axes: {}", join(names, ", "))));
        continue;
      }
      ResolvedCondition one{static_cast<std::size_t>(axis - plan_.axes.begin()), {}};
      for (const RawValue& raw : condition.values) {
        if (auto value = match_axis_value(raw, *axis, what, diagnostics_)) one.values.push_back(*value);
      }
      resolved.push_back(std::move(one));
    }
    return resolved;
  }

  std::vector<std::vector<ResolvedCondition>> excluded() {
    std::vector<std::vector<ResolvedCondition>> rules;
    for (const ExcludeRule& rule : plan_.experiment.exclude)
      rules.push_back(conditions(rule.conditions, "'exclude'"));
    return rules;
  }

  static bool holds(const std::vector<ResolvedCondition>& rule,
                    const std::vector<std::optional<AxisValue>>& values) {
    return std::all_of(rule.begin(), rule.end(), [&](const ResolvedCondition& c) {
      return values[c.axis] && std::find(c.values.begin(), c.values.end(), *values[c.axis]) != c.values.end();
    });
  }

  void search_fits() {
    const Experiment& e = plan_.experiment;
    if (!e.search.one_by_one()) return;
    // What belongs to blocks that are planned ahead.
    const auto only_full = [&](const char* what, const char* instead) {
      error(e.search.mark,
            fmt::format("'{}' is for 'search: full'; 'search: {}' {}", what, e.search.method, instead));
    };
    if (e.repeat.until) only_full("repeat: until", "stops by itself, or after 'at most' so many trials");
    if (e.repeat.confirm > 0)
      only_full("repeat: confirm", "has its report say how far its best may be from the true one");
    if (!e.shuffled) only_full("order: listed", "has an order of its own");
    if (e.repeat.max > e.repeat.min) only_full("repeat: max", "repeats where it helps");
    if (e.objective.minimise == Objective::cost && e.objective.price && e.objective.price->per_joule <= 0 &&
        e.objective.price->per_second <= 0)
      error(e.search.mark,
            fmt::format("'search: {}' cannot minimise a cost of which both prices are 0", e.search.method));
    for (const WorkloadSpec& spec : e.workloads) {
      if (spec.objective)
        error(spec.mark,
              fmt::format(
                  "workload '{}' has an objective of its own, and 'search: {}' weighs all workloads by one: "
                  "use 'search: full', or a file for each",
                  spec.name, e.search.method));
    }
    constexpr std::size_t most_settings = 20'000;
    if (plan_.points.size() > most_settings)
      error(e.search.mark,
            fmt::format("a search weighs {} settings at most, and these are {}: use fewer values "
                        "({{count: N}}) or 'exclude'",
                        most_settings, plan_.points.size()));
    std::set<std::string> files;
    for (const RawValue& file : e.search.prior) {
      if (!files.insert(std::filesystem::path(file.text).lexically_normal()).second)
        error(file.mark, fmt::format("'prior' names '{}' twice", file.text));
    }
  }

  void points(const std::vector<std::vector<ResolvedCondition>>& exclude) {
    std::map<std::string, std::string> workload_of_key;
    for (std::size_t w = 0; w < plan_.workloads.size(); ++w) {
      std::vector<const PlanAxis*> used;
      std::size_t count = 1;
      for (const PlanAxis& axis : plan_.axes) {
        used.push_back(uses(plan_.workloads[w], axis) ? &axis : nullptr);
        if (used.back() != nullptr) count *= axis.values.size();
        if (count * static_cast<std::size_t>(plan_.experiment.repeat.max) > most_trials) {
          error(plan_.workloads[w].spec.mark,
                fmt::format("workload '{}' has more than {} trials; use fewer values or 'exclude'",
                            plan_.workloads[w].spec.name, most_trials));
          return;
        }
      }
      const std::size_t before = plan_.points.size();
      for (std::size_t i = 0; i < count; ++i) {
        auto point = make_point(static_cast<int>(w), used, i);
        const std::string& name = plan_.workloads[w].spec.name;
        if (const auto [known, is_new] = workload_of_key.emplace(point.key, name); !is_new) {
          error(plan_.workloads[w].spec.mark,
                known->second == name
                    ? fmt::format(
                          "two points of workload '{}' would both be called '{}': a value has the name of "
                          "another axis and '=' in it; "
                          "write that value otherwise",
                          name, point.key)
                    : fmt::format(
                          "a point of workload '{}' and one of '{}' would both be called '{}': call one of "
                          "the workloads otherwise",
                          known->second, name, point.key));
          return;
        }
        const bool out = std::any_of(exclude.begin(), exclude.end(),
                                     [&](const auto& rule) { return holds(rule, point.values); });
        if (out) continue;
        if (const AllowedPairs* broken = broken_pair(point)) {
          ++impossible_[broken];
          continue;
        }
        plan_.points.push_back(std::move(point));
      }
      if (plan_.points.size() == before) {
        error(plan_.workloads[w].spec.mark,
              fmt::format("{} workload '{}' without a single point",
                          impossible_.empty() ? "'exclude' leaves"
                                              : "'exclude' and what the board offers together leave",
                          plan_.workloads[w].spec.name));
      }
    }
  }

  // Whether the values of a parameter compete with each other, as a knob's do.
  bool competes(const std::string& axis) const {
    const auto& across = plan_.experiment.objective.across;
    return std::any_of(across.begin(), across.end(), [&](const RawValue& name) { return name.text == axis; });
  }

  void across_names_parameters() {
    std::vector<std::string> parameters;
    for (const AxisSpec& spec : plan_.experiment.axes) {
      if (!is_knob_axis(spec.name)) parameters.push_back(spec.name);
    }
    for (const RawValue& name : plan_.experiment.objective.across) {
      if (std::find(parameters.begin(), parameters.end(), name.text) != parameters.end()) continue;
      if (is_knob_axis(name.text))
        error(name.mark,
              fmt::format("'across': '{}' is a knob, whose values compete anyway; take it away", name.text));
      else
        error(name.mark, fmt::format("'across' names '{}', which is no parameter in 'axes'{}", name.text,
                                     did_you_mean(name.text, parameters)));
    }
  }

  // The rule of the hardware that this combination of values breaks; nullptr if it can be had.
  const AllowedPairs* broken_pair(const PlanPoint& point) const {
    const auto value = [&](const std::string& name) -> std::optional<double> {
      for (std::size_t a = 0; a < plan_.axes.size(); ++a) {
        if (plan_.axes[a].name == name && point.values[a]) return point.values[a]->number;
      }
      return std::nullopt;
    };
    for (const AllowedPairs& rule : world_.offers.pairs) {
      const auto mine = value(rule.axis), other = value(rule.other);
      if (!mine || !other) continue;
      const bool there = std::any_of(rule.pairs.begin(), rule.pairs.end(), [&](const auto& pair) {
        constexpr double same_hz = 500;
        return std::abs(pair.first - *mine) <= same_hz && std::abs(pair.second - *other) <= same_hz;
      });
      if (!there) return &rule;
    }
    return nullptr;
  }

  void tell_impossible_pairs() {
    for (const auto& [rule, count] : impossible_) {
      const AxisSpec* spec = axis_spec(rule->axis);
      diagnostics_.warning(
          spec == nullptr ? Mark{} : spec->mark,
          fmt::format("{} point{} left out: the board does not offer these values of {} and {} "
                      "together (nvidia-smi -q -d SUPPORTED_CLOCKS lists the pairs)",
                      count, count == 1 ? " is" : "s are", rule->axis, rule->other));
    }
  }

  // The i-th point of the grid: the last axis varies fastest.
  PlanPoint make_point(int workload, const std::vector<const PlanAxis*>& used, std::size_t i) const {
    PlanPoint point;
    point.workload = workload;
    point.values.resize(used.size());
    for (std::size_t a = used.size(); a-- > 0;) {
      if (used[a] == nullptr) continue;
      point.values[a] = used[a]->values[i % used[a]->values.size()];
      i /= used[a]->values.size();
    }
    point.key = point.scenario = plan_.workloads[static_cast<std::size_t>(workload)].spec.name;
    for (std::size_t a = 0; a < used.size(); ++a) {
      if (used[a] == nullptr) continue;
      const std::string setting = fmt::format(" {}={}", used[a]->name, point.values[a]->text);
      if (point.values[a] != used[a]->was) point.key += setting;
      if (!used[a]->knob && !competes(used[a]->name)) point.scenario += setting;
      if (used[a]->knob) point.operating_point += setting.substr(point.operating_point.empty() ? 1 : 0);
    }
    point.services = services_text(point);
    return point;
  }

  std::string services_text(const PlanPoint& point) const {
    std::string text;
    for (const int index : plan_.workloads[static_cast<std::size_t>(point.workload)].services) {
      const PlanService& service = plan_.services[static_cast<std::size_t>(index)];
      text += (text.empty() ? "" : ", ") + service.spec.name;
      for (std::size_t a = 0; a < plan_.axes.size(); ++a) {
        if (point.values[a] && !plan_.axes[a].knob && names_axis_in_service(service, plan_.axes[a].name))
          text += fmt::format(" {}={}", plan_.axes[a].name, point.values[a]->text);
      }
    }
    return text;
  }

  void probe_programs() {
    if (!plan_.experiment.probes) return;
    for (const ProbeSpec& probe : *plan_.experiment.probes) {
      if (probe.run_as && !find_user(*probe.run_as)) {
        error(probe.mark,
              fmt::format("probe '{}': there is no user '{}' on this machine", probe.name, *probe.run_as));
      }
      if (!probe.command.empty() &&
          find_executable(probe.command[0], plan_.experiment.folder, world_.path).empty()) {
        error(probe.mark, fmt::format("probe '{}': there is no command '{}'", probe.name, probe.command[0]));
      }
    }
  }

  // Which boards a workload sees is the experiment's to say, so that what is measured is what is used.
  void boards_are_named_once() {
    if (!uses_gpus(plan_.experiment)) return;
    const auto look_at = [&](std::string_view kind, const ProgramSpec& spec) {
      for (const auto& [name, value] : spec.environment) {
        if (name != "CUDA_VISIBLE_DEVICES" && name != "ROCR_VISIBLE_DEVICES" && name != "ZE_AFFINITY_MASK")
          continue;
        error(value.mark, fmt::format("{} '{}': {} is set from the boards that are measured; say which in "
                                      "'gpus' (for example  gpus: [0, 1]) and take it away here",
                                      kind, spec.name, name));
      }
    };
    for (const WorkloadSpec& spec : plan_.experiment.workloads) look_at("workload", spec);
    for (const ServiceSpec& spec : plan_.experiment.services) look_at("service", spec);
  }

  // Commands and users that are not there are faults of the file, told where they stand.
  void programs() {
    boards_are_named_once();
    probe_programs();
    for (std::size_t w = 0; w < plan_.workloads.size(); ++w) {
      PlanWorkload& workload = plan_.workloads[w];
      if (!workload.members.empty()) continue;
      program("workload", workload.spec, workload, points_where([&](const PlanPoint& point) {
                const auto& members = plan_.workloads[static_cast<std::size_t>(point.workload)].members;
                return static_cast<std::size_t>(point.workload) == w ||
                       std::find(members.begin(), members.end(), static_cast<int>(w)) != members.end();
              }));
    }
    for (std::size_t s = 0; s < plan_.services.size(); ++s) {
      PlanService& service = plan_.services[s];
      if (service.spec.attached()) continue;
      program("service", service.spec, service, points_where([&](const PlanPoint& point) {
                const auto& used = plan_.workloads[static_cast<std::size_t>(point.workload)].services;
                return std::find(used.begin(), used.end(), static_cast<int>(s)) != used.end();
              }));
      for (const auto& words : {service.spec.ready.command, service.spec.warm_up_command}) {
        if (!words.empty() && placeholders(words[0].text).empty() &&
            find_executable(words[0].text, plan_.experiment.folder, world_.path).empty())
          error(words[0].mark,
                fmt::format("service '{}': there is no command '{}'", service.spec.name, words[0].text));
      }
    }
  }

  template <class Is>
  std::vector<const PlanPoint*> points_where(Is is) const {
    std::vector<const PlanPoint*> found;
    for (const PlanPoint& point : plan_.points) {
      if (is(point)) found.push_back(&point);
    }
    return found;
  }

  void program(std::string_view kind, const ProgramSpec& spec, ProgramFiles& files,
               const std::vector<const PlanPoint*>& points) {
    if (spec.run_as && !find_user(spec.run_as->text)) {
      error(spec.run_as->mark, fmt::format("{} '{}': there is no user '{}' on this machine", kind, spec.name,
                                           spec.run_as->text));
    }
    std::error_code ignored;
    if (spec.folder && !std::filesystem::is_directory(folder_of(spec), ignored))
      error(spec.folder->mark,
            fmt::format("{} '{}': there is no folder '{}'", kind, spec.name, folder_of(spec)));
    for (const RawValue& word : spec.command) {
      if (is_for_a_shell(word.text))
        diagnostics_.warning(
            word.mark, fmt::format("{} '{}': '{}' is a word for the program, as no shell reads it; for a "
                                   "redirection or a pipe write  shell: TEXT  in place of  command: [...]",
                                   kind, spec.name, word.text));
    }
    std::set<std::string> programs;
    if (spec.shell)
      programs.insert("/bin/sh");
    else if (!spec.command.empty() && placeholders(spec.command[0].text).empty())
      programs.insert(spec.command[0].text);
    for (const PlanPoint* point : points) {
      if (!spec.shell)
        programs.insert(command_line(spec, plan_.axes, point->values, {{"instance", "0"}}).argv[0]);
    }
    std::set<std::string> found;
    for (const std::string& name : programs) {
      const std::string executable = find_executable(name, plan_.experiment.folder, world_.path);
      if (!executable.empty()) {
        found.insert(executable);
        continue;
      }
      const bool is_path = name.find('/') != std::string::npos;
      error(
          spec.command.empty() ? spec.mark : spec.command[0].mark,
          is_path
              ? fmt::format(
                    "{} '{}': '{}' is not a program that can be run (looked for {})", kind, spec.name, name,
                    std::filesystem::path(name).is_absolute()
                        ? name
                        : (std::filesystem::path(plan_.experiment.folder) / name).lexically_normal().string())
              : fmt::format("{} '{}': there is no command '{}' on PATH; give its path, "
                            "relative to the experiment file",
                            kind, spec.name, name));
    }
    files.executables.assign(found.begin(), found.end());
    read_files(kind, spec, files, points);
  }

  // The script first, then the programs, then what else is named: the order of stored plans.
  void read_files(std::string_view kind, const ProgramSpec& spec, ProgramFiles& of,
                  const std::vector<const PlanPoint*>& points) {
    const std::string folder = folder_of(spec);
    std::vector<std::string> paths;
    const auto add = [&](const std::string& path) {
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    };
    if (const auto script = interpreted_script(spec, folder)) add(*script);
    for (const std::string& executable : of.executables) add(executable);
    const std::size_t deciding = paths.size();
    std::set<std::vector<std::string>> commands;
    for (const PlanPoint* point : points) {
      if (!spec.shell)
        commands.insert(command_line(spec, plan_.axes, point->values, {{"instance", "0"}}).argv);
    }
    if (spec.shell) commands.insert({""});
    for (const std::vector<std::string>& argv : commands) {
      for (const std::string& file :
           named_work_files(argv, spec.shell ? spec.shell->text : "", folder, world_.path))
        add(file);
    }
    std::set<std::string> look_at{folder + "/dvfs_plan_regions.py"};
    for (const std::string& path : paths) {
      look_at.insert(path);
      look_at.insert((std::filesystem::path(path).parent_path() / "dvfs_plan_regions.py").string());
    }
    for (const std::string& path : look_at) {
      if (marks_by_descriptor(path))
        error(spec.mark,
              fmt::format(
                  "{} '{}': {} {}: copy experiments/regions/ anew, which marks on the FIFO DVFS_PLAN_REGIONS",
                  kind, spec.name, path, of_marks_by_descriptor));
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
      of.files.push_back(read_work_file(paths[i]));
      of.files.back().named = i >= deciding;
    }
  }

  std::string folder_of(const ProgramSpec& spec) const {
    const std::filesystem::path folder(plan_.experiment.folder);
    return (spec.folder ? folder / spec.folder->text : folder).lexically_normal().string();
  }

  // The reference of each scenario: as the file says; else, of the points there are, the highest of every
  // numeric knob and the first listed of the others; of an axis that was added to trials that are there, the value at which they ran.
  void mark_references(const std::vector<ResolvedCondition>& written) {
    std::map<std::string, PlanPoint*> references;
    for (PlanPoint& point : plan_.points) {
      if (!holds(written, point.values)) continue;
      PlanPoint*& reference = references[point.scenario];
      if (reference == nullptr || nearer_to_default(point, *reference)) reference = &point;
    }
    for (auto& [scenario, point] : references) point->reference = true;
    std::set<std::string> without;
    for (const PlanPoint& point : plan_.points) {
      if (!references.contains(point.scenario)) without.insert(point.scenario);
    }
    const std::string names = join(std::vector<std::string>(without.begin(), without.end()), ", ");
    const auto of_slowdown = [](const ConstraintSpec& one) { return one.name == "slowdown"; };
    const auto& limits = plan_.experiment.objective.constraints;
    if (!references.empty() && !without.empty() && plan_.experiment.search.one_by_one() &&
        std::any_of(limits.begin(), limits.end(), of_slowdown))
      error(
          plan_.experiment.reference.front().mark,
          fmt::format("'reference' names no point of {}: a search with a limit on slowdown would run none of "
                      "{} points; name one of each, or use 'search: full'",
                      names, without.size() == 1 ? "its" : "their"));
    else if (!references.empty() && !without.empty())
      diagnostics_.warning(plan_.experiment.reference.front().mark,
                           fmt::format("'reference' names no point of {}: no saving will be stated of {}",
                                       names, without.size() == 1 ? "it" : "these"));
    if (references.empty() && !written.empty() && !diagnostics_.has_errors()) {
      error(plan_.experiment.reference.front().mark, "'reference' names a point that 'exclude' takes away");
    }
  }

  bool nearer_to_default(const PlanPoint& a, const PlanPoint& b) const {
    for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
      if (!plan_.axes[i].knob || a.values[i] == b.values[i]) continue;
      if (a.values[i] == plan_.axes[i].was) return true;
      if (b.values[i] == plan_.axes[i].was) return false;
      if (a.values[i]->number && b.values[i]->number) return *a.values[i]->number > *b.values[i]->number;
      const auto& listed = plan_.axes[i].values;
      return std::find(listed.begin(), listed.end(), *a.values[i]) <
             std::find(listed.begin(), listed.end(), *b.values[i]);
    }
    return false;
  }

  const ResolveWorld& world_;
  Diagnostics& diagnostics_;
  Plan plan_;
  std::set<std::string> faulty_;  // axes of which something was told: their values are not known
  std::map<const AllowedPairs*, int> impossible_;  // points left out, by the rule they break
  std::set<std::string> used_;
};

}  // namespace

std::optional<Plan> resolve_plan(const Experiment& experiment, const ResolveWorld& world,
                                 Diagnostics& diagnostics) {
  return PlanResolver(experiment, world, diagnostics).resolve();
}

}  // namespace dvfs_plan
