#include "tests/bench/truth/loads.hpp"

#include <cmath>

namespace dvfs_plan::truth {

std::string to_string(Load load) {
  const char* names[] = {"process", "inside", "between", "step", "square", "many", "pulses", "lead", "steps"};
  return names[static_cast<int>(load)];
}

double Power::joules(double t) const {
  const double at = std::clamp(t / step_, 0.0, static_cast<double>(joules_.size() - 1));
  const auto i = std::min(static_cast<std::size_t>(at), joules_.size() - 2);
  return joules_[i] + (at - static_cast<double>(i)) * (joules_[i + 1] - joules_[i]);
}

double Night::truth() const {
  double sum = 0;
  for (const Window& window : windows)
    sum += work.joules(seconds(window.to).value()) - work.joules(seconds(window.from).value());
  return sum;
}

Night Draw::night(Load load, double update, std::optional<double> wanted_region) {
  Night night;
  night.power = night.work = Power(update / 50);
  busy_ = uniform(200, 700);
  idle_ = busy_ * uniform(0.15, 0.6);
  const double region =
      update * (wanted_region ? *wanted_region : std::exp(uniform(std::log(0.3), std::log(300.0))));
  night.begins = 6 * update + uniform(0, update);
  std::vector<std::pair<double, double>> regions;
  double begins = night.begins;
  if (load == Load::inside || load == Load::between) begins += update * uniform(3, 6);
  if (load == Load::lead) begins += update * uniform(0, 1.5);
  const bool steps = load == Load::steps;
  if (steps) {
    const auto length = [&] { return update * std::exp(uniform(std::log(0.2), std::log(2.0))); };
    const double of_step = length(), of_gap = length(), scatter = std::max(0.0, uniform(-0.1, 0.3));
    const auto about = [&](double mean) { return mean * uniform(1 - scatter, 1 + scatter); };
    for (int i = static_cast<int>(uniform(6, 48)); i > 0; --i) {
      regions.emplace_back(begins, begins + about(of_step));
      begins = regions.back().second + about(of_gap);
    }
  }
  const int count = steps ? 0 : load == Load::many ? static_cast<int>(uniform(3, 20)) : 1;
  for (int i = 0; i < count; ++i) {
    const double length = count == 1 ? region : region / count * uniform(0.9, 1.1);
    regions.emplace_back(begins, begins + length);
    begins += length + update * uniform(0.3, 3);
  }
  night.ends = regions.back().second;
  if (load == Load::inside || load == Load::between) night.ends += update * uniform(3, 6);
  if (load == Load::lead) night.ends += update * uniform(0, 1.5);
  // A workload marks these itself; the others are what counts of a process that does nothing else.
  const bool marked =
      load == Load::inside || load == Load::between || load == Load::many || load == Load::lead || steps;
  for (const auto& [from, to] : regions)
    night.windows.push_back({nanoseconds(Seconds{from}), nanoseconds(Seconds{to}), marked});
  draw_power(night, load, update, regions);
  return night;
}

void Draw::draw_power(Night& night, Load load, double update,
                      const std::vector<std::pair<double, double>>& regions) {
  const double step = update / 50;
  const double end = night.ends + 20 * update;
  const double first = regions.front().first, last = regions.back().second;
  const double overshoot = uniform(-0.1, 0.25), settles = update * uniform(0.3, 2),
               rise = update * uniform(0, 0.3), noise = uniform(0.002, 0.03),
               idle_noise = uniform(0.002, 0.03);
  const double before = busy_ * uniform(0.4, 1.5), after = busy_ * uniform(0.4, 1.5);
  const double steps_at = uniform(first, last), steps_to = uniform(0.4, 1.4);
  const bool pulses = load == Load::pulses;
  const bool steps = load == Load::steps;
  const double every_other = steps ? uniform(0.5, 1.5) : 1;
  const double rests = steps && uniform(0, 1) < 0.5 ? uniform(idle_, 1.1 * busy_) : idle_;
  constexpr double near[] = {1.0 / 3, 0.5, 1, 2};
  const double period = update * (pulses ? near[static_cast<int>(uniform(0, 4))] * (1 + 0.02 * normal())
                                         : std::exp(uniform(std::log(0.3), std::log(3.0)))),
               duty = uniform(0.3, 0.7);
  const double memory = std::exp(-step / (update * uniform(0.3, 3)));
  double wander = normal(), watts = idle_;
  for (double t = 0; t < end; t += step) {
    wander = memory * wander + std::sqrt(1 - memory * memory) * normal();
    const auto in = std::find_if(regions.begin(), regions.end(),
                                 [&](const auto& r) { return t >= r.first && t < r.second; });
    double wanted = idle_;
    double since = 1e9;
    switch (load) {
      case Load::inside:
      case Load::lead:
        if (t >= night.begins && t < night.ends) wanted = busy_;
        since = t - night.begins;
        break;
      case Load::between:
        if (t >= night.begins && t < night.ends) wanted = t < first ? before : t < last ? busy_ : after;
        since = t - night.begins;
        break;
      default:
        if (in != regions.end()) {
          wanted = busy_ * ((in - regions.begin()) % 2 == 1 ? every_other : 1);
          since = t - in->first;
          if (load == Load::step && t >= steps_at) wanted *= steps_to;
          if ((load == Load::square || pulses) && std::fmod(since, period) > duty * period) wanted = idle_;
        } else if (t >= first && t < last) {
          wanted = rests;
        }
    }
    if (wanted > idle_ && since >= 0) wanted *= 1 + overshoot * std::exp(-since / settles);
    // A board follows within some milliseconds.
    watts += (wanted - watts) * (rise > 0 ? 1 - std::exp(-step / (rise / 3)) : 1);
    const double factor = std::max(0.05, 1 + (watts > 1.2 * idle_ ? noise : idle_noise) * wander);
    night.power.add(watts * factor);
    night.work.add(wanted * factor);
  }
}

}  // namespace dvfs_plan::truth
