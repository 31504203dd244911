#include "orchestrator/strategies/strategy.hpp"

namespace dvfs_plan {
namespace {

class FullGrid : public Strategy {
 public:
  explicit FullGrid(const Plan& plan) : trials_(plan.trials) {}

  const PlannedTrial* next(const std::set<std::string>& finished) override {
    // Trials never become unfinished: what was passed once stays passed.
    while (at_ < trials_.size() && finished.contains(trials_[at_].key)) ++at_;
    return at_ == trials_.size() ? nullptr : &trials_[at_];
  }
  int remaining(const std::set<std::string>& finished) const override {
    return static_cast<int>(trials_.size()) - static_cast<int>(finished.size());
  }

 private:
  std::vector<PlannedTrial> trials_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> full_grid(const Plan& plan) {
  return std::make_unique<FullGrid>(plan);
}

}  // namespace dvfs_plan
