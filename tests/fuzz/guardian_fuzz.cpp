// What a client may send to the guardian, and what an administrator may write: messages, policies, journals,
// outcomes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "orchestrator/guard/message.hpp"
#include "orchestrator/guard/restore_settings.hpp"
#include "orchestrator/guardian/known_settings.hpp"
#include "orchestrator/guardian/policy.hpp"

using namespace dvfs_plan;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Client client{1001, 1001, 1, "alice", {"dvfs-plan"}, false, false};
  static const Policy built_in =
      Policy::parse("allow dvfs-plan * /sys/a/*/b\nlimit cpu.frequency at most 3 GHz\n", "policy");
  // In two pieces: where they are cut must not matter.
  MessageDecoder decoder, whole;
  decoder.add(bytes.substr(0, size / 3));
  std::vector<Message> messages;
  while (auto message = decoder.next()) messages.push_back(std::move(*message));
  decoder.add(bytes.substr(size / 3));
  while (auto message = decoder.next()) messages.push_back(std::move(*message));
  whole.add(bytes);
  std::size_t count = 0;
  while (auto message = whole.next()) {
    if (count >= messages.size() || !(messages[count] == *message)) __builtin_trap();
    ++count;
    outcome_of(message->fields);
    for (std::size_t i = 0; i + 1 < message->fields.size(); i += 2) {
      const std::string &path = message->fields[i], &text = message->fields[i + 1];
      // What is allowed is a setting of ours or the policy's file, and nothing that leads elsewhere.
      if (built_in.refusal_to_set(client, path, text).empty() &&
          (path.find("..") != std::string::npos || text.find('\n') != std::string::npos ||
           !built_in.refusal_to_save(client, path).empty()))
        __builtin_trap();
      known_sensor(path);
    }
  }
  try {
    Policy::parse(std::string(bytes), "policy");
  } catch (const Error&) {
  }
  return 0;
}
