// A result file that somebody replaces, removes or cuts short in the middle of a night.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "base/bus_errors.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "results/store/digest.hpp"
#include "results/store/migrate.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct FileOnDisk {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  mode_t mode = 0;
  std::int64_t modified_ns = 0;
  bool same_file(const FileOnDisk& other) const { return device == other.device && inode == other.inode; }
};

std::optional<FileOnDisk> look_at(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  return FileOnDisk{info.st_dev, info.st_ino, info.st_size, info.st_mode & 0777U,
                    std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

// What of a database's first page never changes while it lives (https://sqlite.org/fileformat2.html, 1.3):
// magic and page size, user version, application id.
using Header = std::array<char, 18 + 4 + 4>;
// Read through SQLite's own descriptor: to close another one of the same file would take away all locks that
// this process holds on it (fcntl(2); https://sqlite.org/howtocorrupt.html, 2.2).
std::optional<Header> header_of(Database& database) {
  sqlite3_file* file = nullptr;
  std::array<char, 100> page{};
  if (sqlite3_file_control(database.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
      file == nullptr || file->pMethods == nullptr ||
      file->pMethods->xRead(file, page.data(), static_cast<int>(page.size()), 0) != SQLITE_OK)
    return std::nullopt;
  Header header{};
  std::memcpy(header.data(), page.data(), 18);
  std::memcpy(header.data() + 18, page.data() + 60, 4);
  std::memcpy(header.data() + 22, page.data() + 68, 4);
  return header;
}

void copy_all(Database& from, Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup != nullptr) {
    sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
  }
  const int code = sqlite3_errcode(to.handle());
  if (code == SQLITE_OK) return;
  throw StoreBusy(ExitCode::machine_refuses,
                  fmt::format("the result cannot be written anew: {}", sqlite3_errstr(code)),
                  "free some space");
}

// "night.sqlite" -> "night.rescued.sqlite", "night.rescued-2.sqlite", ...; made, and empty. Empty if it
// cannot be.
std::string make_beside(const std::string& path, const std::filesystem::path& folder, mode_t mode) {
  const std::filesystem::path old(path);
  for (int n = 1; n < 100; ++n) {
    const std::string behind =
        fmt::format(".rescued{}{}", n == 1 ? "" : fmt::format("-{}", n), old.extension().string());
    // A long name is cut: SQLite makes files beside it whose names are longer yet.
    constexpr std::size_t longest = NAME_MAX - std::string_view("-journal").size();
    const std::string name = cut_to(old.stem().string(), longest - std::min(longest, behind.size())) + behind;
    const std::string candidate = (folder / name).string();
    const UniqueFd fd(::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd && ::fchmod(fd.get(), mode) == 0) return candidate;
    if (errno != EEXIST) return {};
  }
  return {};
}

// What a result is known by, and how much is in it.
std::string contents_of(Database& database) {
  Statement s = database.prepare(
      "SELECT plan_hash || ' ' || created_at || ' ' || (SELECT count(*) || ' ' || coalesce(max(id), 0) FROM "
      "trial) FROM "
      "experiment");
  return s.step() ? s.text(0) : std::string{};
}

}  // namespace

struct Store::Rescue {
  std::string first_path, path;
  std::optional<FileOwner> owner;
  std::optional<FileOnDisk> file, log;  // as they were last
  std::optional<Header> header;
  int bus_errors_seen = 0;
  std::unique_ptr<Store> copy;

  void remember(Database& database) {
    file = look_at(path);
    log = look_at(path + "-wal");
    header = header_of(database);
    bus_errors_seen = bus_errors();
  }

  std::string taken_away(const std::optional<FileOnDisk>& now, Database& database) const {
    if (!now) {
      struct stat none {};
      const int why = ::lstat(path.c_str(), &none) != 0 ? errno : ENOENT;
      // Its folder may be one that we may not enter any more: then it is still there.
      return why == ENOENT || why == ENOTDIR ? "it was removed or renamed"
                                             : system_error_text("look at it", why);
    }
    if (!file || !now->same_file(*file) || database.has_moved()) return "another file was put in its place";
    return {};
  }

  std::string what_happened(Database& database) {
    const auto now = look_at(path);
    if (std::string gone = taken_away(now, database); !gone.empty()) return gone;
    if (now->size < file->size)
      return fmt::format("it was cut short, from {} to {} bytes", file->size, now->size);
    if (header && header_of(database) != header) return "it was overwritten";
    if (bus_errors() != bus_errors_seen) return "the index of its log (-shm) was cut short";
    const auto log_now = look_at(path + "-wal");
    if (log && (!log_now || !log_now->same_file(*log))) return "its log (-wal) was removed or replaced";
    // Somebody wrote into it: a reader that folded the log into it, or a copy of another result put over it.
    if (now->modified_ns != file->modified_ns && !still_the_same()) return "it was overwritten";
    file = now;
    if (!log) log = log_now;
    return {};
  }

  // By a connection of its own, which sees the file as others do; `whole`: with all checksums.
  bool still_the_same(bool whole = false) const {
    if (!copy) return true;
    try {
      Database as_seen(path, Database::Mode::read_only);
      Statement check = as_seen.prepare("PRAGMA quick_check(1)");
      if (!check.step() || check.text(0) != "ok" || contents_of(as_seen) != contents_of(copy->database_))
        return false;
      return !whole || (damaged_trials(as_seen) == damaged_trials(copy->database_) &&
                        plan_is_whole(as_seen) == plan_is_whole(copy->database_) &&
                        later_is_whole(as_seen) == later_is_whole(copy->database_));
    } catch (const StoreDamaged&) {
      return false;
    } catch (const Error&) {
      return true;  // held by somebody, no room to look at it: the next look or write tells
    }
  }
};

std::string Store::path() const {
  return rescue_ ? rescue_->path : std::string{};
}

Store* Store::copy() {
  return rescue_ ? rescue_->copy.get() : nullptr;
}

void Store::remember_file() {
  if (!rescue_) return;
  // What was written into a file that is another one by now, or was cut short meanwhile, does not make it ours: the next look tells.
  const auto now = look_at(rescue_->path);
  if (!now || (rescue_->file && (!now->same_file(*rescue_->file) || now->size < rescue_->file->size))) return;
  rescue_->file = now;
  if (!rescue_->log) rescue_->log = look_at(rescue_->path + "-wal");
}

std::optional<FileOwner> Store::owner_of_rescue() const {
  return rescue_ ? rescue_->owner : std::nullopt;
}

void Store::drop_copy() {
  if (rescue_) rescue_->copy.reset();
}

void Store::look_after_file(const std::string& path, std::optional<FileOwner> owner) {
  rescue_ = std::make_shared<Rescue>();
  rescue_->first_path = rescue_->path = path;
  rescue_->owner = owner;
  rescue_->remember(database_);
}

std::string Store::was_taken_away() {
  return rescue_ ? rescue_->taken_away(look_at(rescue_->path), database_) : std::string();
}

std::string Store::keep_rescue_copy(const std::string& path, std::optional<FileOwner> owner) {
  look_after_file(path, owner);
  try {
    auto copy = std::unique_ptr<Store>(new Store(private_copy(database_)));
    copy->session_ = session_;
    copy->channel_ids_ = channel_ids_;
    copy->channel_kinds_ = channel_kinds_;
    copy->point_ids_ = point_ids_;
    copy->idle_indices_ = idle_indices_;
    copy->database_.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    copy->prepare_statements();
    rescue_->copy = std::move(copy);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string Store::what_became_of_the_file() {
  return rescue_ ? rescue_->what_happened(database_) : std::string();
}

std::optional<Store::Rescued> Store::go_on_elsewhere_if_lost() {
  const std::string what = what_became_of_the_file();
  if (what.empty()) return std::nullopt;
  return go_on_elsewhere(what);
}

std::optional<Store::Rescued> Store::go_on_elsewhere_unless_whole() {
  std::string what = what_became_of_the_file();
  if (what.empty() && rescue_ && !rescue_->still_the_same(true)) what = "it was overwritten";
  if (what.empty()) return std::nullopt;
  return go_on_elsewhere(what);
}

void Store::remember_log() {
  if (rescue_) rescue_->log = look_at(rescue_->path + "-wal");
}

Store::Rescued Store::go_on_elsewhere(const std::string& what, bool old_one_is_whole) {
  if (!rescue_)
    throw StoreDamaged(ExitCode::machine_refuses, "the result file is damaged: " + what,
                       "look at it with: sqlite3 FILE 'PRAGMA integrity_check'");
  Rescue& rescue = *rescue_;
  const ActingAs owner(rescue.owner);
  const auto folder = std::filesystem::path(rescue.path).parent_path();
  std::string where = make_beside(rescue.first_path, folder, rescue.file ? rescue.file->mode : 0644);
  std::string why = std::strerror(errno);
  if (!where.empty()) {
    try {
      return move_to(where, what, old_one_is_whole);
    } catch (const StoreBusy& full) {
      why = full.what();
    }
  }
  // A folder of everybody's is no place for what may have been private.
  where = make_beside(rescue.first_path, "/var/tmp", 0600);
  if (!where.empty()) return move_to(where, what, old_one_is_whole);
  throw StoreBusy(
      ExitCode::machine_refuses,
      fmt::format("the result file {} cannot be used ({}), and no new one can be made beside it or in "
                  "/var/tmp: {}",
                  rescue.path, what, why),
      "make room, or the folder writable");
}

Store::Rescued Store::move_to(const std::string& where, const std::string& what, bool old_one_is_whole) {
  Rescue& rescue = *rescue_;
  try {
    Store fresh{Database(where, Database::Mode::read_write)};
    // Without a copy: what we opened is still ours to read, if it was only moved away.
    copy_all(rescue.copy ? rescue.copy->database_ : database_, fresh.database_);
    fresh.database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    fresh.prepare_statements();
    statements_.reset();
    read_traces_.reset();
    // Closed without a last write into what may be somebody else's file by now; its log goes if it is ours. Of a file that is whole, and for
    // which there is no room, the log holds what was finished last, and stays.
    const std::string old = rescue.path;
    const auto log = look_at(old + "-wal");
    const bool ours = !old_one_is_whole && log && rescue.log && log->same_file(*rescue.log);
    database_.leave_alone();
    database_ = std::move(fresh.database_);
    statements_ = fresh.statements_;
    if (ours) {
      ::unlink((old + "-wal").c_str());
      ::unlink((old + "-shm").c_str());
    }
  } catch (...) {
    remove_database(where);
    throw;
  }
  rescue.path = where;
  if (session_ == 0) {  // of a collector, which has none of its own
    Statement last = database_.prepare("SELECT coalesce(max(id), 0) FROM session");
    last.step();
    session_ = last.integer(0);
  }
  if (session_ != 0)
    write_event({"result_rescued",
                 fmt::format("the result file could not be used any more ({}); it goes on here", what)});
  rescue.remember(database_);
  return {what, where};
}

}  // namespace dvfs_plan
