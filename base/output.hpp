// Writing to stdout and stderr for people. A reader that is gone (a closed terminal, `| head`) or a full disk
// behind a log is no reason to end a night: what cannot be written is left unwritten. Nor does one who does not
// read (a stalled ssh, a paused pager) hold anything up: write_stderr() waits 0.2 s for him, then keeps 16 KiB,
// and says how many lines it left out once he reads again. Who is about to exit gives him more time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace dvfs_plan {

// To be called first: a standard descriptor that we were started without would else be the next file or socket that is opened, and
// what is printed would go there. It is held as one that nothing can be written to.
void hold_standard_descriptors();
void write_stdout(std::string_view text);
// An answer that could not be written to its end (a full disk).
class AnswerNotWritten : public Error {
  using Error::Error;
};
// For commands whose answer is all they are for: throws AnswerNotWritten; a reader that has gone (`| head`) has what it wanted.
void write_answer(std::string_view text);
void write_stderr(std::string_view text);
// For who exits: until what was said is read, or `stop` says so, or so long.
void wait_until_stderr_is_read(std::chrono::milliseconds longest, const std::function<bool()>& stop);
bool is_terminal_stdout();
// Whether an answer on stdout is coloured: a terminal's, unless NO_COLOR is set (https://no-color.org) or it can do
// nothing (TERM=dumb); always or never where choose_colour() says so.
bool uses_colour();
void choose_colour(std::optional<bool> always);
// Of the terminal that stdout is; 0: it is none, or does not say.
int answer_columns();
// All of it to a descriptor; the error that ended it, 0 if none did.
int write_all(int fd, std::string_view text);

}  // namespace dvfs_plan
