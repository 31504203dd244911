#include "orchestrator/commands/page_beside.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/acting_as.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "results/page/html_report.hpp"
#include "results/page/page_shell.hpp"

namespace dvfs_plan {

void write_page_beside(Store& store, const Summary& summary, const std::vector<TrialRow>& trials,
                       const std::string& path, const std::function<void(const std::string&)>& say) {
  const std::string page = beside_result(path, ".html");
  try {
    const ActingAs owner(invoking_owner());
    // Root beside somebody else's result: what that user could not write is not written for him by a link of his.
    struct stat there {};
    if (::lstat(page.c_str(), &there) == 0 && S_ISLNK(there.st_mode) && there.st_uid != ::geteuid()) {
      say(fmt::format(
          "warning: {} is another user's link and is not followed; make a page with: dvfs-plan report "
          "{} --html FILE",
          page, shell_quote(path)));
      return;
    }
    std::error_code none;
    if (std::filesystem::exists(page, none) && !is_page(page)) {
      say(
          fmt::format("warning: {} is not a page of dvfs-plan and stays; make one with: dvfs-plan report "
                      "{} --html FILE",
                      page, shell_quote(path)));
      return;
    }
    // By itself nothing is written over the page of another experiment that a link leads to.
    if (std::filesystem::is_symlink(page, none) && std::filesystem::exists(page, none) &&
        !is_page_called(page, summary.experiment.name)) {
      say(fmt::format(
          "warning: {} is a link to the page of another experiment, which stays; make one with: dvfs-plan "
          "report {} --html FILE",
          page, shell_quote(path)));
      return;
    }
    // Root's page beside a user's result is that user's, who writes the next one.
    for (const std::string& why : write_html_report(store, summary, trials, page, path))
      say("warning: " + why);
    say(fmt::format("the page for a browser is {}", page));
  } catch (const std::exception& error) {
    say(fmt::format("warning: {}", error.what()));
  }
}

}  // namespace dvfs_plan
