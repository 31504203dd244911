// The parts of the experiment file that have several spellings: an axis's values, a probe.
#pragma once

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_reader.hpp"

namespace dvfs_plan {

// `all`, `min`, `max`, a value, a list, {count: N}, {from, to[, step | times]}, {values: [...], nearest:
// true}.
std::optional<AxisSpec> parse_axis(const std::string& name, Mark mark, const YamlNode& node,
                                   YamlReader& read);

// `rapl`, {name: hwmon, rate: 100 Hz}, {name: meter, command: [...], every: 1 s, channels: {wall: {unit:
// W}}}, {name: wall, meter: shelly, at: "http://192.168.1.20"}.
std::optional<ProbeSpec> parse_probe(const YamlNode& node, const Vocabulary& vocabulary, YamlReader& read);

}  // namespace dvfs_plan
