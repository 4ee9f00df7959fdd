#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "client/trainer.hpp"
#include "data/datasets.hpp"
#include "nn/model.hpp"
#include "partitions/client_rows.hpp"
#include "run/configuration.hpp"
#include "run/privacy_setup.hpp"
#include "server/round.hpp"

namespace fedstride {

/// A configuration turned into the objects of a run. Everything that can be refused is refused here, before a folder is
/// made or a step is taken.
struct Setup {
  Configuration configuration;
  DataPair data = {};
  std::vector<Row> validation_rows = {};       ///< of data.train, held by no client
  std::vector<Row> evaluation_rows = {};       ///< of data.test, that rounds are evaluated on; empty: all
  ClientRows rows = {};                        ///< of data.train, one list a client; empty if its rows are not here
  ClientRows client_test = {};                 ///< of client_test_data, the rows each client is tested on; empty: none
  bool client_test_is_of_test_part = false;    ///< the data have test rows of their natural clients
  std::vector<std::uint64_t> row_counts = {};  ///< number of each client's rows
  std::size_t unused_rows = 0;                 ///< training rows of data.train that no client holds
  std::vector<std::string> own_data = {};      ///< partition own: hash of each client's rows, which are not of data.train
  std::string partition_hash = {};
  std::string cohort_hash = {};  ///< of the file by which cohorts are drawn, where a run begins; empty without one
  Model model = {};
  LocalTraining training = {};
  RoundRules rules = {};
  PrivacySetup privacy = {};
  Vector initial = {};
  std::vector<std::string> notes = {};  ///< remarks for the user: tensors taken by --init, rows not used
};

/// The part that the rows of client_test are of.
const Dataset& client_test_data(const Setup& setup);

/// Prepares the parts that `fedstride partition` needs: data and assignment.
void prepare_partition(Setup& setup);

/// The source of a run's first weights.
enum class FirstWeights {
  drawn,     ///< drawn, or read from the file that `init` names
  elsewhere  ///< from a checkpoint or a coordinator; the file that `init` names is not read
};

/// The place of the clients' rows.
enum class RowsAre {
  here,         ///< in this process; partition own is refused
  with_clients  ///< with partition own; then the roster gives each client's number
};

/// Prepares everything. Throws Error.
Setup prepare(const Configuration& configuration, FirstWeights first = FirstWeights::drawn, RowsAre rows = RowsAre::here);

/// Prepares the side of a client that brings its own rows: data.train holds only these, in the experiment's form; the other
/// clients' rows and the test part are unknown. Throws Error.
Setup prepare_own(const Configuration& configuration, ClientId client, const DataForm& form);

/// The rows of one client as the coordinator tells it.
struct ToldRows {
  std::string partition_hash;
  std::vector<std::uint64_t> row_counts;  ///< of every client
  std::vector<Row> rows;                  ///< its own, and behind these what its personal model is tested on
};

/// Prepares the side of a client that is told its rows (a partition that reads a file): the file is not opened, the other clients'
/// rows are unknown but for their number. Throws Error (failure) if these cannot be the rows of a client.
Setup prepare_told(const Configuration& configuration, ClientId client, ToldRows told);

/// Does to the training data here what attackers do to theirs. Once, before anybody trains.
void poison(Setup& setup);

/// The manifest that --partition file reads; written to a file (write_manifest), and two files beside it if it is large.
std::string partition_json(const Setup& setup);
void write_partition(const Setup& setup, const std::filesystem::path& path);
/// Rows per class per client as a text heat map.
std::string partition_text(const Setup& setup);

/// The settings that must not change when a run continues; all others have their defaults.
Configuration lasting_configuration(const Setup& setup);
/// Their text, the same from any folder: a file that is read stands there by its name, without its folder.
std::string lasting_settings(const Setup& setup);

/// Digest of everything that determines the results except the number of rounds, this build included: a run continues only
/// if it is unchanged.
std::string identity(const Setup& setup);

}  // namespace fedstride
