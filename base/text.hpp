// Small text helpers shared by messages: trimming, the nearest known word, text made safe to print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

std::string_view trim(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);
std::vector<std::string> split_lines(std::string_view text);
std::vector<std::string> split_words(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The word nearest to `word` by edit distance, if it is near enough to be what was meant; else empty.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// " (did you mean 'X'?)" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// The text with control characters, escape sequences and bytes that are not UTF-8 shown as \xNN, so that
// a hostile name or output cannot drive the reader's terminal. Newline and tab stay if `keep_newlines`.
std::string printable(std::string_view text, bool keep_newlines = false);

// The byte at which `text` stops being valid UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view text);

// At most so many bytes of its begin, and no half of a character.
std::string cut_to(std::string_view text, std::size_t bytes);

// The text with each byte that is not valid UTF-8, and each NUL, replaced by U+FFFD; a sequence that was cut off at its beginning is left out.
std::string valid_utf8(std::string_view text);

// One word for /bin/sh, quoted where it needs to be; what a terminal would obey stands there by its numbers.
std::string shell_quote(std::string_view word);

// "w n=2" before "w n=10": runs of digits by their number.
struct NaturalOrder {
  bool operator()(std::string_view a, std::string_view b) const;
};

// "1 trial", "3 trials".
std::string counted(int n, std::string_view what);

}  // namespace dvfs_plan
