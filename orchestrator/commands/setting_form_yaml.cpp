// The experiment again, narrower: around the setting that was found.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "experiments/plan/yaml_tree.hpp"
#include "orchestrator/commands/narrower_sweep.hpp"
#include "orchestrator/commands/setting_form.hpp"
#include "orchestrator/commands/yaml_word.hpp"

namespace dvfs_plan {
namespace {

// The experiment's text, of which blocks of the top level are written anew and all else stays, comments too.
class Blocks {
 public:
  Blocks(const std::string& text, const YamlNode* root) : lines_(split_lines(text)) {
    if (root == nullptr) return;
    for (std::size_t i = 0; i < root->entries.size(); ++i) {
      const YamlEntry& entry = root->entries[i];
      if (entry.key_mark.column != 1) continue;
      // Comments in front of the next block are that one's.
      int behind = i + 1 < root->entries.size() ? root->entries[i + 1].key_mark.line
                                                : static_cast<int>(lines_.size()) + 1;
      while (behind > entry.key_mark.line + 1 && is_apart(line(behind - 1))) --behind;
      blocks_[entry.key] = {entry.key_mark.line, behind};
    }
  }

  bool has(const std::string& key) const { return blocks_.contains(key); }

  // `text`: lines, which may be none; behind all else where there was no such block.
  void put(const std::string& key, const std::string& text) { put_[key] = text; }

  std::string text() const {
    std::map<int, std::pair<int, std::string>> from;
    std::string behind_all;
    for (const auto& [key, text] : put_) {
      if (const auto found = blocks_.find(key); found != blocks_.end())
        from[found->second.first] = {found->second.second, text};
      else
        behind_all += text;
    }
    std::string all;
    for (int at = 1; at <= static_cast<int>(lines_.size());) {
      if (const auto found = from.find(at); found != from.end()) {
        all += found->second.second;
        at = found->second.first;
      } else {
        all += line(at++) + '\n';
      }
    }
    return all + behind_all;
  }

 private:
  const std::string& line(int number) const { return lines_[static_cast<std::size_t>(number) - 1]; }
  static bool is_apart(const std::string& line) { return line.starts_with('#') || trim(line).empty(); }

  std::vector<std::string> lines_;
  std::map<std::string, std::pair<int, int>> blocks_;  // by key: its first line, the one behind its last
  std::map<std::string, std::string> put_;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitCode::bad_experiment, "--as yaml: " + why, "narrow it by hand; the other forms do without");
}

// Each workload's keys on lines of their own.
std::string workloads_text(const YamlNode& workloads) {
  std::string text = "workloads:\n";
  for (const YamlPointer& item : workloads.items) {
    std::string sign = "- ";
    for (const YamlEntry& entry : item->entries) {
      text += fmt::format("{}{}: {}\n", sign, yaml_word(entry.key), yaml_flow(*entry.value));
      sign = "  ";
    }
  }
  return text;
}

// Of a night that was cut off before its reference ran: the file asks for it all the same.
void add_written_reference(const std::vector<ExcludeRule::Condition>& written, const std::string& name,
                           NarrowAxis& axis) {
  for (const ExcludeRule::Condition& condition : written) {
    if (condition.axis != name) continue;
    for (const RawValue& value : condition.values) {
      if (std::find(axis.values.begin(), axis.values.end(), value.text) == axis.values.end())
        axis.values.push_back(value.text);
    }
  }
}

// The axes; of the rules of exclusion those that say something of them; and what the answer is compared with.
void put_axes(const YamlNode& axes, const FoundSetting& found, Blocks& blocks) {
  std::string text = "axes:\n";
  std::map<std::string, NarrowAxis> narrow;
  for (const YamlEntry& entry : axes.entries) {
    if (found.setting_of(entry.key) == nullptr)
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("--as yaml: axis '{}' is of another workload than the one whose setting this is",
                      entry.key),
          "take the other workload out of the file by hand, or narrow it there");
    NarrowAxis& axis = narrow[entry.key] = narrowed(entry.key, found.answer(), found.experiment().exclude);
    if (!found.answer().scenario.reference)
      add_written_reference(found.experiment().reference, entry.key, axis);
    text += fmt::format("  {}: {}\n", yaml_word(entry.key), yaml_text(axis));
  }
  blocks.put("axes", text);
  if (const auto rules = narrowed_rules(found.experiment().exclude, narrow, found.answer()))
    blocks.put("exclude", rules->empty() ? "" : "exclude:\n" + *rules);
  if (const auto reference = narrowed_reference(found.experiment().reference, narrow, found.answer()))
    blocks.put("reference", fmt::format("reference: {}\n", *reference));
}

// Asked for the least energy within a slowdown, the setting is that question's answer: the narrower sweep asks it too.
void put_question(const YamlNode& root, const FoundSetting& found, Blocks& blocks) {
  if (!found.slowdown()) return;
  const YamlNode objective = within_slowdown(root.find("objective"), *found.slowdown());
  blocks.put("objective", fmt::format("objective: {}\n", yaml_flow(objective)));
  const YamlNode* const workloads = root.find("workloads");
  if (workloads == nullptr) return;
  if (const auto own = within_slowdown(*workloads, found.answer().point.workload, *found.slowdown()))
    blocks.put("workloads", workloads_text(*own));
}

std::string as_yaml(const FormRequest& request) {
  const FoundSetting& found = request.found;
  const std::string& text = found.experiment().text;
  Diagnostics ignored(found.file());
  const YamlPointer root = parse_yaml(text, ignored);
  const YamlNode* const axes = root ? root->find("axes") : nullptr;
  Blocks blocks(text, root.get());
  if (axes == nullptr || axes->kind != YamlNode::Kind::map || !blocks.has("axes"))
    refuse(fmt::format("the experiment in {} has no  axes:  on a line of its own", found.file()));
  put_axes(*axes, found, blocks);
  put_question(*root, found, blocks);
  // By its name a run would find the old result and go on with that.
  blocks.put("name", fmt::format("name: {}\n", yaml_word(found.experiment().name + "-narrower")));
  if (blocks.has("result")) blocks.put("result", "");
  std::string narrow = blocks.text();
  Diagnostics faults(found.file());
  // An alias may stand for what was in a block that is written anew.
  if (parse_yaml(narrow, faults) == nullptr || !faults.all().empty())
    refuse(
        fmt::format("the experiment in {} is put together in a way that does not let its blocks be "
                    "written anew (an anchor in one, its alias in another)",
                    found.file()));
  return as_comment(request.comment) +
         "# The experiment again, between the neighbours of the setting that was found (of an axis of words: "
         "this one, and what the "
         "reference needs). A sweep of its own, by another name.\n" +
         narrow;
}

const Registered<SettingForm> yaml({.name = "yaml",
                                    .place = 70,
                                    .what = "the experiment again, narrower around it",
                                    .of_this_machine = false,
                                    .write = as_yaml});

}  // namespace
}  // namespace dvfs_plan
