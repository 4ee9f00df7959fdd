#pragma once

#include <functional>
#include <future>
#include <mutex>

#include "sim/parties/join.hpp"
#include "sim/parties/serve.hpp"
#include "tests/sim/run/csv_runs.hpp"

namespace fedstride::test {

/// A coordinator and three clients, each on a thread, talking over loopback; results in folder/out as run() leaves them.
struct Loopback {
  std::vector<MemberOutcome> clients;
  RunSummary summary;
  std::string log;
};

/// More about a loopback federation.
struct LoopbackOptions {
  std::string certificates = {};
  int rounds_of_a_session = 0;                     ///< then all are stopped; 0: to the end
  std::function<std::string(ClientId)> data = {};  ///< each client's data folder; empty: the coordinator's
  std::function<Settings(Settings)> change = {};   ///< of the coordinator's settings
  OutsideTraining train = {};                      ///< code of the clients' own; empty: they train as the experiment says
};

inline Loopback over_loopback(const TemporaryFolder& folder, const std::string& out, const std::string& more,
                              const LoopbackOptions& how = {}) {
  Loopback result;
  std::mutex mutex;
  std::promise<std::uint16_t> port;
  ServeOptions options;
  options.listen = {"127.0.0.1", 0};
  options.certificates = how.certificates;
  options.heartbeat = 0.5;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    result.log += line + '\n';
  };
  options.listening = [&](std::uint16_t at, std::optional<std::uint16_t>) { port.set_value(at); };
  const Settings all = settings_for(folder, out, more);
  const Settings settings = settings_to_serve(how.change ? how.change(all) : all);
  std::atomic<bool> stop{false};
  RunObserver observer;
  observer.stop = &stop;
  int left = how.rounds_of_a_session;
  observer.round = [&](const RoundRecord&) { stop = --left == 0; };
  std::future<RunSummary> coordinator =
      std::async(std::launch::async, [&] { return serve(resolve(settings), settings, options, observer); });
  std::future<std::uint16_t> listening = port.get_future();
  while (listening.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
    if (coordinator.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready) coordinator.get();  // throws
  const std::uint16_t at = listening.get();
  std::vector<std::future<MemberOutcome>> clients;
  for (ClientId client = 0; client < 3; ++client)
    clients.push_back(std::async(std::launch::async, [&, client] {
      JoinOptions join{.client = client,
                       .connect = {"127.0.0.1", at},
                       .certificates = how.certificates,
                       .folder = folder / (out + ".clients/" + std::to_string(client)),
                       .data = how.data ? how.data(client) : folder.path().string(),
                       .data_dir = "",
                       .threads = 1,
                       .log = [](const std::string&) {},
                       .train = how.train};
      try {
        return join_federation(join, &stop);
      } catch (...) {
        stop = true;  // the others would wait for it
        throw;
      }
    }));
  for (auto& client : clients) result.clients.push_back(client.get());
  result.summary = coordinator.get();
  return result;
}

}  // namespace fedstride::test
