#include "experiments/plan/parse_axis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

bool parse_range(const YamlNode& node, AxisSpec& axis, YamlReader& read) {
  const YamlNode* from = node.find("from");
  const YamlNode* to = node.find("to");
  if (from == nullptr || to == nullptr) {
    read.diagnostics().error(node.mark,
                             fmt::format("axis '{}': a range needs both 'from' and 'to'", axis.name));
    return false;
  }
  axis.form = AxisSpec::Form::range;
  axis.from = read.word(*from, "'from'");
  axis.to = read.word(*to, "'to'");
  if (const YamlNode* step = node.find("step")) axis.step = read.word(*step, "'step'");
  if (const YamlNode* times = node.find("times")) axis.times = read.word(*times, "'times'");
  if (axis.step && axis.times) {
    read.diagnostics().error(
        node.mark,
        fmt::format("axis '{}': give 'step' (added) or 'times' (multiplied), not both", axis.name));
    return false;
  }
  return axis.from && axis.to;
}

bool parse_axis_map(const YamlNode& node, AxisSpec& axis, YamlReader& read) {
  if (!read.map(node, fmt::format("axis '{}'", axis.name), experiment_keys().at("axis"))) return false;
  if (const YamlNode* nearest = node.find("nearest")) {
    axis.nearest = read.boolean(*nearest, "'nearest'").value_or(false);
  }
  if (const YamlNode* was = node.find("was")) axis.was = read.word(*was, "'was'");
  if (const YamlNode* by = node.find("by")) {
    const auto who = read.word(*by, "'by'");
    const bool cpus = axis.name == "cpu.frequency" || axis.name.starts_with("cpu.frequency@");
    if (who && who->text == "slurm" && cpus)
      axis.by = who->text;
    else if (who)
      read.diagnostics().error(
          by->mark, fmt::format("axis '{}': 'by' says who sets it if not dvfs-plan itself, and knows only  "
                                "cpu.frequency: {{values: [...], by: slurm}}; found '{}'",
                                axis.name, who->text));
  }
  const YamlNode* values = node.find("values");
  const YamlNode* count = node.find("count");
  const bool range = node.find("from") != nullptr || node.find("to") != nullptr;
  if ((values != nullptr) + (count != nullptr) + range != 1) {
    read.diagnostics().error(
        node.mark,
        fmt::format("axis '{}' needs one of: a list, 'all', {{count: N}}, {{from: A, to: B, step: C}}",
                    axis.name));
    return false;
  }
  if (range) return parse_range(node, axis, read);
  if (count != nullptr) {
    const auto number = read.integer(*count, "'count'", 1, 100000);
    axis.form = AxisSpec::Form::count;
    axis.count = static_cast<int>(number.value_or(0));
    return number.has_value();
  }
  auto words = read.words(*values, fmt::format("axis '{}'", axis.name));
  if (words) axis.values = *words;
  return words.has_value();
}

// 'late by', of a meter or a channel of a program: how long before it is told each value was so.
std::optional<double> lateness(const YamlNode& node, const std::string& object, YamlReader& read) {
  constexpr double most = 10;  // s; every trial is watched so much longer
  const YamlNode* const late = node.find("late by");
  const auto length = late == nullptr ? std::nullopt : read.quantity(*late, "'late by'", Dimension::time);
  if (!length || (*length > 0 && *length <= most)) return length;
  read.diagnostics().error(
      late->mark,
      fmt::format("{}: 'late by' is a time above 0 s and up to {:g} s: how long before it is told "
                  "each value was so",
                  object, most));
  return std::nullopt;
}

void parse_channels(const YamlNode& node, ProbeSpec& probe, YamlReader& read) {
  if (!read.map(node, "'channels'", {})) return;
  for (const YamlEntry& entry : node.entries) {
    if (!read.map(*entry.value, fmt::format("channel '{}'", entry.key), experiment_keys().at("channel")))
      continue;
    ProbeSpec::ChannelSpec channel{entry.key, {}, "system"};
    const YamlNode* unit = entry.value->find("unit");
    if (unit == nullptr) {
      read.diagnostics().error(entry.key_mark,
                               fmt::format("channel '{}' needs a 'unit': W, J, C or Hz", entry.key));
      continue;
    }
    if (auto text = read.word(*unit, "'unit'")) {
      static const std::vector<std::string> units{"W", "J", "C", "Hz"};
      if (std::find(units.begin(), units.end(), text->text) == units.end()) {
        read.diagnostics().error(
            text->mark, fmt::format("channel '{}': unit must be W, J (a counter), C or Hz; found '{}'",
                                    entry.key, text->text));
      }
      channel.unit = text->text;
    }
    if (const YamlNode* domain = entry.value->find("domain")) {
      if (auto text = read.word(*domain, "'domain'")) channel.domain = text->text;
    }
    if (const YamlNode* window = entry.value->find("averages over")) {
      const auto length = read.quantity(*window, "'averages over'", Dimension::time);
      if (channel.unit == "W" && length && *length > 0)
        channel.averages_over_s = *length;
      else if (length)
        read.diagnostics().error(
            window->mark,
            fmt::format("channel '{}': 'averages over' is a time above 0 s over which each value in W "
                        "is a mean",
                        entry.key));
    }
    channel.late_by_s = lateness(*entry.value, fmt::format("channel '{}'", entry.key), read);
    for (const auto& other : probe.channels) {
      const auto counts_energy = [](const std::string& of_channel) {
        return of_channel == "W" || of_channel == "J";
      };
      if (counts_energy(channel.unit) && other.unit == channel.unit && other.domain == channel.domain) {
        read.diagnostics().error(
            entry.key_mark,
            fmt::format("channels '{}' and '{}' both measure the energy of '{}'; give each its own 'domain'",
                        other.name, channel.name, channel.domain));
      }
    }
    probe.channels.push_back(channel);
  }
}

}  // namespace

std::optional<AxisSpec> parse_axis(const std::string& name, Mark mark, const YamlNode& node,
                                   YamlReader& read) {
  AxisSpec axis;
  axis.name = name;
  axis.mark = mark;
  axis.values_mark = node.mark;
  switch (node.kind) {
    case YamlNode::Kind::map:
      if (!parse_axis_map(node, axis, read)) return std::nullopt;
      return axis;
    case YamlNode::Kind::scalar:
      if (!node.quoted && (node.scalar == "all" || node.scalar == "min" || node.scalar == "max")) {
        axis.form = node.scalar == "all"   ? AxisSpec::Form::all
                    : node.scalar == "min" ? AxisSpec::Form::min
                                           : AxisSpec::Form::max;
        return axis;
      }
      [[fallthrough]];
    case YamlNode::Kind::sequence:
    case YamlNode::Kind::null: {
      auto words = read.words(node, fmt::format("axis '{}'", name));
      if (!words) return std::nullopt;
      axis.values = std::move(*words);
      return axis;
    }
  }
  return std::nullopt;
}

namespace {

// {name: wall, meter: shelly, at: "http://192.168.1.20"}: keys that belong to such a one alone.
void parse_meter(const YamlNode& node, const std::vector<std::string>& kinds, ProbeSpec& probe,
                 YamlReader& read) {
  const YamlNode* const kind = node.find("meter");
  if (kind == nullptr) {
    for (const char* key : {"at", "outlet", "credentials", "ca", "domain", "averages over", "late by",
                            "power query", "range query"}) {
      if (const YamlNode* stray = node.find(key))
        read.diagnostics().error(stray->mark,
                                 fmt::format("probe '{}': '{}' is of a meter on the network:  {{name: wall, "
                                             "meter: {}, at: \"http://192.168.1.20\"}}; "
                                             "channels of a program have a 'domain' of their own",
                                             probe.name, key, kinds.empty() ? "KIND" : kinds.front()));
    }
    return;
  }
  ProbeSpec::MeterSpec meter;
  const auto word = read.word(*kind, "'meter'");
  if (!word) return;
  meter.kind = word->text;
  if (std::find(kinds.begin(), kinds.end(), meter.kind) == kinds.end())
    read.diagnostics().error(
        word->mark, fmt::format("probe '{}': unknown meter '{}'{}; there are: {}", probe.name, meter.kind,
                                did_you_mean(meter.kind, kinds), join(kinds, ", ")));
  const YamlNode* const at = node.find("at");
  const auto where = at == nullptr ? std::nullopt : read.word(*at, "'at'");
  if (where)
    meter.at = *where;
  else if (at == nullptr)
    read.diagnostics().error(
        kind->mark,
        fmt::format("probe '{}': a meter needs 'at', where it answers:  at: \"http://192.168.1.20\"",
                    probe.name));
  if (const YamlNode* outlet = node.find("outlet")) {
    if (const auto number = read.integer(*outlet, "'outlet'", 0, 1000))
      meter.outlet = std::to_string(*number);
  }
  if (const YamlNode* file = node.find("credentials")) meter.credentials = read.word(*file, "'credentials'");
  if (const YamlNode* file = node.find("ca")) meter.authorities = read.word(*file, "'ca'");
  if (const YamlNode* domain = node.find("domain")) {
    if (const auto text = read.word(*domain, "'domain'")) meter.domain = text->text;
  }
  if (const YamlNode* window = node.find("averages over")) {
    const auto length = read.quantity(*window, "'averages over'", Dimension::time);
    if (length && *length > 0)
      meter.averages_over_s = *length;
    else if (length)
      read.diagnostics().error(
          window->mark,
          fmt::format("probe '{}': 'averages over' is a time above 0 s over which each value is a mean",
                      probe.name));
  }
  meter.late_by_s = lateness(node, fmt::format("probe '{}'", probe.name), read);
  for (const auto& [key, query] :
       {std::pair("power query", &meter.power_query), std::pair("range query", &meter.range_query)}) {
    const YamlNode* const line = node.find(key);
    const auto text = line == nullptr ? std::nullopt : read.word(*line, fmt::format("'{}'", key));
    if (!text) continue;
    *query = text->text;
    if (!query->ends_with('?') || query->find('\n') != std::string::npos)
      read.diagnostics().error(
          text->mark,
          fmt::format("probe '{}': '{}' is one question to the instrument, which ends with '?'; found '{}'",
                      probe.name, key, printable(*query)));
  }
  for (const char* key : {"command", "every", "run_as", "channels"}) {
    if (const YamlNode* stray = node.find(key))
      read.diagnostics().error(
          stray->mark,
          fmt::format(
              "probe '{}' is a meter on the network, which is asked by dvfs-plan itself: it takes no '{}'",
              probe.name, key));
  }
  probe.meter = std::move(meter);
}

}  // namespace

std::optional<ProbeSpec> parse_probe(const YamlNode& node, const Vocabulary& vocabulary, YamlReader& read) {
  const std::vector<Vocabulary::Probe>& known = vocabulary.probes;
  ProbeSpec probe;
  probe.mark = node.mark;
  const YamlNode* name = &node;
  if (node.kind == YamlNode::Kind::map) {
    if (!read.map(node, "a probe", experiment_keys().at("probe"))) return std::nullopt;
    name = node.find("name");
    if (name == nullptr) {
      read.diagnostics().error(node.mark, "a probe needs a 'name'");
      return std::nullopt;
    }
  }
  const auto text = read.word(*name, "a probe's name");
  if (!text) return std::nullopt;
  probe.name = text->text;
  probe.mark = text->mark;
  if (const YamlNode* rate = node.find("rate")) {
    if (auto value = read.quantity(*rate, "'rate'", Dimension::frequency)) {
      if (*value < 0.01 || *value > 10000)
        read.diagnostics().error(rate->mark, "'rate' must be from 0.01 Hz to 10 kHz");
      else
        probe.rate = Hertz{*value};
    }
  }
  if (const YamlNode* every = node.find("every")) {
    constexpr double least = 0.01;
    if (auto value = read.quantity(*every, "'every'", Dimension::time)) {
      if (*value >= least)
        probe.every = Seconds{*value};
      else
        read.diagnostics().error(
            every->mark, fmt::format("'every' is how often the program is started anew, at least 10 ms; "
                                     "found '{}'. One that keeps running and prints needs no 'every'",
                                     every->scalar));
    }
  }
  if (const YamlNode* run_as = node.find("run_as")) {
    if (auto user = read.word(*run_as, "'run_as'")) probe.run_as = user->text;
  }
  if (const YamlNode* command = node.find("command")) {
    if (auto words = read.words(*command, "'command'")) {
      for (const RawValue& word : *words) probe.command.push_back(word.text);
    }
  }
  if (const YamlNode* channels = node.find("channels")) parse_channels(*channels, probe, read);
  std::vector<std::string> names;
  for (const Vocabulary::Probe& one : known) names.push_back(one.name);
  const auto same = std::find(names.begin(), names.end(), probe.name);
  const bool built_in = same != names.end();
  probe.of_boards = built_in && known[static_cast<std::size_t>(same - names.begin())].of_boards;
  if (node.kind == YamlNode::Kind::map) parse_meter(node, vocabulary.meters, probe, read);
  if (node.kind == YamlNode::Kind::map && node.find("meter") != nullptr) {
    if (built_in)
      read.diagnostics().error(
          probe.mark, fmt::format("probe '{}' is built in; give the meter another name", probe.name));
  } else if (probe.command.empty() && !built_in) {
    read.diagnostics().error(
        probe.mark,
        fmt::format(
            "unknown probe '{}'{}; a program of your own needs a 'command', a meter on the network a 'meter'",
            probe.name, did_you_mean(probe.name, names)));
  } else if (!probe.command.empty() && (built_in || probe.channels.empty())) {
    read.diagnostics().error(
        probe.mark,
        built_in
            ? fmt::format("probe '{}' is built in and takes no 'command'; choose another name", probe.name)
            : fmt::format("probe '{}' runs a command and needs 'channels', for example  channels: {{power: "
                          "{{unit: W}}}}",
                          probe.name));
  }
  return probe;
}

}  // namespace dvfs_plan
