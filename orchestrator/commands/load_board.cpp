// dvfs-plan load-board: what the look at the sensors starts by itself, in a child of the invoking user.
#include "orchestrator/commands/command.hpp"
#include "orchestrator/sensors/test_load.hpp"

namespace dvfs_plan {
namespace {

int load_board_command(const CommonOptions& options) {
  return run_board_load(options.file);
}

const Registered<CommandKind> load_board({.name = "load-board",
                                          .place = 200,
                                          .what = "computes on an NVIDIA board by turns and prints when",
                                          .hidden = true,
                                          .declare = [](CLI::App& app) {
                                            const auto options = std::make_shared<CommonOptions>();
                                            app.add_option("UUID", options->file, "of the board")->required();
                                            return declared(app, options, load_board_command);
                                          }});

}  // namespace
}  // namespace dvfs_plan
