// The guardian's parts that decide: its messages, its policy, which paths and texts are settings at all. The
// whole of it under attack is in tests/system/test_attacks.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/error.hpp"
#include "base/process_tree.hpp"
#include "orchestrator/guard/connection.hpp"
#include "orchestrator/guard/message.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guardian/end_workload.hpp"
#include "orchestrator/guardian/known_settings.hpp"
#include "orchestrator/guardian/policy.hpp"

namespace dvfs_plan {
namespace {

const std::string policy_dir = "/sys/devices/system/cpu/cpufreq/policy0/";
const std::string a_board = "nvidia:GPU-00000000-0000-4000-8000-000000000200/";

Client member(std::vector<std::string> groups = {"dvfs-plan"}) {
  return {1001, 1001, 1, "alice", std::move(groups), false, false};
}

std::string fault_of(const std::string& text) {
  try {
    Policy::parse(text, "policy");
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// The number of a run that was killed is another program's soon, and that of a container's own counting was one here all along.
TEST(DeadRun, IsNotTheOneThatHasItsNumberNow) {
  const auto started = started_at_tick(::getpid());
  ASSERT_TRUE(started);
  EXPECT_TRUE(is_alive(::getpid(), *started));
  EXPECT_TRUE(is_alive(::getpid(), 0));
  EXPECT_FALSE(is_alive(::getpid(), *started + 1));
}

TEST(Message, ComesThroughInPiecesOfAnySize) {
  std::mt19937 random(14);
  for (int round = 0; round < 200; ++round) {
    std::vector<Message> said;
    std::string bytes;
    for (unsigned i = 0; i < 1 + random() % 5; ++i) {
      Message message{"kind" + std::to_string(random() % 10), {}};
      for (unsigned j = 0; j < random() % 6; ++j)
        message.fields.emplace_back(random() % 300, static_cast<char>(random()));
      bytes += encode(message);
      said.push_back(std::move(message));
    }
    MessageDecoder decoder;
    std::vector<Message> heard;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 100, bytes.size() - at);
      decoder.add(std::string_view(bytes).substr(at, size));
      at += size;
      while (auto message = decoder.next()) heard.push_back(std::move(*message));
    }
    EXPECT_EQ(heard, said);
    EXPECT_EQ(decoder.problem(), "");
  }
}

TEST(Message, WhatIsNoneIsRefusedWithItsReasonAndNothingAfterIt) {
  const auto problem = [](std::string bytes) {
    MessageDecoder decoder;
    decoder.add(bytes);
    while (decoder.next()) {
    }
    decoder.add(encode({"hello"}));
    EXPECT_EQ(decoder.next(), std::nullopt);
    return decoder.problem();
  };
  EXPECT_EQ(problem(std::string("\xff\xff\xff\xff", 4)), "a message of 4294967295 bytes, 2097152 at most");
  EXPECT_EQ(problem(std::string("\0\0\0\0", 4)), "a message without a kind");
  EXPECT_EQ(problem(std::string("\3\0\0\0abc", 7)), "a text's length is cut off");
  EXPECT_EQ(problem(std::string("\6\0\0\0\5\0\0\0ab", 10)), "a text of 5 bytes in 2 that are left");
  EXPECT_EQ(problem(encode({"k", std::vector<std::string>(60'001, "")})), "more than 60000 texts");
}

TEST(Message, AnOutcomeComesThroughWhole) {
  RestoreOutcome outcome{
      3, 4, 5, {{{"k", "/sys/a", "1"}, "2", "no"}, {{"k", "/sys/b", ""}, "", ""}}, {"a note", ""}};
  const auto fields = fields_of(outcome);
  const auto back = outcome_of(fields);
  ASSERT_TRUE(back);
  EXPECT_EQ(fields_of(*back), fields);
  EXPECT_EQ(back->failures[0].setting, outcome.failures[0].setting);
  for (std::size_t size = 0; size < fields.size(); ++size) {
    const std::vector<std::string> cut(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(size));
    outcome_of(cut);  // whatever it makes of it
  }
  for (const char* number : {"99999999999", "-395", "", "1e3"})  // -395: found by the fuzzer
    EXPECT_EQ(outcome_of(std::vector<std::string>{"1", "2", "0", number}), std::nullopt);
}

TEST(Policy, TheBuiltInOneLetsTheGroupSetWhatWeKnow) {
  const Policy policy = Policy::load("/nonexistent/policy");
  EXPECT_EQ(policy.refusal(member()), "");
  EXPECT_EQ(policy.refusal_to_set(member(), policy_dir + "scaling_max_freq", "1800000"), "");
  EXPECT_EQ(policy.refusal_to_set(member(), policy_dir + "scaling_governor", "schedutil"), "");
  EXPECT_EQ(policy.refusal_to_set(member(), a_board + "lock.core", "1395"), "");
  EXPECT_EQ(policy.refusal_of_sensors(member()), "");
  EXPECT_EQ(
      policy.refusal(member({"users"})),
      "the built-in policy does not let alice set anything: there is no /etc/dvfs-plan/policy, so members of "
      "the group dvfs-plan may set what dvfs-plan knows, and no other file");
  EXPECT_EQ(
      policy.refusal_to_save(member(), "/sys/kernel/mm/transparent_hugepage/enabled"),
      "the built-in policy does not let alice set /sys/kernel/mm/transparent_hugepage/enabled: there is no "
      "/etc/dvfs-plan/policy, so members of the group dvfs-plan may set what dvfs-plan knows, and no other "
      "file");
  // Of what programs of his may take along his own guardian sees to.
  EXPECT_NE(policy.refusal_to_save(member(), "beside:" + policy_dir + "scaling_governor"), "");
  // By sudo the same, whoever it is; root himself is bound by the kernel alone.
  Client by_sudo = member({"users"});
  by_sudo.by_sudo = true;
  EXPECT_EQ(policy.refusal(by_sudo), "");
  EXPECT_EQ(policy.refusal_to_set(by_sudo, a_board + "power.limit", "300"), "");
  EXPECT_NE(policy.refusal_to_save(by_sudo, "/sys/kernel/mm/transparent_hugepage/enabled"), "");
  Client root = member({});
  root.unbound = true;
  EXPECT_EQ(policy.refusal_to_set(root, "/sys/kernel/mm/transparent_hugepage/enabled", "never"), "");
}

// What the man page names may be named.
TEST(Policy, EachKindOfAKnobMayBeAllowed) {
  for (const char* kind : {"cpu.frequency", "cpu.governor", "cpu.epp", "cpu.turbo", "cpu.uncore",
                           "cpu.cstates", "cpu.power_limit", "devfreq", "gpu.core", "gpu.memory",
                           "gpu.power_limit", "gpu.profile", "cpu.*", "gpu.*", "*", "sensors"})
    EXPECT_NO_THROW(Policy::parse(std::string("allow dvfs-plan ") + kind + "\n", "policy")) << kind;
  EXPECT_EQ(Policy::parse("allow dvfs-plan gpu.profile\n", "policy")
                .refusal_to_set(member(), a_board + "workload.profiles", "0,6"),
            "");
}

TEST(Policy, KindsFilesLimitsAndBoards) {
  const Policy policy = Policy::parse(
      "# of the machine room\n"
      "allow dvfs-plan cpu.* /sys/kernel/mm/*/enabled\n"
      "allow user:alice gpu.power_limit sensors   # hers\n"
      "limit gpu.power_limit at least 300 W\n"
      "limit cpu.frequency at most 3 GHz\n"
      "boards GPU-00000000-0000-4000-8000-000000000200\n"
      "session at most 24 h\n"
      "session stalled 10 min\n"
      "nvidia-smi /opt/bin/nvidia-smi\n",
      "policy");
  EXPECT_EQ(policy.longest_session->value(), 86400);
  EXPECT_EQ(policy.stalled_after.value(), 600);
  EXPECT_EQ(policy.nvidia_smi, "/opt/bin/nvidia-smi");
  const auto refusal = [&](const std::string& path, const std::string& text) {
    return policy.refusal_to_set(member(), path, text);
  };
  EXPECT_EQ(refusal(policy_dir + "scaling_max_freq", "3000000"), "");
  EXPECT_EQ(refusal(policy_dir + "scaling_max_freq", "3000001"),
            "cpu.frequency to '3000001': policy:5 allows no more than 3 GHz");
  EXPECT_EQ(refusal(a_board + "power.limit", "300"), "");
  EXPECT_EQ(refusal(a_board + "power.limit", "299.5"),
            "gpu.power_limit to '299.5': policy:4 allows no less than 300 W");
  EXPECT_EQ(refusal("/sys/class/drm/card0/device/hwmon/hwmon3/power1_cap", "299000000"),
            "card0 is none of the boards that policy:6 names");
  EXPECT_EQ(refusal("nvidia:GPU-1/power.limit", "400"), "GPU-1 is none of the boards that policy:6 names");
  EXPECT_EQ(refusal(a_board + "lock.core", "1395"),
            "the policy does not let alice set gpu.core: no 'allow' line of policy says so");
  EXPECT_EQ(refusal("/sys/kernel/mm/transparent_hugepage/enabled", "never"), "");
  EXPECT_EQ(
      refusal("/sys/kernel/mm/a/b/enabled", "never"),
      "the policy does not let alice set /sys/kernel/mm/a/b/enabled: no 'allow' line of policy says so");
  EXPECT_EQ(policy.refusal_of_sensors(member()), "");
  Client bob = member();
  bob.name = "bob";
  EXPECT_EQ(policy.refusal_of_sensors(bob),
            "the policy does not let bob read protected sensors: no 'allow' line of policy says so");
  // What is only put back, a governor by the side of its clock, may be saved though it may not be set.
  EXPECT_EQ(Policy::parse("allow dvfs-plan cpu.frequency\n", "policy")
                .refusal_to_save(member(), policy_dir + "scaling_governor"),
            "");
}

TEST(Policy, ALimitHoldsByWhateverWayAClockIsSet) {
  const Policy policy = Policy::parse("allow dvfs-plan gpu.core\nlimit gpu.core at most 1.5 GHz\n", "policy");
  const auto refusal = [&](const std::string& path, const std::string& text) {
    return policy.refusal_to_set(member(), path, text);
  };
  EXPECT_EQ(refusal(a_board + "lock.core", "1500"), "");
  EXPECT_EQ(refusal(a_board + "clocks.applications", "3201,1395"),
            "the policy does not let alice set gpu.memory: no 'allow' line of policy says so");
  const Policy both = Policy::parse("allow dvfs-plan gpu.*\nlimit gpu.memory at most 3 GHz\n", "policy");
  EXPECT_EQ(both.refusal_to_set(member(), a_board + "clocks.applications", "3201,1395"),
            "gpu.memory to '3201': policy:2 allows no more than 3 GHz");
  EXPECT_EQ(refusal("/sys/class/drm/card0/device/power_dpm_force_performance_level", "manual"), "");
  EXPECT_EQ(refusal("/sys/class/drm/card0/device/power_dpm_force_performance_level", "high"),
            "gpu.core is set by levels here, which cannot be held to policy:2");
  EXPECT_EQ(refusal("/sys/class/drm/card0/device/pp_dpm_sclk", "2"),
            "gpu.core is set by levels here, which cannot be held to policy:2");
}

TEST(Policy, TextsThatAreNoValues) {
  const Policy policy = Policy::load("/nonexistent/policy");
  for (const auto& [path, text] : std::vector<std::pair<std::string, std::string>>{
           {policy_dir + "scaling_max_freq", "1e6"},
           {policy_dir + "scaling_max_freq", "-1"},
           {policy_dir + "scaling_max_freq", "0x10"},
           {policy_dir + "scaling_max_freq", ""},
           {policy_dir + "scaling_max_freq", "04000000"},
           {policy_dir + "scaling_max_freq", "1 2"},
           {policy_dir + "scaling_max_freq", "1\n2"},
           {policy_dir + "scaling_governor", "a b"},
           {policy_dir + "scaling_governor", "x\n"},
           {policy_dir + "scaling_governor", ""},
           {a_board + "lock.core", "1395,1980"},
           {a_board + "lock.core", "rest"},
           {a_board + "power.limit", "300 -pm 0"},
           {a_board + "clocks.applications", "3201"},
           {a_board + "clocks.applications", "x,1980"},
           {"amdgpu-od:/sys/class/drm/card0/device/pp_od_clk_voltage#sclk", "500"},
           {"amdgpu-od:/sys/class/drm/card0/device/pp_od_clk_voltage#sclk", "500 600 700"}})
    EXPECT_THAT(policy.refusal_to_set(member(), path, text), testing::HasSubstr("is no value of"))
        << path << " " << text;
}

TEST(Policy, WhatIsWrittenWrongNamesItsLine) {
  EXPECT_EQ(fault_of("allow dvfs-plan\n"), "policy:1: wanted: allow WHO WHAT...");
  EXPECT_EQ(fault_of("\nallow dvfs-plan cpu.clock\n"),
            "policy:2: 'cpu.clock' is neither a kind of setting, nor 'sensors', nor a file below /sys");
  EXPECT_EQ(fault_of("allow dvfs-plan /etc/passwd\n"),
            "policy:1: '/etc/passwd' is neither a kind of setting, nor 'sensors', nor a file below /sys");
  EXPECT_EQ(
      fault_of("allow dvfs-plan /sys/../etc/passwd\n"),
      "policy:1: '/sys/../etc/passwd' is neither a kind of setting, nor 'sensors', nor a file below /sys");
  EXPECT_EQ(fault_of("limit gpu.power_limit at least 300 MHz\n"),
            "policy:1: '300 MHz' is no power such as 300 W");
  EXPECT_EQ(fault_of("limit cpu.frequency below 3 GHz\n"),
            "policy:1: wanted: limit KIND at least|at most VALUE");
  EXPECT_EQ(fault_of("session at most ever\n"), "policy:1: wanted a duration such as 24 h");
  EXPECT_EQ(fault_of("permit all\n"),
            "policy:1: 'permit all' is no rule; there are: allow, limit, boards, session at most, session "
            "stalled, nvidia-smi");
}

TEST(KnownSettings, PathsByTheirForm) {
  EXPECT_EQ(known_setting("/sys/devices/system/cpu/cpufreq/policy12/scaling_min_freq")->kind,
            "cpu.frequency");
  EXPECT_EQ(known_setting("/sys/class/drm/card1/device/tile0/gt0/freq0/max_freq")->kind, "gpu.core");
  EXPECT_EQ(known_setting("/sys/class/drm/card1/device/tile0/gt0/freq0/max_freq")->board, "card1");
  EXPECT_EQ(known_setting(a_board + "power.limit")->board, "GPU-00000000-0000-4000-8000-000000000200");
  for (const char* path :
       {"/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
        "/sys/devices/system/cpu/cpufreq/../policy0/boost", "/sys/devices/system/cpu/cpufreq/policy0/x/boost",
        "nvidia:0/power.limit", "nvidia:GPU-1/x", "nvidia:GPU-1 -r/power.limit",
        "/sys/class/drm/card0/device/../../../boost", "amdgpu-od:/tmp/x#sclk", "", "/"})
    EXPECT_FALSE(known_setting(path)) << path;
  EXPECT_TRUE(known_sensor("/sys/class/powercap/intel-rapl:0:1/energy_uj"));
  EXPECT_FALSE(known_sensor("/sys/class/powercap/intel-rapl:0/../../../../etc/energy_uj"));
  EXPECT_FALSE(known_sensor("/sys/class/powercap/intel-rapl:0/name"));
}

}  // namespace
}  // namespace dvfs_plan
