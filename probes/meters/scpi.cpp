// Power analysers that speak SCPI. Yokogawa's WT series by its own commands (IM WT310-17EN, IM WT1801-17EN: NUMeric, INPut, RATE, INTEGrate
// groups), any other by the query that the experiment names. Nothing is set at the instrument: its settings are their owner's, and what would
// make a night's values worthless (ranges that change by themselves) is refused before.
//
// SCPI-99, 7.2.1.4: 9.9E37 stands for infinity, here over the range, 9.91E37 for no number.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "base/units.hpp"
#include "probes/meters/meter.hpp"
#include "probes/meters/scpi_line.hpp"

namespace dvfs_plan {
namespace {

constexpr double joules_in_a_watt_hour = 3600;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// ":INPUT:CURRENT:AUTO 1" where headers are on, else "1".
std::string without_header(const std::string& answer) {
  if (!answer.starts_with(':')) return answer;
  const auto space = answer.find(' ');
  return space == std::string::npos ? std::string() : answer.substr(space + 1);
}

std::vector<std::string> fields(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

struct ScpiNumber {
  std::optional<double> value = {};
  bool over_range = false;
};
ScpiNumber scpi_number(std::string text) {
  text = upper(without_header(text));
  if (text.starts_with('+')) text.erase(0, 1);
  if (text == "INF" || text == "-INF") return {std::nullopt, true};
  const auto number = parse_number(text);
  if (!number || !std::isfinite(*number)) return {};
  constexpr double infinite = 9.9e37, no_number = 9.905e37;
  if (std::abs(*number) >= no_number) return {};
  if (std::abs(*number) >= infinite) return {std::nullopt, true};
  return {*number};
}

// What is found at an instrument before the night.
struct ScpiFound {
  std::string maker_and_model;
  std::string power_query, energy_query;  // energy in Wh; empty: it does not integrate
  std::vector<std::pair<std::string, std::string>>
      states;  // queries, and what they answered: still so at each trial
  std::optional<double> averages_over_s = {};
  Seconds usual{0.1};
};

class ScpiMeter : public Probe {
 public:
  ScpiMeter(const MeterRequest& request, std::shared_ptr<ScpiLine> line, ScpiFound found)
      : name_(request.name),
        line_(std::move(line)),
        found_(std::move(found)),
        period_(request.period.value_or(found_.usual)) {
    Channel power;
    power.name = name_ + ":power";
    power.probe = name_;
    power.unit = "W";
    power.domain = request.domain;
    power.source = fmt::format("{} {} ({})", request.at, found_.power_query, found_.maker_and_model);
    power.averages_over_s = request.averages_over_s ? request.averages_over_s : found_.averages_over_s;
    power.late_by_s = request.late_by_s;
    channels_.push_back(power);
    if (found_.energy_query.empty()) return;
    Channel energy = power;
    energy.name = name_ + ":energy";
    energy.unit = "J";
    energy.kind = ChannelKind::counter;
    energy.source = fmt::format("{} {} in Wh ({})", request.at, found_.energy_query, found_.maker_and_model);
    energy.averages_over_s = std::nullopt;
    channels_.push_back(energy);
  }

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return true; }

  // Somebody may have turned a knob at its front. Its values are of another range then, or of one that changes by itself.
  std::string begin() override {
    changed_.clear();
    for (const auto& [query, before] : found_.states) {
      const ScpiLine::Answer now = line_->ask(query, meter_patience);
      if (!now.problem.empty()) break;  // the readings tell
      if (now.text != before)
        changed_ = fmt::format("{} answers '{}', and '{}' as the night began", query, printable(now.text),
                               printable(before));
    }
    return changed_.empty()
               ? std::string()
               : fmt::format("{}: {}: its values do not count until it is as before", name_, changed_);
  }

  void read(std::span<Sample> samples) override {
    samples[0] = look(found_.power_query, 1);
    if (samples.size() > 1) samples[1] = look(found_.energy_query, joules_in_a_watt_hour);
  }

 private:
  Sample look(const std::string& query, double factor) {
    if (!changed_.empty()) return {std::nullopt, ReadingStatus::absent, changed_};
    const ScpiLine::Answer answer = line_->ask(query, meter_patience);
    if (!answer.problem.empty()) return {std::nullopt, ReadingStatus::gone, answer.problem};
    const ScpiNumber number = scpi_number(answer.text);
    if (number.value) return {*number.value * factor, ReadingStatus::ok, answer.text};
    // As a value that cannot be: the trial says so by what was said.
    if (number.over_range) return {INFINITY, ReadingStatus::ok, printable(answer.text) + ", over its range"};
    return {std::nullopt, ReadingStatus::absent,
            fmt::format("{} answers '{}'", query, printable(answer.text))};
  }

  std::string name_;
  std::shared_ptr<ScpiLine> line_;
  ScpiFound found_;
  Seconds period_;
  std::vector<Channel> channels_;
  std::string changed_;
};

// One that is asked before the night, and what becomes of its answers.
class Instrument {
 public:
  Instrument(const MeterRequest& request, ScpiLine& line) : request_(request), line_(line) {}

  // nullopt: it is none to measure with, and `problem` and `fix` say why.
  std::optional<ScpiFound> look() {
    const auto who = asked("*IDN?");
    if (!who) return std::nullopt;
    const auto words = fields(*who);
    if (words.size() < 2)
      return refuse(fmt::format("*IDN? answers '{}', which names no maker and model", printable(*who)),
                    "is it an instrument at all?");
    found_.maker_and_model = printable(words[0] + " " + words[1]);
    const bool yokogawa = upper(words[0]).starts_with("YOKOGAWA") && upper(words[1]).starts_with("WT");
    const bool ok = request_.power_query.empty() && yokogawa ? find_in_wt(upper(words[1])) : find_as_told();
    if (!ok) return std::nullopt;
    const auto first = asked(found_.power_query);
    if (!first) return std::nullopt;
    if (!scpi_number(*first).value && !scpi_number(*first).over_range &&
        upper(without_header(*first)) != "NAN")
      return refuse(fmt::format("{} answers '{}', which is no number", found_.power_query, printable(*first)),
                    "its manual says how it tells active power in W");
    return found_;
  }

  std::string problem, fix;

 private:
  std::nullopt_t refuse(std::string why, std::string next) {
    problem = std::move(why);
    fix = std::move(next);
    return std::nullopt;
  }

  std::optional<std::string> asked(const std::string& query) {
    ScpiLine::Answer answer = line_.ask(query, meter_patience);
    if (answer.problem.empty()) return answer.text;
    return refuse(answer.problem, "is it switched on, and its interface set to this?");
  }

  bool find_as_told() {
    if (request_.power_query.empty()) {
      refuse(fmt::format("it is a {}, whose commands dvfs-plan does not know", found_.maker_and_model),
             "say how its manual has active power asked, and whether its range changes by itself:  power "
             "query: \":FETC:POW:ACT?\", range query: "
             "\":SENS:CURR:RANG:AUTO?\"");
      return false;
    }
    found_.power_query = request_.power_query;
    if (request_.range_query.empty()) return true;
    return fixed_range(request_.range_query, "its range", "fix it above the most that is drawn");
  }

  // Asks whether a range changes by itself, which must not be, now or later.
  bool fixed_range(const std::string& query, const std::string& what, const std::string& how) {
    const auto state = asked(query);
    if (!state) return false;
    const std::string word = upper(without_header(*state));
    if (word != "0" && word != "OFF") {
      refuse(fmt::format("{} answers '{}': {} changes by itself, and each change loses values", query,
                         printable(*state), what),
             how);
      return false;
    }
    found_.states.emplace_back(query, *state);
    return true;
  }

  bool find_in_wt(const std::string& model) {
    // The WT300 family has one range for all of its elements, larger ones have one each.
    const bool of_element = !model.starts_with("WT3");
    const std::string element = request_.outlet.empty()  ? "1"
                                : request_.outlet == "0" ? "SIGMA"
                                                         : request_.outlet;
    const auto format = asked(":NUMeric:FORMat?");
    if (!format) return false;
    if (!upper(without_header(*format)).starts_with("ASC")) {
      refuse(fmt::format(":NUMeric:FORMat? answers '{}', and values are read as text", printable(*format)),
             "send it  :NUMeric:FORMat ASCii");
      return false;
    }
    if (!find_items(element)) return false;
    for (const char* const input : {"VOLTage", "CURRent"}) {
      const std::string which =
          of_element ? fmt::format(":ELEMent{}", element == "SIGMA" ? "1" : element) : "";
      if (!fixed_range(fmt::format(":INPut:{}:AUTO{}?", input, which),
                       fmt::format("its {} range", input[0] == 'V' ? "voltage" : "current"),
                       fmt::format("fix it above the most that is drawn:  :INPut:{}:AUTO{} OFF", input,
                                   which.empty() ? "" : which)))
        return false;
      const std::string range = fmt::format(":INPut:{}:RANGe{}?", input, which);
      const auto state = asked(range);
      if (!state) return false;
      found_.states.emplace_back(range, *state);
    }
    return find_pace();
  }

  // Which of the items that it is set up to tell are the element's power and energy.
  bool find_items(const std::string& element) {
    constexpr int most = 64;
    const auto count = asked(":NUMeric:NORMal:NUMber?");
    if (!count) return false;
    const auto number = scpi_number(*count).value;
    const int items = number ? std::clamp(static_cast<int>(*number), 1, most) : most;
    std::string energy;
    for (int i = 1; i <= items && (found_.power_query.empty() || energy.empty()); ++i) {
      const auto item = asked(fmt::format(":NUMeric:NORMal:ITEM{}?", i));
      if (!item) return false;
      const auto parts = fields(upper(without_header(*item)));
      if (parts.empty() || (parts.size() > 1 && parts[1] != element)) continue;
      const std::string value = fmt::format(":NUMeric:NORMal:VALue? {}", i);
      const bool power = parts[0] == "P" && found_.power_query.empty(),
                 of_energy = parts[0] == "WH" && energy.empty();
      if (power) found_.power_query = value;
      if (of_energy) energy = value;
      if (power || of_energy) found_.states.emplace_back(fmt::format(":NUMeric:NORMal:ITEM{}?", i), *item);
    }
    if (found_.power_query.empty()) {
      refuse(fmt::format("none of the {} items that it is set up to tell is the active power of element {}",
                         items, element),
             fmt::format("set one up:  :NUMeric:NORMal:ITEM1 P,{}", element));
      return false;
    }
    if (energy.empty()) return true;
    const auto state = asked(":INTEGrate:STATe?");
    if (!state) return false;
    if (upper(without_header(*state)).starts_with("STAR")) found_.energy_query = energy;
    return true;
  }

  // Each value is a mean over the update interval, unless it averages over more.
  bool find_pace() {
    const auto rate = asked(":RATE?");
    if (!rate) return false;
    found_.states.emplace_back(":RATE?", *rate);
    const auto interval = scpi_number(*rate).value;
    if (interval && *interval > 0) {
      found_.usual = Seconds{*interval};
      found_.averages_over_s = *interval;
    }
    if (request_.averages_over_s) return true;
    const auto averaging = asked(":MEASure:AVERaging:STATe?");
    if (!averaging) return false;
    const std::string word = upper(without_header(*averaging));
    found_.states.emplace_back(":MEASure:AVERaging:STATe?", *averaging);
    if (word == "0" || word == "OFF") return true;
    refuse(fmt::format(
               ":MEASure:AVERaging:STATe? answers '{}': over how long a value is a mean is not known then",
               printable(*averaging)),
           "switch it off  (:MEASure:AVERaging:STATe OFF), or say it:  averages over: 1 s");
    return false;
  }

  const MeterRequest& request_;
  ScpiLine& line_;
  ScpiFound found_;
};

MeterFinding open_scpi(const MeterRequest& request) {
  MeterFinding finding;
  FoundScpiLine opened = open_scpi_line(request.at);
  if (!opened.line) {
    finding.problem = fmt::format("meter '{}' (scpi): {}", request.name, opened.problem);
    finding.fix = opened.fix;
    return finding;
  }
  const std::shared_ptr<ScpiLine> line = std::move(opened.line);
  Instrument instrument(request, *line);
  auto found = instrument.look();
  if (!found) {
    finding.problem =
        fmt::format("meter '{}' (scpi) at {}: {}", request.name, request.at, instrument.problem);
    finding.fix = instrument.fix;
    return finding;
  }
  finding.probe = std::make_unique<ScpiMeter>(request, line, std::move(*found));
  return finding;
}

const Registered<MeterKind> scpi({.name = "scpi",
                                  .place = 40,
                                  .what = "a power analyser that speaks SCPI, over TCP or USB: Yokogawa's WT "
                                          "series by itself, others by a query of yours",
                                  .takes_outlet = true,
                                  .takes_queries = true,
                                  .open = open_scpi});

}  // namespace
}  // namespace dvfs_plan
