// The metrics of a trial whose command may tell any number of them and run any number of times: a millisecond's
// work that prints 1000 numbers and runs for 20 s would fill the memory and the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// Keeps the first `most` as they were told, and as many of the last start, whose values are the trial's (Store::trials);
// of what lies between, by name and unit, what they add up to. Units of work are kept by run: units_told() of a run and
// of the trial are what they were.
class BoundedMetrics {
 public:
  static constexpr std::size_t most_kept = 100'000, most_names = 10'000;
  // `per`: the metric that counts units of work; empty: none does.
  explicit BoundedMetrics(std::string per = {}, std::size_t most = most_kept, std::size_t names = most_names)
      : per_(std::move(per)), most_(most), names_(names) {}

  void begin();  // a start of the command, or of all that run at once
  void add(MetricRecord metric);
  // All that is kept, in the order in which it was told, and an event that says what is not.
  std::vector<MetricRecord> take(std::vector<EventRecord>& events);

 private:
  using Key = std::pair<std::string, std::string>;  // name, unit
  struct Sum {
    MetricRecord all, last;  // all: with the last
    bool several = false;
  };
  void fold_between(const MetricRecord& metric);
  static void add_to(MetricRecord& sum, const MetricRecord& metric);
  static void tell(Sum& sum, std::vector<MetricRecord>& all);

  std::string per_;
  std::size_t most_, names_;
  std::vector<MetricRecord> first_, current_;
  std::map<Key, MetricRecord> between_;
  std::map<int, MetricRecord> units_between_;           // by run
  std::map<std::pair<int, Key>, Sum> more_of_current_;  // by run
  std::uint64_t told_ = 0, folded_ = 0, nameless_ = 0;
};

}  // namespace dvfs_plan
