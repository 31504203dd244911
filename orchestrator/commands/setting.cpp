// dvfs-plan setting: the setting that a result found, for those who apply it in their own way.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "experiments/plan/experiment.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/setting_form.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/settings/attribute_setting.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/nvidia_doors.hpp"

namespace dvfs_plan {
namespace {

struct SettingOptions : CommonOptions {
  std::string as = "sysfs", workload, slowdown, experiment;
};

std::string forms_text() {
  std::vector<std::string> texts;
  for (const SettingForm* form : Registered<SettingForm>::all())
    texts.push_back(fmt::format("{} ({})", form->name, form->what));
  return join(texts, ", ");
}

// The kernel sets these anew, or forgets them, as another governor is chosen.
bool goes_with_a_governor(const std::string& path) {
  return is_governor_tunable(path) || path.ends_with("/scaling_setspeed") ||
         path.ends_with("/energy_performance_preference");
}

// What is to be set of a processor that goes offline is set before: then there is nothing to write to.
void set_before_it_goes_offline(std::vector<AxisRequest>& requests) {
  std::stable_partition(requests.begin(), requests.end(), [](const AxisRequest& one) {
    const std::string &path = one.request.path, &text = one.request.text;
    return !((path.ends_with("/smt/control") && text != "on") || (path.ends_with("/online") && text == "0"));
  });
}

// What stands where it will write, and what that takes along, in the order in which it is put back.
std::vector<SavedSetting> now_at(const std::vector<AxisRequest>& requests,
                                 const std::vector<KnobFinding>& knobs, const Sysfs& sysfs) {
  std::set<std::string> written;
  for (const AxisRequest& one : requests) written.insert(one.request.path);
  const auto writes = [&](std::string_view file) {
    return std::any_of(written.begin(), written.end(),
                       [&](const std::string& path) { return path.ends_with(file); });
  };
  // All that is set of a processor goes as it goes offline.
  const bool with_all = writes("/smt/control") || writes("/online"),
             with_governors = writes("/scaling_governor");
  // Where a program sets something: what it may take along.
  std::vector<SavedSetting> now = settings_to_arm(knobs, sysfs);
  std::erase_if(now, [&](const SavedSetting& one) {
    return !with_all && !written.contains(one.path) && !is_beside_setting(one.path) &&
           !(with_governors && goes_with_a_governor(one.path));
  });
  // A program that puts back takes along again.
  std::stable_partition(now.begin(), now.end(),
                        [](const SavedSetting& one) { return is_command_setting(one.path); });
  return now;
}

// What stands now is what a sweep has set, while one runs or has left a journal; empty: none does, or nobody can be asked.
std::string whose_is_what_stands(const SettingOptions& options) {
  try {
    const GuardClient guard({.experiment = "setting",
                             .state_folder = options.state_folder,
                             .sysfs_root = options.sysfs_root,
                             .mode = GuardWish::Mode::looks});
    for (const GuardNote& note : guard.notes()) {
      if (note.text.starts_with(sweep_runs) || note.text.starts_with(sweep_was_cut_off))
        return fmt::format(
            "{}; what is written here as what stands now, and is put back, may be what that sweep set",
            note.text);
    }
  } catch (const Error&) {
    // Without a guardian nobody set anything.
  }
  return {};
}

std::string as_json(const FormRequest& request, const SettingForm& form, const std::string& text) {
  nlohmann::ordered_json settings = nlohmann::ordered_json::object(),
                         requests = nlohmann::ordered_json::array();
  for (const AxisSetting& one : request.found.settings()) settings[one.axis] = one.text;
  for (const AxisRequest& one : request.requests)
    requests.push_back({{"axis", one.axis}, {"where", one.request.path}, {"text", one.request.text}});
  const nlohmann::ordered_json answer{
      {"form", form.name}, {"settings", settings}, {"requests", requests}, {"text", text}};
  return answer.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

// An answer of parameters alone leaves such a form with nothing to say.
void require_a_knob(const FoundSetting& found, const SettingForm& form) {
  const auto settings = found.settings();
  if (form.name == std::string_view("yaml") ||
      std::any_of(settings.begin(), settings.end(),
                  [](const AxisSetting& one) { return is_knob_axis(one.axis); }))
    return;
  std::vector<std::string> words;
  for (const AxisSetting& one : settings) words.push_back(fmt::format("{} = {}", one.axis, one.text));
  throw Error(
      ExitCode::bad_experiment,
      fmt::format("--as {}: the answer sets nothing of the machine; what it names is the command's own: {}",
                  form.name, words.empty() ? "nothing" : printable(join(words, ", "))),
      "run the command so; --as yaml writes the narrower sweep around it");
}

int setting_command(const SettingOptions& options) {
  const SettingForm* const form = Registered<SettingForm>::find(options.as);
  if (form == nullptr) {
    std::vector<std::string> names;
    for (const SettingForm* one : Registered<SettingForm>::all()) names.emplace_back(one->name);
    throw Error(ExitCode::bad_experiment,
                fmt::format("--as {}: there is no such form{}", printable(options.as),
                            did_you_mean(options.as, names)),
                "there are: " + join(names, ", "));
  }
  FoundSetting found(options.file, options.workload, options.slowdown, options.experiment);
  require_a_knob(found, *form);
  FormRequest request{.found = found, .comment = {}};
  request.comment.push_back(answer_text(found.answer()));
  const auto host = found.machine().find("host");
  request.comment.push_back(fmt::format("By dvfs-plan: {}, begun {}{}", options.file, found.measured_at(),
                                        host == found.machine().end() ? "" : " on " + host->second));
  const Sysfs sysfs(options.sysfs_root);
  SettingAccess access(sysfs, nvidia_doors());
  if (form->of_this_machine) {
    found.find_here(sysfs);
    std::map<std::string, std::vector<AxisValue>> values;
    for (const KnobFinding& knob : found.knobs()) values[knob.axis] = {found.value_of(knob)};
    request.requests = requests_of(found.knobs(), values);
    set_before_it_goes_offline(request.requests);
    request.now = now_at(request.requests, found.knobs(), sysfs);
    request.access = &access;
    request.sysfs = &sysfs;
  }
  if (std::any_of(request.now.begin(), request.now.end(),
                  [](const SavedSetting& one) { return is_beside_setting(one.path); }))
    request.comment.emplace_back(
        "What its programs set may take along clocks, governors and limits of this machine: all that stood "
        "there is put back with them.");
  std::vector<std::string> of_now;
  if (form->of_this_machine && !request.now.empty()) of_now.push_back(whose_is_what_stands(options));
  std::erase(of_now, "");
  for (const auto& lines : {found.doubts(), found.changes(), of_now}) {
    for (const std::string& line : lines) {
      request.comment.push_back("warning: " + line);
      write_stderr(fmt::format("dvfs-plan: warning: {}\n", line));
    }
  }
  const std::string text = form->write(request);
  write_answer(options.json ? as_json(request, *form, text) : text);
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> setting(
    {.name = "setting",
     .place = 56,
     .what = "the setting that a result found as commands, a service, a profile or a narrower experiment; "
             "sets nothing",
     .examples = "dvfs-plan setting night.sqlite --as cpupower\n"
                 "dvfs-plan setting night.sqlite --as systemd --slowdown 5%",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<SettingOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_option("--as", options->as, "one of: " + forms_text())->capture_default_str();
       app.add_option("--workload", options->workload,
                      "whose answer, where there are several: a workload, or a whole line of the report");
       app.add_option(
           "--slowdown", options->slowdown,
           "the least energy within this slowdown, such as 5%, in place of the experiment's objective");
       app.add_option("--experiment", options->experiment,
                      "where the experiment's file is, if it was moved: programs that set something are "
                      "sought from there")
           ->type_name("FILE");
       return declared(app, options, setting_command);
     }});

}  // namespace
}  // namespace dvfs_plan
