#include "experiments/plan/parse_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

bool is_word(const YamlNode& node, std::string_view word) {
  return node.kind == YamlNode::Kind::scalar && node.scalar == word;
}

// A share such as 1 %, within (0, most].
std::optional<double> share(const YamlNode& node, YamlReader& read, std::string_view what, double most) {
  const auto value = read.quantity(node, what, Dimension::ratio);
  if (value && (*value <= 0 || *value > most)) {
    read.diagnostics().error(node.mark, fmt::format("{} must be above 0 % and at most {:g} %; found '{}'",
                                                    what, 100 * most, node.scalar));
    return std::nullopt;
  }
  return value;
}

struct Relation {
  ConstraintSpec::Relation relation;
  std::string_view rest;
};

std::optional<Relation> leading_relation(std::string_view text) {
  text = trim(text);
  using R = ConstraintSpec::Relation;
  for (const auto& [sign, relation] : {std::pair{"<=", R::at_most}, std::pair{">=", R::at_least},
                                       std::pair{"<", R::less}, std::pair{">", R::more}}) {
    if (text.starts_with(sign)) return Relation{relation, trim(text.substr(std::string_view(sign).size()))};
  }
  return std::nullopt;
}

// Names whose values the program measures itself, with what their limits are written in.
std::optional<Dimension> measured_dimension(std::string_view name) {
  if (name == "slowdown") return Dimension::ratio;
  if (name == "power") return Dimension::power;
  if (name == "time") return Dimension::time;
  if (name == "energy") return Dimension::energy;
  return std::nullopt;
}

void constraint(const YamlEntry& entry, const YamlNode& bound, YamlReader& read, ObjectiveSpec& objective) {
  const std::string what = fmt::format("constraint '{}'", entry.key);
  const auto text = read.word(bound, what);
  if (!text) return;
  ConstraintSpec spec;
  spec.name = entry.key;
  spec.mark = entry.key_mark;
  const auto relation = leading_relation(text->text);
  const auto dimension = measured_dimension(entry.key);
  std::string_view number = text->text;
  if (relation) {
    spec.relation = relation->relation;
    number = relation->rest;
  } else if (!dimension) {
    read.diagnostics().error(
        text->mark,
        fmt::format("{} needs a relation: \">= 0.75\" or \"<= 0.75\"; found '{}'{}", what, text->text,
                    did_you_mean(entry.key, {"slowdown", "power", "time", "energy"})));
    return;
  }
  const auto quantity = parse_quantity(number);
  if (dimension) {
    if (!quantity || quantity->dimension != *dimension) {
      read.diagnostics().error(text->mark, fmt::format("{} must be {}, for example \"<= {}\"; found '{}'",
                                                       what, describe(*dimension),
                                                       *dimension == Dimension::ratio   ? "5 %"
                                                       : *dimension == Dimension::power ? "300 W"
                                                       : *dimension == Dimension::time  ? "2 s"
                                                                                        : "50 J",
                                                       text->text));
      return;
    }
    spec.limit = quantity->value;
    objective.constraints.push_back(spec);
    return;
  }
  // A metric: a number, and the unit as the workload prints it.
  auto words = split_words(number);
  // "95%" as "95 %".
  if (words.size() == 1) {
    double prefix = 0;
    const char *const begin = words[0].data(), *const end = begin + words[0].size();
    const auto [rest, problem] = std::from_chars(begin, end, prefix);
    if (problem == std::errc() && rest != end) words = {{begin, rest}, {rest, end}};
  }
  const auto value = words.empty() ? std::nullopt : parse_number(words[0]);
  if (!value || words.size() > 2) {
    read.diagnostics().error(
        text->mark, fmt::format("{}: no number after the relation in '{}'; write for example \">= 0.75\"",
                                what, text->text));
    return;
  }
  if (words.size() == 2 && words[1].find_first_of("<>=,;") != std::string::npos) {
    read.diagnostics().error(
        text->mark,
        fmt::format(
            "{}: one relation and one bound in a text; found '{}'; two are a list: [\">= 0.7\", \"<= 0.9\"]",
            what, text->text));
    return;
  }
  spec.limit = *value;
  if (words.size() == 2) spec.unit = words[1];
  objective.constraints.push_back(spec);
}

// One bound, or a list of them: accuracy: [">= 0.7", "<= 0.9"].
void constraint(const YamlEntry& entry, YamlReader& read, ObjectiveSpec& objective) {
  if (entry.value->kind != YamlNode::Kind::sequence) return constraint(entry, *entry.value, read, objective);
  if (entry.value->items.empty())
    read.diagnostics().error(
        entry.key_mark, fmt::format("constraint '{}' has no bound; write for example \"<= 5 %\"", entry.key));
  for (const auto& bound : entry.value->items) constraint(entry, *bound, read, objective);
}

// "0.30 EUR/kWh": an amount, a currency, per a unit of energy or time.
struct Price {
  double per_unit = 0;
  std::string currency;
};

std::optional<Price> price_of(const YamlNode& node, YamlReader& read, std::string_view what,
                              Dimension dimension, std::string_view example) {
  const auto text = read.word(node, what);
  if (!text) return std::nullopt;
  const auto words = split_words(text->text);
  const auto amount = words.size() == 2 ? parse_number(words[0]) : std::nullopt;
  const auto slash = words.size() == 2 ? words[1].find('/') : std::string::npos;
  const auto unit =
      slash == std::string::npos ? std::nullopt : parse_quantity("1 " + words[1].substr(slash + 1));
  if (!amount || *amount < 0 || slash == 0 || !unit || unit->dimension != dimension) {
    read.diagnostics().error(
        text->mark, fmt::format("{} must be written as '{}'; found '{}'", what, example, text->text));
    return std::nullopt;
  }
  return Price{*amount / unit->value, words[1].substr(0, slash)};
}

void price(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective) {
  if (!read.map(node, "'price'", keys("price"))) return;
  std::optional<Price> energy, machine;
  with(node, "energy", [&](const YamlNode& n) {
    energy = price_of(n, read, "'energy' in 'price'", Dimension::energy, "0.30 EUR/kWh");
  });
  with(node, "machine", [&](const YamlNode& n) {
    machine = price_of(n, read, "'machine' in 'price'", Dimension::time, "2.50 EUR/h");
  });
  if (node.find("energy") == nullptr || node.find("machine") == nullptr) {
    read.diagnostics().error(
        node.mark,
        "'price' needs both 'energy' and 'machine', for example  price: {energy: 0.30 EUR/kWh, "
        "machine: 2.50 EUR/h}");
    return;
  }
  if (!energy || !machine) return;
  if (energy->currency != machine->currency) {
    read.diagnostics().error(node.mark, fmt::format("'price' mixes '{}' and '{}'; give both in one currency",
                                                    energy->currency, machine->currency));
    return;
  }
  if (energy->per_unit == 0 && machine->per_unit == 0) {
    read.diagnostics().error(node.mark,
                             "'price': both are 0, so that every setting costs the same; give one of them, "
                             "or minimise energy or time");
    return;
  }
  objective.price = PriceSpec{energy->per_unit, machine->per_unit, energy->currency};
}

}  // namespace

std::optional<Seconds> parse_seconds(const YamlNode& node, YamlReader& read, std::string_view what) {
  const auto value = read.quantity(node, what, Dimension::time);
  if (!value) return std::nullopt;
  constexpr double longest = 30.0 * 24 * 3600;
  if (*value < 0 || *value > longest) {
    read.diagnostics().error(node.mark,
                             fmt::format("{} must be from 0 s to 720 h; found '{}'", what, node.scalar));
    return std::nullopt;
  }
  return Seconds{*value};
}

void parse_constraints(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective) {
  if (!read.map(node, "'subject to'", {})) return;
  for (const YamlEntry& entry : node.entries) constraint(entry, read, objective);
}

void parse_objective_of_workload(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective) {
  if (node.kind == YamlNode::Kind::map) {
    for (const char* key : {"of", "across", "same work", "price"}) {
      if (const YamlNode* found = node.find(key))
        return read.diagnostics().error(
            found->mark,
            fmt::format("'{}' is one for all workloads: write it under the experiment's own 'objective'",
                        key));
    }
    if (node.find("subject to") != nullptr) objective.constraints.clear();
    if (node.find("per") != nullptr) objective.same_work = false;
  }
  parse_objective_spec(node, read, objective);
}

// What the work is run for: {loss: "<= 0.35"}.
void target(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective) {
  if (!read.map(node, "'to'", {})) return;
  ObjectiveSpec alone;
  for (const YamlEntry& entry : node.entries) constraint(entry, read, alone);
  if (node.entries.size() != 1) {
    read.diagnostics().error(
        node.mark, "'to' names one metric and what it is to become, for example  to: {loss: \"<= 0.35\"}");
    return;
  }
  if (node.entries[0].value->kind == YamlNode::Kind::sequence) {
    read.diagnostics().error(node.entries[0].value->mark,
                             fmt::format("'to: {}' is one bound, at which what counts ends, for example  to: "
                                         "{{loss: \"<= 0.35\"}}; {}; "
                                         "what else must hold goes under 'subject to'",
                                         node.entries[0].key, YamlReader::found(*node.entries[0].value)));
    return;
  }
  if (alone.constraints.empty()) return;
  if (is_measured(alone.constraints[0].name))
    read.diagnostics().error(
        node.mark,
        fmt::format(
            "'to' names a metric that the workload marks while it runs; '{}' is measured: use 'subject to'",
            alone.constraints[0].name));
  objective.target = alone.constraints[0];
}

void parse_objective_spec(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective) {
  const YamlNode* minimise = &node;
  if (node.kind == YamlNode::Kind::map) {
    if (!read.map(node, "'objective'", keys("objective"))) return;
    minimise = node.find("minimise");
    with(node, "of", [&](const YamlNode& n) { objective.energy_of = read.word(n, "'of'"); });
    with(node, "per", [&](const YamlNode& n) {
      if (const auto name = read.word(n, "'per'")) objective.per = name->text;
    });
    with(node, "across", [&](const YamlNode& n) {
      if (auto names = read.words(n, "'across'")) objective.across = *names;
    });
    with(node, "same work", [&](const YamlNode& n) {
      objective.same_work = read.boolean(n, "'same work'").value_or(false);
      if (objective.same_work && node.find("per") != nullptr)
        read.diagnostics().error(n.mark,
                                 "'same work' says that each run is one unit, and 'per' that a metric counts "
                                 "them: keep one of the two");
      if (objective.same_work && node.find("across") == nullptr)
        read.diagnostics().error(n.mark,
                                 "'same work' needs the parameters at whose values each run does the same "
                                 "work, for example  across: [threads]");
    });
    if (const YamlNode* across = node.find("across");
        across != nullptr && objective.per.empty() && !objective.same_work && node.find("to") == nullptr)
      read.diagnostics().error(across->mark,
                               "'across' compares what a unit of work takes: add  per: METRIC  that counts "
                               "the units, or  same work: "
                               "true  where each run does the same at every value");
    with(node, "to", [&](const YamlNode& n) { target(n, read, objective); });
    with(node, "subject to", [&](const YamlNode& n) { parse_constraints(n, read, objective); });
    with(node, "price", [&](const YamlNode& n) { price(n, read, objective); });
  }
  if (minimise != nullptr) {
    const auto text = read.word(*minimise, "'objective'");
    if (!text) return;
    const auto parsed = parse_objective(text->text);
    if (!parsed) {
      read.diagnostics().error(
          text->mark,
          fmt::format("unknown objective '{}'{}; known: energy, time, edp, ed2p, cost", text->text,
                      did_you_mean(text->text, {"energy", "time", "edp", "ed2p", "cost"})));
      return;
    }
    objective.minimise = *parsed;
    if (*parsed == Objective::cost && node.find("price") == nullptr && !objective.price) {
      read.diagnostics().error(
          text->mark,
          "'minimise: cost' needs prices: add  price: {energy: 0.30 EUR/kWh, machine: 2.50 EUR/h}");
    }
  }
}

void parse_repeat(const YamlNode& node, YamlReader& read, RepeatSpec& repeat) {
  constexpr int most = 10000;
  if (node.kind != YamlNode::Kind::map) {
    if (auto count = read.integer(node, "'repeat'", 1, most))
      repeat.min = repeat.max = static_cast<int>(*count);
    return;
  }
  if (!read.map(node, "'repeat'", keys("repeat"))) return;
  std::optional<int> least, highest;
  with(node, "min", [&](const YamlNode& n) {
    if (auto count = read.integer(n, "'min' in 'repeat'", 1, most)) least = static_cast<int>(*count);
  });
  with(node, "max", [&](const YamlNode& n) {
    if (auto count = read.integer(n, "'max' in 'repeat'", 1, most)) highest = static_cast<int>(*count);
  });
  with(node, "until", [&](const YamlNode& n) { repeat.until = share(n, read, "'until' in 'repeat'", 1); });
  with(node, "confirm", [&](const YamlNode& n) {
    if (auto count = read.integer(n, "'confirm' in 'repeat'", least_confirming_blocks, most))
      repeat.confirm = static_cast<int>(*count);
  });
  repeat.min = least.value_or(std::min(3, highest.value_or(3)));
  // Who confirms has a use for further trials already.
  repeat.max = highest.value_or(repeat.confirm > 0 && !repeat.until ? repeat.min : std::max(10, repeat.min));
  if (repeat.max < repeat.min) {
    read.diagnostics().error(
        node.mark, fmt::format("'repeat': 'max' ({}) is less than 'min' ({})", repeat.max, repeat.min));
  } else if (repeat.until && repeat.max < 2) {
    read.diagnostics().error(node.mark,
                             "'repeat': 'until' needs at least two trials of a point; raise 'max'");
  }
}

void parse_budget(const YamlNode& node, YamlReader& read, BudgetSpec& budget) {
  const auto trials = [&](const YamlNode& n, std::string_view number) {
    const auto count = parse_number(number);
    if (!count || *count < 1 || *count > 1e6 || *count != static_cast<double>(static_cast<int>(*count)))
      read.diagnostics().error(
          n.mark, fmt::format("'budget' must be a time such as 8 h or a number of trials such as "
                              "'60 trials'; {}",
                              YamlReader::found(n)));
    else
      budget.trials = static_cast<int>(*count);
  };
  const auto not_empty = [&] {
    if (budget.time && budget.time->value() <= 0)
      read.diagnostics().error(node.mark, "'budget' must be longer than 0 s");
  };
  if (node.kind == YamlNode::Kind::map) {
    if (!read.map(node, "'budget'", keys("budget"))) return;
    with(node, "time",
         [&](const YamlNode& n) { budget.time = parse_seconds(n, read, "'time' in 'budget'"); });
    with(node, "trials", [&](const YamlNode& n) { trials(n, n.scalar); });
    not_empty();
    return;
  }
  const auto words = split_words(node.scalar);
  const bool of_trials = words.size() == 2 && (words[1] == "trials" || words[1] == "trial");
  const auto time = parse_quantity(node.scalar);
  if (!of_trials && time && time->dimension == Dimension::time)
    budget.time = parse_seconds(node, read, "'budget'");
  else
    trials(node, of_trials ? words[0] : "");
  not_empty();
}

void parse_measure(const YamlNode& node, YamlReader& read, MeasureSpec& measure) {
  if (!read.map(node, "'measure'", keys("measure"))) return;
  with(node, "region", [&](const YamlNode& n) {
    if (const auto name = read.word(n, "'region'")) measure.region = name->text;
  });
  with(node, "at least",
       [&](const YamlNode& n) { measure.at_least = parse_seconds(n, read, "'at least' in 'measure'"); });
}

void parse_conditions(const YamlNode& node, YamlReader& read, ConditionsSpec& conditions) {
  if (!read.map(node, "'conditions'", keys("condition"))) return;
  with(node, "warm up", [&](const YamlNode& n) {
    if (auto count = read.integer(n, "'warm up'", 0, 1000)) conditions.warm_up = static_cast<int>(*count);
  });
  with(node, "idle", [&](const YamlNode& n) {
    if (is_word(n, "none"))
      conditions.idle = Seconds{0};
    else if (auto length = parse_seconds(n, read, "'idle' (or none)"))
      conditions.idle = *length;
  });
  with(node, "references", [&](const YamlNode& n) {
    if (auto on = read.boolean(n, "'references'")) conditions.references = *on;
  });
  with(node, "settle limit", [&](const YamlNode& n) {
    if (auto limit = parse_seconds(n, read, "'settle limit'")) conditions.settle_limit = *limit;
  });
  with(node, "temperature", [&](const YamlNode& n) {
    if (is_word(n, "off") || is_word(n, "false")) {
      conditions.temperature_band.reset();
      return;
    }
    if (!read.map(n, "'temperature' (or off)", keys("temperature"))) return;
    with(n, "band", [&](const YamlNode& b) {
      const auto band = read.quantity(b, "'band'", Dimension::temperature);
      if (band && *band > 0)
        conditions.temperature_band = *band;
      else if (band)
        read.diagnostics().error(b.mark, "'band' must be above 0 C");
    });
    with(n, "limit", [&](const YamlNode& b) {
      if (auto limit = parse_seconds(b, read, "'limit'")) conditions.temperature_limit = *limit;
    });
  });
  with(node, "drift", [&](const YamlNode& n) {
    if (auto value = share(n, read, "'drift'", 1)) conditions.drift = *value;
  });
  with(node, "foreign load", [&](const YamlNode& n) {
    if (is_word(n, "off") || is_word(n, "false"))
      conditions.foreign_load.reset();
    else if (auto value = share(n, read, "'foreign load' (or off), of one CPU,", 1000))
      conditions.foreign_load = *value;
  });
  with(node, "gpu processes", [&](const YamlNode& n) {
    if (is_word(n, "refuse") || is_word(n, "flag"))
      conditions.flag_gpu_processes = n.scalar == "flag";
    else
      read.diagnostics().error(
          n.mark, fmt::format("'gpu processes' (of others, on a board that is used) must be refuse or flag; "
                              "{}",
                              YamlReader::found(n)));
  });
  with(node, "reruns", [&](const YamlNode& n) {
    if (auto count = read.integer(n, "'reruns'", 0, 100)) conditions.reruns = static_cast<int>(*count);
  });
  with(node, "give up after", [&](const YamlNode& n) {
    if (is_word(n, "never"))
      conditions.give_up_after = 0;
    else if (auto count = read.integer(n, "'give up after' (or never)", 2, 1000))
      conditions.give_up_after = static_cast<int>(*count);
  });
}

}  // namespace dvfs_plan
