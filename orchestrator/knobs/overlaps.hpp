// Axes that would set the same thing. Each trial would then have the value of whichever was applied last, and
// the answer could name one that was never in force.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {

struct Overlap {
  std::string axis, other;  // `axis` is the later one in the order of application
  std::string path;         // that both set, or that `other` may change while it sets its own
  bool side_effect = false;
};

// Places are compared as files, whatever links lead to them.
std::vector<Overlap> find_overlaps(const std::vector<KnobFinding>& knobs, const Sysfs& sysfs);

// "set by axis 'cpu.governor' (line 7) too; ..." for the axis that the error stands at.
std::string overlap_text(const Overlap& overlap, int line_of_other);

}  // namespace dvfs_plan
