// HTTP/1.1 of meters and BMCs on the network, plain or over TLS: one connection, kept while the other side keeps it. Nothing is waited for
// behind the end that within() sets (a name is looked up by the system, which has its own); certificates are checked, against the system's
// authorities or a file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/units.hpp"

namespace dvfs_plan {

struct HttpPlace {
  bool tls = false;
  std::string host, port, path;  // path: "" or "/..."
};
// "http://HOST[:PORT][/PATH]", "https://..."; false: it is none of these.
bool parse_http_place(const std::string& url, HttpPlace& place);

class HttpClient {
 public:
  // `authorities`: a PEM file of who may vouch for the host, over TLS; empty: the system's.
  HttpClient(HttpPlace place, std::string authorities);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // All that is sent from now on, together.
  void within(Seconds patience);

  struct Answer {
    int status = 0;  // 0: none came, and `problem` says why
    std::string body;
    std::map<std::string, std::string> headers;  // names in small letters
    std::string problem = {};
  };
  Answer get(const std::string& target, const std::map<std::string, std::string>& headers = {}) {
    return send("GET", target, headers, "");
  }
  // `body` is JSON.
  Answer post(const std::string& target, const std::string& body,
              const std::map<std::string, std::string>& headers = {}) {
    return send("POST", target, headers, body);
  }
  Answer remove(const std::string& target, const std::map<std::string, std::string>& headers = {}) {
    return send("DELETE", target, headers, "");
  }
  const HttpPlace& place() const;

 private:
  Answer send(const std::string& method, const std::string& target,
              const std::map<std::string, std::string>& headers, const std::string& body);
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace dvfs_plan
