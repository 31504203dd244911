#include <fmt/format.h>

#include <stdexcept>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {
namespace {

double of(const AxisValue& value, Dimension dimension) {
  if (!value.number || value.dimension != dimension)
    throw std::logic_error(fmt::format("'{}' is not {}", value.text, describe(dimension)));
  return *value.number;
}

}  // namespace

Hertz AxisValue::hertz() const {
  return Hertz{of(*this, Dimension::frequency)};
}

Watts AxisValue::watts() const {
  return Watts{of(*this, Dimension::power)};
}

}  // namespace dvfs_plan
