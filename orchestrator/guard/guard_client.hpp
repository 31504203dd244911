// The run's side of a session with the guardian: no setting is changed unless its former value is on disk,
// and none stays changed.
//
//   GuardClient()   the machine is ours, and what an earlier run left is put back
//   arm()           former values on disk      -> from here on knobs may be set (write)
//   restore()       settings put back          -> on every orderly way out
//   a kill, a crash: the guardian puts back when the connection ends; a power cut: at the next start, or at
//   boot
//
// What programs of the user's set (settings/command_setting.hpp) is set and put back with our rights and no others: where the
// guardian has more, one of our own stands beside it.
//
// Which guardian: the machine's, if there is one and it lets us; our own, which has no more rights than we
// have; under sudo the one that kept root's (rights.hpp).
#pragma once

#include <sys/types.h>
#include <map>
#include <set>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/process_group.hpp"
#include "base/protected_sensors.hpp"
#include "orchestrator/guard/connection.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/settings/setting_writer.hpp"

namespace dvfs_plan {

// What of a workload would outlive the run: the folder of the FIFOs that it marks regions on
// (base/region_fifo.hpp), and its control group (base/control_group.hpp). Empty: there is none.
struct WorkloadTraces {
  std::string region_folder, control_group;
  bool operator==(const WorkloadTraces&) const = default;
};

inline constexpr const char* guardian_socket = "/run/dvfs-plan/guardian.sock";

// What a session is wanted for.
struct GuardWish {
  std::string experiment;
  std::string state_folder = {};  // of our own guardian; empty: the user's
  std::string sysfs_root = {};    // a recorded tree: our own guardian
  // To set things: at once, or where somebody else has the machine behind him in the queue. Or only to ask
  // what may be set, and to read sensors, beside whoever has it. Or for what programs of the user's set, where another
  // guardian has the machine for us: our own.
  enum class Mode { now, waits, looks, beside } mode = Mode::now;
  bool this_folder_alone = false;                     // as it was named to `restore`
  bool discards = false;                              // gives up what cannot be put back
  std::function<void(const std::string&)> tell = {};  // how the queue moves
  // Asked ten times a second: how often we were asked to stop. Once: we leave the queue, and wait no longer than
  // 1 s for any answer but that everything is put back. Twice: not for that one either.
  std::function<int()> stop = {};

  // This machine and its user's own record, not a recorded tree or a folder that was named.
  bool is_of_this_machine() const { return state_folder.empty() && sysfs_root.empty(); }
  // What runs left in other folders is put back first.
  bool looks_elsewhere() const { return sysfs_root.empty() && !this_folder_alone && mode != Mode::beside; }
};

// Which guardian: of our own, with no more rights than we have; the machine's; the one that stands by a run
// under sudo.
enum class GuardDoor { own, machine, beside };

// Who has the machine, as its guardian says.
struct MachineHolder {
  std::string user, experiment, since, until;
  int pid = 0;
};

class GuardClient : public SettingWriter, public ProtectedSensors {
 public:
  // Throws Error if another sweep has the machine, or if what an earlier one left could not be put back.
  explicit GuardClient(GuardWish wish);
  ~GuardClient() override;
  GuardClient(const GuardClient&) = delete;

  // What was put back of an earlier run that died; nullopt if there was none.
  const std::optional<RestoreOutcome>& found_journal() const { return found_; }
  const std::vector<GuardNote>& notes() const { return notes_; }
  // For who is about to set something: throws Error where a run that may have been on this machine left a journal which nobody has put back
  // (left_elsewhere()): what it had set would be taken for its owner's.
  void require_known_former() const;
  const std::string& run() const { return run_; }  // value of DVFS_PLAN_RUN for the workload
  // What the group must not end with a workload or a meter that leaves processes: guardians that are children of
  // ours, and what programs of the user's set for us. To be said again after whatever may begin a session.
  void keep_from(ProcessGroup& group) const;

  // Throws Error if the policy or the kernel does not let us set one of these.
  void arm(const std::vector<SavedSetting>& settings);
  // One answer to each.
  std::vector<SettingAnswer> may(const std::vector<SettingText>& requests);
  using SettingWriter::write;
  std::vector<WriteAnswer> write(const std::vector<SettingText>& requests) override;
  // Begins another session if ours has ended (somebody killed the guardian, or we did not answer for long).
  // True if that was needed: then everything was put back, and knobs are to be applied anew.
  bool keep();
  // How often that was so, this time included if it is so now.
  int sessions_lost() const;
  // Whether another process puts the settings back at once where the guardian is killed.
  bool is_stood_by() const { return door_ != GuardDoor::own; }

  // Before a workload is started, whose traces these are; the first time it returns when they are on disk.
  void note_traces(const WorkloadTraces& traces);
  void note_child(pid_t child);                  // 0: none is running
  void note_until(const std::string& expected);  // when we expect to be done, for who waits
  RestoreOutcome restore();

  OpenedFile open_file(const std::string& path) override;
  OpenedFile open_event(unsigned type, unsigned long config, int cpu) override;

 private:
  // Our own, for what programs of the user's set; of a guardian that is our own: none.
  bool is_for_another(const std::string& path) const;
  GuardClient& beside();
  void arm_ours(const std::vector<SavedSetting>& settings);
  std::vector<SettingAnswer> may_ours(const std::vector<SettingText>& requests);
  std::vector<WriteAnswer> write_ours(const std::vector<SettingText>& requests);
  bool keep_ours();
  RestoreOutcome restore_ours();
  std::optional<RestoreOutcome> put_back_left_elsewhere(const std::vector<std::string>& folders) const;
  // To go on, or (whatever was asked of us) to have put back what the last one left.
  enum class Begin { to_set, to_put_back };
  void begin_session(Begin why = Begin::to_set);
  // Tells the machine's guardian which process puts back what programs of ours set.
  void name_beside();
  bool try_session();
  bool greet();  // takes the machine
  void listen();
  void hang_up();
  void give_up_session();
  void end_session();
  void end_beside_if_lost();
  void machine_is_had();
  void send(const Message& message);
  // The answer, with its descriptor if it brought one; nullopt: the session has ended.
  std::optional<Message> ask(const Message& message, UniqueFd* passed = nullptr,
                             bool until_asked_twice = false);
  std::optional<Message> wait_for_answer(UniqueFd* passed, bool until_asked_twice = false);
  bool wait_in_queue();
  int stop_requests() const { return wish_.stop ? wish_.stop() : 0; }
  std::optional<MachineHolder> machine_holder() const;
  std::string nothing_is_set() const;
  RestoreOutcome restored_by_another(const std::vector<SavedSetting>& settings);
  OpenedFile ask_to_open(const Message& request);
  void arm_again();
  void hand_over_former();  // to a guardian that found no journal of ours
  [[noreturn]] void tell_what_stays(const std::string& why, const std::string& hint);

  const GuardWish wish_;
  std::vector<GuardNote> notes_;
  UniqueFd first_;  // the connection by which the door was found open
  const GuardDoor door_;
  std::string run_;
  std::optional<RestoreOutcome> found_;
  std::vector<SavedSetting> settings_;
  std::vector<SettingText> former_;                       // as the first guardian read them
  std::map<std::string, std::set<std::string>> written_;  // by path, what was written since
  std::optional<WorkloadTraces> traces_;                  // as the guardian knows them; nullopt: of none
  std::unique_ptr<GuardClient> beside_;
  pid_t named_beside_ = -1;
  pid_t child_ = -1;
  int begun_ = 0;
  bool to_arm_ = false;  // the session was begun anew, and refused to be armed: tried again

  mutable std::mutex mutex_;  // of all below
  std::condition_variable came_;
  std::unique_ptr<Connection> connection_;
  std::deque<std::pair<Message, UniqueFd>> answers_;
  bool lost_ = false;
  int lost_count_ = 0;
  // Of the one beside: the machine was taken from us. What was set was put back then, and whoever has it now may set the same.
  bool machine_lost_ = false;
  std::thread listener_;
  std::mutex one_question_;
  UniqueFd stop_;  // closed to end the listener
};

struct WhoAnswer {
  GuardDoor asked = GuardDoor::own;
  std::optional<MachineHolder> holder;
};
WhoAnswer who_has_the_machine(const GuardWish& wish);

}  // namespace dvfs_plan
