#include "results/energy/load_response.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dvfs_plan {
namespace {

// Fewer values say nothing of three unknowns.
constexpr std::size_t least_values = 16;
// What a load explains less of is other work, noise, or a sensor that smooths in another way.
constexpr double least_explained = 0.85;

struct LoadedSpan {
  double from, to;
};

class Fit {
 public:
  Fit(std::span<const FreshValue> fresh, Nanoseconds origin, std::span<const Window> on) : fresh_(fresh) {
    for (const Window& one : on) {
      on_.push_back(
          {static_cast<double>(one.from - origin) * 1e-9, static_cast<double>(one.to - origin) * 1e-9});
      until_.push_back(total_);
      total_ += on_.back().to - on_.back().from;
    }
    double sum = 0;
    for (const FreshValue& one : fresh_) sum += one.value;
    mean_ = sum / static_cast<double>(fresh_.size());
    for (const FreshValue& one : fresh_) all_ += (one.value - mean_) * (one.value - mean_);
  }

  double all() const { return all_; }

  // What is left of the squares with the best level and step; a load that lowers the power explains nothing.
  double left(double latency, double window) const {
    std::vector<double> shares;
    double mean = 0;
    for (const FreshValue& one : fresh_) {
      const double end = one.time - latency;
      // Shorter than any sensor's own sampling: of what is now.
      const double length = std::max(window, 1e-4);
      shares.push_back((on_until(end) - on_until(end - length)) / length);
      mean += shares.back() / static_cast<double>(fresh_.size());
    }
    double with = 0, of = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      with += (shares[i] - mean) * (fresh_[i].value - mean_);
      of += (shares[i] - mean) * (shares[i] - mean);
    }
    return of <= 0 || with <= 0 ? all_ : all_ - with * with / of;
  }

 private:
  // s that the load was on before `time`.
  double on_until(double time) const {
    const auto after = std::upper_bound(on_.begin(), on_.end(), time,
                                        [](double t, const LoadedSpan& one) { return t < one.from; });
    if (after == on_.begin()) return 0;
    const auto i = static_cast<std::size_t>(after - on_.begin()) - 1;
    return until_[i] + std::min(time, on_[i].to) - on_[i].from;
  }

  std::span<const FreshValue> fresh_;
  std::vector<LoadedSpan> on_;
  std::vector<double> until_;  // s that the load was on before each
  double total_ = 0, mean_ = 0, all_ = 0;
};

std::vector<double> steps(double from, double to, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(from + (to - from) * i / (count - 1));
  return values;
}

}  // namespace

std::optional<LoadResponse> load_response(std::span<const FreshValue> fresh, Nanoseconds origin,
                                          std::span<const Window> on, std::optional<double> window) {
  if (fresh.size() < least_values || on.size() < 3) return std::nullopt;
  const Fit fit(fresh, origin, on);
  if (!(fit.all() > 0)) return std::nullopt;
  // No meter of a machine is older or smoother than this and still of use here.
  constexpr double longest_window = 2.5, longest_latency = 1;
  const double free = static_cast<double>(fresh.size()) - (window ? 3 : 4);
  struct Tried {
    double latency, window, left;
  };
  std::vector<Tried> tried;
  const auto try_all = [&](const std::vector<double>& latencies, const std::vector<double>& windows) {
    for (const double l : latencies) {
      for (const double w : windows) {
        if (l >= 0 && w >= 0) tried.push_back({l, w, fit.left(l, w)});
      }
    }
  };
  const auto best_of = [&] {
    return *std::min_element(tried.begin(), tried.end(),
                             [](const Tried& a, const Tried& b) { return a.left < b.left; });
  };
  constexpr int coarse = 51, fine = 21, rounds = 4;
  double l_reach = longest_latency / (coarse - 1), w_reach = longest_window / (coarse - 1);
  try_all(steps(0, longest_latency, coarse),
          window ? std::vector<double>{*window} : steps(0, longest_window, coarse));
  for (int round = 0; round < rounds; ++round) {
    const Tried at = best_of();
    try_all(steps(at.latency - l_reach, at.latency + l_reach, fine),
            window ? std::vector<double>{*window} : steps(at.window - w_reach, at.window + w_reach, fine));
    l_reach /= 4;
    w_reach /= 4;
  }
  const Tried best = best_of();
  LoadResponse response;
  response.explained = 1 - best.left / fit.all();
  if (response.explained < least_explained) return std::nullopt;
  response.latency = Seconds{best.latency};
  response.window = Seconds{best.window};
  // Likelihood ratio: what raises the squares left by less than 3.84 of their mean cannot be told from the
  // best.
  const double nearly = best.left * (1 + 3.84 / std::max(1.0, free)) + 1e-12 * fit.all();
  double l_low = best.latency, l_high = l_low, w_low = best.window, w_high = w_low;
  for (const Tried& one : tried) {
    if (one.left > nearly) continue;
    l_low = std::min(l_low, one.latency);
    l_high = std::max(l_high, one.latency);
    w_low = std::min(w_low, one.window);
    w_high = std::max(w_high, one.window);
  }
  response.least_latency = Seconds{l_low};
  response.most_latency = Seconds{l_high};
  response.least_window = Seconds{w_low};
  response.most_window = Seconds{w_high};
  return response;
}

}  // namespace dvfs_plan
