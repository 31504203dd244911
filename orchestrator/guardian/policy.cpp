#include "orchestrator/guardian/policy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

const char* const next_step =
    "until it is mended nobody may set anything; what it may say: man dvfs-guardian";

std::string real_path(const char* path) {
  char* const real = ::realpath(path, nullptr);
  const std::string text = real == nullptr ? "" : real;
  std::free(real);
  return text;
}

// A file of /sys has many names, by the kernel's own links: /sys/class/... and /sys/devices/...
bool is_same_file(const std::string& allowed, const std::string& what) {
  const std::string real = real_path(what.c_str());
  if (real.empty()) return false;
  glob_t found{};
  bool same = false;
  if (::glob(allowed.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc && !same; ++i)
      same = matches(allowed, found.gl_pathv[i]) && real_path(found.gl_pathv[i]) == real;
  }
  ::globfree(&found);
  return same;
}

bool covers(const std::string& allowed, const std::string& what) {
  if (what.starts_with('/'))
    return allowed.starts_with('/') && (matches(allowed, what) || is_same_file(allowed, what));
  if (allowed == "*") return what != "sensors";
  if (allowed.ends_with(".*")) return what.starts_with(allowed.substr(0, allowed.size() - 1));
  return allowed == what;
}

bool is_kind(const std::string& word) {
  static const std::array<std::string_view, 12> kinds{
      "cpu.frequency",   "cpu.governor", "cpu.epp",  "cpu.turbo",  "cpu.uncore",      "cpu.cstates",
      "cpu.power_limit", "devfreq",      "gpu.core", "gpu.memory", "gpu.power_limit", "gpu.profile"};
  return std::find(kinds.begin(), kinds.end(), word) != kinds.end();
}

bool is_what(const std::string& word) {
  return word == "*" || word == "sensors" || word == "cpu.*" || word == "gpu.*" || is_kind(word);
}

// Of a policy's path, where '*' may stand.
bool is_pattern_of_sys(std::string path) {
  std::replace(path.begin(), path.end(), '*', 'x');
  return is_plain_sys_path(path);
}

Seconds duration_of(const std::vector<std::string>& words, std::size_t from) {
  const auto quantity = parse_quantity(
      join(std::vector<std::string>(words.begin() + static_cast<std::ptrdiff_t>(from), words.end()), " "));
  if (!quantity || quantity->dimension != Dimension::time || quantity->value <= 0)
    throw std::runtime_error("wanted a duration such as 24 h");
  return Seconds{quantity->value};
}

}  // namespace

Policy Policy::load(const std::string& file) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!opened && errno == ENOENT) {
    Policy built_in;
    built_in.allowed_.push_back({group_name, {"*", "sensors"}, 0});
    return built_in;
  }
  if (!opened) throw Error(ExitCode::machine_refuses, system_error_text("open " + file, errno), next_step);
  struct stat info {};
  ::fstat(opened.get(), &info);
  if (info.st_uid != 0 || (info.st_mode & 022) != 0)
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{}: wanted to be root's and written by nobody else, found uid {} and mode {:04o}", file,
                    info.st_uid, info.st_mode & 07777U),
        fmt::format("sudo chown root: {} && sudo chmod 644 {}", file, file));
  std::string text;
  std::array<char, 4096> buffer;
  constexpr std::size_t longest = 1 << 20;
  for (ssize_t count;
       (count = ::read(opened.get(), buffer.data(), buffer.size())) > 0 && text.size() < longest;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  return parse(text, file);
}

Policy Policy::parse(const std::string& text, const std::string& file) {
  Policy policy;
  policy.file_ = file;
  int line = 0;
  for (const std::string& written : split_lines(text)) {
    ++line;
    const auto words = split_words(written.substr(0, written.find('#')));
    if (words.empty()) continue;
    try {
      policy.take_line(words, line);
    } catch (const std::runtime_error& fault) {
      throw Error(ExitCode::machine_refuses, fmt::format("{}:{}: {}", file, line, fault.what()), next_step);
    }
  }
  return policy;
}

void Policy::take_line(const std::vector<std::string>& words, int line) {
  const auto fail = [](const std::string& why) { throw std::runtime_error(why); };
  const std::string& rule = words[0];
  if (rule == "allow") {
    if (words.size() < 3) fail("wanted: allow WHO WHAT...");
    Allow allow{words[1], {words.begin() + 2, words.end()}, line};
    for (const std::string& what : allow.what) {
      if (!is_what(what) && !is_pattern_of_sys(what))
        fail(fmt::format("'{}' is neither a kind of setting, nor 'sensors', nor a file below /sys",
                         printable(what)));
    }
    allowed_.push_back(std::move(allow));
  } else if (rule == "limit") {
    const bool whole = words.size() == 6 || words.size() == 5;
    if (!whole || words[2] != "at" || (words[3] != "least" && words[3] != "most") || !is_kind(words[1]))
      fail("wanted: limit KIND at least|at most VALUE");
    const std::string value = words.size() == 6 ? words[4] + " " + words[5] : words[4];
    const auto quantity = parse_quantity(value);
    const bool power = words[1].ends_with(".power_limit");
    if (!quantity || quantity->dimension != (power ? Dimension::power : Dimension::frequency))
      fail(fmt::format("'{}' is no {}", printable(value),
                       power ? "power such as 300 W" : "frequency such as 1.8 GHz"));
    limits_.push_back({words[1], words[3] == "least", quantity->value, value, line});
  } else if (rule == "boards") {
    boards_.insert(boards_.end(), words.begin() + 1, words.end());
    boards_line_ = line;
  } else if (rule == "session" && words.size() > 3 && words[1] == "at" && words[2] == "most") {
    longest_session = duration_of(words, 3);
  } else if (rule == "session" && words.size() > 2 && words[1] == "stalled") {
    stalled_after = duration_of(words, 2);
  } else if (rule == "nvidia-smi" && words.size() == 2 && words[1].starts_with('/')) {
    nvidia_smi = words[1];
  } else {
    fail(
        fmt::format("'{}' is no rule; there are: allow, limit, boards, session at most, session stalled, "
                    "nvidia-smi",
                    printable(join(words, " "))));
  }
}

bool Policy::is_meant(const Client& client, const std::string& who) {
  return client.by_sudo || who == "everybody" || who == "user:" + client.name ||
         std::find(client.groups.begin(), client.groups.end(), who) != client.groups.end();
}

bool Policy::allows(const Client& client, const std::string& what) const {
  return std::any_of(allowed_.begin(), allowed_.end(), [&](const Allow& allow) {
    return is_meant(client, allow.who) &&
           std::any_of(allow.what.begin(), allow.what.end(),
                       [&](const std::string& allowed) { return covers(allowed, what); });
  });
}

std::string Policy::at(int line) const {
  return fmt::format("{}:{}", file_, line);
}

std::string Policy::nobody_said(const Client& client, const std::string& what) const {
  if (file_.empty())
    return fmt::format(
        "the built-in policy does not let {} {}: there is no {}, so members of the group {} may set what "
        "dvfs-plan knows, and no other file",
        client.name, what, policy_file, group_name);
  return fmt::format("the policy does not let {} {}: no 'allow' line of {} says so", client.name, what,
                     file_);
}

std::string Policy::refusal(const Client& client) const {
  if (client.unbound || client.by_sudo) return {};
  const bool named = std::any_of(allowed_.begin(), allowed_.end(),
                                 [&](const Allow& allow) { return is_meant(client, allow.who); });
  return named ? std::string{} : nobody_said(client, "set anything");
}

std::string Policy::refusal_to_save(const Client& client, const std::string& path) const {
  if (client.unbound || known_setting(path)) return {};
  if (is_plain_sys_path(path) && allows(client, path)) return {};
  return nobody_said(client, "set " + printable(path));
}

std::string Policy::refusal_to_set(const Client& client, const std::string& path,
                                   const std::string& text) const {
  if (client.unbound) return {};
  const auto known = known_setting(path);
  if (!known || known->kind.empty() || !allows(client, known->kind)) {
    // A file that is named is allowed as such, whatever kind it is of.
    if (is_plain_sys_path(path) && allows(client, path))
      return text.size() <= 256 && text.find_first_of(std::string_view("\n\0", 2)) == std::string::npos
                 ? ""
                 : fmt::format("'{}' is no text for {}", printable(text.substr(0, 64)), path);
    return nobody_said(client,
                       known && !known->kind.empty() ? "set " + known->kind : "set " + printable(path));
  }
  if (!known->board.empty() && !boards_.empty() &&
      std::find(boards_.begin(), boards_.end(), known->board) == boards_.end())
    return fmt::format("{} is none of the boards that {} names", known->board, at(boards_line_));
  const auto numbers = numbers_of(*known, path, text);
  if (!numbers) return fmt::format("'{}' is no value of {}", printable(text.substr(0, 64)), known->kind);
  // Application clocks are a pair: the memory's as if it were set by itself.
  if (path.ends_with("/clocks.applications")) {
    const std::string memory = path.substr(0, path.rfind('/')) + "/lock.memory";
    if (std::string why = refusal_to_set(client, memory, text.substr(0, text.find(','))); !why.empty())
      return why;
  }
  // Levels by their numbers, and words that choose among them, cannot be held to a clock.
  const bool by_level =
      known->kind.starts_with("gpu.") && known->unit.empty() && text != "manual" && text != "auto";
  for (const Limit& limit : limits_) {
    if (limit.kind != known->kind) continue;
    if (by_level)
      return fmt::format("{} is set by levels here, which cannot be held to {}", known->kind, at(limit.line));
    if (numbers->words || known->unit.empty()) continue;
    const bool holds = limit.at_least ? numbers->lowest >= limit.value * (1 - 1e-9)
                                      : numbers->highest <= limit.value * (1 + 1e-9);
    if (!holds)
      return fmt::format("{} to '{}': {} allows {} {}", known->kind, text, at(limit.line),
                         limit.at_least ? "no less than" : "no more than", limit.text);
  }
  return {};
}

std::string Policy::refusal_of_sensors(const Client& client) const {
  return client.unbound || allows(client, "sensors") ? "" : nobody_said(client, "read protected sensors");
}

}  // namespace dvfs_plan
