// One setting of the machine: how it is read, written and put back. Each kind of place is a class of its own;
// its path (setting_access.hpp) is what plans, journals and people know of it.
#pragma once

#include <optional>
#include <string>

namespace dvfs_plan {

class Setting {
 public:
  virtual ~Setting() = default;

  struct Read {
    std::optional<std::string> text;
    std::string problem = {};  // why there is none
    bool timed_out = false;    // its program did not answer in its time
  };
  virtual Read read() = 0;
  // What is to be written to put it back to what it is now; nullopt: it cannot be put back.
  virtual std::optional<std::string> to_save() { return read().text; }
  struct Written {
    std::string problem = {};  // why it was not taken; empty if it was
    bool untouched = false;    // refused in words that say that nothing was changed
    bool unsupported = false;  // and that there is no such setting here
    bool may_go_on = false;    // its program did not end by itself: it may have done half of it, or do it yet
  };
  virtual Written write(const std::string& value) = 0;
  // To what it was before the sweep.
  virtual Written put_back(const std::string& value) { return write(value); }
  virtual bool exists() = 0;
  // Why it cannot be set or put back here at all; empty: it can.
  virtual std::string absent_because() { return exists() ? "" : "it is not there"; }
  // Whether this user may write it, as far as that can be told without trying.
  virtual bool writable() const = 0;
  // The shell command that would write it.
  virtual std::string command(const std::string& value) const = 0;
  // The one that would put it back.
  virtual std::string put_back_command(const std::string& value) const { return command(value); }

  // A file of its own: quick, and put back before what needs a program or a table.
  virtual bool is_file() const { return false; }
  // Programs of the user's: they are run with his rights alone.
  virtual bool is_command() const { return false; }
  // Others by the way: a mode of the machine, and what programs of the user's set, of which nobody knows.
  virtual bool changes_others() const { return is_command(); }
  // That it cannot be written is no obstacle: scaling_setspeed, which only the userspace governor takes.
  virtual bool is_optional() const { return false; }
  // False: nothing can ever tell (a clock lock); what was written has to be believed, and after a reboot,
  // with which it went, what is there now is its owner's.
  virtual bool can_be_read() const { return true; }
  // Whether a change by somebody else would show in what it reads.
  virtual bool shows_changes() const { return can_be_read(); }
  // Whether somebody else may change it in the middle of a night, and such a change can be told from ours.
  virtual bool may_be_contested() const { return false; }
  // Not of the sweep: it is put back only where a program of the user's is known to have changed it by the way.
  virtual bool only_where_taken_along() const { return false; }
  // The other setting that takes this one along when it is put back; nullopt: it is put back itself.
  virtual std::optional<std::string> put_back_by() const { return std::nullopt; }
  // What the driver sets by itself; nullopt for settings that have no such thing.
  virtual std::optional<std::string> driver_default() { return std::nullopt; }
  // A limit of CPU clocks, which the firmware and the kernel's cooling lower by themselves.
  virtual bool is_clock_limit() const { return false; }
  // The limit of the firmware (bios_limit of cpufreq), or of turbo that is off; nullopt: there is none.
  virtual std::optional<std::string> firmware_limit() const { return std::nullopt; }
  // What that limit is of: "the firmware"; empty: of its owner's own switch (turbo that is off), of which nothing is to be told.
  virtual std::string limited_by() const { return "the firmware"; }
  // Whether the kernel cools by it now: it reads what is allowed then, and what its owner set cannot be known.
  virtual bool is_cooled() const { return false; }
};

}  // namespace dvfs_plan
