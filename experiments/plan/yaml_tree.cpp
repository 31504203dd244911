#include "experiments/plan/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// Ends the reading of a file that is not to be read further.
struct StopReading {
  Mark mark;
  std::string message;
};

Mark to_mark(const YAML::Mark& mark) {
  return mark.line < 0 ? Mark{} : Mark{mark.line + 1, mark.column + 1};
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(Diagnostics& diagnostics, const YamlLimits& limits)
      : diagnostics_(diagnostics), limits_(limits) {}

  YamlPointer root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) throw StopReading{to_mark(mark), "a second document ('---'); an experiment is one document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto node = make(YamlNode::Kind::null, mark);
    place(node, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find('\0') != std::string::npos)
      throw StopReading{to_mark(mark), "a NUL character (\"\\0\"); no name, argument or path can hold one"};
    auto node = make(YamlNode::Kind::scalar, mark);
    node->scalar = value;
    node->quoted = tag == "!";
    // yaml-cpp reports `~`, `null` and an empty value as OnNull only when untagged and plain.
    place(node, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw StopReading{to_mark(mark), "an alias that contains itself"};
    }
    add(found->second, to_mark(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::sequence, mark), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::map, mark), anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    std::optional<YamlEntry> pending;  // a key that waits for its value
  };

  std::shared_ptr<YamlNode> make(YamlNode::Kind kind, const YAML::Mark& mark) {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->mark = to_mark(mark);
    return node;
  }

  void open(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor) {
    if (static_cast<int>(stack_.size()) >= limits_.depth) {
      throw StopReading{node->mark, fmt::format("nested more than {} deep", limits_.depth)};
    }
    if (!stack_.empty() && stack_.back().node->kind == YamlNode::Kind::map && !stack_.back().pending) {
      throw StopReading{node->mark, "a key must be a word, not a list or a map (is a bracket not closed?)"};
    }
    stack_.push_back({std::move(node), anchor, std::nullopt});
  }

  void close() {
    auto finished = std::move(stack_.back());
    stack_.pop_back();
    place(finished.node, finished.anchor);
  }

  void place(const std::shared_ptr<YamlNode>& node, YAML::anchor_t anchor) {
    // Registered only when complete: an alias inside its own node finds nothing.
    if (anchor != 0) anchors_[anchor] = node;
    add(node, node->mark);
  }

  void add(const YamlPointer& node, Mark mark) {
    if (stack_.empty()) {
      root_ = node;
      return;
    }
    Open& parent = stack_.back();
    parent.node->size += node->size;
    if (parent.node->size > limits_.nodes) {
      throw StopReading{mark, fmt::format("more than {} values with aliases written out", limits_.nodes)};
    }
    if (parent.node->kind == YamlNode::Kind::sequence) {
      parent.node->items.push_back(node);
    } else if (!parent.pending) {
      start_entry(parent, *node, mark);
    } else {
      parent.pending->value = node;
      // The reader finds an empty value where the next thing begins, lines later.
      if (node->kind == YamlNode::Kind::null && node->mark.line != parent.pending->key_mark.line) {
        auto here = std::make_shared<YamlNode>(*node);
        here->mark = parent.pending->key_mark;
        parent.pending->value = here;
      }
      parent.node->entries.push_back(std::move(*parent.pending));
      parent.pending.reset();
    }
  }

  void start_entry(Open& parent, const YamlNode& key, Mark mark) {
    if (key.kind != YamlNode::Kind::scalar) throw StopReading{mark, "a key must be a word"};
    const auto& entries = parent.node->entries;
    const auto same = std::find_if(entries.begin(), entries.end(),
                                   [&](const YamlEntry& entry) { return entry.key == key.scalar; });
    if (same != entries.end()) {
      diagnostics_.error(
          mark, fmt::format("key '{}' is given twice (first in line {})", key.scalar, same->key_mark.line));
    }
    parent.pending = YamlEntry{key.scalar, mark, nullptr};
  }

  Diagnostics& diagnostics_;
  const YamlLimits& limits_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, YamlPointer> anchors_;
  YamlPointer root_;
};

Mark mark_of_byte(std::string_view text, std::size_t at) {
  const auto before = text.substr(0, at);
  const auto line_start = before.rfind('\n');
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(line_start == std::string_view::npos ? at : at - line_start - 1) + 1};
}

bool fit_to_read(std::string_view text, Diagnostics& diagnostics, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    diagnostics.error({}, fmt::format("the file has more than {} bytes, the most that an experiment file may "
                                      "have: is it the right one?",
                                      limits.bytes));
    return false;
  }
  if (const auto bad = first_invalid_utf8(text); bad != std::string_view::npos) {
    diagnostics.error(mark_of_byte(text, bad),
                      fmt::format("byte 0x{:02x} is not valid UTF-8; save the file as UTF-8 text",
                                  static_cast<unsigned char>(text[bad])));
    return false;
  }
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F;
  });
  if (control != text.end()) {
    const auto at = static_cast<std::size_t>(control - text.begin());
    diagnostics.error(mark_of_byte(text, at),
                      fmt::format("control character 0x{:02x}; this is not a text file",
                                  static_cast<unsigned char>(*control)));
    return false;
  }
  // Flow brackets alone can drive the parser deep before the first event: cut that short.
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++open;
    if (text[i] == ']' || text[i] == '}') open = std::max(0, open - 1);
    if (open > 20 * limits.depth) {
      diagnostics.error(mark_of_byte(text, i), fmt::format("nested more than {} deep", limits.depth));
      return false;
    }
  }
  return true;
}

// A line whose indentation has a tab, which YAML forbids (https://yaml.org/spec/1.2.2/, 6.1) and most editors do not show.
bool is_indented_with_a_tab(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line) {
    const auto end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  const auto indentation = text.substr(0, text.find_first_not_of(" \t"));
  return indentation.find('\t') != std::string_view::npos;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

YamlPointer parse_yaml(std::string_view text, Diagnostics& diagnostics, const YamlLimits& limits) {
  if (!fit_to_read(text, diagnostics, limits)) return nullptr;
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(diagnostics, limits);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopReading& stop) {
    diagnostics.error(stop.mark, stop.message);
    return nullptr;
  } catch (const YAML::Exception& fault) {
    const Mark mark = to_mark(fault.mark);
    diagnostics.error(mark,
                      is_indented_with_a_tab(text, mark.line)
                          ? "not valid YAML: the line is indented with a tab; YAML allows spaces alone there"
                          : fmt::format("not valid YAML: {}", fault.msg));
    return nullptr;
  }
  if (!builder.root() || builder.root()->kind == YamlNode::Kind::null) {
    diagnostics.error({1, 1}, "the file is empty; see `dvfs-plan --help` for an example");
    return nullptr;
  }
  return builder.root();
}

bool say_the_same(const YamlNode& one, const YamlNode& other) {
  const auto alike = [](const auto& a, const auto& b) { return say_the_same(*a, *b); };
  return one.kind == other.kind && one.scalar == other.scalar && one.quoted == other.quoted &&
         std::equal(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(), alike) &&
         std::equal(one.entries.begin(), one.entries.end(), other.entries.begin(), other.entries.end(),
                    [&](const YamlEntry& a, const YamlEntry& b) {
                      return a.key == b.key && alike(a.value, b.value);
                    });
}

}  // namespace dvfs_plan
