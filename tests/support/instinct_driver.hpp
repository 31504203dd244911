// What amdgpu answers for the core clock of an Instinct board: its file pp_od_clk_voltage, in a recorded tree, behaves as
// drivers/gpu/drm/amd/pm/swsmu/smu13/smu_v13_0_6_ppt.c says (usr_edit_dpm_table, set_soft_freq_limited_range, set_performance_level).
// Whoever opens the file waits (fanotify(7), FAN_OPEN_PERM: needs CAP_SYS_ADMIN) until what was written before has had its effect, and reads
// the table. What the driver refuses cannot be refused here, since the write is over by then: it has no effect, and is in refused().
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

class InstinctDriver {
 public:
  // `folder`: the board's, with power_dpm_force_performance_level.
  explicit InstinctDriver(std::string folder);
  ~InstinctDriver();
  InstinctDriver(const InstinctDriver&) = delete;
  InstinctDriver& operator=(const InstinctDriver&) = delete;

  // Empty where this kernel, or this user, lets it stand before the file.
  const std::string& obstacle() const { return obstacle_; }
  std::vector<std::string> refused() const;
  // The highest clock that determinism was enabled at; 0: it is not.
  int deterministic_at() const;

 private:
  void answer();
  void take(const std::string& written);
  void follow_level();
  std::string table() const;

  const std::string folder_;
  std::string obstacle_;
  UniqueFd watch_, stop_;
  mutable std::mutex mutex_;
  std::vector<std::string> refused_;
  std::string level_ = "auto";
  int low_ = 500, high_ = 2100, custom_low_ = 0, custom_high_ = 0, deterministic_at_ = 0;
  std::thread thread_;
};

}  // namespace dvfs_plan
