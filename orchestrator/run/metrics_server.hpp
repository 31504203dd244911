// Serves a text at /metrics over HTTP, on a thread of its own that sleeps unless it is asked: what Prometheus and its like scrape. Off
// unless somebody wants it, and on the loopback address unless told otherwise: whoever can reach it can read what is run here.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace dvfs_plan {

// As the server itself would refuse it (2), for who asks before a night begins.
void require_metrics_place(const std::string& where);

class MetricsServer {
 public:
  // `where`: "9123", "ADDRESS:9123", "[ADDRESS]:9123" (0: a free port), "unix:PATH". Throws Error (exit code 2) where that is none of
  // these, (3) where it cannot listen there. `text` is called on its thread, as often as somebody asks.
  MetricsServer(const std::string& where, std::function<std::string()> text);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  // For people and for scrapers: "http://127.0.0.1:9123/metrics", "unix:/run/night.sock".
  const std::string& address() const;

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace dvfs_plan
