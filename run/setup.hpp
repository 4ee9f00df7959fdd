#pragma once

#include <string>
#include <vector>

#include "client/trainer.hpp"
#include "data/datasets.hpp"
#include "run/configuration.hpp"
#include "run/privacy_setup.hpp"
#include "nn/model.hpp"
#include "server/round.hpp"

namespace fedstride {

/// A configuration turned into the things a run works with. Everything that can be refused is refused here, before a
/// folder is made or a step is taken.
struct Setup {
  Configuration configuration;
  DataPair data = {};
  std::vector<Row> validation_rows = {};     ///< of data.train, held by no client
  std::vector<std::vector<Row>> rows = {};   ///< of data.train, one list a client; empty where its rows are not here
  std::vector<std::uint64_t> row_counts = {};  ///< how many each client has
  std::vector<std::string> own_data = {};    ///< partition own: of each client's rows, which are not of data.train, the hash
  std::vector<std::vector<std::size_t>> label_counts = {};  ///< rows of each class each client holds; partition own: not known
  std::string partition_hash = {};
  Model model = {};
  LocalTraining training = {};
  RoundRules rules = {};
  WeightedMean aggregation = {};
  PrivacySetup privacy = {};
  Vector initial = {};
  std::vector<std::string> notes = {};       ///< what a person should know: tensors taken by --init, rows not used
};

/// The parts that `fedstride partition` needs: data and who holds them.
void prepare_partition(Setup& setup);

/// Where a run's first weights come from.
enum class FirstWeights {
  drawn,     ///< drawn, or read from what `init` names
  elsewhere  ///< a checkpoint or a coordinator has them; what `init` names is not read
};

/// Who has the clients' rows.
enum class RowsAre {
  here,         ///< who prepares; partition own is refused
  with_clients  ///< perhaps (partition own): then the roster says how many each has
};

/// All of it. Throws Error.
Setup prepare(const Configuration& configuration, FirstWeights first = FirstWeights::drawn, RowsAre rows = RowsAre::here);

/// The side of a client that brings its own rows: they are all there is of data.train, in the form of the experiment's, and
/// nothing is known of the other clients' or of the test part. Throws Error.
Setup prepare_own(const Configuration& configuration, ClientId client, const DataForm& form);

/// The manifest that --partition file reads.
std::string partition_json(const Setup& setup);
/// Rows per class per client as a text heat map.
std::string partition_text(const Setup& setup);

/// The settings that must stay as they are when a run goes on; those that need not are the defaults.
Configuration lasting_configuration(const Setup& setup);
std::string lasting_settings(const Setup& setup);

/// Digest of everything that determines the results but the number of rounds, this build included: a run goes on only if
/// it is unchanged.
std::string identity(const Setup& setup);

}  // namespace fedstride
