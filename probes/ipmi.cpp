#include "probes/ipmi.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "probes/probe_table.hpp"

namespace dvfs_plan {
namespace {

constexpr std::uint8_t group_extension = 0x2c, dcmi = 0xdc;
constexpr std::uint8_t get_capabilities = 0x01, get_power_reading = 0x02;
constexpr std::uint8_t averages_parameter = 5, system_power = 1;
// Less than the sampler waits for any probe.
constexpr Seconds bmc_patience{4};
// BMCs renew their power once a second at best.
constexpr Seconds bmc_period{0.5};

// What is wrong with an answer to a DCMI command; empty: nothing.
std::string fault_of(std::span<const std::uint8_t> answer, std::size_t least) {
  if (answer.empty()) return "an empty answer";
  if (answer[0] != 0) return fmt::format("completion code 0x{:02X}", answer[0]);
  if (answer.size() < least || answer[1] != dcmi)
    return fmt::format("an answer of {} bytes that is no DCMI", answer.size());
  return {};
}

class IpmiProbe : public Probe {
 public:
  IpmiProbe(std::unique_ptr<BmcDoor> door, Channel channel)
      : door_(std::move(door)), channels_{std::move(channel)} {}

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return bmc_period; }
  bool asks_device() const override { return true; }
  void read(std::span<Sample> samples) override { samples[0] = read_power(); }

 private:
  Sample read_power() {
    const std::array<std::uint8_t, 4> request{dcmi, system_power, 0, 0};
    const BmcDoor::Answer answer = door_->ask(group_extension, get_power_reading, request, bmc_patience);
    if (!answer.problem.empty()) return {std::nullopt, ReadingStatus::gone, answer.problem};
    std::string problem;
    const auto power = dcmi_power(answer.data, problem);
    if (!power) return {std::nullopt, ReadingStatus::absent, problem};
    if (!power->active) return {std::nullopt, ReadingStatus::absent, "power measurement is off"};
    return {power->now_w, ReadingStatus::ok};
  }

  std::string name_ = "ipmi";
  std::unique_ptr<BmcDoor> door_;
  std::vector<Channel> channels_;
};

}  // namespace

std::optional<DcmiPower> dcmi_power(std::span<const std::uint8_t> answer, std::string& problem) {
  constexpr std::size_t whole = 19;
  problem = fault_of(answer, whole);
  if (!problem.empty()) return std::nullopt;
  DcmiPower power;
  power.now_w =
      answer[2] + 256 * answer[3];  // behind it: least, most and mean of a longer time, when, how long
  power.active = (answer[18] & 0x40) != 0;
  return power;
}

std::vector<Seconds> dcmi_averages(std::span<const std::uint8_t> answer) {
  constexpr std::size_t head = 6;  // completion code, DCMI, version (2), revision, how many
  std::vector<Seconds> averages;
  if (!fault_of(answer, head).empty()) return averages;
  constexpr std::array<double, 4> units{1, 60, 3600, 86400};
  for (std::size_t i = head; i < answer.size() && i < head + answer[5]; ++i)
    averages.push_back(Seconds{(answer[i] & 0x3f) * units[answer[i] >> 6]});
  return averages;
}

std::unique_ptr<Probe> make_ipmi_probe(std::unique_ptr<BmcDoor> door, const std::string& path,
                                       std::string& problem) {
  const std::array<std::uint8_t, 4> request{dcmi, system_power, 0, 0};
  const BmcDoor::Answer first = door->ask(group_extension, get_power_reading, request, bmc_patience);
  problem = first.problem;
  if (!problem.empty()) return nullptr;
  const auto power = dcmi_power(first.data, problem);
  if (!power) {
    problem = fmt::format("the BMC at {} has no DCMI power reading: {}", path, problem);
    return nullptr;
  }
  if (!power->active) {
    problem = fmt::format("the BMC at {} says that it does not measure power now", path);
    return nullptr;
  }
  Channel channel;
  channel.name = "ipmi:power";
  channel.probe = "ipmi";
  channel.unit = "W";
  channel.domain = "system";
  channel.source = path + " (DCMI)";
  // Over how long what it calls "current" is a mean, DCMI does not say: a load that comes and goes shows it. What it offers
  // besides tells a reader how coarse it is.
  const std::array<std::uint8_t, 2> asked{dcmi, averages_parameter};
  std::vector<std::string> texts;
  for (const Seconds average :
       dcmi_averages(door->ask(group_extension, get_capabilities, asked, bmc_patience).data))
    texts.push_back(fmt::format("{:g} s", average.value()));
  if (!texts.empty()) channel.source += fmt::format("; it offers means over {}", join(texts, ", "));
  return std::make_unique<IpmiProbe>(std::move(door), std::move(channel));
}

namespace {

ProbeFinding find_ipmi(const ProbeRequest& request) {
  FoundBmc bmc = open_bmc(request.sysfs);
  ProbeFinding finding{"ipmi", nullptr, bmc.problem, bmc.fix};
  if (!bmc.door) return finding;
  finding.probe = make_ipmi_probe(std::move(bmc.door), bmc.path, finding.problem);
  if (!finding.probe)
    finding.fix =
        "`ipmitool dcmi power reading` shows what it says; its vendor's own way may be read by a program of "
        "yours (docs/meters.md)";
  return finding;
}

const Registered<ProbeKind> ipmi(
    {.name = "ipmi",
     .place = 27,
     .what = "power of the whole machine as its BMC measures it (DCMI, /dev/ipmi0)",
     .on_request = true,
     .find = find_ipmi});

}  // namespace
}  // namespace dvfs_plan
