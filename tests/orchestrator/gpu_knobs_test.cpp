// GPU knobs: NVIDIA's through the stand-in nvidia-smi, which answers from recordings, keeps what it is told
// and refuses as real ones do; AMD's and Intel's on trees of files. What they offer, save, write, read back
// and put back, and what each refusal says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "experiments/plan/plan.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "orchestrator/settings/amdgpu_overdrive.hpp"
#include "orchestrator/settings/nvidia_doors.hpp"
#include "orchestrator/settings/nvidia_setter.hpp"
#include "orchestrator/settings/setting_writer.hpp"
#include "tests/support/instinct_driver.hpp"
#include "tests/support/machines.hpp"
#include "tests/support/parse.hpp"

namespace dvfs_plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string board = "GPU-00000000-0000-4000-8000-000000000200";
const std::string place = "nvidia:" + board + "/";

AxisValue mhz(double value) {
  return {fmt::format("{:g} MHz", value), value * 1e6, Dimension::frequency};
}
AxisValue watts(double value) {
  return {fmt::format("{:g} W", value), value, Dimension::power};
}

class GpuKnobs : public testing::Test {
 protected:
  std::vector<KnobFinding> find(const std::vector<std::string>& axes) {
    UsedBoards gpus;
    gpus.all = find_gpu_boards(sysfs_);
    gpus.used = gpus.all.boards;
    return find_knobs(axes, sysfs_, {}, gpus);
  }
  std::unique_ptr<Knob> knob(const std::string& axis) {
    auto found = find({axis});
    EXPECT_TRUE(found[0].knob) << found[0].problem;
    return std::move(found[0].knob);
  }
  std::string problem(const std::string& axis) { return find({axis})[0].problem; }
  std::string refusal(const std::string& axis, const AxisValue& value) {
    return knob(axis)->apply(value, writer_)[0].problem;
  }
  RestoreOutcome restored(const std::vector<SavedSetting>& saved, const AppliedByUs& ours) const {
    SettingAccess access(sysfs_, nvidia_doors());
    return restore_settings(saved, access, {&ours});
  }
  // As after a power cut, when nobody knows what was ours.
  RestoreOutcome restored(const std::vector<SavedSetting>& saved) const {
    SettingAccess access(sysfs_, nvidia_doors());
    return restore_settings(saved, access);
  }
  // What nvidia-smi was asked to set, in order.
  std::vector<std::string> sets() const {
    std::vector<std::string> lines;
    for (const std::string& line : split_lines(root_.read("/gpu/argv.log"))) {
      if (line.find("query") == std::string::npos && line.find("-q") == std::string::npos && !line.empty())
        lines.push_back(line);
    }
    return lines;
  }
  std::string setting(const std::string& name) {
    return SettingAccess(sysfs_, nvidia_doors()).at(place + name).read().text.value_or("none");
  }

  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
  TrackingWriter writer_{sysfs_, nvidia_doors()};
};

TEST_F(GpuKnobs, AnH200OffersItsClocksAndItsLimits) {
  machines::h200(root_, true);
  const auto core = knob("gpu.core")->offer(), memory = knob("gpu.memory")->offer(),
             power = knob("gpu.power_limit")->offer();
  EXPECT_EQ(core.values.size(), 110U);
  EXPECT_EQ(core.values.front(), mhz(345));
  EXPECT_EQ(core.values.back(), mhz(1980));
  EXPECT_THAT(memory.values, ElementsAre(mhz(2201), mhz(3201)));
  EXPECT_EQ(power.continuous->lowest, 200);
  EXPECT_EQ(power.continuous->highest, 700);
  EXPECT_EQ(power.values.size(), 21U);  // by 25 W
  EXPECT_EQ(knob("gpu.core")->allowed_pairs()->pairs.size(), 220U);
  EXPECT_TRUE(sets().empty());
}

// Kernels before 6.7 tell 0 W as a Radeon's least, and an empty product name.
TEST_F(GpuKnobs, AnAmdBoardOfAnOlderKernelIsOfferedNoWattsThatNoneHoldsAndHasItsOwnName) {
  machines::radeon(root_, true);
  const auto power = knob("gpu.power_limit")->offer();
  EXPECT_EQ(power.continuous->lowest, 78);  // a quarter of 312
  EXPECT_EQ(power.continuous->highest, 312);
  root_.attribute("/sys/class/drm/card1/device/device", "0x73bf");
  root_.attribute("/sys/class/drm/card1/device/product_name", "");
  EXPECT_EQ(find_gpu_boards(sysfs_).boards.at(0).name, "AMD 0x73bf");
}

TEST_F(GpuKnobs, AClockIsLockedAndTheAnswerIsItsAcknowledgement) {
  machines::h200(root_, true);
  const auto knobs = find({"gpu.core", "gpu.memory", "gpu.power_limit"});
  EXPECT_EQ(knobs[0].axis, "gpu.power_limit");  // in the order of application
  const auto limit = knobs[0].knob->apply(watts(450), writer_);
  const auto memory = knobs[1].knob->apply(mhz(2201), writer_);
  const auto core = knobs[2].knob->apply(mhz(1395), writer_);
  EXPECT_EQ(core[0].target, "gpu-0");
  EXPECT_EQ(core[0].applied, "1395 MHz");
  EXPECT_EQ(core[0].problem, "");
  EXPECT_EQ(memory[0].applied, "2201 MHz");
  EXPECT_EQ(limit[0].applied, "450 W");
  EXPECT_THAT(writer_.applied().at(place + "power.limit"), ElementsAre("450", "450.00"));
  EXPECT_THAT(sets(), ElementsAre("-i " + board + " -pl 450", "-i " + board + " -lmc 2201,2201",
                                  "-i " + board + " -lgc 1395,1395"));
  EXPECT_EQ(knobs[2].knob->clock_quantity(), "core_clock");
  EXPECT_EQ(knobs[1].knob->clock_quantity(), "memory_clock");
}

TEST_F(GpuKnobs, WhatWasThereIsSavedAndPutBackAndLocksAreReset) {
  machines::h200(root_, true);
  root_.file("/gpu/state.json",
             "{\"" + board + R"(": {"lgc": null, "lmc": null, "ac": "3201,1755", "pl": 550.0}})");
  const auto knobs = find({"gpu.core", "gpu.memory", "gpu.power_limit"});
  const auto saved = settings_of(knobs);
  std::vector<std::string> texts;
  for (const SavedSetting& one : saved) texts.push_back(one.path.substr(place.size()) + "=" + one.value);
  EXPECT_THAT(texts, ElementsAre("power.limit=550.00", "lock.memory=reset", "clocks.applications=3201,1755",
                                 "lock.core=reset"));
  knobs[0].knob->apply(watts(300), writer_);
  knobs[1].knob->apply(mhz(2201), writer_);
  knobs[2].knob->apply(mhz(345), writer_);
  const auto outcome = restored(
      saved,
      {{place + "power.limit", {"300"}}, {place + "lock.core", {"345"}}, {place + "lock.memory", {"2201"}}});
  EXPECT_TRUE(outcome.complete());
  EXPECT_EQ(outcome.restored, 3);
  EXPECT_EQ(outcome.unchanged, 1);  // application clocks were not touched
  EXPECT_TRUE(outcome.notes.empty());
  EXPECT_EQ(setting("power.limit"), "550.00");
  EXPECT_EQ(setting("clocks.applications"), "3201,1755");
  EXPECT_THAT(root_.read("/gpu/state.json"),
              testing::AllOf(HasSubstr(R"("lgc": null)"), HasSubstr(R"("lmc": null)")));
  EXPECT_THAT(sets(), testing::IsSupersetOf(
                          {"-i " + board + " -rgc", "-i " + board + " -rmc", "-i " + board + " -pl 550.00"}));
}

TEST_F(GpuKnobs, WhatOthersSetMeanwhileIsToldAndLeft) {
  machines::h200(root_, true);
  auto limit = knob("gpu.power_limit");
  const auto saved = limit->snapshot();
  const auto applied = limit->apply(watts(300), writer_);
  const AppliedByUs ours = writer_.applied();
  root_.file("/gpu/state.json",
             "{\"" + board + R"(": {"lgc": null, "lmc": null, "ac": "3201,1980", "pl": 500.0}})");
  // The next trial notices,
  const auto again = limit->apply(watts(400), writer_);
  EXPECT_EQ(again[0].note,
            "the power limit of gpu-0 was 500.00 W before this trial; this run had set 300.00 W: somebody "
            "else changed it");
  EXPECT_EQ(again[0].problem, "");
  // and so does the restore, which leaves what is neither ours nor what was there.
  root_.file("/gpu/state.json",
             "{\"" + board + R"(": {"lgc": null, "lmc": null, "ac": "3201,1980", "pl": 500.0}})");
  const auto outcome = restored(saved, ours);
  EXPECT_TRUE(outcome.complete());
  EXPECT_THAT(
      outcome.notes,
      ElementsAre(place +
                  "power.limit is '500.00', which is neither what the run set (300) nor what was "
                  "there before ('700.00'): somebody else changed it meanwhile, and it was left so; to "
                  "put it back: sudo nvidia-smi -i " +
                  board + " -pl 700.00"));
  EXPECT_EQ(setting("power.limit"), "500.00");
  // After a power cut nobody knows what was ours: the saved value is put back.
  EXPECT_EQ(restored(saved).restored, 1);
  EXPECT_EQ(setting("power.limit"), "700.00");
}

TEST_F(GpuKnobs, WhatWasAboutToBeSetIsOursAndALockThatNeverWasIsNotTouched) {
  machines::h200(root_, true);
  const auto knobs = find({"gpu.core", "gpu.power_limit"});
  const auto saved = settings_of(knobs);
  // Killed between the setting and its reading back: 300 W was announced, 300.00 W is there.
  AppliedByUs ours;
  for (const SettingText& one : knobs[0].knob->requests(watts(300))) ours[one.path].insert(one.text);
  EXPECT_THAT(ours, testing::ElementsAre(testing::Pair(place + "power.limit", ElementsAre("300"))));
  ours[place + "power.limit"].insert("500.00");  // of the trial before
  knobs[0].knob->apply(watts(300), writer_);
  const auto outcome = restored(saved, ours);
  EXPECT_TRUE(outcome.notes.empty()) << outcome.notes[0];
  EXPECT_EQ(setting("power.limit"), "700.00");
  // No core clock was announced: an owner's lock, which nobody can read, is left alone.
  EXPECT_THAT(sets(), testing::Not(Contains(HasSubstr("-rgc"))));
  EXPECT_THAT(knobs[1].knob->requests(mhz(1395)), ElementsAre(SettingText{place + "lock.core", "1395"}));
}

TEST_F(GpuKnobs, ADriversOwnDefaultIsNobodysAndIsPutBackOver) {
  machines::h200(root_, true);
  root_.file("/gpu/state.json",
             "{\"" + board + R"(": {"lgc": null, "lmc": null, "ac": "3201,1980", "pl": 550.0}})");
  auto limit = knob("gpu.power_limit");
  const auto saved = limit->snapshot();
  const auto applied = limit->apply(watts(300), writer_);
  std::filesystem::remove(root_ /
                          "gpu/state.json");  // the driver was loaded anew: everything is as it makes it
  EXPECT_EQ(restored(saved, writer_.applied()).restored, 1);
  EXPECT_EQ(setting("power.limit"), "550.00");
}

TEST_F(GpuKnobs, RefusalsAreSeenWhateverTheExitCodeAndSayTheNextStep) {
  machines::h200(root_, true);
  root_.file("/gpu/mode", "no-permission");
  EXPECT_EQ(
      refusal("gpu.core", mhz(1395)),
      "core clock of gpu-0 (NVIDIA H200): set 1395 MHz: nvidia-smi refuses: The current user does not have "
      "permission to change clocks for GPU 00000000:00:06.0.; only root may set it: run with sudo (in a "
      "container "
      "also with CAP_SYS_ADMIN, or on the host)");
  root_.file("/gpu/mode", "silent-refusal");
  EXPECT_EQ(refusal("gpu.core", mhz(1395)),
            "core clock of gpu-0 (NVIDIA H200): set 1395 MHz: nvidia-smi neither confirms nor refuses; it "
            "says: nothing");
  root_.file("/gpu/mode", "other-clock");
  EXPECT_EQ(refusal("gpu.core", mhz(1395)),
            "core clock of gpu-0 (NVIDIA H200): set 1395 MHz: nvidia-smi neither confirms nor refuses; it "
            "says: GPU clocks "
            "set to \"(gpuClkMin 1380, gpuClkMax 1380)\" for GPU 00000000:00:06.0");
  root_.file("/gpu/mode", "sick");
  EXPECT_EQ(refusal("gpu.power_limit", watts(300)),
            "power limit of gpu-0 (NVIDIA H200): set 300 W: nvidia-smi refuses (exit code 15): Unable to "
            "determine the "
            "device handle for GPU 00000000:00:06.0: GPU is lost.  Reboot the system to recover this GPU");
  root_.file("/gpu/mode", "no-locks no-application-clocks");
  EXPECT_EQ(
      refusal("gpu.core", mhz(1395)),
      "core clock of gpu-0 (NVIDIA H200): set 1395 MHz: nvidia-smi refuses: Setting locked GPU clocks is not "
      "supported for GPU 00000000:00:06.0.; this board does not offer it (laptops and many consumer boards "
      "do not)");
  root_.file("/gpu/mode", "vgpu no-application-clocks");
  EXPECT_THAT(refusal("gpu.core", mhz(1395)),
              testing::EndsWith(
                  "; this is a vGPU: its clocks and limits belong to the host, where the sweep would have "
                  "to run"));
  root_.file("/gpu/mode", "");
  EXPECT_EQ(
      refusal("gpu.power_limit", watts(100)),
      "power limit of gpu-0 (NVIDIA H200): set 100 W: nvidia-smi refuses (exit code 2): Provided power limit "
      "100.00 W "
      "is not a valid power limit which should be between 200.00 W and 700.00 W for GPU 00000000:00:06.0");
}

TEST_F(GpuKnobs, WhatCannotBeSetIsSaidBeforeTheSweep) {
  machines::h200(root_, true);
  root_.file("/gpu/mode", "mig");
  EXPECT_EQ(problem("gpu.core"),
            "MIG is enabled on gpu-0 (NVIDIA H200): its clocks and its power are those of all its instances; "
            "while it is "
            "idle: sudo nvidia-smi -i " +
                board + " -mig 0");
  root_.file("/gpu/mode", "no-power-limit");
  EXPECT_EQ(problem("gpu.power_limit"),
            "gpu-0 (NVIDIA H200) has no power limit that can be set: power.min_limit is not told (laptops "
            "and vGPUs)");
  root_.file("/gpu/mode", "no-supported-clocks");
  EXPECT_EQ(problem("gpu.core"),
            "gpu-0 (NVIDIA H200) lists no supported clocks (nvidia-smi -q -d SUPPORTED_CLOCKS): its clocks "
            "cannot be set; "
            "gpu.power_limit may");
  std::filesystem::remove(root_ / "usr/bin/nvidia-smi");
  EXPECT_EQ(problem("gpu.core"),
            "nvidia-smi, which sets NVIDIA H200, is not on PATH; install the driver's utilities");
  EXPECT_THAT(problem("gpu.core@7"), StartsWith("there is no GPU '7'; there is: 0 (NVIDIA H200, "));
}

TEST_F(GpuKnobs, WhereLocksAreNotOfferedApplicationClocksAreSetAsAPair) {
  machines::h200(root_, true);
  root_.file("/gpu/mode", "no-locks");
  const auto knobs = find({"gpu.core", "gpu.memory"});
  const auto saved = settings_of(knobs);
  // The refusal of a lock is the first attempt; the second takes the other way, and announces it.
  EXPECT_NE(knobs[0].knob->apply(mhz(2201), writer_)[0].problem, "");
  EXPECT_NE(knobs[1].knob->apply(mhz(1395), writer_)[0].problem, "");
  EXPECT_TRUE(writer_.applied().empty());  // refused without a trace
  EXPECT_EQ(knobs[0].knob->requests(mhz(2201))[0].path, place + "clocks.applications");
  const auto memory = knobs[0].knob->apply(mhz(2201), writer_);
  const auto core = knobs[1].knob->apply(mhz(1395), writer_);
  EXPECT_EQ(memory[0].applied, "2201 MHz");
  EXPECT_EQ(core[0].applied, "1395 MHz");
  EXPECT_EQ(core[0].problem, "");
  EXPECT_EQ(setting("clocks.applications"), "2201,1395");
  EXPECT_TRUE(writer_.applied().at(place + "clocks.applications").contains("2201,1395"));
  const auto outcome = restored(saved);
  EXPECT_TRUE(outcome.complete());  // a lock that the board does not offer needs no reset
  EXPECT_EQ(setting("clocks.applications"), "3201,1980");
}

AxisValue profile(const std::string& name) {
  return {name, std::nullopt};
}

TEST_F(GpuKnobs, AWorkloadProfileIsAskedForAloneAndWhatWasAskedForIsPutBack) {
  machines::h200(root_, true);
  root_.file("/gpu/mode", "profiles");
  root_.file("/gpu/state.json",
             fmt::format(R"({{"{}": {{"lgc": null, "lmc": null, "ac": "3201,1980", "pl": 700.0, )"
                         R"("profiles": [2, 13]}}}})",
                         board));
  auto gpu_profile = knob("gpu.profile");
  std::vector<std::string> offered;
  for (const AxisValue& value : gpu_profile->offer().values) offered.push_back(value.text);
  EXPECT_THAT(offered, ElementsAre("none", "Max-P", "Max-Q", "Compute", "Memory Bound", "Balanced",
                                   "LLM Inference", "LLM Training", "HPC"));
  const auto saved = gpu_profile->snapshot();
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved[0].path, place + "workload.profiles");
  EXPECT_EQ(saved[0].value, "2,13");
  auto applied = gpu_profile->apply(profile("LLM Inference"), writer_)[0];
  EXPECT_EQ(applied.problem, "");
  EXPECT_EQ(applied.applied, "LLM Inference");
  EXPECT_EQ(applied.stands[0].value, "6");
  EXPECT_EQ(setting("workload.profiles"), "6") << "nvidia-smi by itself would have added it";
  applied = gpu_profile->apply(profile("none"), writer_)[0];
  EXPECT_EQ(applied.problem, "");
  EXPECT_EQ(applied.applied, "none");
  EXPECT_EQ(setting("workload.profiles"), "none");
  SettingAccess access(sysfs_, nvidia_doors());
  EXPECT_EQ(access.at(saved[0].path).put_back_command("2,13"),
            "sudo nvidia-smi power-profiles -i " + board + " -sr 2,13");
  EXPECT_TRUE(restored(saved).complete());
  EXPECT_EQ(setting("workload.profiles"), "2,13");
  EXPECT_EQ(access.at(saved[0].path).put_back_command("6"),
            "sudo nvidia-smi power-profiles -i " + board + " -cr 2,13; sudo nvidia-smi power-profiles -i " +
                board + " -sr 6");
}

TEST_F(GpuKnobs, AWorkloadProfileThatIsNotInForceIsSaidNotToBe) {
  machines::h200(root_, true);
  EXPECT_EQ(
      problem("gpu.profile"),
      "gpu-0 (NVIDIA H200) offers no workload power profiles: boards from Blackwell on do, under driver 570 "
      "and later");
  root_.file("/gpu/mode", "profiles no-permission");
  EXPECT_THAT(refusal("gpu.profile", profile("HPC")),
              HasSubstr("Insufficient Permissions; only root may set it"));
  root_.file("/gpu/mode", "profiles no-effect");
  EXPECT_EQ(refusal("gpu.profile", profile("HPC")),
            "workload power profile of gpu-0 (NVIDIA H200): asked for HPC, and asked for is none now");
  root_.file("/gpu/mode", "profiles not-enforced");
  auto gpu_profile = knob("gpu.profile");
  const auto applied = gpu_profile->apply(profile("HPC"), writer_)[0];
  EXPECT_EQ(applied.applied, "none");
  EXPECT_EQ(applied.problem,
            "workload power profile of gpu-0 (NVIDIA H200): asked for HPC, and the board enforces none");
}

TEST(WorkloadProfiles, AreTheLinesThatNvidiaSmiPrints) {
  const auto numbers = [](std::string_view text) {
    std::vector<int> found;
    const auto profiles = parse_workload_profiles(text);
    if (!profiles) return std::vector<int>{-1};
    for (const WorkloadProfile& one : *profiles) found.push_back(one.number);
    return found;
  };
  // -ld: what stands below a profile is indented.
  EXPECT_THAT(numbers("0. Max-P\n\tPriority: 10\n\tConflicts with:\n\t\t1. Max-Q\n13. HPC\n"),
              ElementsAre(0, 13));
  EXPECT_TRUE(numbers("No profiles are currently requested.\n").empty());
  EXPECT_TRUE(numbers("No profiles are currently engaged.\n").empty());
  EXPECT_FALSE(parse_workload_profiles("Workload Power Profiles feature is not supported on this device.\n"));
  EXPECT_FALSE(parse_workload_profiles(""));
}

TEST_F(GpuKnobs, EveryBoardIsSetAndOneCanBeNamed) {
  machines::h200(root_, false);
  root_.file("/gpu/boards", "2");
  const auto both = knob("gpu.core")->apply(mhz(1200), writer_);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1].target, "gpu-1");
  EXPECT_EQ(both[1].applied, "1200 MHz");
  const auto one = knob("gpu.core@1")->apply(mhz(1305), writer_);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].target, "gpu-1");
  EXPECT_THAT(sets().back(), HasSubstr("000201 -lgc 1305,1305"));
}

TEST(VisibleDevices, NameTheBoardsThatAreMeasured) {
  UsedBoards boards;
  for (const char* pci : {"0000:03:00.0", "0000:83:00.0"}) {
    GpuBoard one;
    one.vendor = GpuVendor::intel;
    one.uuid = one.pci = pci;
    boards.all.boards.push_back(one);
    one.vendor = GpuVendor::amd;
    boards.all.boards.push_back(one);
    one.vendor = GpuVendor::nvidia;
    one.uuid = std::string("GPU-") + pci;
    boards.all.boards.push_back(one);
  }
  boards.used = {boards.all.boards[3], boards.all.boards[4], boards.all.boards[2], boards.all.boards[5]};
  EXPECT_THAT(visible_devices(boards),
              ElementsAre(testing::Pair("CUDA_VISIBLE_DEVICES", "GPU-0000:03:00.0,GPU-0000:83:00.0"),
                          testing::Pair("ROCR_VISIBLE_DEVICES", "1"), testing::Pair("ZE_AFFINITY_MASK", "1"),
                          testing::Pair("ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1")));
}

// A plan over the board's pairs.
class GpuPlan : public GpuKnobs {
 protected:
  std::optional<Plan> plan(const std::string& axes) {
    diagnostics_ = Diagnostics("gpu.yaml");
    const std::string text = "name: gpu\nworkloads: [{name: w, command: [\"true\"]}]\n" + axes;
    const auto experiment = parse_experiment(text, "gpu.yaml", diagnostics_);
    std::vector<std::string> names;
    for (const AxisSpec& axis : experiment->axes) names.push_back(axis.name);
    return resolve_plan(*experiment, {offers_of(find(names)), "/usr/bin:/bin"}, diagnostics_);
  }
  Diagnostics diagnostics_;
};

TEST_F(GpuPlan, AllPairsArePlannedAndTheHighestIsTheReference) {
  machines::h200(root_, true);
  const auto all = plan("axes: {gpu.core: all, gpu.memory: all}\n");
  ASSERT_TRUE(all) << diagnostics_.text();
  EXPECT_EQ(all->points.size(), 220U);
  const auto reference =
      std::find_if(all->points.begin(), all->points.end(), [](const PlanPoint& p) { return p.reference; });
  EXPECT_EQ(reference->key, "w gpu.core=1980 MHz gpu.memory=3201 MHz");
  EXPECT_EQ(diagnostics_.text(), "");
}

TEST_F(GpuPlan, AValueBetweenStepsNamesItsNeighbours) {
  machines::h200(root_, true);
  EXPECT_FALSE(plan("axes:\n  gpu.core: [1400 MHz]\n"));
  EXPECT_EQ(diagnostics_.text(),
            "gpu.yaml:4:14: error: axis 'gpu.core': this machine does not offer 1.4 GHz; its neighbours are "
            "1395 MHz and "
            "1410 MHz (or write {values: [...], nearest: true})\n");
  const auto nearest = plan("axes: {gpu.core: {values: [1400 MHz], nearest: true}}\n");
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->points[0].key, "w gpu.core=1395 MHz");
}

TEST_F(GpuPlan, PairsThatTheBoardDoesNotOfferAreLeftOutAndTold) {
  machines::h200(root_, true);
  // An older board: its low memory clock goes with low core clocks only.
  std::filesystem::remove(root_ / "gpu/recorded");
  const std::string recorded = std::string(DVFS_PLAN_SOURCE) + "/tests/recorded/nvidia-h200/";
  for (const char* file : {"query_gpu.csv", "help_query_gpu.txt", "q.txt"}) {
    std::filesystem::create_directories(root_ / "gpu/recorded");
    std::filesystem::copy_file(recorded + file, root_ / ("gpu/recorded/" + std::string(file)));
  }
  root_.file("/gpu/recorded/supported_clocks.csv",
             "gpu_name, gpu_uuid, memory [MHz], graphics [MHz]\nX, U, 5005 MHz, 1911 MHz\nX, U, 5005 MHz, "
             "405 MHz\nX, U, 405 "
             "MHz, 405 MHz\n");
  const auto pairs = plan("axes:\n  gpu.core: all\n  gpu.memory: all\n");
  ASSERT_TRUE(pairs) << diagnostics_.text();
  EXPECT_EQ(pairs->points.size(), 3U);
  EXPECT_EQ(diagnostics_.text(),
            "gpu.yaml:4:3: warning: 1 point is left out: the board does not offer these values of gpu.core "
            "and gpu.memory "
            "together (nvidia-smi -q -d SUPPORTED_CLOCKS lists the pairs)\n");
}

TEST_F(GpuPlan, WithoutABoardTheAxisSaysWhatIsMissing) {
  EXPECT_FALSE(plan("axes:\n  gpu.core: all\n"));
  EXPECT_EQ(diagnostics_.text(),
            "gpu.yaml:4:3: error: axis 'gpu.core': this machine has no GPU that can be read: there is no "
            "libnvidia-ml.so.1, and there is no nvidia-smi; there is no /sys/class/drm either (amdgpu, xe, "
            "i915)\n");
}

const std::string radeon = "/sys/class/drm/card1/device/";

TEST_F(GpuKnobs, AnAmdLevelIsAllowedUnderManualAndThePerformanceLevelPutBack) {
  machines::radeon(root_, false);
  auto core = knob("gpu.core");
  // Its core has fine-grained DPM: the middle line is the clock of just now, and cannot be asked for.
  EXPECT_THAT(core->offer().values, ElementsAre(mhz(500), mhz(2475)));
  EXPECT_THAT(knob("gpu.memory")->offer().values, ElementsAre(mhz(96), mhz(456), mhz(673), mhz(1000)));
  const auto saved = core->snapshot();
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved[0].value, "auto");
  const auto applied = core->apply(mhz(2475), writer_);
  EXPECT_EQ(applied[0].problem, "");
  EXPECT_FALSE(applied[0].applied);  // the star does not stand there: what is allowed cannot be read
  EXPECT_EQ(*sysfs_.text(radeon + "power_dpm_force_performance_level"), "manual");
  EXPECT_EQ(*sysfs_.text(radeon + "pp_dpm_sclk"), "2");
  EXPECT_TRUE(restored(saved).complete());
  EXPECT_EQ(*sysfs_.text(radeon + "power_dpm_force_performance_level"), "auto");
  // An owner's own choice of levels could not be put back.
  root_.attribute(radeon + "power_dpm_force_performance_level", "manual");
  EXPECT_EQ(problem("gpu.core"),
            "gpu-0 (AMD 0x73bf): power_dpm_force_performance_level is 'manual'; which levels are allowed "
            "cannot be read, "
            "so it could not be put back: echo auto | sudo tee "
            "/sys/class/drm/card1/device/power_dpm_force_performance_level");
}

TEST_F(GpuKnobs, AnAmdTableOfClocksIsEditedFromTheSideThatDoesNotCross) {
  const std::string before =
      "OD_SCLK:\n0: 500Mhz\n1: 2475Mhz\nOD_MCLK:\n1: 1000Mhz\nOD_RANGE:\nSCLK:     500Mhz       2800Mhz\n";
  EXPECT_EQ(overdrive_limits(before, OverdriveClock::core)->low_mhz, 500);
  EXPECT_EQ(overdrive_limits(before, OverdriveClock::core)->high_mhz, 2475);
  EXPECT_FALSE(overdrive_limits(before, OverdriveClock::memory));  // the upper limit alone pins nothing
  EXPECT_THAT(overdrive_edits({500, 2475}, {1800, 1800}, OverdriveClock::core),
              ElementsAre("s 1 1800", "s 0 1800", "c"));
  EXPECT_THAT(overdrive_edits({1800, 1800}, {600, 600}, OverdriveClock::core),
              ElementsAre("s 0 600", "s 1 600", "c"));
  EXPECT_THAT(overdrive_edits({1800, 1800}, {500, 2475}, OverdriveClock::memory),
              ElementsAre("m 1 2475", "m 0 500", "c"));
  EXPECT_EQ(overdrive_range(before, OverdriveClock::core)->high_mhz, 2800);
  EXPECT_FALSE(overdrive_range(before, OverdriveClock::memory));
  EXPECT_FALSE(overdrive_limits("", OverdriveClock::core));

  machines::radeon(root_, true);
  auto core = knob("gpu.core");
  EXPECT_EQ(core->offer().continuous->lowest, 500e6);
  EXPECT_EQ(core->offer().continuous->highest, 2800e6);
  const auto saved = core->snapshot();
  ASSERT_EQ(saved.size(), 2U);
  EXPECT_EQ(saved[0].path, "amdgpu-od:" + radeon + "pp_od_clk_voltage#sclk");
  EXPECT_EQ(saved[0].value, "500 2475");
  // A plain file keeps the last line it was told; the driver's table does not read as that.
  EXPECT_EQ(core->apply(mhz(1800), writer_)[0].problem,
            "gpu.core gpu-0: asked for 1800 MHz, read back nothing");
  EXPECT_EQ(*sysfs_.text(radeon + "pp_od_clk_voltage"), "c");
  EXPECT_EQ(SettingAccess(sysfs_, nvidia_doors()).at(saved[0].path).command(saved[0].value),
            "for edit in 's 0 500' 's 1 2475' c; do echo \"$edit\" | sudo tee " + radeon +
                "pp_od_clk_voltage; done");
}

// smu_v13_0_6_ppt.c: no range beside its limits, both of which it refuses to have the same.
TEST_F(GpuKnobs, AnInstinctBoardGetsAHighestClockUnderDeterminism) {
  machines::instinct(root_);
  const InstinctDriver driver(root_.path() + radeon);
  if (!driver.obstacle().empty()) GTEST_SKIP() << driver.obstacle();
  auto core = knob("gpu.core");
  EXPECT_EQ(core->offer().continuous->lowest, 500e6);
  EXPECT_EQ(core->offer().continuous->highest, 2100e6);
  EXPECT_FALSE(core->shown_by_clock_only());
  for (const char* before : {"auto", "perf_determinism"}) {
    root_.attribute(radeon + "power_dpm_force_performance_level", before);
    if (before == std::string("perf_determinism")) {  // an owner's own, at 1.9 GHz
      for (const char* edit : {"s 1 1900", "c"})
        EXPECT_EQ(sysfs_.write(radeon + "pp_od_clk_voltage", edit), 0);
    }
    const std::string table = *sysfs_.text(radeon + "pp_od_clk_voltage");
    const int at = driver.deterministic_at();
    const auto saved = core->snapshot();
    ASSERT_EQ(saved.size(), 2U);
    for (const int wanted : {1700, 500, 2100, 1234}) {
      const auto applied = core->apply(mhz(wanted), writer_);
      EXPECT_EQ(applied[0].problem, "");
      EXPECT_EQ(applied[0].applied, fmt::format("{} MHz", wanted));
      EXPECT_EQ(driver.deterministic_at(), wanted);
    }
    EXPECT_TRUE(restored(saved, writer_.applied()).complete());
    EXPECT_EQ(*sysfs_.text(radeon + "power_dpm_force_performance_level"), before);
    EXPECT_EQ(*sysfs_.text(radeon + "pp_od_clk_voltage"), table);
    EXPECT_EQ(driver.deterministic_at(), at);
  }
  EXPECT_THAT(driver.refused(), ElementsAre());
  EXPECT_EQ(problem("gpu.memory"), "gpu-0 (AMD 0x74a1): amdgpu takes no clock for the memory of such boards");
  // Somebody takes determinism away right after it was set.
  root_.attribute(radeon + "power_dpm_force_performance_level", "auto");
  std::filesystem::remove(root_.path() + radeon + "power_dpm_force_performance_level");
  std::filesystem::create_symlink("/dev/null", root_.path() + radeon + "power_dpm_force_performance_level");
  EXPECT_EQ(core->apply(mhz(1700), writer_)[0].problem,
            "gpu.core gpu-0: asked for 1700 MHz, read back 500 to 2100 MHz");
}

TEST_F(GpuKnobs, HowAnInstinctBoardIsDividedIsOnRecord) {
  machines::instinct(root_);
  const auto facts = board_facts(find_gpu_boards(sysfs_).boards, sysfs_);
  EXPECT_EQ(facts.at("gpu-0.settings"), "compute partition SPX, memory partition NPS1");
  EXPECT_THAT(
      differences_of_state(facts, {{"gpu-0.settings", "compute partition CPX, memory partition NPS1"}}),
      ElementsAre("gpu-0.settings: compute partition SPX there, compute partition CPX here"));
}

TEST_F(GpuKnobs, APowerCapInAFileIsReadBackSavedAndRefused) {
  machines::radeon(root_, false);
  auto limit = knob("gpu.power_limit");
  EXPECT_EQ(limit->offer().continuous->highest, 312);
  const auto saved = limit->snapshot();
  const std::string cap = radeon + "hwmon/hwmon3/power1_cap";
  const auto applied = limit->apply(watts(200), writer_);
  EXPECT_EQ(applied[0].applied, "200 W");
  EXPECT_EQ(*sysfs_.text(cap), "200000000");
  root_.attribute(cap, "150000000");  // somebody else's
  const auto outcome = restored(saved, writer_.applied());
  ASSERT_EQ(outcome.notes.size(), 1U);
  EXPECT_EQ(*sysfs_.text(cap), "150000000");
  EXPECT_EQ(
      limit->apply(watts(210), writer_)[0].note,
      cap + " was 150000000 uW before this trial; this run had set 200000000 uW: somebody else changed it");
  std::filesystem::remove(root_.path() + cap);
  std::filesystem::create_symlink("/dev/full", root_.path() + cap);
  EXPECT_EQ(limit->apply(watts(220), writer_)[0].problem,
            "gpu.power_limit gpu-0: set 220 W: No space left on device");
}

TEST_F(GpuKnobs, AnIntelBoardIsPinnedByItsLimitsAndItsMediaEngineLeftAlone) {
  machines::arc_xe(root_);
  auto core = knob("gpu.core");
  const std::string gt = "/sys/class/drm/card0/device/tile0/gt0/freq0/";
  EXPECT_EQ(core->offer().values.front(), mhz(400));
  EXPECT_EQ(core->offer().values.back(), mhz(2850));
  const auto saved = core->snapshot();
  EXPECT_EQ(saved.size(), 2U);
  EXPECT_EQ(core->apply(mhz(1200), writer_)[0].applied, "1200 MHz");
  EXPECT_EQ(*sysfs_.text(gt + "min_freq"), "1200");
  EXPECT_EQ(*sysfs_.text(gt + "max_freq"), "1200");
  EXPECT_EQ(*sysfs_.text("/sys/class/drm/card0/device/tile0/gt1/freq0/max_freq"), "1500");
  EXPECT_TRUE(restored(saved).complete());
  EXPECT_EQ(*sysfs_.text(gt + "max_freq"), "2850");
  EXPECT_EQ(problem("gpu.memory"),
            "Intel's drivers offer no memory clock; gpu.core and gpu.power_limit they do");
  EXPECT_EQ(knob("gpu.power_limit")->apply(watts(120), writer_)[0].applied, "120 W");
}

TEST_F(GpuKnobs, UnderI915TheBoostClockGoesWithTheLimits) {
  machines::arc_i915(root_);
  auto core = knob("gpu.core");
  const auto saved = core->snapshot();
  EXPECT_EQ(saved.size(), 3U);
  EXPECT_EQ(core->apply(mhz(900), writer_)[0].problem, "");
  EXPECT_EQ(*sysfs_.text("/sys/class/drm/card0/gt/gt0/rps_boost_freq_mhz"), "900");
  EXPECT_TRUE(restored(saved).complete());
  EXPECT_EQ(*sysfs_.text("/sys/class/drm/card0/gt/gt0/rps_boost_freq_mhz"), "2400");
  EXPECT_EQ(problem("gpu.power_limit"),
            "Intel 0x56a0 has no power limit in hwmon (integrated graphics share the CPU's)");
}

}  // namespace
}  // namespace dvfs_plan
