// Cray's power management counters of a node, /sys/cray/pm_counters: files of a value, its unit and on newer systems a time
// ("1234 J 1700000000 us"). The blade's controller renews all of them together, `raw_scan_hz` times a second, and counts that in
// `freshness`: values belong together where it is the same before and after they were read. `startup` and `generation` say that
// the controller or its limits began anew. (S. Martin and M. Kappel, Cray XC30 Power Monitoring and Management, CUG 2014;
// GEOPM, CNLIOGroup.)
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "probes/probe_table.hpp"

namespace dvfs_plan {
namespace {

const std::string folder = "/sys/cray/pm_counters/";

// The value of a file in this unit; nullopt: none.
std::optional<double> value_of(const std::optional<std::string>& text, std::string_view unit) {
  const auto words = split_words(text.value_or(""));
  if (words.size() < 2 || words[1] != unit) return std::nullopt;
  return parse_number(words[0]);
}

class CrayPmProbe : public Probe {
 public:
  CrayPmProbe(const Sysfs& sysfs, Seconds period) : sysfs_(sysfs), period_(period) {}

  void add(const std::string& file, const std::string& domain, bool counter) {
    Channel channel;
    channel.name = "cray_pm:" + file;
    channel.probe = name_;
    channel.unit = counter ? "J" : "W";
    channel.kind = counter ? ChannelKind::counter : ChannelKind::gauge;
    channel.domain = domain;
    if (domain != "system") channel.within = "system";
    channel.source = folder + file;
    // A sum, or what flows, as the controller saw it at its last scan.
    if (counter) channel.lags_up_to_s = 2 * period_.value();
    channels_.push_back(channel);
    files_.push_back(file);
  }

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return true; }
  std::string begin() override {
    last_.reset();
    return {};
  }

  void read(std::span<Sample> samples) override {
    constexpr int tries = 4;
    for (int i = 0; i < tries; ++i) {
      const auto before = sysfs_.text(folder + "freshness");
      for (std::size_t c = 0; c < files_.size(); ++c) samples[c] = read_file(c);
      if (before != sysfs_.text(folder + "freshness"))
        continue;  // renewed meanwhile: some are of before, some of after
      const auto startup = sysfs_.text(folder + "startup");
      const bool restarted = startup_ && startup != startup_;
      if (before && before == last_ && !restarted) {
        // Nothing was renewed since: what is in the files was said already.
        for (Sample& sample : samples) {
          if (sample.status == ReadingStatus::ok) sample = {};
        }
        return;
      }
      last_ = before;
      startup_ = startup;
      // Counters began anew: what they say is not behind what they said.
      for (Sample& sample : samples) {
        if (restarted) sample = {std::nullopt, ReadingStatus::gone, "startup changed"};
      }
      return;
    }
    // Renewed faster than it is read: of none is known when it was.
    for (Sample& sample : samples) sample = {};
  }

 private:
  Sample read_file(std::size_t c) const {
    const auto text = sysfs_.text(folder + files_[c]);
    if (!text) return {std::nullopt, ReadingStatus::gone, {}};
    const auto value = value_of(text, channels_[c].unit);
    if (!value) return {std::nullopt, ReadingStatus::absent, *text};
    return {value, ReadingStatus::ok, {}};
  }

  Sysfs sysfs_;
  std::string name_ = "cray_pm";
  Seconds period_;
  std::vector<Channel> channels_;
  std::vector<std::string> files_;
  std::optional<std::string> last_, startup_;  // what freshness and startup said
};

ProbeFinding find_cray_pm(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  ProbeFinding finding{"cray_pm", nullptr, {}, {}};
  const auto files = sysfs.list(folder);
  if (files.empty()) {
    finding.problem = "no /sys/cray/pm_counters: this is no Cray node";
    return finding;
  }
  const double scans = value_of(sysfs.text(folder + "raw_scan_hz").value_or("10") + " Hz", "Hz").value_or(10);
  // Twice as often as it is renewed: each is seen within half of that.
  auto probe = std::make_unique<CrayPmProbe>(sysfs, Seconds{0.5 / std::clamp(scans, 1.0, 1000.0)});
  for (const std::string& file : files) {
    for (const auto& [quantity, unit, counter] : {std::tuple{"energy", "J", true}, {"power", "W", false}}) {
      if (file != quantity && !file.ends_with(std::string("_") + quantity)) continue;
      if (!value_of(sysfs.text(folder + file), unit)) continue;  // power_cap, cpu_temp and other relatives
      const std::string part =
          file == quantity ? "system" : file.substr(0, file.size() - std::string(quantity).size() - 1);
      probe->add(file, part, counter);
    }
  }
  if (probe->channels().empty())
    finding.problem = "/sys/cray/pm_counters has neither energy nor power that can be read";
  else
    finding.probe = std::move(probe);
  return finding;
}

const Registered<ProbeKind> cray_pm(
    {.name = "cray_pm",
     .place = 25,
     .what = "Cray's counters of the node, its CPUs, memory and accelerators (/sys/cray/pm_counters)",
     .find = find_cray_pm});

}  // namespace
}  // namespace dvfs_plan
