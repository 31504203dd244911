#include "orchestrator/knobs/overlaps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"

namespace dvfs_plan {
namespace {

std::string real_place(const std::string& path, const Sysfs& sysfs) {
  if (!path.starts_with('/')) return path;
  std::error_code error;
  const auto real = std::filesystem::canonical(sysfs.real_path(path), error);
  return error ? path : real.string();
}

std::set<std::string> real_places(const std::vector<std::string>& paths, const Sysfs& sysfs) {
  std::set<std::string> places;
  for (const std::string& path : paths) places.insert(real_place(path, sysfs));
  return places;
}

std::vector<std::string> may_change(const Knob& knob) {
  std::vector<std::string> paths;
  try {
    for (const SavedSetting& setting : knob.snapshot()) paths.push_back(setting.path);
  } catch (const Error&) {
    // What cannot be read now is refused with its reason when it is to be saved.
  }
  return paths;
}

// What stands above all policies: setting it changes what any CPU knob has set.
bool rules_all_cpus(const std::string& path) {
  return path.starts_with("/sys/devices/system/cpu/intel_pstate/") ||
         path.starts_with("/sys/devices/system/cpu/amd_pstate/") ||
         path == "/sys/devices/system/cpu/cpufreq/boost";
}

bool sets_cpu_clocks(const std::string& axis) {
  const KnobKind* kind = kind_of_axis(axis);
  return kind != nullptr && kind->of_cpu_clocks;
}

// The axis that is made for a file which an experiment sets by sysfs.NAME.
const char* axis_for(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  if (file == "scaling_governor") return "cpu.governor";
  if (file == "no_turbo" || file == "boost") return "cpu.turbo";
  if (file == "energy_performance_preference") return "cpu.epp";
  if (file.starts_with("scaling_")) return "cpu.frequency";
  if (file.starts_with("constraint_") && file.ends_with("_power_limit_uw")) return "cpu.power_limit";
  if (path.find("/cpuidle/") != std::string::npos && file == "disable") return "cpu.cstates";
  if (file == "power1_cap" || file == "power1_max") return "gpu.power_limit";
  return nullptr;
}

}  // namespace

std::vector<Overlap> find_overlaps(const std::vector<KnobFinding>& knobs, const Sysfs& sysfs) {
  std::vector<Overlap> overlaps;
  std::vector<std::set<std::string>> written;  // by each knob so far
  for (std::size_t later = 0; later < knobs.size(); ++later) {
    const auto mine = knobs[later].knob ? knobs[later].knob->writes() : std::vector<std::string>{};
    written.push_back(real_places(mine, sysfs));
    // An experiment's own file: the other knobs do not know that somebody else sets it.
    const bool own_file = knobs[later].axis.starts_with("sysfs.");
    for (std::size_t other = 0; other < later; ++other) {
      if (!knobs[other].knob) continue;
      const auto same = [&](const std::string& path) {
        return written[other].contains(real_place(path, sysfs));
      };
      const auto both = std::find_if(mine.begin(), mine.end(), same);
      if (both != mine.end()) {
        overlaps.push_back({knobs[later].axis, knobs[other].axis, *both, false});
        continue;
      }
      if (!own_file) continue;
      const auto changed = real_places(may_change(*knobs[other].knob), sysfs);
      const auto by_the_way = std::find_if(mine.begin(), mine.end(), [&](const std::string& path) {
        return changed.contains(real_place(path, sysfs)) ||
               (rules_all_cpus(path) && sets_cpu_clocks(knobs[other].axis));
      });
      if (by_the_way != mine.end())
        overlaps.push_back({knobs[later].axis, knobs[other].axis, *by_the_way, true});
    }
  }
  return overlaps;
}

std::string overlap_text(const Overlap& overlap, int line_of_other) {
  const char* better = axis_for(overlap.path);
  if (overlap.side_effect)
    return fmt::format(
        "axis '{}' sets {}, which axis '{}' (line {}) may change by setting its own, or the other way round; "
        "{}",
        overlap.axis, overlap.path, overlap.other, line_of_other,
        better != nullptr ? fmt::format("use axis '{}', which knows of it", better)
                          : std::string("sweep one of them, and leave the other as it is"));
  return fmt::format(
      "axis '{}' sets {}, which axis '{}' (line {}) sets too: only the last one would be in force; leave one "
      "of "
      "them out, or let each name other targets (@...)",
      overlap.axis, overlap.path, overlap.other, line_of_other);
}

}  // namespace dvfs_plan
