// What the command line said.
#pragma once

#include <string>
#include <vector>

namespace dvfs_plan {

// replay; shares as they were written.
struct ReplayOptions {
  std::string search = "adaptive";
  int trials = 0;  // at most, of each workload; 0: 12 with one axis, 16 with two, 24 with three
  int seeds = 40;
  std::string noise_time = "0", noise_power = "0";
  std::string confidence = "95%";
  std::string regret = "0";  // stop at this bound; 0: use all trials
  bool own_stop = false;     // as an experiment that says no more than `search: adaptive`
  std::string objective = "energy";
};

struct Options {
  std::string file;          // the experiment, or the result for report, status and export
  std::string output;        // the result file to write
  std::string state_folder;  // empty: the current user's
  std::string sysfs_root;    // "": this machine
  bool json = false;
  bool fresh = false;
  bool quiet = false;
  bool no_html = false;          // run: leave the page out
  bool discard = false;          // restore: give up what cannot be put back
  std::string table = "trials";  // export
  std::string format = "csv";    // export
  std::string html;              // report, compare: the page to write
  bool recompute = false;        // report: energies anew from the readings
  std::string svg, png;          // report: prefixes of the figures to draw
  bool watch = false;            // status
  std::vector<std::string>
      others;         // compare: the result after; or more before, the separator, and those after
  std::string worse;  // compare: fail if anything is worse by more than this
  std::string query;  // sql
  bool csv = false;   // sql
  ReplayOptions replay;
};

// What stands for `--` between several results before and several after.
inline constexpr const char* between_sides = "\n--\n";

int run_command(const Options& options);
int check_command(const Options& options);
int doctor_command(const Options& options);
int restore_command(const Options& options);
int report_command(const Options& options);
int status_command(const Options& options);
int export_command(const Options& options);
int compare_command(const Options& options);
int sql_command(const Options& options);
int replay_command(const Options& options);

// Throws Error if `output`, the value of `option`, is the result file.
void refuse_the_result_itself(const std::string& output, const char* option, const std::string& result);

inline constexpr const char* tool_version = DVFS_PLAN_VERSION;

}  // namespace dvfs_plan
