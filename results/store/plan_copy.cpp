#include "results/store/plan_copy.hpp"

#include <fmt/format.h>

#include "results/store/digest.hpp"

namespace dvfs_plan {
namespace {

void copy_value(const Statement& from, int column, Statement& to) {
  switch (from.type(column)) {
    case Statement::Type::null:
      to.bind_null();
      return;
    case Statement::Type::integer:
      to.bind(from.integer(column));
      return;
    case Statement::Type::real:
      to.bind(from.real(column));
      return;
    case Statement::Type::text:
      to.bind(from.text(column));
      return;
    case Statement::Type::blob:
      to.bind_blob(from.text(column));
      return;
  }
}

// By the names of columns: a file that was brought up to date has them in another order.
void copy_table(Database& from, Database& to, const std::string& table) {
  to.execute("DELETE FROM " + table);
  Statement rows = from.prepare("SELECT * FROM " + table);
  std::string names, places;
  for (int column = 0; column < rows.columns(); ++column) {
    names += (column > 0 ? ", " : "") + rows.name(column);
    places += column > 0 ? ",?" : "?";
  }
  Statement insert = to.prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, places));
  while (rows.step()) {
    for (int column = 0; column < rows.columns(); ++column) copy_value(rows, column, insert);
    insert.run();
  }
}

}  // namespace

void copy_plan(Store& from, const std::string& path) {
  Store copy = Store::create(path, {}, {}, {}, {});
  Transaction transaction(copy.database());
  copy.database().execute("PRAGMA defer_foreign_keys = ON");  // tables name each other
  for (const char* const table : plan_tables()) copy_table(from.database(), copy.database(), table);
  seal_plan(copy.database());
  seal_later(copy.database());
  transaction.commit();
  copy.seal();
}

void set_machine_facts(Store& store, const std::map<std::string, std::string>& facts) {
  Transaction transaction(store.database());
  store.database().execute("DELETE FROM machine_fact");
  Statement fact = store.database().prepare("INSERT INTO machine_fact (name, value) VALUES (?,?)");
  for (const auto& [name, value] : facts) fact.bind(name).bind(value).run();
  seal_plan(store.database());
  transaction.commit();
}

}  // namespace dvfs_plan
