#include "results/trial/bounded_metrics.hpp"

#include <fmt/format.h>

#include <iterator>

namespace dvfs_plan {

// Shares add up by what they are of: 3 of 4 and 1 of 4 are 4 of 8.
void BoundedMetrics::add_to(MetricRecord& sum, const MetricRecord& metric) {
  sum.run = metric.run;
  if (sum.count_of && metric.count_of) {
    const double count = sum.value / 100 * *sum.count_of + metric.value / 100 * *metric.count_of;
    *sum.count_of += *metric.count_of;
    sum.value = 100 * count / *sum.count_of;
    return;
  }
  sum.value += metric.value;
}

void BoundedMetrics::tell(Sum& sum, std::vector<MetricRecord>& all) {
  if (sum.several) {
    // The last by itself, for it is what a constraint is about.
    if (sum.all.count_of && sum.last.count_of) {
      const double count = (sum.all.value * *sum.all.count_of - sum.last.value * *sum.last.count_of) / 100;
      *sum.all.count_of -= *sum.last.count_of;
      sum.all.value = 100 * count / *sum.all.count_of;
    } else {
      sum.all.value -= sum.last.value;
    }
    all.push_back(std::move(sum.all));
  }
  all.push_back(std::move(sum.last));
}

void BoundedMetrics::fold_between(const MetricRecord& metric) {
  ++folded_;
  if (!per_.empty() && metric.name == per_) {
    const auto [place, is_new] = units_between_.try_emplace(metric.run, metric);
    if (!is_new) add_to(place->second, metric);
    return;
  }
  const Key key{metric.name, metric.unit};
  if (between_.size() >= names_ && !between_.contains(key)) {
    ++nameless_;
    return;
  }
  const auto [place, is_new] = between_.try_emplace(key, metric);
  if (!is_new) add_to(place->second, metric);
}

void BoundedMetrics::begin() {
  std::vector<MetricRecord> all = std::move(current_);
  current_.clear();
  for (auto& [key, sum] : more_of_current_) tell(sum, all);
  more_of_current_.clear();
  for (MetricRecord& metric : all) {
    if (first_.size() < most_)
      first_.push_back(std::move(metric));
    else
      fold_between(metric);
  }
}

void BoundedMetrics::add(MetricRecord metric) {
  ++told_;
  if (current_.size() < most_) {
    current_.push_back(std::move(metric));
    return;
  }
  ++folded_;
  const std::pair key{metric.run, Key{metric.name, metric.unit}};
  if (more_of_current_.size() >= names_ && !more_of_current_.contains(key) && metric.name != per_) {
    ++nameless_;
    return;
  }
  const auto [place, is_new] = more_of_current_.try_emplace(key, Sum{metric, metric, false});
  if (is_new) return;
  add_to(place->second.all, metric);
  place->second.last = std::move(metric);
  place->second.several = true;
}

std::vector<MetricRecord> BoundedMetrics::take(std::vector<EventRecord>& events) {
  std::vector<MetricRecord> all = std::move(first_);
  for (auto& [key, metric] : between_) all.push_back(std::move(metric));
  for (auto& [run, metric] : units_between_) all.push_back(std::move(metric));
  all.insert(all.end(), std::make_move_iterator(current_.begin()), std::make_move_iterator(current_.end()));
  for (auto& [key, sum] : more_of_current_) tell(sum, all);
  if (folded_ > 0)
    events.push_back(
        {"metrics_aggregated",
         fmt::format("{} metrics were told, and {} as they were told are kept at most; of {} between these "
                     "there is what "
                     "each name adds up to{}. Units of work and the last values are whole",
                     told_, 2 * most_, folded_,
                     nameless_ == 0 ? ""
                                    : fmt::format(", but for {} of further names than the {} that are kept",
                                                  nameless_, names_))});
  *this = BoundedMetrics(per_, most_, names_);
  return all;
}

}  // namespace dvfs_plan
