#include "probes/meters/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cctype>
#include <chrono>
#include <optional>
#include <utility>

namespace dvfs_plan {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using HttpError = beast::error_code;

constexpr std::uint64_t longest_body = 4U << 20;

std::string small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

bool parse_http_place(const std::string& url, HttpPlace& place) {
  place = {};
  std::string rest;
  if (url.starts_with("http://"))
    rest = url.substr(7);
  else if (url.starts_with("https://"))
    rest = url.substr(8);
  else
    return false;
  place.tls = url.starts_with("https://");
  place.port = place.tls ? "443" : "80";
  const auto slash = rest.find('/');
  if (slash != std::string::npos) place.path = rest.substr(slash);
  std::string host = rest.substr(0, slash);
  while (place.path.ends_with('/')) place.path.pop_back();
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    place.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  place.host = host;
  const bool number = !place.port.empty() && place.port.size() <= 5 &&
                      place.port.find_first_not_of("0123456789") == std::string::npos;
  const bool plain = url.find_first_of("@?# \t\r\n") == std::string::npos;
  return number && plain && !host.empty();
}

class HttpClient::Connection {
 public:
  Connection(HttpPlace where, std::string authorities)
      : place(std::move(where)), authorities_(std::move(authorities)) {}

  HttpPlace place;
  std::chrono::steady_clock::time_point until = {};

  Answer send(const http::request<http::string_body>& request) {
    const bool kept = stream_ || secure_;
    HttpError error;
    Answer answer = send_once(request, error);
    // What was kept may be closed by the other side, which shows at the next request; one that changes something is not sent twice.
    const bool closed = error == http::error::end_of_stream || error == asio::error::connection_reset ||
                        error == asio::error::broken_pipe || error == asio::error::eof ||
                        error == asio::ssl::error::stream_truncated;
    return answer.status == 0 && kept && closed && request.method() == http::verb::get
               ? send_once(request, error)
               : answer;
  }

  std::string host_field() const {
    const std::string host = place.host.find(':') != std::string::npos ? "[" + place.host + "]" : place.host;
    return place.port == (place.tls ? "443" : "80") ? host : host + ":" + place.port;
  }

 private:
  // Starts what `begin` starts, and waits for it.
  template <class Begin>
  HttpError wait_for(Begin begin) {
    HttpError result = beast::error::timeout;
    begin([&result](HttpError error, auto&&...) { result = error; });
    context_.restart();
    context_.run();
    return result;
  }

  beast::tcp_stream& socket() { return secure_ ? beast::get_lowest_layer(*secure_) : *stream_; }

  std::string open() {
    HttpError error;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(place.host, place.port, error);
    if (error) return fmt::format("{}: {}", place.host, error.message());
    if (place.tls) {
      if (!tls_) {
        tls_.emplace(asio::ssl::context::tls_client);
        tls_->set_verify_mode(asio::ssl::verify_peer);
        if (authorities_.empty())
          tls_->set_default_verify_paths(error);
        else
          tls_->load_verify_file(authorities_, error);
        if (error)
          return fmt::format("{}: {}", authorities_.empty() ? "the system's authorities" : authorities_,
                             error.message());
      }
      secure_.emplace(context_, *tls_);
      HttpError no_number;
      asio::ip::make_address(place.host, no_number);
      if (no_number)
        SSL_set_tlsext_host_name(secure_->native_handle(), place.host.c_str());  // names alone: RFC 6066, 3
      secure_->set_verify_callback(asio::ssl::host_name_verification(place.host));
    } else {
      stream_.emplace(context_);
    }
    socket().expires_at(until);
    error = wait_for([&](auto done) { socket().async_connect(found, done); });
    if (error) return fmt::format("connect to {}: {}", host_field(), error.message());
    socket().socket().set_option(tcp::no_delay(true), error);
    if (!secure_) return {};
    socket().expires_at(until);
    error = wait_for([&](auto done) { secure_->async_handshake(asio::ssl::stream_base::client, done); });
    return error ? fmt::format("TLS with {}: {}", host_field(), error.message()) : std::string{};
  }

  void close() {
    stream_.reset();
    secure_.reset();
    buffer_.clear();
  }

  Answer send_once(const http::request<http::string_body>& request, HttpError& error) {
    Answer answer;
    if (!stream_ && !secure_) answer.problem = open();
    http::response_parser<http::string_body> parser;
    parser.body_limit(longest_body);
    error = {};
    if (answer.problem.empty()) {
      socket().expires_at(until);
      error = secure_ ? wait_for([&](auto done) { http::async_write(*secure_, request, done); })
                      : wait_for([&](auto done) { http::async_write(*stream_, request, done); });
      if (!error)
        error = secure_ ? wait_for([&](auto done) { http::async_read(*secure_, buffer_, parser, done); })
                        : wait_for([&](auto done) { http::async_read(*stream_, buffer_, parser, done); });
      if (error)
        answer.problem =
            fmt::format("{} of {}: {}", std::string(request.method_string()), host_field(), error.message());
    }
    if (!answer.problem.empty()) {
      close();
      return answer;
    }
    const auto& response = parser.get();
    answer.status = static_cast<int>(response.result_int());
    answer.body = response.body();
    for (const auto& field : response)
      answer.headers[small_letters(std::string(field.name_string()))] = std::string(field.value());
    if (!response.keep_alive()) close();
    return answer;
  }

  std::string authorities_;
  asio::io_context context_{1};
  std::optional<asio::ssl::context> tls_;
  std::optional<beast::tcp_stream> stream_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> secure_;
  beast::flat_buffer buffer_;
};

HttpClient::HttpClient(HttpPlace place, std::string authorities)
    : connection_(std::make_unique<Connection>(std::move(place), std::move(authorities))) {}
HttpClient::~HttpClient() = default;

void HttpClient::within(Seconds patience) {
  connection_->until =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                             std::chrono::duration<double>(patience.value()));
}

const HttpPlace& HttpClient::place() const {
  return connection_->place;
}

HttpClient::Answer HttpClient::send(const std::string& method, const std::string& target,
                                    const std::map<std::string, std::string>& headers,
                                    const std::string& body) {
  http::request<http::string_body> request{http::string_to_verb(method), target, 11};
  request.set(http::field::host, connection_->host_field());
  request.set(http::field::user_agent, "dvfs-plan");
  request.set(http::field::accept, "application/json");
  for (const auto& [name, value] : headers) request.set(name, value);
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  request.prepare_payload();
  return connection_->send(request);
}

}  // namespace dvfs_plan
