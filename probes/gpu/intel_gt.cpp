#include "probes/gpu/intel_gt.hpp"

#include <algorithm>

namespace dvfs_plan {
namespace {

// `from` and `to`: the files of the hardware's lowest and highest clock.
void add(const Sysfs& sysfs, IntelGt gt, const std::string& from, const std::string& to,
         std::vector<IntelGt>& gts) {
  gt.lowest_mhz = sysfs.number(from).value_or(0);
  gt.highest_mhz = sysfs.number(to).value_or(0);
  if (!sysfs.exists(gt.boost_file)) gt.boost_file.clear();
  if (gt.highest_mhz > 0 && sysfs.exists(gt.min_file) && sysfs.exists(gt.max_file)) gts.push_back(gt);
}

}  // namespace

std::vector<IntelGt> find_intel_gts(const Sysfs& sysfs, const GpuBoard& board) {
  std::vector<IntelGt> gts;
  // xe: device/tile0/gt0/freq0/
  for (const std::string& tile : sysfs.list(board.folder)) {
    if (!tile.starts_with("tile")) continue;
    bool media = false;  // the first GT of a tile computes
    for (const std::string& name : sysfs.list(board.folder + "/" + tile)) {
      if (!name.starts_with("gt")) continue;
      const std::string folder = board.folder + "/" + tile + "/" + name + "/freq0/";
      add(sysfs,
          {tile == "tile0" ? name : tile + "/" + name, folder + "min_freq", folder + "max_freq", "",
           folder + "act_freq", 0, 0, media},
          folder + "rpn_freq", folder + "rp0_freq", gts);
      media = true;
    }
  }
  if (!gts.empty()) return gts;
  // i915: card0/gt/gt0/rps_*, beside the device folder
  const std::string card = board.folder.substr(0, board.folder.rfind('/'));
  for (const std::string& name : sysfs.list(card + "/gt")) {
    const std::string folder = card + "/gt/" + name + "/";
    add(sysfs,
        {name, folder + "rps_min_freq_mhz", folder + "rps_max_freq_mhz", folder + "rps_boost_freq_mhz",
         folder + "rps_act_freq_mhz", 0, 0, name != "gt0"},
        folder + "rps_RPn_freq_mhz", folder + "rps_RP0_freq_mhz", gts);
  }
  if (!gts.empty()) return gts;
  // i915 before Linux 5.18: one GT, its files beside the card's
  add(sysfs,
      {"gt0", card + "/gt_min_freq_mhz", card + "/gt_max_freq_mhz", card + "/gt_boost_freq_mhz",
       card + "/gt_act_freq_mhz", 0, 0, false},
      card + "/gt_RPn_freq_mhz", card + "/gt_RP0_freq_mhz", gts);
  return gts;
}

}  // namespace dvfs_plan
