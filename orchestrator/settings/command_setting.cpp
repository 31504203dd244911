#include "orchestrator/settings/command_setting.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "base/end_processes.hpp"
#include "base/run_program.hpp"
#include "base/same_file.hpp"
#include "base/sysfs.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/whole_number.hpp"
#include "orchestrator/settings/beside_setting.hpp"

namespace dvfs_plan {
namespace {

constexpr std::string_view part_end = ";;";  // unquoted: a word that is the same is quoted
constexpr std::string_view value_word = "{value}", umask_word = "umask=";
constexpr Seconds setter_patience{60};

// As tokens_of() reads it: byte by byte, as nobody pastes it.
std::string kept_word(std::string_view word) {
  if (const std::string as_it_is = shell_quote(word); as_it_is == word) return as_it_is;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Each with a blank behind it.
std::string words_text(const std::vector<std::string>& words, std::string (*quoted)(std::string_view)) {
  std::string text;
  for (const std::string& word : words) text += quoted(word) + ' ';
  return text;
}

struct Token {
  std::string word;
  bool plain = true;  // no part of it was quoted
};

// Words as kept_word() writes them; nullopt: a quote is not closed.
std::optional<std::vector<Token>> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  std::optional<Token> token;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!inside && c == ' ') {
      if (token) tokens.push_back(std::move(*token));
      token.reset();
      continue;
    }
    if (!token) token.emplace();
    if (c == '\'') {
      inside = !inside;
      token->plain = false;
    } else if (!inside && c == '\\' && i + 1 < text.size()) {
      token->word += text[++i];
    } else {
      token->word += c;
    }
  }
  if (inside) return std::nullopt;
  if (token) tokens.push_back(std::move(*token));
  return tokens;
}

std::vector<std::string> with_value(std::vector<std::string> words, const std::string& value) {
  for (std::string& word : words) {
    for (std::size_t at = 0; (at = word.find(value_word, at)) != std::string::npos; at += value.size())
      word.replace(at, value_word.size(), value);
  }
  return words;
}

// The end of what a program said, on one line.
std::string tail_of(const std::string& output) {
  constexpr std::size_t longest = 200;
  std::string text = join(split_lines(std::string(trim(output))), "; ");
  if (text.size() > longest) text = "..." + text.substr(text.size() - longest);
  return printable(text);
}

bool may_be_entered(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), X_OK, AT_EACCESS) == 0;
}

// Folders of setters that were there when a setting of theirs was first used, held open: somebody may move one away before all is put back.
class Folders {
 public:
  // Where `folder` is now, whatever has its name by now; "/" where it is gone, or may not be entered any more (rights, a ticket that is over):
  // programs that lie elsewhere do their work there all the same.
  std::string now(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    UniqueFd& held = held_[folder];
    struct stat named {
    }, kept{};
    const bool is_there = ::stat(folder.c_str(), &named) == 0 && may_be_entered(folder);
    if (is_there && !held) held.reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (is_there && (!held || ::fstat(held.get(), &kept) != 0 || is_same_file(kept, named))) return folder;
    std::error_code none;
    const std::string moved =
        held ? std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", held.get()), none).string() : "";
    if (!moved.empty() && may_be_entered(moved)) return moved;
    return is_there ? folder : "/";
  }

 private:
  std::mutex mutex_;
  std::map<std::string, UniqueFd> held_;
};

Folders& folders() {
  static Folders all;
  return all;
}

std::atomic<bool (*)()> asks_to_stop{nullptr};

// A program that hangs must not keep a run from obeying Ctrl-C; one that takes its time may end.
class Stop {
 public:
  bool is_due() const {
    if (asks_to_stop.load() == nullptr || !asks_to_stop.load()()) return false;
    asked_ = std::min(asked_, Steady::now());
    return Steady::now() - asked_ >= std::chrono::seconds(1);
  }

 private:
  using Steady = std::chrono::steady_clock;
  mutable Steady::time_point asked_ = Steady::time_point::max();
};

class CommandSetting : public Setting {
 public:
  explicit CommandSetting(SetterPrograms programs) : programs_(std::move(programs)) {}

  Read read() override {
    // What it warns of on stderr is no part of the value; where it fails it is asked once more, for its words.
    ProgramAnswer answer;
    std::string problem = run(programs_.read, answer, true, " 2>/dev/null");
    if (!problem.empty() && !answer.timed_out) problem = run(programs_.read, answer, true);
    if (!problem.empty()) return {std::nullopt, std::move(problem), answer.timed_out};
    std::string text(trim(answer.output));
    if (text.empty()) return {std::nullopt, fmt::format("{} printed nothing", programs_.read.front())};
    if (text.find('\n') != std::string::npos)
      return {std::nullopt, fmt::format("{} is to print the value alone, on one line; it printed '{}'",
                                        programs_.read.front(), tail_of(text))};
    return {std::move(text)};
  }
  Written write(const std::string& value) override {
    // Words may be files of it: only what is put back is tried from elsewhere.
    if (programs_.folder != "/" && folders().now(programs_.folder) == "/")
      return {fmt::format("the folder of the experiment, {}, {}", programs_.folder,
                          is_locked() ? "may not be entered" : "is gone"),
              true};
    ProgramAnswer answer;
    return {run(with_value(programs_.set, value), answer, true)};
  }
  Written put_back(const std::string& value) override {
    ProgramAnswer answer;
    Written written{run(with_value(restoring(), value), answer, false)};
    written.may_go_on = !answer.ran();
    if (!written.problem.empty() && programs_.folder != "/" && folders().now(programs_.folder) == "/")
      written.problem += fmt::format("; the folder of the experiment, {}, {}", programs_.folder,
                                     is_locked() ? "may not be entered: give back the right to"
                                                 : "is gone: if it was renamed, give it its name back");
    return written;
  }
  bool exists() override { return missing().empty(); }
  std::string absent_because() override { return missing(); }
  // By who runs it: what the programs may do they say themselves.
  bool writable() const override { return missing().empty(); }
  std::string command(const std::string& value) const override { return in_a_shell(programs_.set, value); }
  std::string put_back_command(const std::string& value) const override {
    return in_a_shell(restoring(), value);
  }
  bool is_command() const override { return true; }
  bool may_be_contested() const override { return true; }

 private:
  // It is there for those who may look; to be asked where it cannot be used.
  bool is_locked() const { return ::access(programs_.folder.c_str(), X_OK) != 0 && errno != ENOENT; }

  const std::vector<std::string>& restoring() const {
    return programs_.restore.empty() ? programs_.set : programs_.restore;
  }

  std::string in_a_shell(const std::vector<std::string>& argv, const std::string& value) const {
    const std::string folder = folders().now(programs_.folder);
    std::string text = words_text(with_value(moved(argv, folder), value), shell_quote);
    text.pop_back();
    // Whoever reads this may have another home.
    std::string of_the_run;
    for (const auto& [name, wanted] : environment()) {
      const char* const here = std::getenv(name.c_str());
      if (here == nullptr || here != wanted) of_the_run += shell_quote(name + "=" + wanted) + ' ';
    }
    if (!of_the_run.empty()) text = "env " + of_the_run + text;
    return fmt::format("(cd {} && {})", shell_quote(folder), text);
  }

  // A program that lies in a folder which was moved away is where that is now.
  std::vector<std::string> moved(std::vector<std::string> argv, const std::string& folder) const {
    // That of a file in the current folder is kept with a '/' at its end.
    const std::string was = programs_.folder.ends_with('/') ? programs_.folder : programs_.folder + "/";
    if (folder != programs_.folder && folder != "/" && argv.front().starts_with(was))
      argv.front().replace(0, was.size(), folder.ends_with('/') ? folder : folder + "/");
    return argv;
  }

  // Of the run, as far as it is known; else whoever asks has his own.
  std::vector<std::pair<std::string, std::string>> environment() const {
    std::vector<std::pair<std::string, std::string>> found;
    for (const std::string& one :
         programs_.surroundings.empty() ? surroundings_of_setters() : programs_.surroundings) {
      const auto equals = one.find('=');
      if (equals != std::string::npos && !one.starts_with(umask_word))
        found.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    }
    return found;
  }

  // "umask 022; ", or nothing.
  std::string umask_command() const {
    for (const std::string& one : programs_.surroundings) {
      const std::string digits = one.starts_with(umask_word) ? one.substr(umask_word.size()) : std::string();
      if (!digits.empty() && digits.size() <= 4 && digits.find_first_not_of("01234567") == std::string::npos)
        return fmt::format("umask {}; ", digits);
    }
    return {};
  }

  std::string missing() const {
    const std::string folder = folders().now(programs_.folder);
    for (const auto* argv : {&programs_.set, &programs_.read, &programs_.restore}) {
      if (!argv->empty() && ::access(moved(*argv, folder).front().c_str(), X_OK) != 0)
        return fmt::format("there is no program {} that this user may run", argv->front());
    }
    return {};
  }

  // Why it failed; empty: it did not. sh(1) changes to the folder, env(1) makes the environment; which env(1) is not for the caller's PATH to say.
  // `of_the_run`: what it leaves running is ended with a run that was cut off. What puts back starts for its owner.
  std::string run(const std::vector<std::string>& argv, ProgramAnswer& answer, bool of_the_run,
                  const char* errors = "") const {
    const std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const std::string folder = folders().now(programs_.folder);
    std::vector<std::string> words{
        "-c", fmt::format("{}; {}cd \"$0\" && exec env -i \"$@\"{}", path, umask_command(), errors), folder,
        path, "LC_ALL=C"};
    for (const auto& [name, text] : environment()) words.push_back(fmt::format("{}={}", name, text));
    if (const char* const mark = std::getenv(run_variable)) {
      words.push_back(fmt::format("{}={}", setter_variable, mark));
      if (of_the_run) words.push_back(fmt::format("{}={}", run_variable, mark));
    }
    const std::vector<std::string> program = moved(argv, folder);
    words.insert(words.end(), program.begin(), program.end());
    const Stop stop;
    answer = run_program("/bin/sh", words, setter_patience, [&] { return stop.is_due(); });
    if (answer.timed_out && stop.is_due())
      return fmt::format("{} had not ended when the run was asked to stop", argv.front());
    if (answer.timed_out)
      return fmt::format("{} did not end within {:g} s", argv.front(), setter_patience.value());
    if (!answer.ran()) return fmt::format("{} did not end by itself ({})", argv.front(), answer.problem);
    if (answer.exit_code == 0) return {};
    const std::string said = tail_of(answer.output);
    return fmt::format("{} ended with exit code {}{}", argv.front(), answer.exit_code,
                       said.empty() ? "" : ": " + said);
  }

  const SetterPrograms programs_;
};

}  // namespace

void end_programs_that_hang_when(bool (*asked)()) {
  asks_to_stop = asked;
}

std::string command_setting(const SetterPrograms& programs) {
  std::string path =
      fmt::format("{}{} {}{} {}{} {}{} {}", command_prefix, programs.name,
                  words_text(programs.set, kept_word), part_end, words_text(programs.read, kept_word),
                  part_end, words_text(programs.restore, kept_word), part_end, kept_word(programs.folder));
  for (const std::string& one : programs.surroundings) path += ' ' + kept_word(one);
  return path;
}

std::vector<std::string> surroundings_of_setters() {
  std::vector<std::string> found;
  for (const std::string& line : split_lines(Sysfs().text("/proc/self/status").value_or(""))) {
    if (line.starts_with("Umask:"))
      found.push_back(std::string(umask_word) + std::string(trim(line.substr(std::strlen("Umask:")))));
  }
  for (const char* name : {"HOME", "USER", "XDG_RUNTIME_DIR"}) {
    const char* const text = std::getenv(name);
    if (text != nullptr && std::string_view(text).find_first_of("\n\r\t") == std::string_view::npos)
      found.push_back(fmt::format("{}={}", name, text));
  }
  return found;
}

std::optional<SetterPrograms> setter_programs_of(const std::string& path) {
  if (!is_command_setting(path)) return std::nullopt;
  const auto tokens = tokens_of(std::string_view(path).substr(command_prefix.size()));
  if (!tokens || tokens->size() < 2) return std::nullopt;
  SetterPrograms programs;
  programs.name = tokens->front().word;
  std::vector<std::string> where;  // the folder, and what surrounds it
  std::vector<std::string>* const parts[] = {&programs.set, &programs.read, &programs.restore, &where};
  constexpr std::size_t last = std::size(parts) - 1;
  std::size_t part = 0;
  for (std::size_t i = 1; i < tokens->size(); ++i) {
    const Token& token = (*tokens)[i];
    if (token.plain && token.word == part_end && part < last)
      ++part;
    else
      parts[part]->push_back(token.word);
  }
  const bool whole = part == last && !programs.set.empty() && !programs.read.empty() && !where.empty();
  if (whole) {
    programs.folder = where.front();
    programs.surroundings.assign(where.begin() + 1, where.end());
  }
  return whole ? std::optional(std::move(programs)) : std::nullopt;
}

std::string shown_setting(const std::string& path) {
  const auto programs = setter_programs_of(path);
  if (programs) return "set." + programs->name;
  return is_beside_setting(path) ? path.substr(beside_prefix.size()) : path;
}

bool reads_as_asked(const std::string& asked, const std::string& read) {
  if (asked == read) return true;
  // A register or a mask of many digits is another by its last one already.
  if (const auto wanted = whole_number(asked), found = whole_number(read); wanted && found)
    return *wanted == *found;
  constexpr double digits = 1e-9;
  const auto one = parse_quantity(asked), other = parse_quantity(read);
  return one && other && one->dimension == other->dimension &&
         std::abs(one->value - other->value) <= digits * std::abs(one->value);
}

std::unique_ptr<Setting> command_setting_at(const std::string& path) {
  auto programs = setter_programs_of(path);
  return programs ? std::make_unique<CommandSetting>(std::move(*programs)) : nullptr;
}

}  // namespace dvfs_plan
