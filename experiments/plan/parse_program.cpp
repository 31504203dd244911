#include "experiments/plan/parse_program.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/tcp_port.hpp"
#include "base/text.hpp"
#include "experiments/plan/parse_measurement.hpp"

namespace dvfs_plan {

std::optional<std::vector<RawValue>> parse_argv(const YamlNode& node, std::string_view key,
                                                std::string_view for_a_shell, YamlReader& read) {
  if (node.kind == YamlNode::Kind::scalar) {
    read.diagnostics().error(
        node.mark, fmt::format("'{}' is a list of words, one an argument: [{}]; for a shell write {}", key,
                               join(split_words(node.scalar), ", "), for_a_shell));
    return std::nullopt;
  }
  return read.words(node, fmt::format("'{}'", key));
}

namespace {

void parse_command(const YamlNode& node, YamlReader& read, std::vector<RawValue>& command) {
  if (auto words = parse_argv(node, "command", "'shell:'", read)) command = *words;
}

void parse_environment(const YamlNode& node, YamlReader& read, ProgramSpec& program) {
  if (!read.map(node, "'environment'", {})) return;
  for (const YamlEntry& entry : node.entries) {
    if (entry.key.empty() || entry.key.find('=') != std::string::npos) {
      read.diagnostics().error(entry.key_mark,
                               fmt::format("'{}' cannot be the name of an environment variable", entry.key));
      continue;
    }
    if (entry.key == "keep" && entry.value->kind == YamlNode::Kind::sequence) {
      if (const auto names = read.words(*entry.value, "'keep'")) {
        for (const RawValue& name : *names) program.keep.push_back(name.text);
      }
    } else if (entry.value->kind == YamlNode::Kind::null) {
      program.environment.emplace_back(entry.key, RawValue{"", entry.value->mark});
    } else if (auto value = read.word(*entry.value, fmt::format("environment variable '{}'", entry.key))) {
      program.environment.emplace_back(entry.key, *value);
    }
  }
}

void parse_ready(const YamlNode& node, YamlReader& read, ServiceSpec& service) {
  if (!read.map(node, "'ready'", keys("ready"))) return;
  ReadySpec& ready = service.ready;
  int ways = 0;
  with(node, "port", [&](const YamlNode& n) {
    ++ways;
    const auto port = read.word(n, "'port'");
    if (!port) return;
    ready.kind = ReadySpec::Kind::port;
    ready.text = *port;
    const auto number = parse_number(port->text);
    const bool of_an_axis = port->text.find('{') != std::string::npos;
    if (!of_an_axis && (!number || *number < 1 || *number > 65535 || *number != static_cast<int>(*number)))
      read.diagnostics().error(
          port->mark, fmt::format("'port' must be a whole number from 1 to 65535; found '{}'", port->text));
  });
  with(node, "line", [&](const YamlNode& n) {
    ++ways;
    if (auto line = read.word(n, "'line'")) {
      ready.kind = ReadySpec::Kind::line;
      ready.text = *line;
    }
  });
  with(node, "command", [&](const YamlNode& n) {
    ++ways;
    ready.kind = ReadySpec::Kind::command;
    parse_command(n, read, ready.command);
  });
  with(node, "within", [&](const YamlNode& n) {
    const auto within = parse_seconds(n, read, "'within'");
    if (within && within->value() <= 0)
      read.diagnostics().error(n.mark, "'within' is how long it may take until it is ready: more than 0 s");
    else if (within)
      ready.within = *within;
  });
  if (ways != 1)
    read.diagnostics().error(
        node.mark,
        fmt::format("service '{}': 'ready' needs one of 'port: 8080', 'line: text in its output' and "
                    "'command: [program that ends with 0]'; found {}",
                    service.name, ways == 0 ? "none" : "several"));
}

bool is_process_number(const std::string& text) {
  const auto number = parse_number(text);
  return number && *number >= 1 && *number <= 4194304 && *number == std::floor(*number);  // PID_MAX_LIMIT
}

void parse_attach(const YamlNode& node, YamlReader& read, ServiceSpec& service) {
  if (!read.map(node, "'attach'", keys("attach"))) return;
  with(node, "pid", [&](const YamlNode& n) { service.attached_pid = read.word(n, "'pid'"); });
  with(node, "address", [&](const YamlNode& n) { service.attached_address = read.word(n, "'address'"); });
  const auto is_of_an_axis = [](const RawValue& value) { return value.text.find('{') != std::string::npos; };
  if (service.attached_pid && !is_process_number(service.attached_pid->text))
    read.diagnostics().error(
        service.attached_pid->mark,
        fmt::format("'pid' must be the number of a process; found '{}'", service.attached_pid->text));
  if (const auto& address = service.attached_address;
      address && !is_of_an_axis(*address) && !parse_tcp_address(address->text))
    read.diagnostics().error(
        address->mark,
        fmt::format(
            "'address' must be where it answers, 127.0.0.1:8080 or http://127.0.0.1:8080/; found '{}'",
            printable(address->text)));
  if (service.attached_pid.has_value() == service.attached_address.has_value())
    read.diagnostics().error(
        node.mark, fmt::format("service '{}': 'attach' needs either 'pid: NUMBER' or 'address: HOST:PORT'",
                               service.name));
}

std::optional<ServiceSpec> parse_service(const YamlNode& node, YamlReader& read) {
  if (!read.map(node, "a service", keys("service"))) return std::nullopt;
  ServiceSpec service;
  service.grace = Seconds{10};  // a server may finish what it was asked
  if (!parse_program(node, "service", read, service)) return std::nullopt;
  const bool fits =
      !service.name.empty() && service.name.size() <= 64 &&
      service.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
          std::string::npos;
  if (!fits)
    read.diagnostics().error(
        service.mark,
        fmt::format(
            "service '{}': its name becomes that of a log file: letters, digits, '-' and '_', 64 at most",
            printable(service.name)));
  with(node, "attach", [&](const YamlNode& n) { parse_attach(n, read, service); });
  if (node.find("attach") == nullptr)
    require_one_command(node, "service", read, service.name);
  else if (node.find("command") != nullptr || node.find("shell") != nullptr)
    read.diagnostics().error(
        node.mark,
        fmt::format("service '{}' is either started ('command') or attached to ('attach'), not both",
                    service.name));
  with(node, "ready", [&](const YamlNode& n) { parse_ready(n, read, service); });
  if (service.attached() && service.ready.kind == ReadySpec::Kind::line)
    read.diagnostics().error(service.ready.text.mark,
                             fmt::format("service '{}': the output of a program that is attached to cannot "
                                         "be read; write 'ready: {{port: ...}}' or {{command: [...]}}",
                                         service.name));
  with(node, "warm up", [&](const YamlNode& n) {
    if (n.kind == YamlNode::Kind::sequence)
      parse_command(n, read, service.warm_up_command);
    else if (const auto length = parse_seconds(n, read, "'warm up'"))
      service.warm_up = *length;
  });
  return service;
}

}  // namespace

bool parse_program(const YamlNode& node, std::string_view kind, YamlReader& read, ProgramSpec& program) {
  program.mark = node.mark;
  const YamlNode* name = node.find("name");
  if (name == nullptr) {
    read.diagnostics().error(node.mark, fmt::format("a {} needs a 'name'", kind));
    return false;
  }
  if (auto text = read.word(*name, "'name'")) {
    program.name = text->text;
    program.mark = text->mark;
  }
  with(node, "command", [&](const YamlNode& n) { parse_command(n, read, program.command); });
  with(node, "shell", [&](const YamlNode& n) { program.shell = read.word(n, "'shell'"); });
  with(node, "environment", [&](const YamlNode& n) { parse_environment(n, read, program); });
  with(node, "folder", [&](const YamlNode& n) { program.folder = read.word(n, "'folder'"); });
  with(node, "grace", [&](const YamlNode& n) {
    if (const auto grace = parse_seconds(n, read, "'grace'")) program.grace = *grace;
  });
  with(node, "run_as", [&](const YamlNode& n) { program.run_as = read.word(n, "'run_as'"); });
  return true;
}

void require_one_command(const YamlNode& node, std::string_view kind, YamlReader& read,
                         std::string_view name) {
  const bool has_command = node.find("command") != nullptr, has_shell = node.find("shell") != nullptr;
  if (has_command != has_shell) return;
  read.diagnostics().error(
      node.mark, fmt::format("{} '{}' needs either 'command: [program, argument, ...]' or 'shell: text'{}",
                             kind, name, has_command ? ", not both" : ""));
}

void parse_services(const YamlNode& node, YamlReader& read, std::vector<ServiceSpec>& services) {
  if (node.kind != YamlNode::Kind::sequence || node.items.empty()) {
    read.diagnostics().error(
        node.mark,
        "'services' must be a list such as [{name: server, command: [./server], ready: {port: 8080}}]");
    return;
  }
  for (const YamlPointer& item : node.items) {
    auto service = parse_service(*item, read);
    if (!service) continue;
    for (const ServiceSpec& other : services) {
      if (other.name == service->name)
        read.diagnostics().error(
            service->mark,
            fmt::format("two services are named '{}' (the first in line {}); give each its own name",
                        service->name, other.mark.line));
    }
    services.push_back(std::move(*service));
  }
}

std::optional<std::vector<RawValue>> parse_service_names(const YamlNode& node, YamlReader& read) {
  if (node.kind == YamlNode::Kind::sequence && node.items.empty()) return std::vector<RawValue>{};
  return read.words(node, "'services'");
}

}  // namespace dvfs_plan
