#pragma once

#include <string>
#include <vector>

#include "core/task.hpp"
#include "core/text.hpp"

namespace fedstride {

/// "client 2", "clients 2, 5, 7, ... (31 in all)"
inline std::string clients_text(const std::vector<ClientId>& clients) {
  constexpr std::size_t kMaxNamed = 10;
  std::vector<std::string> names;
  for (const ClientId client : clients)
    if (names.size() < kMaxNamed) names.push_back(std::to_string(client));
  if (clients.size() == 1) return "client " + names.front();
  return "clients " + joined(names) + (clients.size() > kMaxNamed ? ", ... (" + std::to_string(clients.size()) + " in all)" : "");
}

}  // namespace fedstride
