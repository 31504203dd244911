// A thin, owning face on SQLite's C interface. Throws Error with the statement and SQLite's own words.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace dvfs_plan {

// The file cannot be written now, but perhaps later: another program holds it, or the disk is full.
class StoreBusy : public Error {
 public:
  using Error::Error;
};

// The file is not what was written to it: cut short, overwritten, moved away from its name.
class StoreDamaged : public Error {
 public:
  using Error::Error;
};

// A database's file, and those that SQLite may keep beside it (https://sqlite.org/tempfiles.html).
std::vector<std::string> database_files(const std::string& path);
// All of them; what is not there is no error.
void remove_database(const std::string& path);

class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);

  // Binds the next parameter; a Statement may be run again after reset().
  Statement& bind(std::string_view text);
  Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind(std::int64_t number);
  Statement& bind(int number) { return bind(static_cast<std::int64_t>(number)); }
  Statement& bind(double number);  // what is not finite is bound as NULL: it is not known either
  Statement& bind_null();
  Statement& bind_blob(std::string_view bytes);
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  bool step();  // true while there is a row
  void run();   // to its end, then resets
  void reset();

  enum class Type { null, integer, real, text, blob };
  Type type(int column) const;
  bool writes() const { return sqlite3_stmt_readonly(statement_.get()) == 0; }
  int columns() const { return sqlite3_column_count(statement_.get()); }
  std::string name(int column) const;
  // As the table says it that the column is of, through views too; '' of what is computed.
  std::string declared_type(int column) const;

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::optional<double> maybe_real(int column) const;
  std::optional<std::int64_t> maybe_integer(int column) const;
  std::optional<std::string> maybe_text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
};

class Database {
 public:
  enum class Mode { read_only, read_write };
  // Opens an existing file; never follows a symbolic link.
  Database(const std::string& path, Mode mode);
  // An empty one, in memory and beyond that in a file without a name.
  static Database temporary();

  Statement prepare(std::string_view sql) { return {handle_.get(), sql}; }
  void execute(const std::string& sql);
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
  // For queries of others: nothing is changed, and no other file is opened.
  void protect();
  sqlite3* handle() { return handle_.get(); }
  // Whether SQLite still finds the file it opened under its name (SQLITE_FCNTL_HAS_MOVED).
  bool has_moved();
  // For a file that is not ours any more: nothing is written to it when it is closed.
  void leave_alone();

 private:
  Database() = default;
  void harden();
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

// All or nothing: rolls back unless commit() was reached.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace dvfs_plan
