// Measures what secure aggregation costs a client and the coordinator, on one core each. Build it by hand, with the libraries of
// core/ and secagg/: `g++ -std=c++20 -O2 -I. tools/bench/secagg_cost.cpp build/release/secagg/libfedstride_secagg.a
// build/release/core/libfedstride_core.a -lcrypto -o secagg_cost`. Usage: `secagg_cost CLIENTS DEGREE WEIGHTS BITS DROPOUTS`;
// DROPOUTS clients vanish before they send their inputs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>

#include "core/hash.hpp"
#include "secagg/client.hpp"
#include "secagg/coordinator.hpp"

using namespace fedstride;
using namespace fedstride::secagg;

namespace {

// Processor time, which other programs do not affect.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
Secret secret_of(const std::string& text) { return Secret(Hash().text(text).digest()); }

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::atoi(argv[at])) : otherwise;
  };
  const unsigned clients = number(1, 100), degree = number(2, 40), weights = number(3, 1000000), bits = number(4, 32),
                 dropouts = number(5, 10);
  Session session{.round = 1, .plan = choose_plan({clients, dropouts, clients / 20}, degree), .length = weights, .bits = bits};
  std::vector<Secret> keys;
  for (ClientId client = 0; client < clients; ++client) {
    keys.push_back(secret_of("key " + std::to_string(client)));
    session.cohort.push_back({client, verifying_key(keys.back())});
  }
  std::deque<Client> all;
  Coordinator coordinator(session);
  std::vector<double> spent(clients);
  std::vector<std::uint64_t> bytes(clients);
  double coordinator_spent = 0;
  const auto client_does = [&](ClientId client, const auto& work) {
    const double start = seconds();
    auto made = work();
    spent[client] += seconds() - start;
    bytes[client] += encoded(made).size();
    return made;
  };
  const auto coordinator_does = [&](const auto& work) {
    const double start = seconds();
    work();
    coordinator_spent += seconds() - start;
  };
  for (ClientId client = 0; client < clients; ++client) {
    all.emplace_back(session, client, keys[client], secret_of("attempt " + std::to_string(client)));
    const Advert advert = client_does(client, [&] { return all[client].advertise(); });
    coordinator_does([&] { coordinator.take(advert); });
  }
  const Roster roster = coordinator.roster();
  for (ClientId client = 0; client < clients; ++client) {
    const Shares shares = client_does(client, [&] { return all[client].share(roster); });
    coordinator_does([&] { coordinator.take(shares); });
  }
  coordinator.end_sharing();
  Ring input(weights, bits);
  for (ClientId client = dropouts; client < clients; ++client) {
    const Delivery delivery = coordinator.delivery(client);
    for (unsigned i = 0; i < weights; ++i) input.set(i, static_cast<__int128>(client) - i);
    Ring own = input;
    const Masked masked = client_does(client, [&] { return all[client].mask(delivery, std::move(own)); });
    coordinator_does([&] { coordinator.take(masked); });
  }
  const Survivors survivors = coordinator.survivors();
  for (ClientId client = dropouts; client < clients; ++client) {
    const Agreement agreement = client_does(client, [&] { return all[client].agree(survivors); });
    coordinator_does([&] { coordinator.take(agreement); });
  }
  const Agreements agreements = coordinator.agreements();
  for (ClientId client = dropouts; client < clients; ++client) {
    const Unmasking shares = client_does(client, [&] { return all[client].open(agreements, std::nullopt).shares; });
    coordinator_does([&] { coordinator.take(shares); });
  }
  std::vector<std::string> remarks;
  const double start = seconds();
  const Ring sum = coordinator.sum(remarks);
  const double unmasking = seconds() - start;
  bool good = true;
  for (unsigned i = 0; i < weights; i += 9973) {
    __int128 expected = 0;
    for (ClientId client = dropouts; client < clients; ++client) expected += static_cast<__int128>(client) - i;
    good = good && sum.at(i) == expected;
  }
  std::ranges::sort(spent);
  std::printf(
      "%s, threshold %u; a client %.3f s (median), %.3f s (most), sends %.3f of 4-byte weights; coordinator %.2f s before, %.2f "
      "s to unmask\n",
      good ? "right" : "WRONG", session.plan.threshold, spent[clients / 2], spent.back(),
      static_cast<double>(bytes.back()) / (4.0 * weights), coordinator_spent, unmasking);
  return good ? 0 : 1;
}
