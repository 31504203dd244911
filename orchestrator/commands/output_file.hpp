// Where commands write what they make.
#pragma once

#include <string>

namespace dvfs_plan {

// Throws Error if `output`, the value of `option`, is the result file.
void refuse_the_result_itself(const std::string& output, const char* option, const std::string& result);

// Throws Error if a file is there that is no page of ours: another result, an experiment, anybody's.
void refuse_what_is_no_page(const std::string& output, const char* option);
// Throws Error if a result or an experiment is there: a table may replace a table.
void refuse_a_result_or_an_experiment(const std::string& output, const char* option);

// A table or report that an earlier export made is replaced; nothing else is.
void refuse_what_is_no_table(const std::string& output, const char* option);

// "a.sqlite-wal": whatever opens a.sqlite one day takes it for its own.
void refuse_a_result_of_such_a_name(const std::string& result);

}  // namespace dvfs_plan
