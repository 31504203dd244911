// What the run and the guardian say to each other: a kind and some texts, in a frame of a known length.
//
//   u32 length of what follows   u32 length of a text, the text; the first one is the kind, any number more
//
// Little endian. Decoding is pure and refuses whatever is not whole: what comes from a client is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

struct Message {
  std::string kind;
  std::vector<std::string> fields = {};
  bool operator==(const Message&) const = default;

  // "" where there is none.
  const std::string& field(std::size_t i) const;
};

// Settings of a machine with 1024 CPUs, by their paths, are 700 KiB in 16 000 texts.
inline constexpr std::uint32_t longest_message = 2U << 20;
inline constexpr std::size_t most_fields = 60'000;
// Both sides must speak the same one; it is the first field of the first message.
inline constexpr const char* protocol_version = "5";

std::string encode(const Message& message);

// What the guardian would say to a setting.
struct SettingAnswer {
  std::string refusal;     // why not; empty: it would set it
  bool by_kernel = false;  // refused by the kernel, whatever the value: nobody with more rights stands by us
  bool refused() const { return !refusal.empty(); }
};

// What is to be told to the user besides.
struct GuardNote {
  std::string text, next_step;
};

class MessageDecoder {
 public:
  void add(std::string_view bytes);
  // The next whole message; nullopt: there is none yet, or ever again (problem()).
  std::optional<Message> next();
  // Why nothing can be understood any more; empty: all is well.
  const std::string& problem() const { return problem_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  std::string problem_;
};

}  // namespace dvfs_plan
