#include "tests/support/machines.hpp"

#include <fmt/format.h>

#include <tuple>
#include <vector>

namespace dvfs_plan::machines {
namespace {

const std::string cpu_folder = "/sys/devices/system/cpu/";

struct PolicySpec {
  int number;
  std::string cpus;  // as affected_cpus prints them
  std::string driver, governor, governors;
  long lowest, highest;
};

void policy(const TemporaryFolder& root, const PolicySpec& spec) {
  const std::string folder = fmt::format("{}cpufreq/policy{}/", cpu_folder, spec.number);
  root.attribute(folder + "affected_cpus", spec.cpus);
  root.attribute(folder + "related_cpus", spec.cpus);
  root.attribute(folder + "scaling_driver", spec.driver);
  root.attribute(folder + "scaling_governor", spec.governor);
  root.attribute(folder + "scaling_available_governors", spec.governors);
  root.attribute(folder + "cpuinfo_min_freq", std::to_string(spec.lowest));
  root.attribute(folder + "cpuinfo_max_freq", std::to_string(spec.highest));
  root.attribute(folder + "scaling_min_freq", std::to_string(spec.lowest));
  root.attribute(folder + "scaling_max_freq", std::to_string(spec.highest));
  root.attribute(folder + "scaling_cur_freq", std::to_string(spec.lowest));
  root.attribute(folder + "scaling_setspeed", "<unsupported>");
  std::string rest = spec.cpus;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(' '), rest.size());
    const std::string link = root.path() + cpu_folder + "cpu" + rest.substr(0, end) + "/cpufreq";
    std::filesystem::create_directories(std::filesystem::path(link).parent_path());
    std::filesystem::create_symlink(fmt::format("../cpufreq/policy{}", spec.number), link);
    rest.erase(0, std::min(end + 1, rest.size()));
  }
}

void preference(const TemporaryFolder& root, int number, const std::string& now) {
  const std::string folder = fmt::format("{}cpufreq/policy{}/", cpu_folder, number);
  root.attribute(folder + "energy_performance_preference", now);
  root.attribute(folder + "energy_performance_available_preferences",
                 "default performance balance_performance balance_power power ");
}

void siblings(const TemporaryFolder& root, int cpu, const std::string& list, int package = 0) {
  root.attribute(fmt::format("{}cpu{}/topology/thread_siblings_list", cpu_folder, cpu), list);
  root.attribute(fmt::format("{}cpu{}/topology/physical_package_id", cpu_folder, cpu),
                 std::to_string(package));
  root.attribute(fmt::format("{}cpu{}/online", cpu_folder, cpu), "1");
}

}  // namespace

void hybrid(const TemporaryFolder& root) {
  root.attribute(cpu_folder + "online", "0-15");
  root.attribute(cpu_folder + "intel_pstate/status", "active");
  root.attribute(cpu_folder + "intel_pstate/no_turbo", "0");
  root.attribute("/sys/devices/cpu_core/cpus", "0-7");
  root.attribute("/sys/devices/cpu_atom/cpus", "8-15");
  root.attribute(cpu_folder + "intel_uncore_frequency/package_00_die_00/initial_min_freq_khz", "400000");
  root.attribute(cpu_folder + "intel_uncore_frequency/package_00_die_00/initial_max_freq_khz", "4000000");
  root.attribute(cpu_folder + "intel_uncore_frequency/package_00_die_00/min_freq_khz", "400000");
  root.attribute(cpu_folder + "intel_uncore_frequency/package_00_die_00/max_freq_khz", "4000000");
  for (int cpu = 0; cpu < 16; ++cpu) {
    const bool performance_core = cpu < 8;
    policy(root, {cpu, std::to_string(cpu), "intel_pstate", "powersave", "performance powersave", 400000,
                  performance_core ? 4700000 : 3400000});
    preference(root, cpu, "balance_performance");
    siblings(root, cpu,
             performance_core ? fmt::format("{}-{}", cpu / 2 * 2, cpu / 2 * 2 + 1) : std::to_string(cpu));
  }
}

void intel_pstate(const TemporaryFolder& root, bool active) {
  root.attribute(cpu_folder + "online", "0-3");
  root.attribute(cpu_folder + "intel_pstate/status", active ? "active" : "passive");
  root.attribute(cpu_folder + "intel_pstate/no_turbo", "0");
  root.file(
      "/proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) E-2334 CPU @ 3.40GHz\nflags\t\t: fpu aperfmperf hwp\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    policy(root, {cpu, std::to_string(cpu), active ? "intel_pstate" : "intel_cpufreq",
                  active ? "powersave" : "schedutil",
                  active ? "performance powersave"
                         : "conservative ondemand userspace powersave performance schedutil",
                  800000, 4800000});
    siblings(root, cpu, std::to_string(cpu));
    if (active) preference(root, cpu, "balance_performance");
  }
}

void amd_pstate_epp(const TemporaryFolder& root) {
  root.attribute(cpu_folder + "online", "0-3");
  root.attribute(cpu_folder + "amd_pstate/status", "active");
  for (int cpu = 0; cpu < 4; ++cpu) {
    policy(root, {cpu, std::to_string(cpu), "amd-pstate-epp", "powersave", "performance powersave", 545000,
                  5573000});
    preference(root, cpu, "balance_performance");
    siblings(root, cpu, std::to_string(cpu));
    root.attribute(fmt::format("{}cpufreq/policy{}/boost", cpu_folder, cpu), "1");
  }
}

void acpi_cpufreq(const TemporaryFolder& root) {
  root.attribute(cpu_folder + "online", "0-3");
  root.attribute(cpu_folder + "cpufreq/boost", "1");
  for (const auto& [number, cpus] : std::vector<std::pair<int, std::string>>{{0, "0 1"}, {2, "2 3"}}) {
    policy(root, {number, cpus, "acpi-cpufreq", "schedutil",
                  "conservative ondemand userspace powersave performance schedutil", 1000000, 3000000});
    const std::string folder = fmt::format("{}cpufreq/policy{}/", cpu_folder, number);
    root.attribute(folder + "scaling_available_frequencies",
                   "3000000 2600000 2200000 1800000 1400000 1000000 ");
    root.attribute(folder + "bios_limit", "3000000");
    root.attribute(folder + "cpuinfo_cur_freq", "1000000");
  }
  for (int cpu = 0; cpu < 4; ++cpu) siblings(root, cpu, cpu < 2 ? "0-1" : "2-3");
}

void rapl(const TemporaryFolder& root, bool with_psys) {
  const auto zone = [&](const std::string& name, const std::string& text, long energy, long range) {
    root.attribute("/sys/class/powercap/" + name + "/name", text);
    root.attribute("/sys/class/powercap/" + name + "/energy_uj", std::to_string(energy));
    root.attribute("/sys/class/powercap/" + name + "/max_energy_range_uj", std::to_string(range));
  };
  constexpr long package_range = 262143328850, dram_range = 65712999613;
  for (const int package : {0, 1}) {
    const std::string top = fmt::format("intel-rapl:{}", package);
    zone(top, fmt::format("package-{}", package), 100000000, package_range);
    zone(top + ":0", "core", 50000000, package_range);
    zone(top + ":1", "dram", 65712000000, dram_range);
  }
  root.attribute("/sys/class/powercap/intel-rapl-mmio:0/name", "package-0");
  root.attribute("/sys/class/powercap/intel-rapl-mmio:0/energy_uj", "100000000");
  if (with_psys) zone("intel-rapl:2", "psys", 900000000, package_range);
}

void rapl_limits(const TemporaryFolder& root) {
  rapl(root, false);
  for (const auto& [zone, long_w, short_w] :
       {std::tuple{"intel-rapl:0", 165, 198}, {"intel-rapl:1", 165, 198}, {"intel-rapl-mmio:0", 140, 198}}) {
    const std::string folder = fmt::format("/sys/class/powercap/{}/", zone);
    root.attribute(folder + "enabled", "1");
    root.attribute(folder + "constraint_0_name", "long_term");
    root.attribute(folder + "constraint_0_power_limit_uw", fmt::format("{}000000", long_w));
    root.attribute(folder + "constraint_0_time_window_us", "999424");
    root.attribute(folder + "constraint_0_max_power_uw", "165000000");
    root.attribute(folder + "constraint_1_name", "short_term");
    root.attribute(folder + "constraint_1_power_limit_uw", fmt::format("{}000000", short_w));
    root.attribute(folder + "constraint_1_time_window_us", "7808");
    root.attribute(folder + "constraint_1_max_power_uw", "412000000");
  }
}

void idle_states(const TemporaryFolder& root) {
  root.attribute(cpu_folder + "online", "0-3");
  const std::vector<std::string> names{"POLL", "C1", "C1E", "C6"};
  for (int cpu = 0; cpu < 4; ++cpu) {
    for (std::size_t state = 0; state < names.size(); ++state) {
      const std::string folder = fmt::format("{}cpu{}/cpuidle/state{}/", cpu_folder, cpu, state);
      const bool off = names[state] == "C1E";
      root.attribute(folder + "name", names[state]);
      root.attribute(folder + "disable", off ? "1" : "0");
      root.attribute(folder + "default_status", off ? "disabled" : "enabled");
    }
  }
}

void h200(const TemporaryFolder& root, bool with_library) {
  namespace fs = std::filesystem;
  const fs::path source = DVFS_PLAN_SOURCE, tree = root.path();
  fs::create_directories(tree / "usr/bin");
  fs::create_directories(tree / "usr/lib");
  fs::create_directories(tree / "gpu");
  fs::copy_file(source / "tests/support/nvidia-smi", tree / "usr/bin/nvidia-smi");
  fs::create_directory_symlink(source / "tests/recorded/nvidia-h200", tree / "gpu/recorded");
  if (with_library) fs::copy_file(DVFS_PLAN_FAKE_NVML, tree / "usr/lib/libnvidia-ml.so.1");
}

void radeon(const TemporaryFolder& root, bool overdrive) {
  const std::string device = "/sys/class/drm/card1/device/", hwmon = device + "hwmon/hwmon3/";
  root.attribute(device + "vendor", "0x1002");
  root.attribute(device + "device", "0x73bf");
  root.attribute(device + "unique_id", "5a7c9e0f11223344");
  root.file(device + "uevent", "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_SLOT_NAME=0000:0c:00.0\n");
  root.attribute(device + "power_dpm_force_performance_level", "auto");
  root.file(device + "pp_dpm_sclk", "0: 500Mhz \n1: 1371Mhz *\n2: 2475Mhz \n");
  root.file(device + "pp_dpm_mclk", "0: 96Mhz *\n1: 456Mhz \n2: 673Mhz \n3: 1000Mhz \n");
  if (overdrive) {
    root.file(device + "pp_od_clk_voltage",
              "OD_SCLK:\n0: 500Mhz\n1: 2475Mhz\nOD_MCLK:\n0: 97Mhz\n1: 1000Mhz\nOD_VDDGFX_OFFSET:\n0mV\n"
              "OD_RANGE:\nSCLK:     500Mhz       2800Mhz\nMCLK:     674Mhz       1075Mhz\n");
  }
  root.attribute(device + "gpu_busy_percent", "0");
  root.attribute(device + "mem_info_vram_used", "314572800");
  root.attribute(hwmon + "name", "amdgpu");
  root.attribute(hwmon + "power1_average", "43000000");
  root.attribute(hwmon + "power1_cap", "272000000");
  root.attribute(hwmon + "power1_cap_default", "272000000");
  root.attribute(hwmon + "power1_cap_min", "0");
  root.attribute(hwmon + "power1_cap_max", "312000000");
  root.attribute(hwmon + "freq1_input", "500000000");
  root.attribute(hwmon + "freq2_input", "96000000");
  root.attribute(hwmon + "temp1_input", "41000");
}

void instinct(const TemporaryFolder& root) {
  const std::string device = "/sys/class/drm/card1/device/";
  root.attribute(device + "vendor", "0x1002");
  root.attribute(device + "device", "0x74a1");
  root.attribute(device + "unique_id", "7c1f0a2b3d4e5f60");
  root.file(device + "uevent", "DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_SLOT_NAME=0000:05:00.0\n");
  root.attribute(device + "power_dpm_force_performance_level", "auto");
  root.file(device + "pp_dpm_sclk", "S: 132Mhz *\n0: 500Mhz \n1: 2100Mhz \n");
  root.file(device + "pp_dpm_mclk", "0: 900Mhz \n1: 1100Mhz \n2: 1200Mhz \n3: 1300Mhz *\n");
  root.attribute(device + "current_compute_partition", "SPX");
  root.attribute(device + "current_memory_partition", "NPS1");
}

void arc_xe(const TemporaryFolder& root) {
  const std::string device = "/sys/class/drm/card0/device/", hwmon = device + "hwmon/hwmon2/";
  root.attribute(device + "vendor", "0x8086");
  root.attribute(device + "device", "0xe20b");
  root.file(device + "uevent", "DRIVER=xe\nPCI_SLOT_NAME=0000:03:00.0\n");
  for (const auto& [gt, highest] : {std::pair{"gt0", "2850"}, std::pair{"gt1", "1500"}}) {
    const std::string folder = device + "tile0/" + gt + "/freq0/";
    root.attribute(folder + "min_freq", "400");
    root.attribute(folder + "max_freq", highest);
    root.attribute(folder + "rpn_freq", "400");
    root.attribute(folder + "rp0_freq", highest);
    root.attribute(folder + "act_freq", "0");
  }
  root.attribute(hwmon + "name", "xe");
  root.attribute(hwmon + "energy1_input", "6821000000");
  root.attribute(hwmon + "energy1_label", "card");
  root.attribute(hwmon + "energy2_input", "4210000000");
  root.attribute(hwmon + "energy2_label", "pkg");
  root.attribute(hwmon + "power1_max", "190000000");
  root.attribute(hwmon + "power1_rated_max", "190000000");
}

void arc_i915(const TemporaryFolder& root) {
  const std::string card = "/sys/class/drm/card0/", device = card + "device/";
  root.attribute(device + "vendor", "0x8086");
  root.attribute(device + "device", "0x56a0");
  root.file(device + "uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:03:00.0\n");
  for (const auto& [file, value] :
       {std::pair{"rps_min_freq_mhz", "300"}, std::pair{"rps_max_freq_mhz", "2400"},
        std::pair{"rps_boost_freq_mhz", "2400"}, std::pair{"rps_act_freq_mhz", "0"},
        std::pair{"rps_RPn_freq_mhz", "300"}, std::pair{"rps_RP0_freq_mhz", "2400"}})
    root.attribute(card + "gt/gt0/" + file, value);
  root.attribute(device + "hwmon/hwmon1/name", "i915");
  root.attribute(device + "hwmon/hwmon1/energy1_input", "100000000");
}

}  // namespace dvfs_plan::machines
