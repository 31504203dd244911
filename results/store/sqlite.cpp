#include "results/store/sqlite.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// Where the first bytes beyond the limit are written, the system tells a short write and no reason.
bool files_are_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// A log's index that cannot be made larger has no other reason; of the rest the system's own error tells.
bool is_for_want_of_room(sqlite3* database) {
  const int extended = sqlite3_extended_errcode(database), cause = sqlite3_system_errno(database);
  return extended == SQLITE_IOERR_SHMSIZE ||
         ((extended & 0xff) == SQLITE_IOERR && (cause == ENOSPC || cause == EDQUOT));
}

// What SQLite says of a statement is for who wrote it: in its own words where it cannot be understood, else by what
// has happened to the file (https://sqlite.org/rescode.html).
[[noreturn]] void fail(sqlite3* database, std::string_view doing) {
  const int extended = sqlite3_extended_errcode(database), code = extended & 0xff;
  const std::string sqlite = sqlite3_errmsg(database);
  if (code == SQLITE_NOMEM)
    throw Error(ExitCode::machine_refuses, "result file: there is not enough memory to read or write it",
                "give it more (ulimit -v, ulimit -d, memory.max of its control group)");
  if (code == SQLITE_IOERR && !is_for_want_of_room(database) &&
      (sqlite3_system_errno(database) == EFBIG || files_are_limited()))
    throw StoreBusy(
        ExitCode::machine_refuses, "result file: no file may become larger here",
        "lift the limit (ulimit -f unlimited); what is finished is kept, the same command goes on");
  if (code == SQLITE_FULL || is_for_want_of_room(database))
    throw StoreBusy(ExitCode::machine_refuses,
                    fmt::format("result file: there is no room left beside it ({})", sqlite),
                    "free some space; what is finished is kept, the same command goes on");
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    throw StoreBusy(ExitCode::machine_refuses,
                    fmt::format("result file: another program holds it ({})", sqlite),
                    "close it and run the same command again");
  }
  const std::string restore =
      "copy it again from where it was made, or from a backup; `sqlite3 FILE .recover` saves what is left of "
      "it";
  if (code == SQLITE_IOERR) {
    const int cause = sqlite3_system_errno(database);
    throw StoreDamaged(ExitCode::machine_refuses,
                       fmt::format("result file: it cannot be read or written ({}{})", sqlite,
                                   cause != 0 ? system_error_text("", cause) : ""),
                       restore);
  }
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
    throw StoreDamaged(ExitCode::machine_refuses, fmt::format("result file: it is damaged ({})", sqlite),
                       restore);
  // An older state of it that was put back through SQLite lacks what this session has written since.
  if (extended == SQLITE_CONSTRAINT_FOREIGNKEY)
    throw StoreDamaged(
        ExitCode::machine_refuses,
        fmt::format("result file: what is to be written belongs to something that is not in it ({})", sqlite),
        restore);
  if (extended == SQLITE_READONLY_DBMOVED)
    throw StoreDamaged(ExitCode::machine_refuses, "result file: it was moved or deleted while it was open",
                       restore);
  const std::string message = fmt::format("result file: {}: {}", doing, sqlite);
  if (code == SQLITE_READONLY || code == SQLITE_CANTOPEN) {
    throw Error(ExitCode::machine_refuses,
                "result file: it cannot be written, or nothing can be made beside it",
                "are the file and its folder yours to write, and are there inodes left (df -i)? To read it "
                "where a log lies beside it "
                "(NAME.sqlite-wal), copy both to a folder that you may write to");
  }
  throw Error(ExitCode::machine_refuses, message);
}

std::string uri_of(const std::string& file, bool immutable) {
  std::string uri = "file:";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '_' || c == '-';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri + (immutable ? "?immutable=1" : "");
}

bool holds_something(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return !error && size > 0;
}

// A writer that was killed in a commit leaves a journal that must be rolled back, or a log whose index must be made
// anew, before anything can be read (https://sqlite.org/atomiccommit.html, 4): a reader must not, or may not.
bool can_be_read_here(sqlite3* database) {
  const int code =
      sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", nullptr, nullptr, nullptr) & 0xff;
  return code != SQLITE_READONLY && code != SQLITE_CANTOPEN;
}

struct PrivateFolder {
  PrivateFolder() {
    const char* const wanted = std::getenv("TMPDIR");
    int error = 0;
    for (const std::string& place :
         {std::string(wanted != nullptr ? wanted : ""), std::string("/var/tmp"), std::string("/tmp")}) {
      if (!place.starts_with('/')) continue;
      path = place + "/dvfs-plan-copy.XXXXXX";
      if (::mkdtemp(path.data()) != nullptr) return;
      if (error == 0) error = errno;
    }
    throw Error(ExitCode::machine_refuses,
                system_error_text("make a folder in TMPDIR, /var/tmp or /tmp", error),
                "the result was cut off in a commit, and is read in a copy: is there room?");
  }
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  std::string path;
};

// With the name of its journal beside it, as SQLite reckons.
std::size_t longest_path() {
  return static_cast<std::size_t>(sqlite3_vfs_find(nullptr)->mxPathname) -
         std::string_view("-journal").size();
}

// What is committed, in a private copy of the file and what lies beside it. Its files have no name any more.
sqlite3* committed_copy(const std::string& file) {
  const PrivateFolder folder;
  const std::string copy = folder.path + "/result.sqlite";
  for (const char* const beside : {"", "-journal", "-wal"}) {
    std::error_code error;
    if (!std::filesystem::exists(file + beside, error)) continue;
    std::filesystem::copy_file(file + beside, copy + beside, error);
    if (error)
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("result file {}: copy it to where it can be read: {}", file + beside, error.message()),
          "is there room in /var/tmp (or TMPDIR)?");
    ::chmod((copy + beside).c_str(), 0600);
  }
  sqlite3* database = nullptr;
  sqlite3_open_v2(copy.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nullptr);
  // Rolls back, or folds the log into it.
  const int folded =
      sqlite3_exec(database, "PRAGMA journal_mode = DELETE; SELECT count(*) FROM sqlite_schema", nullptr,
                   nullptr, nullptr) &
      0xff;
  sqlite3_close_v2(database);
  database = nullptr;
  // What is no result, or is damaged, is said where it is read.
  const bool readable = folded == SQLITE_OK || folded == SQLITE_NOTADB || folded == SQLITE_CORRUPT;
  if (!readable || holds_something(copy + "-wal"))
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file {}: it was cut off in a commit, and what is committed could not be "
                            "put together in a copy of it: {}",
                            file, readable ? "its log stays beside it" : sqlite3_errstr(folded)),
                "is there room in /var/tmp (or TMPDIR) for twice its size?");
  const int code = sqlite3_open_v2(uri_of(copy, true).c_str(), &database,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code == SQLITE_OK) return database;
  sqlite3_close_v2(database);
  throw Error(ExitCode::machine_refuses, fmt::format("result file {}: {}", file, sqlite3_errstr(code)));
}

}  // namespace

std::vector<std::string> database_files(const std::string& path) {
  return {path, path + "-wal", path + "-shm", path + "-journal"};
}

void remove_database(const std::string& path) {
  // Itself last: a log without it would be somebody's.
  const auto files = database_files(path);
  for (auto file = files.rbegin(); file != files.rend(); ++file) ::unlink(file->c_str());
}

Statement::Statement(sqlite3* database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, &rest) != SQLITE_OK)
    fail(database, sql);
  statement_.reset(statement);
  const std::string_view after(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (statement == nullptr || after.find_first_not_of(" \t\r\n;") != std::string_view::npos)
    throw Error(ExitCode::machine_refuses, fmt::format("result file: this is not one statement: {}", sql));
}

Statement& Statement::bind(std::string_view text) {
  // Names of files and what programs print may be any bytes; whoever reads the file by SQL gets text.
  if (first_invalid_utf8(text) != std::string_view::npos) return bind(std::string_view(valid_utf8(text)));
  sqlite3_bind_text(statement_.get(), next_++, text.data() != nullptr ? text.data() : "",
                    static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), next_++, number);
  return *this;
}

Statement& Statement::bind(double number) {
  if (!std::isfinite(number)) return bind_null();
  sqlite3_bind_double(statement_.get(), next_++, number);
  return *this;
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_.get(), next_++);
  return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
  sqlite3_bind_blob(statement_.get(), next_++, bytes.data() != nullptr ? bytes.data() : "",
                    static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const char* sql = sqlite3_sql(statement_.get());
  fail(database_, sql != nullptr ? sql : "step");
}

void Statement::run() {
  try {
    while (step()) {
    }
  } catch (...) {
    reset();  // a second try binds from the first parameter again
    throw;
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  next_ = 1;
}

Statement::Type Statement::type(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return Type::integer;
    case SQLITE_FLOAT:
      return Type::real;
    case SQLITE_TEXT:
      return Type::text;
    case SQLITE_BLOB:
      return Type::blob;
    default:
      return Type::null;
  }
}

std::string Statement::declared_type(int column) const {
  const char* type = sqlite3_column_decltype(statement_.get(), column);
  return type != nullptr ? type : "";
}

std::string Statement::name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name != nullptr ? name : "";
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes != nullptr ? std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size))
                          : std::string{};
}

std::optional<double> Statement::maybe_real(int column) const {
  return is_null(column) ? std::nullopt : std::optional(real(column));
}
std::optional<std::int64_t> Statement::maybe_integer(int column) const {
  return is_null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<std::string> Statement::maybe_text(int column) const {
  return is_null(column) ? std::nullopt : std::optional(text(column));
}

Database::Database(const std::string& path, Mode mode) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto there = fs::symlink_status(path, error);
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw Error(ExitCode::machine_refuses, fmt::format("result file {}: {}", path, error.message()),
                "may you enter its folder?");
  if (!fs::exists(there)) {
    throw Error(ExitCode::machine_refuses, fmt::format("result file {}: there is no such file", path),
                "a run makes it; `dvfs-plan check` says where");
  }
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file {}: it is a symbolic link, which is not followed", path),
                "give the file itself");
  }
  // SQLite would refuse a link anywhere in the path; those of the folders are the user's own business.
  const fs::path folder = fs::canonical(fs::absolute(path).parent_path(), error);
  const std::string file = error ? path : (folder / fs::path(path).filename()).string();
  sqlite3* database = nullptr;
  const int flags = (mode == Mode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                    SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  // Where nobody writes and no log is left, a reader needs no files beside it, which it might not be able to
  // make, or which would then be its own.
  const bool at_rest = mode == Mode::read_only && !fs::exists(file + "-shm", error) &&
                       !holds_something(file + "-wal") && !holds_something(file + "-journal");
  const int code = sqlite3_open_v2(uri_of(file, at_rest).c_str(), &database, flags, nullptr);
  handle_.reset(database);
  if (code != SQLITE_OK) {
    const std::size_t longest = longest_path();
    if (file.size() > longest)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("result file {}: its path has {} bytes, and SQLite takes {} at the most", path,
                              file.size(), longest),
                  "choose a shorter one with --output, or move the experiment's folder");
    const int cause = sqlite3_system_errno(database);
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file {}: {}{}", path, sqlite3_errstr(code),
                            cause != 0 ? system_error_text("", cause) : ""),
                "may you read it, and write beside it?");
  }
  // Whoever holds it is waited for, but not when we are to end.
  sqlite3_busy_handler(
      database,
      [](void*, int before) {
        constexpr int pause_ms = 50, longest = 5000 / pause_ms, when_asked = 500 / pause_ms;
        if (before >= (Interruption::asked() != 0 ? when_asked : longest)) return 0;
        ::usleep(pause_ms * 1000);
        return 1;
      },
      nullptr);
  if (mode == Mode::read_only && !at_rest && !can_be_read_here(database)) handle_.reset(committed_copy(file));
  harden();
}

// A result comes from elsewhere: what its schema says must neither write other files nor call what has side
// effects.
void Database::harden() {
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

Database Database::temporary() {
  Database database;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(
      "", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, nullptr);
  database.handle_.reset(handle);
  database.harden();
  if (code != SQLITE_OK)
    throw Error(ExitCode::machine_refuses,
                fmt::format("SQLite has no temporary database: {}", sqlite3_errstr(code)));
  return database;
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail(handle_.get(), sql.substr(0, sql.find('\n')));
  }
}

bool Database::has_moved() {
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
         moved != 0;
}

void Database::leave_alone() {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  int persist = 1;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
}

void Database::protect() {
  execute("PRAGMA query_only = ON");
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace dvfs_plan
