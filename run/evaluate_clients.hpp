#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/spread.hpp"
#include "nn/evaluation.hpp"
#include "nn/group_evaluation.hpp"
#include "run/setup.hpp"

namespace fedstride {

class Threads;

/// The test rows of every client of a run; empty without client-test.
std::vector<std::span<const Row>> client_test_groups(const Setup& setup);
/// The skews of their inputs; valid as long as the setup.
std::vector<ClientSkew> client_skews(const Setup& setup);

/// How a number of each client that has test rows is spread over them.
Spread spread_of_clients(const std::vector<GroupEvaluation>& clients, double GroupEvaluation::*number);

/// The clients of a finished run, each on test rows of its own.
struct ClientsEvaluation {
  std::string dataset;
  std::vector<std::string> class_names;
  std::string_view metric = "accuracy";      ///< the name of `accuracy`, as in Evaluation
  std::vector<GroupEvaluation> global = {};  ///< the run's model, by client
  std::vector<GroupEvaluation> fine_tuned =
      {};  ///< after local epochs on the client's own training rows; empty if none were asked for
  std::vector<GroupEvaluation> personal = {};  ///< the clients' personal models; empty if they have none, or keep them elsewhere
  std::vector<std::vector<std::uint64_t>> confusion =
      {};  ///< of the run's model on the whole test part, [actual][predicted]; empty where the answers are no classes
  bool is_covered = true;  ///< false: of rows that the run's guarantee protects
};

/// Evaluates the model in a run's folder on every client's own test rows, and, if `epochs` is above 0, the model that each client
/// makes of it in that many local epochs with the run's optimizer, without privacy and without its local objective; and the personal
/// model that it has kept in the run's folder (one that has kept none has the run's model). Empty `data` and `data_dir` mean the run's own. Throws Error: usage for a run without client-test, or whose rows are with its clients.
ClientsEvaluation evaluate_clients(const std::string& folder, const std::string& data_dir, int epochs, int threads,
                                   const std::string& data = {});

/// For programs.
std::string clients_json(const ClientsEvaluation& result);

}  // namespace fedstride
