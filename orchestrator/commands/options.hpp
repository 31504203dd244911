// What the command line said.
#pragma once

#include <string>
#include <vector>

namespace dvfs_plan {

struct Options {
  std::string file;          // the experiment, or the result for report, status and export
  std::string output;        // the result file to write
  std::string state_folder;  // empty: the current user's
  std::string sysfs_root;    // "": this machine
  bool json = false;
  bool fresh = false;
  bool quiet = false;
  bool discard = false;          // restore: give up what cannot be put back
  std::string table = "trials";  // export
};

int run_command(const Options& options);
int check_command(const Options& options);
int doctor_command(const Options& options);
int restore_command(const Options& options);
int report_command(const Options& options);
int status_command(const Options& options);
int export_command(const Options& options);

inline constexpr const char* tool_version = DVFS_PLAN_VERSION;

}  // namespace dvfs_plan
