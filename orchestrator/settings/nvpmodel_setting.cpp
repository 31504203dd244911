#include "orchestrator/settings/nvpmodel_setting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/run_program.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

constexpr Seconds mode_patience{60};

bool is_mode_number(std::string_view text) {
  constexpr std::size_t longest = 4;
  return !text.empty() && text.size() <= longest &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What stands behind KEY= in "< POWER_MODEL ID=0 NAME=MAXN >".
std::string attribute_of(const std::vector<std::string>& words, std::string_view key) {
  for (const std::string& word : words) {
    if (word.starts_with(key)) return word.substr(key.size());
  }
  return {};
}

// What it said, without the lines that it always says.
std::string gist_of(const std::string& output) {
  std::vector<std::string> lines;
  for (const std::string& line : split_lines(output)) {
    const std::string text(trim(line));
    if (!text.empty() && text.find("Golden image context") == std::string::npos)
      lines.push_back(printable(text.substr(0, 200)));
  }
  return join(lines, " / ");
}

class NvpmodelMode : public Setting {
 public:
  explicit NvpmodelMode(const Sysfs& sysfs) : sysfs_(sysfs) {}

  // "NV Power Mode: MODE_30W" and, on the next line, "2".
  Read read() override {
    const ProgramAnswer answer = run({"-q"});
    if (!answer.ran()) return {std::nullopt, answer.problem};
    const auto lines = split_lines(answer.output);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      if (lines[i].find("NV Power Mode:") == std::string::npos) continue;
      const std::string number(trim(lines[i + 1]));
      if (is_mode_number(number)) return {number};
    }
    const std::string said = gist_of(answer.output);
    return {std::nullopt,
            fmt::format("nvpmodel -q does not tell the mode: {}", said.empty() ? "nothing" : said)};
  }

  // Some modes take a reboot. It asks whether to, and finds nobody: its standard input is /dev/null.
  Written write(const std::string& value) override {
    if (!is_mode_number(value)) return {fmt::format("'{}' is no mode's number", value), true};
    const ProgramAnswer answer = run({"-m", value});
    if (!answer.ran()) return {answer.problem};
    const std::string said = gist_of(answer.output);
    if (answer.output.find("Reboot required") != std::string::npos)
      return {
          fmt::format("mode {} takes a reboot, so no sweep can set it: leave it out of the values", value),
          true};
    if (answer.exit_code != 0 || said.find("NVPM ERROR") != std::string::npos)
      return {fmt::format("nvpmodel refuses (exit code {}): {}", answer.exit_code,
                          said.empty() ? "it says nothing" : said)};
    return {};
  }

  bool exists() override { return ::access(program().c_str(), X_OK) == 0; }
  std::string absent_because() override {
    return exists() ? "" : fmt::format("there is no {}", nvpmodel_program);
  }
  bool writable() const override { return ::geteuid() == 0 || !sysfs_.root().empty(); }
  std::string command(const std::string& value) const override {
    return fmt::format("sudo nvpmodel -m {}", shell_quote(value));
  }
  bool changes_others() const override { return true; }
  bool may_be_contested() const override { return true; }

 private:
  std::string program() const { return sysfs_.real_path(nvpmodel_program); }
  ProgramAnswer run(const std::vector<std::string>& arguments) const {
    return run_program(program(), arguments, mode_patience);
  }
  const Sysfs& sysfs_;
};

}  // namespace

NvpmodelConfiguration parse_nvpmodel_configuration(std::string_view text) {
  NvpmodelConfiguration found;
  bool in_parameter = false;
  for (const std::string& line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.empty() || words.front().starts_with('#')) continue;
    if (words.front().starts_with('<')) {
      in_parameter = line.find("PARAM ") != std::string::npos;
      if (line.find("POWER_MODEL ") == std::string::npos) continue;
      const std::string number = attribute_of(words, "ID="), name = attribute_of(words, "NAME=");
      if (is_mode_number(number) && !name.empty()) found.modes.push_back({number, name});
    } else if (in_parameter && words.size() > 1 && words[1].starts_with("/sys/") &&
               !words.front().starts_with("FREQ_TABLE") &&
               std::find(found.files.begin(), found.files.end(), words[1]) == found.files.end()) {
      found.files.push_back(words[1]);
    }
  }
  return found;
}

std::unique_ptr<Setting> nvpmodel_setting_at(const std::string& path, const Sysfs& sysfs) {
  return path == nvpmodel_setting ? std::make_unique<NvpmodelMode>(sysfs) : nullptr;
}

}  // namespace dvfs_plan
