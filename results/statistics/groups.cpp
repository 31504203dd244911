#include "results/statistics/groups.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <utility>

namespace dvfs_plan {
namespace {

// Sum of squares within groups, and its degrees of freedom.
std::pair<double, int> within(const std::vector<std::vector<double>>& groups) {
  double squares = 0;
  int freedom = 0;
  for (const auto& group : groups) {
    const double mean = mean_of(group);
    for (const double value : group) squares += (value - mean) * (value - mean);
    freedom += static_cast<int>(group.size()) - 1;
  }
  return {squares, freedom};
}

std::vector<double> means_of(const std::vector<std::vector<double>>& groups) {
  std::vector<double> means;
  for (const auto& group : groups) means.push_back(mean_of(group));
  return means;
}

double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

// Quantiles in the middle of equal shares of the distribution: draws without chance.
std::vector<double> chi_squares(int freedom, int count) {
  const boost::math::chi_squared distribution(freedom);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(boost::math::quantile(distribution, (i + 0.5) / count));
  return values;
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<Estimate> estimate_of_groups(const std::vector<double>& values,
                                           const std::vector<std::string>& groups,
                                           const std::vector<std::optional<SensorPart>>& sensors) {
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < groups.size() && i < values.size(); ++i) members[groups[i]].push_back(i);
  if (members.size() < 2) return estimate(values, sensors);
  std::vector<double> means;
  std::vector<std::optional<SensorPart>> parts;
  for (const auto& [name, indices] : members) {
    std::vector<double> mine;
    std::vector<std::optional<SensorPart>> of_mine;
    for (const std::size_t i : indices) {
      mine.push_back(values[i]);
      if (i < sensors.size()) of_mine.push_back(sensors[i]);
    }
    means.push_back(mean_of(mine));
    parts.push_back(of_mean(of_mine, mine.size()));
  }
  auto result = estimate(means, parts);
  const auto each = estimate(values);
  if (!result || !each) return result;
  result->n = each->n;
  result->median = each->median;
  result->standard_deviation = each->standard_deviation;
  result->mad = each->mad;
  return result;
}

std::optional<Estimate> estimate_of_values_in_groups(const std::vector<double>& values,
                                                     const std::vector<std::string>& groups,
                                                     const std::vector<std::optional<SensorPart>>& sensors) {
  auto result = estimate_of_groups(values, groups, sensors);
  if (!result) return result;
  result->mean = mean_of(values);
  if (!result->half_width) return result;
  std::map<std::string, double> sizes;
  for (const std::string& group : groups) ++sizes[group];
  const auto n = static_cast<double>(values.size()), count = static_cast<double>(sizes.size());
  double squares = 0;
  for (const auto& [group, size] : sizes) squares += size / n * (size / n);
  result->half_width = std::hypot(scatter_half_width(*result) * std::sqrt(count * squares),
                                  result->sensor_half_width.value_or(0));
  return result;
}

bool is_balanced(std::span<const BlockedValue> values) {
  std::map<int, std::map<int, int>> counts;  // of each point, in each block
  for (const BlockedValue& value : values) ++counts[value.point][value.block];
  return std::all_of(counts.begin(), counts.end(), [&](const auto& point) {
    const auto &mine = point.second, &first = counts.begin()->second;
    return mine.size() == first.size() &&
           std::equal(mine.begin(), mine.end(), first.begin(),
                      [](const auto& a, const auto& b) { return a.first == b.first; }) &&
           std::all_of(mine.begin(), mine.end(),
                       [&](const auto& one) { return one.second == mine.begin()->second; });
  });
}

namespace {

// The least block that each block is joined to, by points that are in both.
std::map<int, int> joined_blocks(const std::vector<BlockedValue>& values) {
  std::map<int, int> joined, of_point;
  for (const BlockedValue& value : values) joined.emplace(value.block, value.block);
  for (bool grows = true; grows;) {
    grows = false;
    for (const BlockedValue& value : values) {
      int& mine = joined.at(value.block);
      int& least = of_point.emplace(value.point, mine).first->second;
      grows = grows || mine != least;
      mine = least = std::min(mine, least);
    }
  }
  return joined;
}

std::map<int, std::vector<BlockedValue>> by_group(std::span<const GroupedValue> values) {
  std::map<int, std::vector<BlockedValue>> groups;
  for (const GroupedValue& value : values)
    groups[value.group].push_back({value.point, value.block, value.value});
  return groups;
}

}  // namespace

bool is_balanced_within_groups(std::span<const GroupedValue> values) {
  const auto groups = by_group(values);
  return std::all_of(groups.begin(), groups.end(), [](const auto& one) { return is_balanced(one.second); });
}

std::vector<std::optional<double>> levels_of_points(std::span<const BlockedValue> values, int points) {
  std::vector<std::optional<double>> levels(static_cast<std::size_t>(points));
  if (!is_balanced(values)) {
    const BlockModel model(values, points);
    for (int point = 0; point < points; ++point) levels[static_cast<std::size_t>(point)] = model.level(point);
    return levels;
  }
  std::map<int, std::pair<double, int>> sums;  // of logarithms
  for (const BlockedValue& value : values) {
    auto& [sum, count] = sums[value.point];
    sum += std::log(value.value);
    ++count;
  }
  for (const auto& [point, sum] : sums)
    levels[static_cast<std::size_t>(point)] = std::exp(sum.first / sum.second);
  return levels;
}

std::vector<int> replicates_of(std::span<const GroupedValue> values) {
  std::map<int, std::map<int, int>> joined;  // by group
  int next = 0;
  for (const auto& [group, mine] : by_group(values)) {
    next = std::max(next, group + 1);
    joined[group] = joined_blocks(mine);
  }
  std::map<std::pair<int, int>, int> numbers;  // of a group, and the least of its blocks that are joined
  for (const auto& [group, blocks] : joined) {
    numbers[{group, blocks.begin()->second}] = group;
    for (const auto& [block, least] : blocks) {
      if (numbers.emplace(std::pair(group, least), next).second) ++next;
    }
  }
  std::vector<int> replicates;
  for (const GroupedValue& value : values)
    replicates.push_back(numbers.at({value.group, joined.at(value.group).at(value.block)}));
  return replicates;
}

std::vector<BlockedValue> means_of_groups(std::span<const GroupedValue> values, int points) {
  std::vector<BlockedValue> means;
  const auto replicates = replicates_of(values);
  std::map<int, std::vector<BlockedValue>> by_replicate;
  for (std::size_t i = 0; i < values.size(); ++i)
    by_replicate[replicates[i]].push_back({values[i].point, values[i].block, values[i].value});
  for (const auto& [group, mine] : by_replicate) {
    const auto levels = levels_of_points(mine, points);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i]) means.push_back({static_cast<int>(i), group, *levels[i]});
    }
  }
  return means;
}

std::optional<Spread> spread_between(const std::vector<std::vector<double>>& groups) {
  if (groups.size() < 2) return std::nullopt;
  const int n = static_cast<int>(groups.size());
  const double of_means = variance_of(means_of(groups));
  const auto [squares, freedom] = within(groups);
  double inverse = 0;
  for (const auto& group : groups) inverse += 1 / static_cast<double>(group.size());
  const double size = n / inverse;  // harmonic mean
  Spread spread{n, std::sqrt(of_means), std::nullopt, std::nullopt};
  if (freedom < 1) return spread;
  spread.deviation = std::sqrt(std::max(0.0, of_means - squares / freedom / size));
  constexpr int draws = 300;
  const auto between_draws = chi_squares(n - 1, draws), within_draws = chi_squares(freedom, draws);
  std::vector<double> variances;
  variances.reserve(draws * draws);
  for (const double b : between_draws) {
    for (const double w : within_draws)
      variances.push_back(std::max(0.0, (n - 1) * of_means / b - squares / (size * w)));
  }
  const double high = quantile(variances, 0.975);
  spread.buried = high <= 0 && squares > 0;
  if (spread.buried) return spread;
  spread.low = std::sqrt(quantile(variances, 0.025));
  spread.high = std::sqrt(high);
  return spread;
}

std::vector<Departure> departures(const std::vector<std::vector<double>>& groups) {
  std::vector<Departure> all;
  if (groups.size() < 2) return all;
  const auto means = means_of(groups);
  const auto n = static_cast<double>(groups.size());
  const auto [squares, freedom] = within(groups);
  const double sum = std::accumulate(means.begin(), means.end(), 0.0);
  double inverse = 0;
  for (const auto& group : groups) inverse += 1 / static_cast<double>(group.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Departure one;
    one.value = means[i] - (sum - means[i]) / (n - 1);
    const double mine = 1 / static_cast<double>(groups[i].size());
    if (freedom >= 1) {
      const double error = std::sqrt(squares / freedom * (mine + (inverse - mine) / ((n - 1) * (n - 1))));
      const double half = student_t(0.95, freedom) * error;
      one.low = one.value - half;
      one.high = one.value + half;
    }
    all.push_back(one);
  }
  if (groups.size() < 4) return all;
  const double deviation = std::sqrt(variance_of(means)), middle = sum / n;
  if (!(deviation > 0)) return all;
  const double t = boost::math::quantile(boost::math::students_t(n - 2), 1 - 0.05 / (2 * n));
  const double limit = (n - 1) / std::sqrt(n) * std::sqrt(t * t / (n - 2 + t * t));
  for (std::size_t i = 0; i < groups.size(); ++i)
    all[i].outlying = std::abs(means[i] - middle) / deviation > limit;
  return all;
}

}  // namespace dvfs_plan
