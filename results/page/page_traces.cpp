#include "results/page/page_traces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "results/energy/energy_curve.hpp"
#include "results/page/decimate.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t least_samples = 48, largest_samples = 20'000;
// Of one kind, of one probe: with more they are drawn as one band from the least to the most (128 CPUs'
// clocks).
constexpr std::size_t most_alike = 4;
constexpr std::size_t most_spans = 300;
// Of the page's samples, those with which the trials that are looked at first keep every reading, so that zooming in finds it.
constexpr std::size_t whole_samples = most_page_samples / 4;

bool is_power(const Channel& c) {
  return measures_energy(c);
}
bool is_throttle(const Channel& c) {
  return c.kind == ChannelKind::counter && quantity_of(c).find("throttle") != std::string_view::npos;
}
bool is_shown(const Channel& c) {
  return is_power(c) || c.unit == "Hz" || c.unit == "C";
}

// A line of the chart. Of many channels alike there are two: the least and the most of them at each time.
struct Group {
  std::string name, unit;
  bool step = false;  // between two values of a counter the power is known as a mean only
};

struct Grouping {
  std::vector<Group> groups;
  std::vector<std::optional<std::size_t>> of_channel;  // the first of the two, where there are two
  std::vector<bool> together;                          // by group: it and the next are least and most
};

Grouping grouping(const std::vector<Channel>& channels) {
  Grouping g;
  g.of_channel.resize(channels.size());
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (is_shown(channels[i])) alike[{channels[i].probe, channels[i].unit}].push_back(i);
  }
  for (const auto& [key, members] : alike) {
    if (members.size() > most_alike && key.second != "J") {
      for (const std::size_t i : members) g.of_channel[i] = g.groups.size();
      for (const char* which : {"lowest", "highest"})
        g.groups.push_back(
            {fmt::format("{}, {} of {} channels", key.first, which, members.size()), key.second, true});
      g.together.insert(g.together.end(), {true, false});
      continue;
    }
    for (const std::size_t i : members) {
      g.of_channel[i] = g.groups.size();
      g.groups.push_back({channels[i].name, key.second == "J" ? "W" : key.second, key.second == "J"});
      g.together.push_back(false);
    }
  }
  return g;
}

double seconds_after(Nanoseconds start, std::int64_t time) {
  return static_cast<double>(time - start) * 1e-9;
}

std::vector<TraceSample> gauge_samples(const Trace& trace, Nanoseconds start) {
  std::vector<TraceSample> samples;
  samples.reserve(trace.values.size());
  for (std::size_t i = 0; i < trace.values.size(); ++i)
    samples.push_back(
        {seconds_after(start, trace.times_ns[i]), trace.has_value(i) ? trace.values[i] : unknown});
  return samples;
}

// Mean power between fresh values of a counter, at the beginning of each interval. An interval is as long as
// to be known: when a value was renewed is known to a look or an update only, which over a single update
// makes peaks that never were. The first begins with a value of unknown age and is left out.
std::vector<TraceSample> counter_samples(const Channel& channel, const Trace& trace, Nanoseconds start) {
  constexpr double times_the_spacing = 5;
  std::vector<Reading> readings;
  std::vector<double> absent;
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    const auto value = trace.has_value(i) ? std::optional(trace.values[i]) : std::nullopt;
    readings.push_back({0, trace.times_ns[i], value, value ? ReadingStatus::ok : trace.absences[i]});
    if (!value) absent.push_back(seconds_after(start, trace.times_ns[i]));
  }
  SensorModel model;
  model.told_when_new = true;  // drawn where it was seen
  const EnergyCurve curve(channel, readings, model);
  // Wraps are taken out, and a counter that was reset has none: the judge's own reading of it.
  struct Fresh {
    double time, value;
    bool after_gap;
  };
  std::vector<Fresh> fresh;
  std::vector<double> spacings;
  auto next_absent = absent.begin();
  for (const FreshValue& count : curve.counts()) {
    const double time = seconds_after(start, curve.origin()) + count.time;
    bool gap = false;
    while (next_absent != absent.end() && *next_absent < time) {
      gap = true;
      ++next_absent;
    }
    if (!fresh.empty() && count.value == fresh.back().value && !gap) continue;
    if (!gap && fresh.size() > 1) spacings.push_back(time - fresh.back().time);
    fresh.push_back({time, count.value, gap});
  }
  // Of a stretch's first value it is not known when it was renewed.
  if (!fresh.empty()) fresh.erase(fresh.begin());
  if (fresh.size() < 2 || spacings.empty()) return {};
  const double shortest = 0.999 * times_the_spacing * quantile(spacings, 0.5);
  std::vector<TraceSample> samples;
  std::size_t from = 0;
  for (std::size_t i = 1; i < fresh.size(); ++i) {
    if (fresh[i].after_gap) {
      samples.push_back({fresh[from].time, unknown});
      from = i;
      continue;
    }
    if (fresh[i].time - fresh[from].time < shortest) continue;
    samples.push_back(
        {fresh[from].time, (fresh[i].value - fresh[from].value) / (fresh[i].time - fresh[from].time)});
    from = i;
  }
  if (!samples.empty()) samples.push_back({fresh[from].time, samples.back().value});
  return samples;
}

// Of samples of many channels in time order: the least and the most in each of `stretches`.
std::pair<std::vector<TraceSample>, std::vector<TraceSample>> least_and_most(
    const std::vector<TraceSample>& samples, std::size_t stretches) {
  std::vector<TraceSample> least, most;
  if (samples.empty()) return {};
  const double from = samples.front().time, length = std::max(samples.back().time - from, 1e-9);
  std::size_t current = stretches;
  for (const TraceSample& sample : samples) {
    if (std::isnan(sample.value)) continue;
    const auto stretch = std::min(stretches - 1, static_cast<std::size_t>((sample.time - from) / length *
                                                                          static_cast<double>(stretches)));
    if (stretch != current) {
      const double begin = from + length * static_cast<double>(stretch) / static_cast<double>(stretches);
      least.push_back({begin, sample.value});
      most.push_back({begin, sample.value});
      current = stretch;
    }
    least.back().value = std::min(least.back().value, sample.value);
    most.back().value = std::max(most.back().value, sample.value);
  }
  return {least, most};
}

// Stretches in which a counter of throttled time or events grew.
void add_spans(Json& spans, const Channel& channel, const Trace& trace, Nanoseconds start) {
  std::string label(quantity_of(channel));
  std::replace(label.begin(), label.end(), '_', ' ');
  std::optional<std::size_t> before;
  double from = 0, to = -1;
  std::vector<std::pair<double, double>> found;
  for (std::size_t i = 0; i < trace.values.size(); ++i) {
    if (!trace.has_value(i)) continue;
    if (before && trace.values[i] > trace.values[*before]) {
      const double begin = seconds_after(start, trace.times_ns[*before]);
      if (to >= from && begin <= to + 1e-9) {
        found.back().second = seconds_after(start, trace.times_ns[i]);
      } else {
        found.emplace_back(begin, seconds_after(start, trace.times_ns[i]));
      }
      from = found.back().first;
      to = found.back().second;
    }
    before = i;
  }
  // Too many to draw: those become one that have the shortest pauses between them.
  if (found.size() > most_spans) {
    std::vector<double> pauses;
    for (std::size_t i = 1; i < found.size(); ++i) pauses.push_back(found[i].first - found[i - 1].second);
    const double shortest =
        quantile(pauses, 1 - static_cast<double>(most_spans) / static_cast<double>(found.size()));
    std::vector<std::pair<double, double>> merged{found.front()};
    for (std::size_t i = 1; i < found.size(); ++i) {
      if (found[i].first - merged.back().second <= shortest)
        merged.back().second = found[i].second;
      else
        merged.push_back(found[i]);
    }
    found = std::move(merged);
  }
  for (const auto& [begin, end] : found) spans.push_back({label, begin, end});
}

// Seconds from the launch; many short ones (steps of a training) become one of their name.
Json regions_json(Store& store, std::int64_t trial, Nanoseconds start) {
  Json regions = Json::array();
  Statement s = store.database().prepare(
      "SELECT name, counted, count(*), min(started_ns), max(ended_ns) FROM region WHERE trial_id = ?1 AND "
      "(SELECT count(*) "
      "FROM region WHERE trial_id = ?1) > 60 GROUP BY name, counted UNION ALL SELECT name, counted, 1, "
      "started_ns, ended_ns "
      "FROM region WHERE trial_id = ?1 AND (SELECT count(*) FROM region WHERE trial_id = ?1) <= 60");
  s.bind(trial);
  while (s.step()) {
    std::string name = s.text(0);
    if (s.integer(2) > 1) name += fmt::format(" ({} times)", s.integer(2));
    regions.push_back(
        {name, seconds_after(start, s.integer(3)), seconds_after(start, s.integer(4)), s.integer(1) != 0});
  }
  return regions;
}

struct Part {
  std::size_t group;
  std::vector<TraceSample> samples;
};

// What is known of a part's values: exact, so that a peak is what it is; between them a value is one of 65 535 steps.
struct Range {
  double low = 0, high = 0;
};
Range range_of(const Part& part) {
  Range range;
  bool any = false;
  for (const TraceSample& sample : part.samples) {
    if (std::isnan(sample.value)) continue;
    range.low = any ? std::min(range.low, sample.value) : sample.value;
    range.high = any ? std::max(range.high, sample.value) : sample.value;
    any = true;
  }
  return range;
}

// Values as steps from low to high (65 535: unknown), then times as steps from the sample before, each as all low bytes, then all high
// ones: what is alike lies together, and packs well.
void append_packed(const std::vector<Part>& parts, double from, double to, std::string& bytes) {
  constexpr double steps = 65534, time_steps = 65535;
  std::vector<std::uint16_t> values, times;
  for (const Part& part : parts) {
    const Range range = range_of(part);
    std::uint16_t before = 0;
    for (const TraceSample& sample : part.samples) {
      const double share = range.high > range.low ? (sample.value - range.low) / (range.high - range.low) : 0;
      values.push_back(std::isnan(sample.value) ? 65535
                                                : static_cast<std::uint16_t>(std::lround(share * steps)));
      const auto time = static_cast<std::uint16_t>(
          std::lround(std::clamp((sample.time - from) / std::max(to - from, 1e-12), 0.0, 1.0) * time_steps));
      times.push_back(static_cast<std::uint16_t>(time - before));
      before = time;
    }
  }
  for (const auto* numbers : {&values, &times}) {
    for (const int shift : {0, 8}) {
      for (const std::uint16_t number : *numbers) bytes += static_cast<char>(number >> shift & 0xff);
    }
  }
}

class PageTraces {
 public:
  PageTraces(Store& store, std::size_t trials)
      : store_(store), channels_(store.channels()), grouping_(grouping(channels_)) {
    const std::size_t lines = std::max<std::size_t>(1, grouping_.groups.size() * trials);
    samples_ = std::clamp((most_page_samples - whole_samples) / lines, least_samples, largest_samples);
  }

  std::size_t samples_of_a_trial() const {
    return samples_ * std::max<std::size_t>(1, grouping_.groups.size());
  }

  Json groups() const {
    Json json = Json::array();
    for (const Group& group : grouping_.groups)
      json.push_back({{"name", group.name}, {"unit", group.unit}, {"step", group.step}});
    return json;
  }

  // Null where nothing was read. Its samples are appended to `bytes`.
  Json trial(std::int64_t id, std::string& bytes) {
    Statement s = store_.database().prepare("SELECT started_ns FROM trial WHERE id = ?");
    s.bind(id);
    if (!s.step() || s.is_null(0)) return nullptr;
    const Nanoseconds start = s.integer(0);
    std::map<std::size_t, std::vector<TraceSample>> lines;
    Json spans = Json::array();
    for (const ChannelTrace& one : store_.traces(id)) {
      const Channel& channel = channels_.at(one.channel);
      if (is_throttle(channel)) add_spans(spans, channel, one.trace, start);
      const auto group = grouping_.of_channel[one.channel];
      if (!group) continue;
      auto samples =
          channel.unit == "J" ? counter_samples(channel, one.trace, start) : gauge_samples(one.trace, start);
      auto& line = lines[*group];
      line.insert(line.end(), samples.begin(), samples.end());
    }
    std::vector<Part> parts;
    double from = std::numeric_limits<double>::infinity(), to = -from;
    // Those that thinning leaves as they are cost nothing of what is set aside.
    std::size_t all = 0;
    bool thinned = false, bands = false;
    for (const auto& [group, samples] : lines) {
      all += samples.size();
      thinned = thinned || samples.size() > samples_;
      bands = bands || (!samples.empty() && grouping_.together[group]);
    }
    const bool whole = !bands && (!thinned || all <= whole_left_);
    if (whole && thinned) whole_left_ -= all;
    for (auto& [group, samples] : lines) {
      if (samples.empty()) continue;
      std::stable_sort(samples.begin(), samples.end(),
                       [](const TraceSample& a, const TraceSample& b) { return a.time < b.time; });
      from = std::min(from, samples.front().time);
      to = std::max(to, samples.back().time);
      if (grouping_.together[group]) {
        auto [least, most] = least_and_most(samples, samples_);
        parts.push_back({group, std::move(least)});
        parts.push_back({group + 1, std::move(most)});
      } else {
        parts.push_back({group, whole ? std::move(samples) : min_max_decimated(samples, samples_)});
      }
    }
    if (parts.empty()) return nullptr;
    Json json{{"from_s", from},     {"to_s", to},     {"regions", regions_json(store_, id, start)},
              {"throttled", spans}, {"whole", whole}, {"parts", Json::array()}};
    for (const Part& part : parts) {
      const Range range = range_of(part);
      json["parts"].push_back({part.group, part.samples.size(), range.low, range.high});
    }
    json["at"] = bytes.size();
    append_packed(parts, from, to, bytes);
    return json;
  }

 private:
  Store& store_;
  std::vector<Channel> channels_;
  Grouping grouping_;
  std::size_t samples_ = 0;
  std::size_t whole_left_ = whole_samples;
};

}  // namespace

Json page_traces(Store& store, const std::vector<TrialRow>& trials, const std::vector<std::string>& best,
                 std::string& samples, std::vector<std::string>& damaged) {
  PageTraces traces(store, trials.size());
  std::vector<const TrialRow*> order;
  for (const TrialRow& trial : trials) order.push_back(&trial);
  const auto looked_at_first = [&](const TrialRow* t) {
    return (t->verdict != "ok" || t->is_reference ||
            std::find(best.begin(), best.end(), t->point) != best.end());
  };
  std::stable_partition(order.begin(), order.end(), looked_at_first);
  const std::size_t room = (most_page_samples - whole_samples) / traces.samples_of_a_trial() + 1;
  Json json{{"groups", traces.groups()},
            {"trials", Json::object()},
            {"left_out", order.size() > room ? order.size() - room : 0}};
  if (order.size() > room) order.resize(room);
  for (const TrialRow* trial : order) {
    try {
      Json one = traces.trial(trial->id, samples);
      if (!one.is_null()) json["trials"][std::to_string(trial->id)] = std::move(one);
    } catch (const DamagedReadings& error) {
      damaged.push_back(error.what());
    }
  }
  return json;
}

}  // namespace dvfs_plan
