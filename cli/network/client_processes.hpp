#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "net/log.hpp"

namespace fedstride {

/// Client processes on this machine, for `launch`: starts them, starts one again that was killed, stops them together.
class ClientProcesses {
 public:
  struct Rules {
    int clients = 1;
    std::filesystem::path folder;  ///< each client's own is FOLDER/K; what it prints goes to log.txt in it
    /// The arguments after the program's name for client K.
    std::function<std::vector<std::string>(int client, const std::string& folder)> arguments;
    NetworkLog log;
    /// A client ended by itself, and not because all was done: why ("client 3 ended with code 1: ...").
    std::function<void(const std::string& reason)> failed;
  };
  /// Throws Error (failure) if a folder cannot be made.
  explicit ClientProcesses(Rules rules);
  /// Stops them: at once, or after expect_end() once they have had a few seconds to end by themselves.
  ~ClientProcesses();

  /// All is done, and the clients have been told so.
  void expect_end() { ending_ = told_ = true; }

 private:
  void watch(const std::stop_token& stop);
  void start(int client);
  void ended(int client, int status);

  Rules rules_;
  std::vector<pid_t> children_;  ///< by client; 0: not running
  std::vector<std::chrono::steady_clock::time_point> started_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> told_{false};
  std::jthread watcher_;
};

}  // namespace fedstride
