#include "results/page/index_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "results/page/page_shell.hpp"
#include "results/report/cells.hpp"
#include "results/report/json_values.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {
namespace {

std::string or_dash(const std::string& text) {
  return text.empty() ? "—" : printable(text);
}

std::string trials_text(const IndexRow& row) {
  std::string text = row.counted == row.trials ? std::to_string(row.trials)
                                               : fmt::format("{} of {}", row.counted, row.trials);
  if (row.left) text += fmt::format(", {}{} to run", row.left_at_most ? "at most " : "", *row.left);
  return text;
}

nlohmann::ordered_json index_object(const Index& index) {
  using Json = nlohmann::ordered_json;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  const auto ends = [](const std::optional<Change>& change) {
    return Json{{"value", change ? Json(change->value) : Json(nullptr)},
                {"low_95", change ? or_null(change->low) : Json(nullptr)},
                {"high_95", change ? or_null(change->high) : Json(nullptr)}};
  };
  Json rows = Json::array();
  for (const IndexRow& row : index.rows)
    rows.push_back({{"file", row.file},
                    {"page", text_or_null(row.page)},
                    {"experiment", row.experiment},
                    {"machine", row.machine},
                    {"begun_at", row.begun_at},
                    {"objective", row.objective},
                    {"scenario", row.scenario},
                    {"best", text_or_null(row.best)},
                    {"reference", text_or_null(row.reference)},
                    {"best_is_reference", row.best_is_reference},
                    {"share_of_reference", text_or_null(row.share_of_reference)},
                    {"gain", ends(row.gain)},
                    {"slowdown", ends(row.slowdown)},
                    {"trials", row.trials},
                    {"counted", row.counted},
                    {"left", row.left ? Json(*row.left) : Json(nullptr)},
                    {"doubts", row.doubts},
                    {"rechecked", text_or_null(row.rechecked)}});
  return {{"folder", index.folder}, {"results", rows}, {"unread", index.unread}};
}

}  // namespace

std::string index_text(const Index& index, const TextLook& look) {
  TextTable table;
  table.row({"result", "machine", "begun", "work", "objective", "best", "better by", "slower by", "trials",
             "rechecked"},
            true);
  for (const IndexRow& row : index.rows)
    table.row({printable(row.file), or_dash(row.machine), row.begun_at.substr(0, 10), printable(row.scenario),
               row.objective, or_dash(row.best), row.best_is_reference ? "is the reference" : cell(row.gain),
               row.best_is_reference ? "" : cell(row.slowdown), trials_text(row), or_dash(row.rechecked)});
  std::string text =
      index.rows.empty() ? fmt::format("no result in {}\n", printable(index.folder)) : table.text(look);
  if (!index.rows.empty())
    text += "\nbetter by: of the objective, against the reference; [ ] are 95 % intervals. — is not known.\n";
  for (const IndexRow& row : index.rows) {
    for (const std::string& doubt : row.doubts)
      text += fmt::format("warning: {}, {}: {}\n", printable(row.file), printable(row.scenario),
                          printable(doubt));
  }
  for (const std::string& one : index.unread) text += fmt::format("not read: {}\n", printable(one));
  return wrapped(text, look.columns);
}

std::string index_json(const Index& index) {
  return index_object(index).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void write_index_page(const Index& index, const std::string& path) {
  const auto json = index_object(index);
  write_page({"results in " + index.folder, index_text(index, {}), {page_data("index", json)}}, path);
}

}  // namespace dvfs_plan
