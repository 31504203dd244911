// Who asked: under sudo or pkexec the user behind root. Results belong to them, workloads run as them, and
// root does nothing for them that they could not do themselves, but for settings and protected sensors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/acting_as.hpp"
#include "base/child.hpp"

namespace dvfs_plan {

// nullopt if nobody stands behind the current user.
std::optional<Credentials> invoking_user();
// The same as the owner of files (ActingAs, Store::create).
std::optional<FileOwner> invoking_owner();

// Becomes the invoking user for good, where there is one.
void become_invoking_user();
// The name of the user that we became; nullopt: nobody came through sudo, or we have not yet.
const std::optional<std::string>& came_through_sudo();

// Why a process of root that serves another user must not load or run this file: a user other than root may
// write to it or to a folder on the way. Empty if it may, and wherever nobody stands behind root.
std::string untrusted_because(const std::string& file);

// Our own environment; programs that lie beside this one are on its PATH.
std::map<std::string, std::string> current_environment();

// What a child gets that runs as `user` (nullopt: as we do). Our own environment where it is this user's;
// else the user's clean one: PATH, locale, time zone and terminal of ours, what the user database says of the
// user, and the variables of ours named in `keep`.
std::map<std::string, std::string> environment_for(const std::optional<Credentials>& user,
                                                   const std::vector<std::string>& keep);

}  // namespace dvfs_plan
