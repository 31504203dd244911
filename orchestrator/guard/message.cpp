#include "orchestrator/guard/message.hpp"

#include <fmt/format.h>

namespace dvfs_plan {
namespace {

constexpr std::size_t width = 4;

void put_number(std::string& bytes, std::size_t number) {
  for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

std::uint32_t number_at(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < width; ++i)
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

void put_text(std::string& bytes, std::string_view text) {
  put_number(bytes, text.size());
  bytes += text;
}

// The texts of one frame; a reason where it is none.
std::string take_texts(std::string_view body, std::vector<std::string>& texts) {
  while (!body.empty()) {
    if (body.size() < width) return "a text's length is cut off";
    const std::uint32_t size = number_at(body);
    body.remove_prefix(width);
    if (size > body.size()) return fmt::format("a text of {} bytes in {} that are left", size, body.size());
    if (texts.size() > most_fields) return fmt::format("more than {} texts", most_fields);
    texts.emplace_back(body.substr(0, size));
    body.remove_prefix(size);
  }
  return texts.empty() ? "a message without a kind" : "";
}

}  // namespace

const std::string& Message::field(std::size_t i) const {
  static const std::string none;
  return i < fields.size() ? fields[i] : none;
}

std::string encode(const Message& message) {
  std::string body;
  put_text(body, message.kind);
  for (const std::string& field : message.fields) put_text(body, field);
  std::string bytes;
  put_number(bytes, body.size());
  return bytes + body;
}

void MessageDecoder::add(std::string_view bytes) {
  if (!problem_.empty()) return;
  bytes_.erase(0, at_);
  at_ = 0;
  bytes_ += bytes;
}

std::optional<Message> MessageDecoder::next() {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  if (!problem_.empty() || left.size() < width) return std::nullopt;
  const std::uint32_t size = number_at(left);
  if (size > longest_message) {
    problem_ = fmt::format("a message of {} bytes, {} at most", size, longest_message);
    return std::nullopt;
  }
  if (left.size() < width + size) return std::nullopt;
  std::vector<std::string> texts;
  problem_ = take_texts(left.substr(width, size), texts);
  if (!problem_.empty()) return std::nullopt;
  at_ += width + size;
  Message message{std::move(texts.front()), {}};
  message.fields.assign(std::make_move_iterator(texts.begin() + 1), std::make_move_iterator(texts.end()));
  return message;
}

}  // namespace dvfs_plan
