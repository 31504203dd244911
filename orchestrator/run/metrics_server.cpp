#include "orchestrator/run/metrics_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/same_file.hpp"

namespace dvfs_plan {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using MetricsText = std::function<std::string()>;

constexpr std::chrono::seconds client_time{5};  // for a request, and again for taking the answer
// At once: descriptors are the run's, and whoever can reach us must not use them up.
constexpr int most_conversations = 16;
constexpr const char* metrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";

http::response<http::string_body> answer_to(const http::request<http::empty_body>& request,
                                            const MetricsText& text) {
  http::response<http::string_body> answer{http::status::ok, request.version()};
  answer.set(http::field::content_type, "text/plain; charset=utf-8");
  const bool head = request.method() == http::verb::head;
  if (request.method() != http::verb::get && !head) {
    answer.result(http::status::method_not_allowed);
    answer.set(http::field::allow, "GET, HEAD");
    answer.body() = "only GET\n";
  } else if (request.target() != "/metrics") {
    answer.result(http::status::not_found);
    answer.body() = "there is /metrics\n";
  } else {
    try {
      answer.body() = text();
      answer.set(http::field::content_type, metrics_type);
    } catch (const std::exception& fault) {  // the night does not end on its account
      answer.result(http::status::internal_server_error);
      answer.body() = std::string(fault.what()) + "\n";
    }
  }
  answer.keep_alive(false);
  answer.prepare_payload();  // the length of what a GET would get, also for HEAD
  if (head) answer.body().clear();
  return answer;
}

// One request, one answer. Lives as long as something of it is under way.
template <class Protocol>
class Conversation : public std::enable_shared_from_this<Conversation<Protocol>> {
 public:
  Conversation(typename Protocol::socket socket, const MetricsText& text, int& conversations)
      : stream_(std::move(socket)), text_(text), conversations_(conversations) {
    ++conversations_;
  }
  ~Conversation() { --conversations_; }
  Conversation(const Conversation&) = delete;

  void begin() {
    stream_.expires_after(client_time);
    auto self = this->shared_from_this();
    http::async_read(stream_, buffer_, request_, [self](beast::error_code error, std::size_t) {
      if (!error) self->answer();
    });
  }

 private:
  void answer() {
    answer_ = answer_to(request_, text_);
    stream_.expires_after(client_time);
    auto self = this->shared_from_this();
    http::async_write(stream_, answer_, [self](beast::error_code, std::size_t) {
      beast::error_code ignored;
      self->stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    });
  }

  beast::basic_stream<Protocol> stream_;
  const MetricsText& text_;
  int& conversations_;
  beast::flat_static_buffer<8192> buffer_;  // no request of a scraper's is longer
  http::request<http::empty_body> request_;
  http::response<http::string_body> answer_;
};

template <class Protocol>
class Door {
 public:
  Door(asio::io_context& context, const typename Protocol::endpoint& endpoint, const MetricsText& text,
       int& conversations)
      : conversations_(conversations), acceptor_(context, endpoint), pause_(context), text_(text) {
    ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    accept_next();
  }
  typename Protocol::endpoint endpoint() const { return acceptor_.local_endpoint(); }

 private:
  void accept_next() {
    acceptor_.async_accept([this](beast::error_code error, typename Protocol::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return wait_a_second();  // no descriptor is free: they will not be there at once
      ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
      if (conversations_ < most_conversations)
        std::make_shared<Conversation<Protocol>>(std::move(socket), text_, conversations_)->begin();
      accept_next();
    });
  }
  void wait_a_second() {
    pause_.expires_after(std::chrono::seconds(1));
    pause_.async_wait([this](beast::error_code error) {
      if (!error) accept_next();
    });
  }

  int& conversations_;
  typename Protocol::acceptor acceptor_;
  asio::steady_timer pause_;
  const MetricsText& text_;
};

struct MetricsPlace {
  std::string socket;  // a path; else:
  std::string address = "127.0.0.1";
  unsigned short port = 0;
};

[[noreturn]] void refuse_place(const std::string& where) {
  throw Error(ExitCode::bad_experiment,
              fmt::format("--metrics '{}': wanted a port such as 9123, ADDRESS:PORT or unix:PATH", where),
              "127.0.0.1 is meant where no address is given");
}

MetricsPlace place_of(const std::string& where) {
  MetricsPlace place;
  if (where.starts_with("unix:")) {
    place.socket = where.substr(5);
    if (place.socket.empty()) refuse_place(where);
    return place;
  }
  const auto colon = where.rfind(':');
  const std::string port = colon == std::string::npos ? where : where.substr(colon + 1);
  if (colon != std::string::npos) {
    place.address = where.substr(0, colon);
    if (place.address.starts_with('[') && place.address.ends_with(']'))
      place.address = place.address.substr(1, place.address.size() - 2);
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  beast::error_code no_address;
  asio::ip::make_address(place.address, no_address);
  if (error != std::errc{} || end != port.data() + port.size() || no_address) refuse_place(where);
  return place;
}

// A socket that a killed run left is nobody's; one that is served, and any other file, is left alone.
void clear_socket(const std::string& path, asio::io_context& context) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  asio::local::stream_protocol::socket probe(context);
  beast::error_code error;
  probe.connect(asio::local::stream_protocol::endpoint(path), error);
  // One that does not listen yet is somebody's too: the kernel has a list of those that are open (proc_pid_net(5)).
  std::ifstream open("/proc/net/unix");
  for (std::string line; std::getline(open, line);) {
    if (line.ends_with(" " + path)) return;
  }
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

}  // namespace

class MetricsServer::Listener {
 public:
  Listener(const std::string& where, MetricsText text) : text_(std::move(text)) {
    const MetricsPlace place = place_of(where);
    try {
      if (place.socket.empty())
        listen_at(place);
      else
        listen_at_socket(place.socket);
    } catch (const boost::system::system_error& error) {
      throw Error(ExitCode::machine_refuses,
                  fmt::format("--metrics '{}': it cannot listen there: {}", where, error.code().message()),
                  "name another port or path, or 0 for a free port");
    }
    // Signals are the run's.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { context_.run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Listener() {
    context_.stop();
    thread_.join();
    // Somebody may have put something else there meanwhile: that is not ours to remove.
    struct stat now {};
    if (!socket_.empty() && ::lstat(socket_.c_str(), &now) == 0 && is_same_file(now, made_))
      ::unlink(socket_.c_str());
  }

  const std::string& address() const { return address_; }

 private:
  void listen_at(const MetricsPlace& place) {
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(place.address), place.port);
    tcp_.emplace(context_, endpoint, text_, conversations_);
    const auto local = tcp_->endpoint();
    const std::string host = local.address().to_string();
    address_ =
        fmt::format("http://{}:{}/metrics", local.address().is_v6() ? "[" + host + "]" : host, local.port());
  }

  void listen_at_socket(const std::string& path) {
    clear_socket(path, context_);
    local_.emplace(context_, asio::local::stream_protocol::endpoint(path), text_, conversations_);
    if (::lstat(path.c_str(), &made_) == 0) socket_ = path;
    address_ = "unix:" + path;
  }

  MetricsText text_;
  int conversations_ = 0;  // before the context, which ends with those under way
  asio::io_context context_{1};
  std::optional<Door<asio::ip::tcp>> tcp_;
  std::optional<Door<asio::local::stream_protocol>> local_;
  std::string address_, socket_;
  struct stat made_ {};  // of the socket
  std::thread thread_;
};

MetricsServer::MetricsServer(const std::string& where, std::function<std::string()> text)
    : listener_(std::make_unique<Listener>(where, std::move(text))) {}
MetricsServer::~MetricsServer() = default;
void require_metrics_place(const std::string& where) {
  place_of(where);
}

const std::string& MetricsServer::address() const {
  return listener_->address();
}

}  // namespace dvfs_plan
