// An experiment as its file says it, before it meets a machine: values are still text with marks.
//
// parse_experiment() makes it; resolve_plan() (plan.hpp) turns it into the trials of one machine.
// The keys and their meaning are documented for users in README.md and experiments/experiment.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "experiments/plan/diagnostics.hpp"

namespace dvfs_plan {

struct RawValue {
  std::string text;
  Mark mark;
};

// How a workload's output becomes numbers.
struct MetricRule {
  enum class Kind {
    lines,  // "name value unit" on a line of its own
    json,   // a JSON object on a line of its own: {"metric": "name", "value": 1, "unit": "s"} or {"name": 1}
    regex,  // RE2 with one group
  };
  Kind kind = Kind::lines;
  std::string name;     // regex only
  std::string pattern;  // regex only
  std::string unit;     // regex only
};

struct WorkloadSpec {
  std::string name;
  Mark mark;
  std::vector<RawValue> command;  // argv; empty if `shell` is used
  std::optional<RawValue> shell;  // for /bin/sh -c
  std::vector<std::pair<std::string, RawValue>> environment;
  std::optional<RawValue> folder;
  Seconds timeout{600};
  Seconds grace{2};
  std::size_t output_cap = 1 << 20;
  std::optional<RawValue> run_as;
  std::vector<MetricRule> metrics;
};

// The values of one axis as written.
struct AxisSpec {
  enum class Form { list, all, min, max, count, range };
  std::string name;
  Mark mark;
  Mark values_mark;
  Form form = Form::list;
  std::vector<RawValue> values;         // list
  int count = 0;                        // count
  std::optional<RawValue> from, to;     // range
  std::optional<RawValue> step, times;  // range: arithmetic or geometric; neither: all offered in between
  bool nearest = false;                 // take the nearest offered value instead of refusing
};

struct SysfsKnobSpec {
  std::string name;
  Mark mark;
  RawValue path;
  std::vector<RawValue> values;
};

struct ExcludeRule {
  Mark mark;
  struct Condition {
    std::string axis;
    Mark mark;
    std::vector<RawValue> values;
  };
  std::vector<Condition> conditions;  // all must hold
};

struct ProbeSpec {
  std::string name;
  Mark mark;
  std::optional<Hertz> rate;
  // A program that prints "name value unit" lines; empty for the built-in probes.
  std::vector<std::string> command;
  std::optional<Seconds> every;       // run anew this often; else it is started once and streams
  std::optional<std::string> run_as;  // as for workloads; IPMI tools want root
  struct ChannelSpec {
    std::string name;
    std::string unit;
    std::string domain;
  };
  std::vector<ChannelSpec> channels;
};

enum class Objective { energy, time, edp, ed2p };
std::string_view to_string(Objective objective);
std::optional<Objective> parse_objective(std::string_view text);

struct Experiment {
  std::string file;    // as given
  std::string text;    // all of it, kept in the result
  std::string folder;  // where relative paths start
  std::string name;
  std::string description;
  std::vector<WorkloadSpec> workloads;
  std::vector<AxisSpec> axes;
  std::vector<SysfsKnobSpec> sysfs;
  std::vector<ExcludeRule> exclude;
  int repetitions = 3;
  bool shuffled = true;
  std::uint64_t seed = 1;
  Seconds settle{0.1};
  std::optional<std::vector<ProbeSpec>> probes;  // nullopt: all that the machine has
  Objective objective = Objective::energy;
  std::optional<RawValue> energy_of;  // the domain that counts; nullopt: the widest that works
  std::vector<ExcludeRule::Condition> reference;
  std::optional<RawValue> result;
};

// Reads an experiment file's text. Returns nullopt if the faults leave nothing to go on with; the model
// may be returned together with errors, so that resolve_plan() can add what the machine has to say.
std::optional<Experiment> parse_experiment(std::string_view text, const std::string& file,
                                           Diagnostics& diagnostics);

// The keys that each map of the file may have; the JSON schema is held against this in a test.
const std::map<std::string, std::vector<std::string>>& experiment_keys();

// The names of the knobs an axis may set, without target: "cpu.frequency"; "devfreq.NAME" ends in ".".
const std::vector<std::string>& knob_axis_names();

// "cpu.frequency@policy0" -> {"cpu.frequency", "policy0"}.
struct AxisName {
  std::string base;
  std::string target;
};
AxisName split_axis_name(std::string_view name);
// A machine setting (its name has a dot), not a parameter of the workload.
bool is_knob_axis(std::string_view name);

}  // namespace dvfs_plan
