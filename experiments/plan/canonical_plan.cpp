// The plan in the form that decides whether a result may be resumed, and what differs between two of them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

Json conditions_json(const ConditionsSpec& c) {
  Json json{{"warm up", c.warm_up},       {"references", c.references},
            {"settle", c.settle.value()}, {"settle limit", c.settle_limit.value()},
            {"drift", c.drift},           {"reruns", c.reruns}};
  json["idle"] = c.idle ? Json(c.idle->value()) : Json("by the sensor");
  json["temperature band"] = c.temperature_band ? Json(*c.temperature_band) : Json("off");
  json["temperature limit"] = c.temperature_limit.value();
  json["foreign load"] = c.foreign_load ? Json(*c.foreign_load) : Json("off");
  return json;
}

Json objective_json(const ObjectiveSpec& o) {
  Json json{{"minimise", to_string(o.minimise)}};
  if (o.energy_of) json["of"] = o.energy_of->text;
  if (!o.per.empty()) json["per"] = o.per;
  for (const RawValue& name : o.across) json["across"].push_back(name.text);
  if (o.same_work) json["same work"] = true;
  if (o.target) json["to"] = constraint_text(*o.target);
  for (const ConstraintSpec& constraint : o.constraints)
    json["subject to"].push_back(constraint_text(constraint));
  if (o.price) {
    json["price"] = {{"per joule", o.price->per_joule},
                     {"per second", o.price->per_second},
                     {"currency", o.price->currency}};
  }
  return json;
}

Json program_json(const ProgramSpec& spec) {
  Json one;
  if (spec.shell) one["shell"] = spec.shell->text;
  for (const RawValue& word : spec.command) one["command"].push_back(word.text);
  for (const auto& [name, value] : spec.environment) one["environment"][name] = value.text;
  for (const std::string& name : spec.keep) one["keep"].push_back(name);
  if (spec.folder) one["folder"] = spec.folder->text;
  return one;
}

Json metric_json(const MetricRule& rule) {
  if (rule.kind == MetricRule::Kind::lines) return "lines";
  if (rule.kind == MetricRule::Kind::json) return "json";
  const char* const form = rule.kind == MetricRule::Kind::regex ? "regex" : "json";
  Json json{{"name", rule.name}, {form, rule.pattern}, {"unit", rule.unit}};
  if (rule.file) json["file"] = rule.file->text;
  return json;
}

// A program that was rebuilt overnight does other work: its trials must not be mixed with the old ones.
void add_digests(const ProgramFiles& program, Json& json) {
  for (const WorkFile& file : program.files) {
    if (!file.named) json["sha256"][file.path] = file.sha256;
  }
}

Json service_json(const PlanService& service) {
  const ServiceSpec& spec = service.spec;
  Json one = program_json(spec);
  one["grace"] = spec.grace.value();
  if (spec.run_as) one["run_as"] = spec.run_as->text;
  Json ready{{"within", spec.ready.within.value()}};
  if (spec.ready.kind == ReadySpec::Kind::port) ready["port"] = spec.ready.text.text;
  if (spec.ready.kind == ReadySpec::Kind::line) ready["line"] = spec.ready.text.text;
  for (const RawValue& word : spec.ready.command) ready["command"].push_back(word.text);
  one["ready"] = ready;
  if (spec.warm_up.value() > 0) one["warm up"] = spec.warm_up.value();
  for (const RawValue& word : spec.warm_up_command) one["warm up"].push_back(word.text);
  if (spec.attached_pid) one["attach"]["pid"] = spec.attached_pid->text;
  if (spec.attached_address) one["attach"]["address"] = spec.attached_address->text;
  add_digests(service, one);
  return one;
}

std::string shown(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void compare(const Json& before, const Json& after, const std::string& where,
             std::vector<std::string>& found) {
  if (before == after) return;
  if (before.is_object() && after.is_object()) {
    for (const auto& [key, value] : before.items()) {
      const std::string inside = where.empty() ? key : where + " / " + key;
      if (after.contains(key))
        compare(value, after[key], inside, found);
      else
        found.push_back(fmt::format("{}: taken away", inside));
    }
    for (const auto& [key, value] : after.items()) {
      if (!before.contains(key))
        found.push_back(fmt::format("{}: added", where.empty() ? key : where + " / " + key));
    }
  } else if (before.is_array() && after.is_array()) {
    for (const Json& value : before) {
      if (std::find(after.begin(), after.end(), value) == after.end())
        found.push_back(fmt::format("{}: {} taken away", where, shown(value)));
    }
    for (const Json& value : after) {
      if (std::find(before.begin(), before.end(), value) == before.end())
        found.push_back(fmt::format("{}: {} added", where, shown(value)));
    }
    if (found.empty()) found.push_back(fmt::format("{}: in another order", where));
  } else {
    found.push_back(fmt::format("{}: {} -> {}", where, shown(before), shown(after)));
  }
}

// What a key of the plan means for trials that are there, where it is another one now.
enum class Kind { asks, adds, incomparable };

Kind kind_of(const std::string& key) {
  static const std::set<std::string> asks{"name",
                                          "reference",
                                          "objective / minimise",
                                          "objective / price",
                                          "objective / subject to",
                                          "objective / across",
                                          "conditions / drift"},
      adds{"repeat / min",
           "repeat / max",
           "repeat / until",
           "repeat / confirm",
           "budget",
           "budget / time",
           "budget / trials",
           "search / regret",
           "search / confidence",
           "search / for",
           "search / at most",
           "order",
           "seed",
           "conditions / reruns",
           "conditions / settle limit",
           "conditions / temperature limit",
           "gpu processes",
           "timeout",
           "grace"};
  return asks.contains(key) ? Kind::asks : adds.contains(key) ? Kind::adds : Kind::incomparable;
}

class Changes {
 public:
  Changes(const Json& before, const Json& after) : before_(before), after_(after) {}

  PlanChange find() {
    maps("", before_, after_,
         {"workloads", "services", "axes", "was", "sysfs", "set", "set by", "points", "reference"});
    find_added_axes();
    named("workloads",
          [&](const std::string& name, const Json& was, const Json& is) { workload(name, was, is); });
    named("services", [&](const std::string& name, const Json& was, const Json& is) {
      plain("services / " + name, was, as_it_was(is));
    });
    axes();
    for (const char* key : {"sysfs", "set", "set by"}) {
      const Json was = at(before_, key), is = at(after_, key);
      for (const auto& [name, value] : was.items()) {
        if (is.contains(name)) plain(std::string(key) + " / " + name, value, is[name]);
      }
    }
    points();
    if (at(before_, "reference") != at(after_, "reference") && !reference_follows_) references();
    return std::move(change_);
  }

 private:
  static Json at(const Json& json, const std::string& key) {
    return json.contains(key) ? json[key] : Json::object();
  }

  std::vector<std::string>& of(Kind kind) {
    return kind == Kind::asks ? change_.asks : kind == Kind::adds ? change_.adds : change_.incomparable;
  }

  void plain(const std::string& where, const Json& was, const Json& is) {
    compare(was, is, where, change_.incomparable);
  }

  // Key by key; what is a map is looked into.
  void maps(const std::string& inside, const Json& was, const Json& is, const std::set<std::string>& but) {
    std::set<std::string> keys;
    for (const Json* json : {&was, &is}) {
      for (const auto& [key, value] : json->items()) keys.insert(key);
    }
    for (const std::string& key : keys) {
      if (but.contains(key)) continue;
      const std::string where = inside.empty() ? key : inside + " / " + key;
      if (was.contains(key) && is.contains(key) && was[key].is_object() && is[key].is_object()) {
        maps(where, was[key], is[key], {});
        continue;
      }
      std::vector<std::string>& into = of(kind_of(where));
      if (!was.contains(key))
        into.push_back(fmt::format("{}: added", where));
      else if (!is.contains(key))
        into.push_back(fmt::format("{}: taken away", where));
      else
        compare(was[key], is[key], where, into);
    }
  }

  // Workloads and services that are in both; those of one file alone are added or taken away.
  template <class Both>
  void named(const std::string& what, Both both) {
    const Json was = at(before_, what), is = at(after_, what);
    for (const auto& [name, value] : was.items()) {
      if (is.contains(name))
        both(name, value, is[name]);
      else if (what == "workloads")
        change_.drops.push_back(fmt::format("workloads / {}: taken away", name));
    }
    for (const auto& [name, value] : is.items()) {
      if (!was.contains(name) && what == "workloads")
        change_.adds.push_back(fmt::format("workloads / {}: added", name));
    }
  }

  void workload(const std::string& name, const Json& was, const Json& is) {
    Json plain_was = was, plain_is = is;
    for (Json* json : {&plain_was, &plain_is}) {
      for (const char* key : {"objective", "timeout", "grace"}) json->erase(key);
    }
    const std::string where = "workloads / " + name;
    plain(where, plain_was, as_it_was(plain_is));
    for (const char* key : {"timeout", "grace"}) {
      if (at(was, key) != at(is, key)) compare(was[key], is[key], where + " / " + key, change_.adds);
    }
    // Its own objective, or the experiment's: what differs decides.
    const Json own_was = was.contains("objective") ? was["objective"] : at(before_, "objective"),
               own_is = is.contains("objective") ? is["objective"] : at(after_, "objective");
    if (!was.contains("objective") && !is.contains("objective")) return;
    PlanChange mine =
        Changes(Json::object({{"objective", own_was}}), Json::object({{"objective", own_is}})).find();
    for (const std::string& text : mine.asks) change_.asks.push_back(where + " / " + text);
    for (const std::string& text : mine.incomparable) change_.incomparable.push_back(where + " / " + text);
  }

  void axes() {
    const Json was = at(before_, "axes"), is = at(after_, "axes");
    const auto names = [](const Json& of, const Json& in) {
      std::vector<std::string> both;
      for (const auto& [name, values] : of.items()) {
        if (in.contains(name)) both.push_back(name);
      }
      return both;
    };
    if (names(was, is) != names(is, was)) change_.incomparable.push_back("axes: in another order");
    for (const auto& [name, values] : was.items()) {
      if (!is.contains(name)) {
        change_.incomparable.push_back(
            fmt::format("axes / {}: taken away, and the trials that are there differ in it", name));
        continue;
      }
      const Json &old_values = values, &new_values = is[name];
      for (const Json& value : old_values) {
        if (std::find(new_values.begin(), new_values.end(), value) == new_values.end())
          change_.drops.push_back(fmt::format("axes / {}: {} taken away", name, shown(value)));
      }
      for (const Json& value : new_values) {
        if (std::find(old_values.begin(), old_values.end(), value) == old_values.end())
          change_.adds.push_back(fmt::format("axes / {}: {} added", name, shown(value)));
      }
    }
    bool added = false;
    for (const auto& [name, values] : is.items()) {
      if (was.contains(name)) {
        if (added)
          change_.incomparable.push_back(fmt::format(
              "axes / {}: stands behind one that was added: write those that are added last", name));
        continue;
      }
      added = true;
      if (const auto at_value = added_.find(name); at_value != added_.end())
        change_.adds.push_back(
            fmt::format("axes / {}: added; the trials that are there ran at {}, as the file says", name,
                        at_value->second));
      else
        change_.incomparable.push_back(
            fmt::format("axes / {}: added, and at which of its values the trials that are there ran is not "
                        "known (it may be said: {}: {{values: [...], was: VALUE}})",
                        name, name));
    }
    // Points are named by it.
    const Json then = at(before_, "was"), now = at(after_, "was");
    for (const auto& [name, value] : was.items()) {
      const Json before = then.contains(name) ? then[name] : Json(),
                 after = now.contains(name) ? now[name] : Json();
      if (is.contains(name) && before != after)
        change_.incomparable.push_back(
            fmt::format("axes / {} / was: {} -> {}: trials that are there are known by it", name,
                        before.is_null() ? "none" : shown(before), after.is_null() ? "none" : shown(after)));
    }
  }

  // Those that say at which of their values the trials ran that are there.
  void find_added_axes() {
    const Json was = at(before_, "axes"), now = at(after_, "was");
    for (const auto& [name, value] : now.items()) {
      if (!was.contains(name)) added_[name] = shown(value);
    }
  }

  // A program with that put in wherever it names an axis that was added: what it was before, if nothing else has changed.
  Json as_it_was(const Json& program) const {
    if (program.is_string()) {
      std::string text = program.get<std::string>();
      for (const auto& [name, value] : added_) text = with_value(text, name, value);
      return text;
    }
    Json copy = program;
    if (copy.is_structured()) {
      for (auto& [key, value] : copy.items()) {
        // In a shell's text a value is put in as one word, quoted: text that a shell reads otherwise is another command.
        if (key == "shell" && !are_plain_words()) continue;
        value = as_it_was(value);
      }
    }
    return copy;
  }

  bool are_plain_words() const {
    return std::all_of(added_.begin(), added_.end(), [](const auto& axis) {
      return !axis.second.empty() && std::all_of(axis.second.begin(), axis.second.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("._/:=,+-%@").find(static_cast<char>(c)) != std::string_view::npos;
      });
    });
  }

  // {name} becomes the value; {{name}} is none that is filled in (command_line.hpp).
  static std::string with_value(const std::string& text, const std::string& name, const std::string& value) {
    const std::string word = "{" + name + "}";
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
      const bool doubled = text[i] == '{' && i + 1 < text.size() && text[i + 1] == '{';
      if (!doubled && text.compare(i, word.size(), word) == 0) {
        result += value;
        i += word.size();
        continue;
      }
      result.append(text, i, doubled ? 2 : 1);
      i += doubled ? 2 : 1;
    }
    return result;
  }

  // What `exclude` takes away or gives back, beside axes and workloads.
  void points() {
    const Json was = at(before_, "points"), is = at(after_, "points");
    const auto count = [](const Json& of, const Json& in) {
      return std::count_if(of.begin(), of.end(),
                           [&](const Json& key) { return std::find(in.begin(), in.end(), key) == in.end(); });
    };
    const auto added = count(is, was), dropped = count(was, is);
    if (added > 0 && change_.adds.empty())
      change_.adds.push_back(fmt::format("exclude: {} point{} more", added, added == 1 ? "" : "s"));
    if (dropped > 0 && change_.drops.empty() && change_.incomparable.empty())
      change_.drops.push_back(fmt::format("exclude: {} point{} fewer", dropped, dropped == 1 ? "" : "s"));
    reference_follows_ = added > 0 || dropped > 0;
  }

  void references() {
    std::vector<std::string> keys;
    for (const Json& key : at(after_, "reference")) keys.push_back(shown(key));
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key;
    change_.asks.push_back("reference: " + text);
  }

  const Json before_, after_;
  PlanChange change_;
  bool reference_follows_ = false;
  std::map<std::string, std::string> added_;  // axes, and at which value the trials ran that are there
};

}  // namespace

PlanChange plan_change(const std::string& old_canonical, const std::string& new_canonical) {
  const Json before = Json::parse(old_canonical, nullptr, false),
             after = Json::parse(new_canonical, nullptr, false);
  if (before.is_discarded() || after.is_discarded()) return {{}, {}, {}, {"the stored plan cannot be read"}};
  PlanChange change = Changes(before, after).find();
  if (!change.any() && before != after) change.incomparable.push_back("in another order");
  // A search chooses by all that it knows, and cannot forget.
  if (after.contains("search") && !change.drops.empty()) {
    for (std::string& text : change.drops) change.incomparable.push_back(std::move(text));
    change.drops.clear();
  }
  // Earlier results are read once, for the settings that there were.
  if (after.contains("search") && after["search"].contains("prior") &&
      before.value("points", Json()) != after.value("points", Json()))
    change.incomparable.push_back("points: others than earlier results ('prior') were read for");
  return change;
}

std::string canonical_plan(const Plan& plan) {
  const Experiment& e = plan.experiment;
  Json json;
  json["name"] = e.name;
  for (const PlanWorkload& workload : plan.workloads) {
    const WorkloadSpec& spec = workload.spec;
    Json one = program_json(spec);
    one["timeout"] = spec.timeout.value();
    one["grace"] = spec.grace.value();
    one["output_cap"] = spec.output_cap;
    if (spec.run_as) one["run_as"] = spec.run_as->text;
    for (const MetricRule& rule : spec.metrics) {
      one["metrics"].push_back(metric_json(rule));
    }
    if (spec.instances) one["instances"] = spec.instances->text;
    for (const RawValue& name : spec.together) one["together"].push_back(name.text);
    if (spec.objective) one["objective"] = objective_json(*spec.objective);
    if (spec.measure) {
      one["measure"]["region"] = spec.measure->region;
      if (spec.measure->at_least) one["measure"]["at least"] = spec.measure->at_least->value();
    }
    add_digests(workload, one);
    for (const int service : workload.services)
      one["services"].push_back(plan.services[static_cast<std::size_t>(service)].spec.name);
    json["workloads"][spec.name] = one;
  }
  for (const PlanService& service : plan.services)
    json["services"][service.spec.name] = service_json(service);
  for (const PlanAxis& axis : plan.axes) {
    for (const AxisValue& value : axis.values) json["axes"][axis.name].push_back(value.text);
    if (axis.was) json["was"][axis.name] = axis.was->text;
    const auto spec = std::find_if(e.axes.begin(), e.axes.end(),
                                   [&](const AxisSpec& one) { return one.name == axis.name; });
    if (spec != e.axes.end() && !spec->by.empty()) json["set by"][axis.name] = spec->by;
  }
  for (const SysfsKnobSpec& knob : e.sysfs) {
    json["sysfs"][knob.name]["path"] = knob.path.text;
  }
  for (const CommandKnobSpec& knob : e.set) {
    Json& one = json["set"][knob.name];
    one = {{"command", knob.command}, {"read", knob.read}};
    if (!knob.restore.empty()) one["restore"] = knob.restore;
  }
  for (const PlanPoint& point : plan.points) {
    json["points"].push_back(point.key);
    if (point.reference) json["reference"].push_back(point.key);
  }
  json["repeat"] = {{"min", e.repeat.min}, {"max", e.repeat.max}};
  if (e.repeat.until) json["repeat"]["until"] = *e.repeat.until;
  if (e.repeat.confirm > 0) json["repeat"]["confirm"] = e.repeat.confirm;
  if (e.budget.time) json["budget"]["time"] = e.budget.time->value();
  if (e.budget.trials) json["budget"]["trials"] = *e.budget.trials;
  if (e.search.one_by_one()) {
    json["search"] = {
        {"method", e.search.method}, {"regret", e.search.regret}, {"confidence", e.search.confidence}};
    if (e.search.each_node) json["search"]["for"] = "each node";
    if (e.search.at_most) json["search"]["at most"] = *e.search.at_most;
    for (const RawValue& file : e.search.prior) json["search"]["prior"].push_back(file.text);
  }
  json["order"] = e.shuffled ? "shuffled" : "listed";
  json["seed"] = e.seed;
  if (!e.measure.region.empty()) json["measure"]["region"] = e.measure.region;
  if (e.measure.at_least) json["measure"]["at least"] = e.measure.at_least->value();
  json["conditions"] = conditions_json(e.conditions);
  if (e.probes) {
    json["probes"] = Json::array();
    for (const ProbeSpec& probe : *e.probes) {
      Json one{{"name", probe.name}};
      if (probe.rate) one["rate"] = probe.rate->value();
      if (!probe.command.empty()) one["command"] = probe.command;
      if (probe.every) one["every"] = probe.every->value();
      if (probe.run_as) one["run_as"] = *probe.run_as;
      if (probe.meter) {
        one["meter"] = {
            {"kind", probe.meter->kind}, {"at", probe.meter->at.text}, {"domain", probe.meter->domain}};
        if (!probe.meter->outlet.empty()) one["meter"]["outlet"] = probe.meter->outlet;
        if (probe.meter->averages_over_s) one["meter"]["averages over"] = *probe.meter->averages_over_s;
        if (probe.meter->late_by_s) one["meter"]["late by"] = *probe.meter->late_by_s;
        if (!probe.meter->power_query.empty()) one["meter"]["power query"] = probe.meter->power_query;
        if (!probe.meter->range_query.empty()) one["meter"]["range query"] = probe.meter->range_query;
      }
      for (const auto& channel : probe.channels) {
        auto& described = one["channels"][channel.name];
        described = {{"unit", channel.unit}, {"domain", channel.domain}};
        if (channel.averages_over_s) described["averages over"] = *channel.averages_over_s;
        if (channel.late_by_s) described["late by"] = *channel.late_by_s;
      }
      json["probes"].push_back(one);
    }
  }
  if (uses_gpus(e)) {
    json["gpu processes"] = e.conditions.flag_gpu_processes ? "flag" : "refuse";
    if (e.gpus) {
      json["gpus"] = Json::array();
      for (const RawValue& name : *e.gpus) json["gpus"].push_back(name.text);
    }
  }
  json["objective"] = objective_json(e.objective);
  // The experiment itself is UTF-8; the name of its file may be any bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> plan_differences(const std::string& old_canonical,
                                          const std::string& new_canonical) {
  std::vector<std::string> found;
  const Json before = Json::parse(old_canonical, nullptr, false),
             after = Json::parse(new_canonical, nullptr, false);
  if (before.is_discarded() || after.is_discarded()) return {"the stored plan cannot be read"};
  for (const auto& [key, value] : before.items()) {
    if (key == "points" || key == "reference") continue;  // follow from the others
    if (after.contains(key))
      compare(value, after[key], key, found);
    else
      found.push_back(fmt::format("{}: taken away", key));
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) found.push_back(fmt::format("{}: added", key));
  }
  if (found.empty()) compare(before, after, {}, found);
  return found;
}

}  // namespace dvfs_plan
