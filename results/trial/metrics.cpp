#include "results/trial/metrics.hpp"

#include <re2/re2.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t longest_line = 65536;  // of a name, a number and a unit
using Take = std::function<void(MetricRecord)>;
using Unreadable = std::function<void(const std::string& name, const std::string& line)>;

bool is_name(std::string_view word) {
  return !word.empty() && word.size() <= 64 &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") ==
             std::string_view::npos &&
         !parse_number(word);
}

// Of "slo_attained 4312 of 4355": a share, with the count that it is made of.
std::optional<MetricRecord> from_count(const std::vector<std::string>& words) {
  const auto count = parse_number(words[1]), of = parse_number(words[3]);
  const auto whole = [](double x) { return x >= 0 && x <= 1e15 && x == std::floor(x); };
  if (!count || !of || !whole(*count) || !whole(*of) || *of == 0 || *count > *of) return std::nullopt;
  MetricRecord metric{words[0], 100 * *count / *of, "%"};
  metric.count_of = *of;
  return metric;
}

// "throughput 1234.5 1/s": exactly a name, a number, a unit ("1" or none for a plain number).
void from_words(const std::string& line, const Take& take, const Unreadable& unreadable) {
  if (line.size() > longest_line) return;
  const auto words = split_words(line);
  if (words.size() == 4 && words[2] == "of" && is_name(words[0])) {
    if (auto share = from_count(words))
      take(std::move(*share));
    else if (is_meant_as_number(words[1]) || is_meant_as_number(words[3]))
      unreadable(words[0], line);  // "slo nan of 100", "slo 0 of 0"
  }
  if (words.size() < 2 || words.size() > 3 || !is_name(words[0])) return;
  const auto value = parse_number(words[1]);
  // "lat 1 500" is no 1 in units of 500.
  const bool two_numbers = words.size() == 3 && words[2] != "1" && parse_number(words[2]);
  if (value && std::isfinite(*value) && !two_numbers)
    take({words[0], *value, words.size() == 3 ? words[2] : ""});
  else if (is_meant_as_number(words[1]))
    unreadable(words[0], line);
}

// A document that cannot be read names what it may have told: Python writes NaN, which is no JSON.
void from_broken_json(const std::string& line, const Unreadable& unreadable) {
  static const RE2 name(R"re("([^"\\]{1,64})"\s*:)re"), named(R"re("metric"\s*:\s*"([^"\\]{1,64})")re");
  for (const RE2* const place : {&name, &named}) {
    re2::StringPiece rest(line);
    for (std::string found; RE2::FindAndConsume(&rest, *place, &found);) unreadable(found, line);
  }
}

void from_json(const std::string& line, const Take& take, const Unreadable& unreadable) {
  if (trim(line).empty() || trim(line).front() != '{') return;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded()) return from_broken_json(line, unreadable);
  if (!json.is_object()) return;
  if (json.contains("metric") && json["metric"].is_string() && json.contains("value")) {
    if (json["value"].is_number())
      take({json["metric"], json["value"],
            json.contains("unit") && json["unit"].is_string() ? std::string(json["unit"]) : ""});
    else
      unreadable(json["metric"], line);
    return;
  }
  for (const auto& [name, value] : json.items()) {
    if (value.is_number())
      take({name, value.get<double>(), ""});
    else if (value.is_null() || (value.is_string() && is_meant_as_number(value.get<std::string>())))
      unreadable(name, line);
  }
}

struct AtPointer {
  bool is_there = false;  // the place is, whatever is at it
  std::optional<MetricRecord> metric = {};
};

AtPointer at_pointer(const nlohmann::json& document, const MetricRule& rule) {
  try {
    const auto& found = document.at(nlohmann::json::json_pointer(rule.pattern));
    const auto value = found.is_number()   ? std::optional(found.get<double>())
                       : found.is_string() ? parse_number(found.get<std::string>())
                                           : std::nullopt;
    if (value && std::isfinite(*value)) return {true, MetricRecord{rule.name, *value, rule.unit}};
    return {true};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

// Of a line that is no document: Python writes NaN, which is no JSON.
bool names_the_place(std::string_view line, const MetricRule& rule) {
  const std::string key = rule.pattern.substr(rule.pattern.rfind('/') + 1);
  return !key.empty() && line.find("\"" + key + "\"") != std::string_view::npos;
}

// Lines that are documents, else all of the output as one: clients print their report either way.
void from_documents(std::string_view output, const std::vector<MetricRule>& rules, const Take& take,
                    const Unreadable& unreadable) {
  std::vector<const MetricRule*> wanted;
  for (const MetricRule& rule : rules) {
    if (rule.kind == MetricRule::Kind::pointer && !rule.file) wanted.push_back(&rule);
  }
  if (wanted.empty()) return;
  struct Told {
    const MetricRule* rule;
    std::string line;
    std::optional<MetricRecord> metric;  // none: it cannot be read
  };
  std::vector<Told> of_lines;
  bool found = false;
  for (const std::string& line : split_lines(output)) {
    const auto text = trim(line);
    if (text.empty() || text.front() != '{') continue;
    const auto document = nlohmann::json::parse(text, nullptr, false);
    for (const MetricRule* rule : wanted) {
      if (!document.is_object()) {
        if (names_the_place(text, *rule)) of_lines.push_back({rule, line, {}});
        continue;
      }
      auto [is_there, metric] = at_pointer(document, *rule);
      found = found || metric;
      if (is_there) of_lines.push_back({rule, line, std::move(metric)});
    }
  }
  // A line of one document over several may look like one of its own.
  const auto whole = found ? nlohmann::json() : nlohmann::json::parse(output, nullptr, false);
  if (!whole.is_object() && !whole.is_array()) {
    for (Told& told : of_lines)
      told.metric ? take(std::move(*told.metric)) : unreadable(told.rule->name, told.line);
    return;
  }
  for (const MetricRule* rule : wanted) {
    auto [is_there, metric] = at_pointer(whole, *rule);
    if (metric)
      take(std::move(*metric));
    else if (is_there)
      unreadable(rule->name, "null");
  }
}

}  // namespace

std::optional<MetricRecord> find_in_document(std::string_view document, const MetricRule& rule) {
  const auto json = nlohmann::json::parse(document, nullptr, false);
  return json.is_discarded() ? std::nullopt : at_pointer(json, rule).metric;
}

void find_metrics(std::string_view output, const std::vector<MetricRule>& rules, const Take& take_any,
                  const Unreadable& told_unreadable) {
  if (rules.empty()) return;
  const Unreadable unreadable = [&](const std::string& name, const std::string& line) {
    if (told_unreadable) told_unreadable(name, line);
  };
  const Take take = [&](MetricRecord metric) {
    if (std::isfinite(metric.value)) take_any(std::move(metric));
  };
  std::vector<std::unique_ptr<RE2>> patterns;
  for (const MetricRule& rule : rules) {
    patterns.push_back(rule.kind == MetricRule::Kind::regex ? std::make_unique<RE2>(rule.pattern, RE2::Quiet)
                                                            : nullptr);
  }
  for (const std::string& line : split_lines(output)) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].kind == MetricRule::Kind::lines) from_words(line, take, unreadable);
      if (rules[i].kind == MetricRule::Kind::json) from_json(line, take, unreadable);
      std::string number;
      if (patterns[i] && RE2::PartialMatch(line, *patterns[i], &number)) {
        const auto value = parse_number(number);
        if (value && std::isfinite(*value))
          take({rules[i].name, *value, rules[i].unit});
        else
          unreadable(rules[i].name, line);
      }
    }
  }
  from_documents(output, rules, take, unreadable);
}

}  // namespace dvfs_plan
