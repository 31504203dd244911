// What a running night tells those who scrape it: the text, and the server in front of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "orchestrator/run/metrics_server.hpp"
#include "orchestrator/run/night_metrics.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/virtual_clock.hpp"

namespace dvfs_plan {
namespace {

using testing::HasSubstr;
using testing::Not;

Plan two_clocks() {
  Plan plan;
  plan.experiment.name = "ni\"ght";
  plan.axes = {{"cpu.frequency", true, Dimension::frequency, {}}, {"batch", false, Dimension::text, {}}};
  PlanPoint point;
  point.key = "w cpu.frequency=1.8 GHz";
  point.values = {AxisValue{"1.8 GHz", 1.8e9, Dimension::frequency}, std::nullopt};
  plan.points = {point};
  return plan;
}

TEST(NightMetrics, TellsWhatRunsWhatIsDoneAndWhatWentWrong) {
  VirtualClock clock;
  const Plan plan = two_clocks();
  Channel package;
  package.domain = "package-0";
  NightMetrics metrics(clock, plan, {package}, "0.9");
  EXPECT_THAT(metrics.text(),
              HasSubstr("dvfs_plan_build_info{experiment=\"ni\\\"ght\",version=\"0.9\"} 1\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("time_left")));
  TrialRecord trial;
  trial.key = "w cpu.frequency=1.8 GHz #1";
  trial.role = TrialRole::point;
  metrics.begins(trial, 3, 9, Seconds{90});
  EXPECT_THAT(metrics.text(), HasSubstr("dvfs_plan_trials_finished{experiment=\"ni\\\"ght\"} 3\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("dvfs_plan_trials_left{experiment=\"ni\\\"ght\"} 9\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("dvfs_plan_time_left_seconds{experiment=\"ni\\\"ght\"} 90\n"));
  EXPECT_THAT(
      metrics.text(),
      HasSubstr("dvfs_plan_trial_info{experiment=\"ni\\\"ght\",trial=\"w cpu.frequency=1.8 GHz #1\"} 1\n"));
  EXPECT_THAT(
      metrics.text(),
      HasSubstr(
          "dvfs_plan_setting_info{experiment=\"ni\\\"ght\",axis=\"cpu.frequency\",value=\"1.8 GHz\"} 1\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("batch")));
  trial.region_s = 2;
  trial.energy_j = 150;
  trial.energies.resize(1);
  trial.energies[0].joules = 150;
  trial.events = {{"foreign_load", "0.2 CPUs\nof others"}};
  metrics.finished(trial);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("dvfs_plan_trials_finished{experiment=\"ni\\\"ght\"} 4\n"));
  EXPECT_THAT(
      text,
      HasSubstr("dvfs_plan_last_trial_power_watts{experiment=\"ni\\\"ght\",domain=\"package-0\"} 75\n"));
  EXPECT_THAT(text, HasSubstr("dvfs_plan_trials_total{experiment=\"ni\\\"ght\",verdict=\"ok\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("dvfs_plan_faults_total{experiment=\"ni\\\"ght\",kind=\"foreign_load\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("message=\"w cpu.frequency=1.8 GHz #1: 0.2 CPUs\\nof others\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("dvfs_plan_trial_info{")));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  // Warm-ups and idle windows are not trials that somebody waits for.
  trial.role = TrialRole::warm_up;
  metrics.finished(trial);
  EXPECT_THAT(metrics.text(), HasSubstr("dvfs_plan_trials_finished{experiment=\"ni\\\"ght\"} 4\n"));
}

TEST(NightMetrics, OfATrialWhoseEnergyIsNotKnownNoPowerIsTold) {
  VirtualClock clock;
  const Plan plan = two_clocks();
  NightMetrics metrics(clock, plan, {Channel{}}, "0.9");
  TrialRecord trial;
  trial.key = "w #1";
  trial.role = TrialRole::point;
  trial.energies.resize(1);
  trial.region_s = 1;
  metrics.finished(trial);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("watts")));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("joules")));
  EXPECT_THAT(metrics.text(), HasSubstr("dvfs_plan_last_trial_seconds{experiment=\"ni\\\"ght\"} 1\n"));
}

std::string asked(const UniqueFd& socket, const std::string& request) {
  EXPECT_EQ(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t count; (count = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(count));
  return answer;
}

UniqueFd connected_to(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

TEST(MetricsServer, AnswersScrapersAndNobodyElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "night.sock";
  int texts = 0;
  {
    MetricsServer server("unix:" + path, [&] { return fmt::format("text {}\n# EOF\n", ++texts); });
    EXPECT_EQ(server.address(), "unix:" + path);
    const std::string answer = asked(connected_to(path), "GET /metrics HTTP/1.1\r\nHost: night\r\n\r\n");
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; "
                                  "version=1.0.0; charset=utf-8\r\n"));
    EXPECT_TRUE(answer.ends_with("\r\n\r\ntext 1\n# EOF\n")) << answer;
    EXPECT_THAT(asked(connected_to(path), "GET /etc/passwd HTTP/1.1\r\n\r\n"), HasSubstr("404 Not Found"));
    EXPECT_THAT(asked(connected_to(path), "POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n"),
                HasSubstr("405 Method Not Allowed"));
    EXPECT_EQ(asked(connected_to(path), "\x16\x03\x01 what\r\n\r\n"), "");  // no HTTP: it is let go
    // One who asks for nothing keeps no other waiting.
    const UniqueFd idle = connected_to(path);
    EXPECT_THAT(asked(connected_to(path), "HEAD /metrics HTTP/1.0\r\n\r\n"), HasSubstr("200 OK"));
    EXPECT_EQ(texts, 2);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(MetricsServer, LeavesWhatSomebodyPutInItsPlace) {
  const TemporaryFolder folder;
  const std::string path = folder / "night.sock";
  {
    MetricsServer server("unix:" + path, [] { return std::string("# EOF\n"); });
    std::filesystem::rename(path, folder / "aside");
    folder.file("/night.sock", "precious");
  }
  EXPECT_EQ(folder.read("/night.sock"), "precious");
}

TEST(MetricsServer, ASocketThatAKilledRunLeftIsTakenAndNoOtherFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "night.sock";
  {
    UniqueFd left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  MetricsServer server("unix:" + path, [] { return std::string("# EOF\n"); });
  EXPECT_THAT(asked(connected_to(path), "GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("200 OK"));
  folder.file("/kept", "text");
  for (const std::string& taken : {folder / "kept", path}) {
    try {
      MetricsServer second("unix:" + taken, [] { return std::string(); });
      ADD_FAILURE() << taken;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::machine_refuses);
      EXPECT_EQ(std::string(error.what()),
                "--metrics 'unix:" + taken + "': it cannot listen there: Address already in use");
    }
  }
  EXPECT_EQ(folder.read("/kept"), "text");
}

TEST(MetricsServer, IsOnTheLoopbackUnlessToldOtherwise) {
  const MetricsServer server("0", [] { return std::string(); });
  EXPECT_TRUE(server.address().starts_with("http://127.0.0.1:")) << server.address();
  for (const char* const wrong :
       {"", "port", "70000", "-1", "localhost:9123", "unix:", "1.2.3.4:", "1.2.3:9123", "9123 "}) {
    try {
      MetricsServer none(wrong, [] { return std::string(); });
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_experiment) << wrong;
      EXPECT_EQ(std::string(error.what()), std::string("--metrics '") + wrong +
                                               "': wanted a port such as 9123, ADDRESS:PORT or unix:PATH");
    }
  }
}

}  // namespace
}  // namespace dvfs_plan
