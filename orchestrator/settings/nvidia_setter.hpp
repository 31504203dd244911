// Setting NVIDIA boards by nvidia-smi, as argv, and judging its answer: it may refuse and exit with 0.
// https://docs.nvidia.com/deploy/nvidia-smi/. No NVML call and no query tells whether a clock is locked; what
// nvidia-smi acknowledges is the only word there is, and the delivered clock is the proof.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probes/gpu/nvidia_smi.hpp"

namespace dvfs_plan {

// What nvidia-smi made of one request.
struct SmiVerdict {
  bool done = false;
  bool unsupported = false;  // the board does not offer it: nothing can have been set, nothing is to be reset
  bool forbidden = false;    // this user may not: nothing was set
  std::string problem;       // empty if done; with the next step
};

// A workload power profile: Blackwell boards, driver 570 and later; `nvidia-smi power-profiles -l` prints "6. LLM Inference".
struct WorkloadProfile {
  int number = 0;
  std::string name;
};
// Of "-l", "-gr" and "-ge", of one board; nullopt: the answer is neither profiles nor that there are none.
std::optional<std::vector<WorkloadProfile>> parse_workload_profiles(std::string_view text);

// Pure: `confirmation` is what a taken request says ("GPU clocks set to"); empty for resets, which only say
// "All done.".
SmiVerdict judge_smi_answer(const ProgramAnswer& answer, std::string_view confirmation);

class NvidiaSetter {
 public:
  explicit NvidiaSetter(NvidiaSmi smi) : smi_(std::move(smi)) {}

  enum class Clock { core, memory };
  // Lower and upper bound are the same: the board is pinned. Core: Volta and newer; memory: Ampere and newer.
  SmiVerdict lock(const std::string& uuid, Clock clock, int mhz) const;
  SmiVerdict reset_lock(const std::string& uuid, Clock clock) const;
  SmiVerdict set_application_clocks(const std::string& uuid, const std::string& memory_and_core) const;
  SmiVerdict set_power_limit(const std::string& uuid, const std::string& watts) const;

  // "3201,1980" (MHz) and "700.00" (W), now and by default; nullopt where the board has none.
  std::optional<std::string> application_clocks(const std::string& uuid, bool by_default = false) const;
  std::optional<std::string> power_limit(const std::string& uuid, bool by_default = false) const;

  // Those that the board offers; empty: it offers none.
  std::vector<WorkloadProfile> workload_profiles(const std::string& uuid) const;
  // "6", "0,6", "none": what was asked for, and what of it is in force: of profiles that exclude each other the one with the
  // higher priority. nullopt: the board does not tell.
  std::optional<std::string> requested_profiles(const std::string& uuid) const;
  std::optional<std::string> enforced_profiles(const std::string& uuid) const;
  // All that is asked for besides is cleared: nvidia-smi by itself adds to it.
  SmiVerdict request_profiles(const std::string& uuid, const std::string& profiles) const;

  const NvidiaSmi& smi() const { return smi_; }

 private:
  SmiVerdict ask(const std::string& uuid, const std::vector<std::string>& request,
                 std::string_view confirmation) const;
  SmiVerdict judged(const std::string& uuid, const std::vector<std::string>& arguments,
                    std::string_view confirmation) const;
  std::optional<std::string> profiles(const std::string& uuid, const char* which) const;
  std::string explain_unsupported(const std::string& uuid) const;

  NvidiaSmi smi_;
};

}  // namespace dvfs_plan
