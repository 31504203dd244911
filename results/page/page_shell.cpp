#include "results/page/page_shell.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/replace_file.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "results/page/base64.hpp"
#include "results/page/gzip.hpp"
#include "results/page/page_text.hpp"

namespace dvfs_plan {
namespace {

constexpr std::string_view generator = "<meta name=\"generator\" content=\"dvfs-plan\">";

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : printable(text, true)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

// JSON within a script element ends at the first "</script" whatever the quotes; without '<' there is none.
std::string script_data(const std::string& text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

std::string data_element(const PageData& data) {
  constexpr std::size_t large = 200'000;
  const bool packed = !data.bytes.empty() || data.json.size() > large;
  if (!packed)
    return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", data.id,
                       script_data(data.json));
  return fmt::format("<script type=\"application/gzip\" id=\"{}\">{}</script>\n", data.id,
                     base64(gzip(data.bytes.empty() ? data.json : data.bytes)));
}

// What the page's policy lets run: this script and no other, so that no text of a result ever does.
std::string script_hash(std::string_view script) {
  const std::string hex = sha256(script);
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return base64(bytes);
}

}  // namespace

PageData page_data(std::string id, const nlohmann::ordered_json& json) {
  return {std::move(id), json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), {}};
}

void write_page(const PageContent& content, const std::string& path, const std::string& like) {
  FileReplacement file(path, like);
  std::ostream& out = file.out();
  const std::string_view script(page_script);
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      << generator
      << "\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data: blob:; "
         "style-src "
         "'unsafe-inline'; script-src 'sha256-"
      << script_hash(script) << "'\">\n<title>" << escaped(content.title) << "</title>\n<style>" << page_style
      << "</style>\n</head>\n<body>\n<noscript><pre>" << escaped(content.plain_text)
      << "</pre></noscript>\n<main id=\"page\"></main>\n";
  // The script runs as soon as it has the first object; what is large comes after it.
  for (std::size_t i = 0; i < content.data.size(); ++i) {
    out << data_element(content.data[i]);
    if (i == 0) out << "<script>" << script << "</script>\n";
  }
  out << "</body>\n</html>\n";
  file.commit();
}

namespace {

// Empty where there is none.
std::string head_of(const std::string& path) {
  // A FIFO would be waited for.
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string head(4000, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head;
}

}  // namespace

bool is_page(const std::string& path) {
  return head_of(path).find(generator) != std::string::npos;
}

bool is_page_called(const std::string& path, const std::string& title) {
  const std::string head = head_of(path);
  return head.find(generator) != std::string::npos &&
         head.find("<title>" + escaped(title) + "</title>") != std::string::npos;
}

}  // namespace dvfs_plan
