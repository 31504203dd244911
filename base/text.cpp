#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace dvfs_plan {
namespace {

// Soft hyphen, zero-width blank, direction marks, word joiner, byte order mark: nobody sees that they are there. Joiners are part of words and
// of emoji.
bool is_invisible(std::string_view sequence) {
  constexpr std::array all{"\xC2\xAD",     "\xD8\x9C",     "\xE1\xA0\x8E", "\xE2\x80\x8B",
                           "\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x81\xA0", "\xE2\x81\xA1",
                           "\xE2\x81\xA2", "\xE2\x81\xA3", "\xE2\x81\xA4", "\xEF\xBB\xBF"};
  return std::any_of(all.begin(), all.end(), [&](std::string_view one) { return one == sequence; });
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Optimal string alignment: a pair of letters in the wrong order counts as one slip, as fingers make it.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> d((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return d[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

// Length in bytes of the UTF-8 sequence at the start of `text`, 0 if it is not one (RFC 3629).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    const auto end = std::min(text.find_first_of(" \t\r\n"), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, std::min<std::size_t>(word.size() / 3, 4)) + 1;
  if (word.size() > 64) return best;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? std::string{} : fmt::format(" (did you mean '{}'?)", nearest);
}

namespace {

// Whether what begins a text may be sent to a terminal; `length`: of its UTF-8 sequence, 0 if it is none. U+0080..U+009F are control characters too,
// and U+202A..E, U+2066..9 turn the reading direction.
bool is_shown(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 0 || first < 0x20 || first == 0x7F) return false;
  const bool c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  const bool bidi =
      length == 3 && (text.starts_with("\xE2\x80\xAA") || text.starts_with("\xE2\x80\xAB") ||
                      text.starts_with("\xE2\x80\xAC") || text.starts_with("\xE2\x80\xAD") ||
                      text.starts_with("\xE2\x80\xAE") ||
                      (text.starts_with("\xE2\x81") && static_cast<unsigned char>(text[2]) >= 0xA6 &&
                       static_cast<unsigned char>(text[2]) <= 0xA9));
  return !c1 && !bidi && !is_invisible(text.substr(0, length));
}

}  // namespace

std::string printable(std::string_view text, bool keep_newlines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text), step = std::max<std::size_t>(length, 1);
    if (is_shown(text, length) || (keep_newlines && (text[0] == '\n' || text[0] == '\t'))) {
      result.append(text.substr(0, step));
    } else {
      for (std::size_t i = 0; i < step; ++i)
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    }
    text.remove_prefix(step);
  }
  return result;
}

std::size_t first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string cut_to(std::string_view text, std::size_t bytes) {
  const std::string_view cut = text.substr(0, bytes);
  // What was no UTF-8 before is cut where it is to be.
  return std::string(
      first_invalid_utf8(text) == std::string_view::npos ? cut.substr(0, first_invalid_utf8(cut)) : cut);
}

std::string valid_utf8(std::string_view text) {
  constexpr std::size_t longest_rest = 3;
  for (std::size_t i = 0;
       i < longest_rest && !text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0) == 0x80; ++i)
    text.remove_prefix(1);
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = text[0] == '\0' ? 0 : utf8_sequence(text);
    if (length == 0)
      valid += "\xEF\xBF\xBD";
    else
      valid.append(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

std::string shell_quote(std::string_view word) {
  constexpr std::string_view safe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(safe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  while (!word.empty()) {
    const std::size_t length = utf8_sequence(word), step = std::max<std::size_t>(length, 1);
    if (word[0] == '\'') {
      quoted += "'\\''";
    } else if (is_shown(word, length) || word[0] == '\n') {
      quoted += word.substr(0, step);
    } else {  // who pastes it sees what it is, and a terminal does not obey it
      quoted += "'\"$(printf '";
      for (std::size_t i = 0; i < step; ++i)
        quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(word[i]));
      quoted += "')\"'";
    }
    word.remove_prefix(step);
  }
  return quoted + "'";
}

bool NaturalOrder::operator()(std::string_view a, std::string_view b) const {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[k])) {
      if (a[i] != b[k]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
      ++i, ++k;
      continue;
    }
    const auto number = [&](std::string_view text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const auto one = number(a, i), other = number(b, k);
    if (one.size() != other.size()) return one.size() < other.size();
    if (one != other) return one < other;
  }
  // "a01" and "a1" are two names.
  return a.size() - i != b.size() - k ? a.size() - i < b.size() - k : a < b;
}

std::string counted(int n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

}  // namespace dvfs_plan
