#include "orchestrator/commands/cluster_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

constexpr Seconds between_looks_at_nodes{1};
// A file that a task handed in as it ended may not be seen here at once.
constexpr Seconds patience_with_a_file{5};
// Longer than Slurm's KillWait (30 s), and than a job of a few seconds on a node that works.
constexpr Seconds patience_with_settings{60};

bool is_untold(const NodeSettings& settings) {
  return settings.state == NodeSettings::State::not_told;
}

}  // namespace

bool ClusterSettings::sleep(Seconds time) {
  return night_.interruption.sleep_until(night_.clock.now() + nanoseconds(time), night_.clock);
}

// There the next sweep would put back what is left, and so does this.
void ClusterSettings::put_back_on(const NodeSettings& settings) {
  const auto is_told = [&] {
    const auto all = settings_of_nodes(night_.folder);
    return std::none_of(all.begin(), all.end(),
                        [&](const NodeSettings& one) { return one.node == settings.node && is_untold(one); });
  };
  try {
    const auto nodes = night_.slurm.nodes(night_.spec.partition);
    const bool works = std::any_of(nodes.begin(), nodes.end(), [&](const SlurmNode& node) {
      return node.name == settings.node && node.works(!night_.spec.reservation.empty());
    });
    if (!works) return;
    const std::string job = night_.submit(" --put-back " + shell_quote(settings.task), settings.node);
    night_.progress.say(fmt::format("job {} puts back on {} what task {} may have left set there", job,
                                    settings.node, job_and_index(settings)));
    const Nanoseconds until = night_.clock.now() + nanoseconds(patience_with_settings);
    while (!is_told() && night_.clock.now() < until && sleep(between_looks_at_nodes)) {
    }
    if (!is_told()) night_.slurm.cancel({job});
  } catch (const Error& error) {
    night_.progress.say(fmt::format("warning: {} was not asked to put its settings back: {}", settings.node,
                                    printable(error.what())));
  }
}

bool ClusterSettings::are_back(bool asks) {
  std::vector<std::string> texts;
  // Looked at again once files that are on their way are here, and once nodes were asked.
  const int looks = asks ? 3 : 2;
  for (int look = 1; look <= looks; ++look) {
    const auto running = night_.running();
    texts.clear();
    bool untold = false;
    for (const NodeSettings& one : settings_of_nodes(night_.folder)) {
      const std::string text = settings_text(one, !running || running->contains(job_and_index(one)));
      if (text.empty()) continue;
      texts.push_back(text);
      untold = untold || is_untold(one);
      if (asks && look == 2 && is_untold(one)) put_back_on(one);
    }
    if (!untold || (look == 1 && !sleep(patience_with_a_file))) break;
  }
  for (const std::string& text : texts) write_stderr(fmt::format("warning: {}\n", text));
  return texts.empty();
}

bool ClusterSettings::wait(const std::string& collects) {
  const auto is_any_untold = [&] {
    const auto all = settings_of_nodes(night_.folder);
    return std::any_of(all.begin(), all.end(), is_untold);
  };
  const auto at_work = [&] {
    const auto running = night_.running();
    return running && !running->empty();
  };
  const auto are_putting_back = [&] { return is_any_untold() && at_work(); };
  bool waits = are_putting_back();
  if (waits) night_.progress.say("the nodes put their settings back");
  const Nanoseconds until = night_.clock.now() + nanoseconds(patience_with_settings);
  while (waits && night_.clock.now() < until && sleep(between_looks_at_nodes)) waits = are_putting_back();
  if (waits)
    write_stderr(fmt::format(
        "warning: tasks are still at work, and may not have put their settings back yet; {} tells\n",
        collects));
  return !waits;
}

}  // namespace dvfs_plan
