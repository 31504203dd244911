#include "base/invoking_user.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"

namespace dvfs_plan {

std::optional<Credentials> invoking_user() {
  // Only root can act as somebody else, and only root's environment comes from sudo itself.
  if (::getuid() != 0) return std::nullopt;
  for (const char* variable : {"SUDO_UID", "PKEXEC_UID"}) {
    const char* id = std::getenv(variable);
    if (id == nullptr) continue;
    if (std::string_view(id) == "0") continue;
    auto user = find_user(id);
    // "Not found" must never come to mean "as root".
    if (!user)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{}={} names no user that can be looked up", variable, id),
                  "run as a user that `getent passwd` knows");
    if (user->user != 0) return user;
  }
  return std::nullopt;
}

std::optional<FileOwner> invoking_owner() {
  const auto user = invoking_user();
  return user ? std::optional(FileOwner{user->user, user->group, user->groups}) : std::nullopt;
}

namespace {

std::optional<std::string>& name_of_sudo_user() {
  static std::optional<std::string> name;
  return name;
}

// The environment that sudo gave us, of which an experiment may name variables to keep.
std::map<std::string, std::string>& environment_of_sudo() {
  static std::map<std::string, std::string> environment;
  return environment;
}

}  // namespace

const std::optional<std::string>& came_through_sudo() {
  return name_of_sudo_user();
}

void become_invoking_user() {
  const auto user = invoking_user();
  if (!user) return;
  const auto environment = environment_for(user, {"NO_COLOR", "COLORTERM"});
  if (::setgroups(user->groups.size(), user->groups.data()) != 0 ||
      ::setresgid(user->group, user->group, user->group) != 0 ||
      ::setresuid(user->user, user->user, user->user) != 0)
    throw Error(ExitCode::machine_refuses,
                system_error_text("become the invoking user " + user->name, errno));
  // What is started from here on gets the user's own environment, as workloads do: root's may hold root's
  // secrets.
  environment_of_sudo() = current_environment();
  name_of_sudo_user() = user->name;
  ::clearenv();
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

std::string untrusted_because(const std::string& file) {
  if (!invoking_user()) return {};
  std::error_code error;
  // What is not there yet is as trustworthy as the folder that it would be in.
  auto real = std::filesystem::weakly_canonical(file, error);
  if (error) return fmt::format("{}: {}", file, error.message());
  while (!std::filesystem::exists(real, error) && real.has_relative_path()) real = real.parent_path();
  for (auto path = real; !path.empty(); path = path.parent_path()) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return system_error_text("stat " + path.string(), errno);
    if (info.st_uid != 0) return fmt::format("{} belongs to uid {}, not to root", path.string(), info.st_uid);
    const bool others_write =
        (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0);
    if (others_write)
      return fmt::format("{} may be written by others than root (mode {:04o})", path.string(),
                         info.st_mode & 07777U);
    if (path == path.root_path()) break;
  }
  return {};
}

std::map<std::string, std::string> current_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  // Programs that lie beside this one (shipped workloads, an installed set) are found without a path.
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
  if (!error) variables["PATH"] += (variables["PATH"].empty() ? "" : ":") + self;
  return variables;
}

std::map<std::string, std::string> environment_for(const std::optional<Credentials>& user,
                                                   const std::vector<std::string>& keep) {
  auto ours = current_environment();
  // Root's environment may hold root's secrets, and paths that load what only root may load.
  if (!user || user->user == ::getuid()) {
    for (const std::string& name : keep) {
      const auto found = environment_of_sudo().find(name);
      if (found != environment_of_sudo().end()) ours.insert(*found);
    }
    return ours;
  }
  std::map<std::string, std::string> clean;
  const auto take = [&](const std::string& name) {
    if (const auto found = ours.find(name); found != ours.end()) clean.insert(*found);
  };
  for (const char* name : {"PATH", "LANG", "LANGUAGE", "TZ", "TERM"}) take(name);
  for (const auto& [name, value] : ours) {
    if (name.starts_with("LC_")) clean.emplace(name, value);
  }
  clean["USER"] = clean["LOGNAME"] = user->name;
  clean["HOME"] = user->home;
  clean["SHELL"] = user->shell.empty() ? "/bin/sh" : user->shell;
  const std::string runtime = fmt::format("/run/user/{}", user->user);
  if (::access(runtime.c_str(), F_OK) == 0) clean["XDG_RUNTIME_DIR"] = runtime;
  for (const std::string& name : keep) take(name);
  return clean;
}

}  // namespace dvfs_plan
