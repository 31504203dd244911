// Settings that programs of the user's set and read: their path holds all of them, they are run as it says, and what they change by the
// way is put back too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "base/run_program.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "tests/support/machines.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Words {
 public:
  explicit Words(unsigned seed) : random_(seed) {}
  std::string word() {
    static const std::vector<std::string> pieces{"a",  " ",    "'", "\"", "\\",       ";;", ";", "{value}",
                                                 "$x", "`id`", "|", "-",  "\xc3\xa4", "#",  "&&"};
    std::string text;
    for (auto count = random_() % 4; count > 0; --count) text += pieces[random_() % pieces.size()];
    return text;
  }
  std::vector<std::string> argv(std::size_t least) {
    std::vector<std::string> words(least + random_() % 4);
    for (std::string& one : words) one = word();
    return words;
  }

 private:
  std::mt19937 random_;
};

TEST(CommandSetting, ThePathHoldsWhateverWordsThereAre) {
  Words words(1);
  for (int i = 0; i < 3000; ++i) {
    const SetterPrograms programs{"cap-1", words.argv(1), words.argv(1), words.argv(0),
                                  "/home/" + words.word()};
    const std::string path = command_setting(programs);
    const auto found = setter_programs_of(path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(*found, programs) << path;
    EXPECT_EQ(shown_setting(path), "set.cap-1");
  }
  for (const char* broken : {"command:", "command:x", "command:x 'a", "command:x a ;; b ;; /f",
                             "command:x ;; b ;; ;; /f", "/sys/x"})
    EXPECT_FALSE(setter_programs_of(broken)) << broken;
  EXPECT_EQ(shown_setting("/sys/x"), "/sys/x");
}

TEST(CommandSetting, TheCommandForAShellIsWhatIsRun) {
  Words words(2);
  TemporaryFolder root;
  for (int i = 0; i < 60; ++i) {
    std::vector<std::string> argv{"/usr/bin/printf", "%s|"};
    const auto more = words.argv(1);
    argv.insert(argv.end(), more.begin(), more.end());
    const auto setting = command_setting_at(command_setting({"x", argv, {"/bin/true"}, {}, root.path()}));
    const auto said = run_program("/bin/sh", {"-c", setting->command("12 'W")}, Seconds{10});
    std::string expected;
    for (std::string word : more) {
      for (std::size_t at; (at = word.find("{value}")) != std::string::npos;) word.replace(at, 7, "12 'W");
      expected += word + "|";
    }
    EXPECT_EQ(said.output, expected) << setting->command("12 'W");
  }
}

// A folder with programs and a file that stands for the machine.
class OwnPrograms : public testing::Test {
 protected:
  std::string script(const std::string& name, const std::string& text) {
    const std::string path = root_.path() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text;
    ::chmod(path.c_str(), 0755);
    return path;
  }
  void put(const std::string& name, const std::string& text) {
    std::ofstream(root_.path() + "/" + name) << text << '\n';
  }
  std::string text(const std::string& name) {
    std::ifstream file(root_.path() + "/" + name);
    std::string line;
    std::getline(file, line);
    return line;
  }
  SetterPrograms programs(const std::string& set = "echo $1 >cap\n", const std::string& read = "cat cap\n",
                          const std::string& restore = {}) {
    SetterPrograms found{"cap", {script("set", set), "{value}"}, {script("get", read)}, {}, root_.path()};
    if (!restore.empty()) found.restore = {script("back", restore), "{value}"};
    return found;
  }
  std::unique_ptr<Setting> setting(const SetterPrograms& of) {
    return command_setting_at(command_setting(of));
  }

  TemporaryFolder root_;
  Sysfs sysfs_{root_.path()};
};

TEST_F(OwnPrograms, AreRunInTheirFolderWithAnEnvironmentThatIsTheSameForWhoeverRunsThem) {
  ::setenv("DVFS_TEST_OF_OURS", "x", 1);
  put("cap", "100");
  const auto plain = setting(programs());
  EXPECT_EQ(plain->read().text, "100");
  EXPECT_EQ(plain->write("120").problem, "");
  EXPECT_EQ(text("cap"), "120");
  const auto environment =
      setting(programs("true", "env | cut -d= -f1 | sort | tr '\\n' ' '\n"))->read().text;
  EXPECT_THAT(environment.value_or(""), testing::Not(HasSubstr("DVFS_TEST_OF_OURS")));
  EXPECT_THAT(environment.value_or(""), HasSubstr("LC_ALL PATH PWD"));
}

TEST_F(OwnPrograms, WhatTheyCannotTellIsNotGuessed) {
  const auto problem = [&](const std::string& read) {
    return setting(programs("true", read))->read().problem;
  };
  const std::string get = root_.path() + "/get";
  EXPECT_EQ(problem("true"), get + " printed nothing");
  EXPECT_EQ(problem("echo; echo '  '"), get + " printed nothing");
  EXPECT_EQ(problem("echo mode; echo 3"),
            get + " is to print the value alone, on one line; it printed 'mode; 3'");
  EXPECT_EQ(problem("echo no such node >&2; exit 3"), get + " ended with exit code 3: no such node");
  EXPECT_EQ(problem("kill -9 $$"), get + " did not end by itself (/bin/sh was ended by SIGKILL)");
  EXPECT_EQ(setting(programs("exit 1", "echo 1"))->write("2").problem,
            root_.path() + "/set ended with exit code 1");
  const auto gone = setting({"x", {"/none", "{value}"}, {get}, {}, root_.path()});
  EXPECT_FALSE(gone->writable());
  EXPECT_EQ(gone->absent_because(), "there is no program /none that this user may run");
}

TEST_F(OwnPrograms, ReadAsAsked) {
  EXPECT_TRUE(reads_as_asked("120", "120.000"));
  EXPECT_TRUE(reads_as_asked("on", "on"));
  EXPECT_FALSE(reads_as_asked("120", "120.1"));
  EXPECT_TRUE(reads_as_asked("1.5 GHz", "1500 MHz"));
  EXPECT_TRUE(reads_as_asked("200 W", "200.00 W"));
  EXPECT_FALSE(reads_as_asked("200 W", "200"));
  EXPECT_FALSE(reads_as_asked("1 s", "1 W"));
  EXPECT_FALSE(reads_as_asked("on", "On"));
  EXPECT_FALSE(reads_as_asked("120", "120 W"));
}

// `restore` a day later, from another home and with another umask, does what the run would have done.
TEST_F(OwnPrograms, DoTheSameForWhoeverRunsThem) {
  root_.attribute("/ours/k", "40");
  root_.attribute("/others/k", "33");
  SetterPrograms own = programs("echo $1 >$HOME/k; umask >mask", "cat $HOME/k");
  own.surroundings = {"umask=0027", "HOME=" + root_.path() + "/ours", "XDG_RUNTIME_DIR=it's here"};
  EXPECT_EQ(setter_programs_of(command_setting(own)), own);
  const char* const home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  ::setenv("HOME", (root_.path() + "/others").c_str(), 1);
  const auto same = command_setting_at(command_setting(own));
  EXPECT_EQ(same->read().text, "40");
  EXPECT_EQ(same->put_back("10").problem, "");
  EXPECT_EQ(*sysfs_.text("/ours/k"), "10");
  EXPECT_EQ(*sysfs_.text("/others/k"), "33");
  EXPECT_EQ(text("mask"), "0027");
  EXPECT_THAT(same->put_back_command("10"), testing::HasSubstr(" && env HOME=" + root_.path() + "/ours "));
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(OwnPrograms, ArePutBackByTheirOwnWayBack) {
  put("cap", "100");
  const SetterPrograms own = programs("echo $1 >cap", "cat cap", "echo $1 >cap; echo back >how");
  SettingAccess access(sysfs_, {});
  TrackingWriter writer(sysfs_, {});
  const SavedSetting saved{"set.cap", command_setting(own), "100"};
  EXPECT_EQ(writer.write(saved.path, "120").problem, "");
  const auto outcome = restore_settings({saved}, access, {&writer.applied()});
  EXPECT_TRUE(outcome.complete());
  EXPECT_EQ(outcome.restored, 1);
  EXPECT_EQ(text("cap"), "100");
  EXPECT_EQ(text("how"), "back");
  // What somebody else set meanwhile is his.
  EXPECT_EQ(writer.write(saved.path, "120").problem, "");
  put("cap", "77");
  const auto others = restore_settings({saved}, access, {&writer.applied()});
  EXPECT_EQ(text("cap"), "77");
  EXPECT_THAT(
      others.notes,
      ElementsAre(
          "set.cap is '77', which is neither what the run set (120) nor what was there before ('100'): "
          "somebody else changed it meanwhile, and it was left so; to put it back: (cd " +
          root_.path() + " && " + root_.path() + "/back 100)"));
}

// nvpmodel, say: a mode sets limits of clocks by the way, and going back to the old one sets them to what that mode has.
TEST_F(OwnPrograms, WhatAModeTakesAlongIsPutBackToo) {
  root_.attribute("/sys/limit", "1234");
  put("cap", "1");
  const SetterPrograms mode = programs("echo $1 >cap; echo 99$1 >sys/limit");
  SettingAccess access(sysfs_, {});
  const std::vector<SavedSetting> saved{{"sysfs.limit", "/sys/limit", "1234"},
                                        {"set.cap", command_setting(mode), "1"}};
  TrackingWriter writer(sysfs_, {});
  EXPECT_EQ(writer.write(saved[1].path, "2").problem, "");
  EXPECT_EQ(*sysfs_.text("/sys/limit"), "992");
  const auto outcome = restore_settings(saved, access, {&writer.applied()});
  EXPECT_TRUE(outcome.complete());
  EXPECT_EQ(text("cap"), "1");
  EXPECT_EQ(*sysfs_.text("/sys/limit"), "1234");
}

TEST_F(OwnPrograms, OneThatDoesNotComeBackIsTold) {
  put("cap", "100");
  const SetterPrograms own = programs("[ $1 = 100 ] || echo $1 >cap");
  SettingAccess access(sysfs_, {});
  EXPECT_EQ(setting(own)->write("120").problem, "");
  const auto outcome = restore_settings({{"set.cap", command_setting(own), "100"}}, access);
  ASSERT_EQ(outcome.failures.size(), 1U);
  EXPECT_EQ(outcome.failures[0].found, "120");
  EXPECT_THAT(restore_commands(outcome),
              ElementsAre("(cd " + root_.path() + " && " + root_.path() + "/set 100)"));
}

// Its rights were changed meanwhile, or a ticket for its file system is over: programs that lie elsewhere do not need it.
TEST_F(OwnPrograms, AFolderThatMayNotBeEnteredAnyMoreIsNotNeededToPutBack) {
  TemporaryFolder elsewhere;
  const auto program = [&](const std::string& name, const std::string& text) {
    const std::string path = elsewhere.path() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << '\n';
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    return path;
  };
  const std::string cap = elsewhere.path() + "/cap";
  const SetterPrograms own{"cap",
                           {program("set", "echo $1 >" + cap), "{value}"},
                           {program("get", "cat " + cap)},
                           {},
                           root_.path()};
  std::ofstream(cap) << "100\n";
  constexpr uid_t nobody = 65534;
  if (::geteuid() == 0) {  // who may enter all
    for (const std::string& path : {root_.path(), elsewhere.path(), cap})
      EXPECT_EQ(::chown(path.c_str(), nobody, nobody), 0);
  }
  // Another process: who has become somebody else stays that.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresuid(nobody, nobody, nobody) != 0))
      ::_exit(10);
    const auto one = setting(own);
    if (!one->write("120").problem.empty() || one->read().text != "120") ::_exit(11);
    if (::chmod(root_.path().c_str(), 0) != 0) ::_exit(12);
    if (one->write("140").problem != "the folder of the experiment, " + root_.path() + ", may not be entered")
      ::_exit(13);
    if (one->read().text != "120" || !one->put_back("100").problem.empty() || one->read().text != "100")
      ::_exit(14);
    ::_exit(one->put_back_command("100") == "(cd / && " + elsewhere.path() + "/set 100)" ? 0 : 15);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(::chmod(root_.path().c_str(), 0700), 0);
}

class CommandKnobTest : public OwnPrograms {
 protected:
  KnobFinding find(const std::string& axis,
                   std::vector<RawValue> values = {{"120", {}}, {"90", {}}, {"100", {}}}) {
    const SetterPrograms own = programs();
    auto found = find_knobs({axis}, sysfs_,
                            {.set = {{"cap", {}, {"./set", "{value}"}, {"./get"}, {}, std::move(values)},
                                     {"lost", {}, {"no-such-tool", "{value}"}, {"./get"}, {}, {{"1", {}}}},
                                     {"mute", {}, {"./set", "{value}"}, {"true"}, {}, {{"1", {}}}}},
                             .folder = root_.path()});
    return std::move(found.at(0));
  }
  TrackingWriter writer_{sysfs_, {}};
};

TEST_F(CommandKnobTest, SetsReadsBackAndFindsOutWhatWasNotDone) {
  put("cap", "100.0");
  auto finding = find("set.cap");
  ASSERT_TRUE(finding.knob) << finding.problem;
  Knob& knob = *finding.knob;
  std::vector<std::string> offered;
  for (const AxisValue& value : knob.offer().values) offered.push_back(value.text);
  EXPECT_THAT(offered, ElementsAre("90", "100", "120"));  // numbers, so in their order
  EXPECT_EQ(knob.snapshot().at(0).value, "100.0");
  const auto applied = knob.apply(knob.offer().values.at(2), writer_).at(0);
  EXPECT_EQ(applied.problem, "");
  EXPECT_EQ(applied.applied, "120");
  EXPECT_EQ(text("cap"), "120");

  script("set", "exit 0");  // says that it is done, and does nothing
  const auto lied = knob.apply(knob.offer().values.at(0), writer_).at(0);
  EXPECT_EQ(lied.problem,
            "set.cap: asked for 90, and its 'read' says 120: its 'command' said that it was done");
  EXPECT_EQ(lied.applied, "120");
  script("set", "echo no rights >&2; exit 1");
  EXPECT_EQ(knob.apply(knob.offer().values.at(0), writer_).at(0).problem,
            "set.cap: asked for 90: " + root_.path() + "/set ended with exit code 1: no rights");
  script("set", "echo $1 >cap");
  script("get", "exit 5");
  const auto blind = knob.apply(knob.offer().values.at(0), writer_).at(0);
  EXPECT_EQ(blind.applied, std::nullopt);
  EXPECT_EQ(blind.problem, "set.cap: asked for 90, and what is set now cannot be read: " + root_.path() +
                               "/get ended with exit code 5");
}

TEST_F(CommandKnobTest, SaysWhatIsMissing) {
  put("cap", "100");
  EXPECT_EQ(find("set.lost").problem,
            "its 'command' wants a program 'no-such-tool', which is not there or may not be run");
  EXPECT_EQ(
      find("set.mute").problem,
      "its 'read' does not tell what is set now, so it could not be put back: /usr/bin/true printed nothing");
  EXPECT_EQ(find("set.cab").problem,
            "say how it is set and read:  set: {cab: {command: [..., '{value}'], read: [...], values: "
            "[...]}} (did you mean 'cap'?)");
  EXPECT_EQ(find("set.cap@0").problem, "programs of your own take no '@': make a knob for each target");
  EXPECT_EQ(find("set.cap", {{std::string(5000, 'x'), {}}}).problem, "");
  const auto words = find("set.cap", {{"turbo", {}}, {"eco", {}}});
  ASSERT_TRUE(words.knob);
  EXPECT_EQ(words.knob->offer().dimension, Dimension::text);
  EXPECT_EQ(words.knob->offer().values.at(0).text, "turbo");
}

// A register that holds power limits (MSR_PKG_POWER_LIMIT: 125 W and 60 W) has more digits than a double, and differs in the last ones.
TEST(CommandSetting, WholeNumbersAreTheSameToTheirLastDigit) {
  EXPECT_FALSE(reads_as_asked("18721693725196768", "18721693725197288"));
  EXPECT_FALSE(reads_as_asked("18446744073709551614", "18446744073709551615"));
  EXPECT_FALSE(reads_as_asked("2147494404", "2147494405"));
  EXPECT_FALSE(reads_as_asked("-10000000000", "10000000000"));
  EXPECT_TRUE(reads_as_asked("18446744073709551615", "18446744073709551615.000"));
  EXPECT_TRUE(reads_as_asked("120", "120.000"));
  EXPECT_TRUE(reads_as_asked("0120", "120"));
  EXPECT_TRUE(reads_as_asked("0.3", "0.30000000000000004"));
  EXPECT_TRUE(reads_as_asked("2e9", "2000000000"));
}

}  // namespace
}  // namespace dvfs_plan
