// Kinds of things of which there may be any number (probes, knobs, strategies, commands). Each declares
// itself once, in its own file, and is found by its name; whatever lists them (the parser, --help, the JSON
// schema, README's tables, completion) goes by this.
//
//   const Registered<ProbeKind> fans({.name = "fans", .place = 45, ...});  // in the unnamed namespace of
//   fans.cpp
//
// Rooms that hold such files are linked whole (REGISTERS in their CMakeLists.txt): the linker would leave out
// what nobody calls.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace dvfs_plan {

// A kind has a `name` and a `place`: its rank wherever all are listed or tried one after another.
template <class Kind>
class Registered {
 public:
  explicit Registered(Kind kind) : kind_(std::move(kind)) { registered().push_back(&kind_); }
  ~Registered() { std::erase(registered(), &kind_); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  // By place, those of one place by name.
  static std::vector<const Kind*> all() {
    auto kinds = registered();
    std::sort(kinds.begin(), kinds.end(), [](const Kind* a, const Kind* b) {
      return a->place != b->place ? a->place < b->place : a->name < b->name;
    });
    return kinds;
  }
  // nullptr if there is none of this name.
  static const Kind* find(std::string_view name) {
    for (const Kind* kind : registered()) {
      if (kind->name == name) return kind;
    }
    return nullptr;
  }

 private:
  static std::vector<const Kind*>& registered() {
    static std::vector<const Kind*> kinds;
    return kinds;
  }
  Kind kind_;
};

}  // namespace dvfs_plan
