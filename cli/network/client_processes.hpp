#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/process.hpp"
#include "sim/net/log.hpp"

namespace fedstride {

/// The client processes of `launch` on this machine. Starts them, restarts any that are killed, and stops them together.
class ClientProcesses {
 public:
  struct Rules {
    int clients = 1;
    std::filesystem::path folder;  ///< client K uses FOLDER/K and prints to FOLDER/K/log.txt
    /// The arguments of client K after the program's name.
    std::function<std::vector<std::string>(int client, const std::string& folder)> arguments;
    NetworkLog log;
    /// Called with the reason if a client exits before the federation has finished ("client 3 exited with code 1: ...").
    std::function<void(const std::string& reason)> failed;
  };
  /// Throws Error (failure) if a folder cannot be created.
  explicit ClientProcesses(Rules rules);
  /// Stops the clients: at once or, after expect_end(), after a few seconds in which they can exit on their own.
  ~ClientProcesses();

  /// Call when the federation has finished and the clients know it.
  void expect_end() { ending_ = told_ = true; }

 private:
  void watch(const std::stop_token& stop);
  void start(int client);
  void ended(int client, int code);

  Rules rules_;
  std::vector<ChildProcess> children_;  ///< by client
  std::vector<std::chrono::steady_clock::time_point> started_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> told_{false};
  std::jthread watcher_;
};

}  // namespace fedstride
