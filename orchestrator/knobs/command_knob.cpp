// Settings that programs of the user's set and read: axes set.NAME.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/child.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {
namespace {

// Numbers where all of them are, in ascending order; else words.
AxisOffer offer_of(const std::vector<RawValue>& values) {
  AxisOffer offer;
  for (const RawValue& value : values) offer.values.push_back({value.text, parse_number(value.text)});
  const bool numbers = std::all_of(offer.values.begin(), offer.values.end(),
                                   [](const AxisValue& value) { return value.number; });
  if (numbers) {
    offer.dimension = Dimension::none;
    for (AxisValue& value : offer.values) value.dimension = Dimension::none;
    std::stable_sort(offer.values.begin(), offer.values.end(),
                     [](const AxisValue& a, const AxisValue& b) { return *a.number < *b.number; });
  } else {
    for (AxisValue& value : offer.values) value.number.reset();
  }
  return offer;
}

class CommandKnob : public Knob {
 public:
  CommandKnob(std::string axis, SetterPrograms programs, AxisOffer offer)
      : axis_(std::move(axis)),
        path_(command_setting(programs)),
        setting_(command_setting_at(path_)),
        offer_(std::move(offer)),
        at_first_(setting_->read()) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::vector<SavedSetting> snapshot() const override {
    const Setting::Read now = setting_->read();
    if (!now.text)
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("axis '{}' cannot be read now, so it could not be put back: {}", axis_, now.problem),
          "nothing was set; mend its 'read'");
    return {{axis_, path_, *now.text}};
  }
  std::optional<std::string> read_at_first() const override { return at_first_.text; }
  std::vector<std::string> writes() const override { return {path_}; }
  std::vector<SettingText> requests(const AxisValue& value) const override { return {{path_, value.text}}; }
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    AppliedSetting applied{"machine", value.text, std::nullopt, {}};
    const WriteAnswer answer = writer.write(path_, value.text);
    if (!answer.problem.empty()) {
      applied.problem = fmt::format("{}: asked for {}: {}", axis_, value.text, answer.problem);
      return {applied};
    }
    const Setting::Read now = setting_->read();
    if (!now.text) {
      applied.problem = fmt::format("{}: asked for {}, and what is set now cannot be read: {}", axis_,
                                    value.text, now.problem);
      return {applied};
    }
    applied.stands = {{axis_, path_, *now.text}};
    applied.applied = reads_as_asked(value.text, *now.text) ? value.text : *now.text;
    if (applied.applied != value.text)
      applied.problem =
          fmt::format("{}: asked for {}, and its 'read' says {}: its 'command' said that it was done", axis_,
                      value.text, printable(*now.text));
    return {applied};
  }

  const Setting::Read& at_first() const { return at_first_; }

 private:
  const std::string axis_, path_;
  const std::unique_ptr<Setting> setting_;
  const AxisOffer offer_;
  const Setting::Read at_first_;
};

// Its first word becomes a path, as a shell finds it. Why not; empty: it was found.
std::string find_program(const char* key, std::vector<std::string>& argv, const std::string& folder) {
  if (argv.empty()) return {};
  const char* const path = std::getenv("PATH");
  const std::string program = find_executable(argv.front(), folder, path == nullptr ? "" : path);
  if (program.empty())
    return fmt::format("its '{}' wants a program '{}', which is not there or may not be run", key,
                       argv.front());
  argv.front() = program;
  return {};
}

KnobFinding find_command_knob(const KnobRequest& request) {
  const std::string name = split_axis_name(request.axis).base.substr(std::string("set.").size());
  if (!request.target.empty())
    return {request.axis, nullptr, "programs of your own take no '@': make a knob for each target"};
  std::vector<std::string> names;
  for (const CommandKnobSpec& spec : request.own.set) {
    names.push_back(spec.name);
    if (spec.name != name) continue;
    SetterPrograms programs{spec.name,
                            spec.command,
                            spec.read,
                            spec.restore,
                            std::filesystem::absolute(request.own.folder).lexically_normal().string(),
                            surroundings_of_setters()};
    for (const auto& [key, argv] :
         {std::pair{"command", &programs.set}, {"read", &programs.read}, {"restore", &programs.restore}}) {
      if (std::string problem = find_program(key, *argv, programs.folder); !problem.empty())
        return {request.axis, nullptr, std::move(problem)};
    }
    if (const std::size_t length = command_setting(programs).size(); length > longest_command_setting)
      return {request.axis, nullptr,
              fmt::format("its words take {} characters, of at most {}: put them into a script", length,
                          longest_command_setting)};
    auto knob = std::make_unique<CommandKnob>(request.axis, std::move(programs), offer_of(spec.values));
    if (const Setting::Read& now = knob->at_first(); !now.text)
      return {request.axis, nullptr,
              fmt::format("its 'read' does not tell what is set now, so it could not be put back: {}",
                          now.problem)};
    return {request.axis, std::move(knob), {}};
  }
  return {request.axis, nullptr,
          fmt::format(
              "say how it is set and read:  set: {{{}: {{command: [..., '{{value}}'], read: [...], values: "
              "[...]}}}}{}",
              name, did_you_mean(name, names))};
}

const Registered<KnobKind> command_knob({.name = "set.",
                                         .place = 5,
                                         .what = "anything that programs of yours set and read",
                                         .find = find_command_knob});

}  // namespace
}  // namespace dvfs_plan
