// How a sensor answers a load that is switched on and off at known times: how old its values are, and over
// how long each looks back. Pure.
//
// Fitted by least squares to y(t) = rest + step * (share of [t - latency - window, t - latency] in which the
// load was on): a gauge that is a mean over `window` (NVIDIA's power of a 25 ms or a 1 s window, Yang et al.,
// arXiv 2312.02741; ACPI's averaging interval), or of what is now (window 0). A counter's mean power between
// two renewals has the time between them for a window.
#pragma once

#include <optional>
#include <span>

#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {

struct LoadResponse {
  Seconds latency{0}, window{0};
  // Other values that explain what was seen nearly as well, 95 %.
  Seconds least_latency{0}, most_latency{0}, least_window{0}, most_window{0};
  double explained = 0;  // share of the variance
};

// `fresh`: renewed values in time order, s since `origin`; `on`: when the load was on, in time order.
// `window`: known beforehand, for counters. nullopt where the load does not show: too few values, or it
// explains too little of how they changed.
std::optional<LoadResponse> load_response(std::span<const FreshValue> fresh, Nanoseconds origin,
                                          std::span<const Window> on,
                                          std::optional<double> window = std::nullopt);

}  // namespace dvfs_plan
