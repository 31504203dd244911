#include "orchestrator/commands/page_beside.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/acting_as.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "results/page/html_report.hpp"
#include "results/page/page_shell.hpp"

namespace dvfs_plan {

void write_page_beside(Store& store, const Summary& summary, const std::vector<TrialRow>& trials,
                       const std::string& path, const std::function<void(const std::string&)>& say) {
  const std::string page = std::filesystem::path(path).replace_extension(".html").string();
  try {
    const ActingAs owner(invoking_owner());
    std::error_code none;
    if (std::filesystem::exists(page, none) && !is_page(page)) {
      say(
          fmt::format("warning: {} is not a page of dvfs-plan and stays; make one with: dvfs-plan report "
                      "{} --html FILE",
                      page, shell_quote(path)));
      return;
    }
    for (const std::string& why : write_html_report(store, summary, trials, page)) say("warning: " + why);
    say(fmt::format("the page for a browser is {}", page));
  } catch (const std::exception& error) {
    say(fmt::format("warning: {}", error.what()));
  }
}

}  // namespace dvfs_plan
