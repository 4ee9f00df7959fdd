#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/datasets.hpp"
#include "partitions/client_rows.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

/// The data set of a run.
struct RunData : DataPair {
  std::vector<Row> validation_rows = {};  ///< rows of train that no client holds
  std::vector<Row> evaluation_rows = {};  ///< rows of test on which rounds are evaluated; empty: all
};

/// The clients of a run.
struct RunClients {
  ClientRows rows = {};                        ///< rows of data.train, a list per client; empty lists if the rows are elsewhere
  std::vector<std::uint64_t> row_counts = {};  ///< each client's number of rows
  std::string partition_hash = {};
  ClientRows test = {};               ///< rows of client_test_data on which each client is tested; empty: none
  bool test_is_of_test_part = false;  ///< true: `test` lists rows of data.test, by natural client; false: of data.train
  std::size_t unused_rows = 0;        ///< rows of data.train, outside the validation rows, that no client trains on
  std::vector<std::map<std::uint64_t, std::uint64_t>> users = {};  ///< partition own: RosterLine::users of each client
  std::vector<std::string> data_hashes = {};  ///< partition own: a hash of each client's rows, which are not in data.train

  std::size_t size() const { return row_counts.size(); }
};

/// A configuration with its data and clients: the first step of `prepare`, and all that `fedstride partition` needs.
struct DataSetup {
  Configuration configuration;  ///< with the number of clients from the data, if the data determine it
  RunData data = {};
  RunClients clients = {};
  std::vector<std::string> notes = {};  ///< notes for the user: tensors taken by --init, rows not used
};

/// Where the clients' rows are.
enum class RowsAre {
  here,         ///< in this process; partition own is refused
  with_clients  ///< with the clients, for partition own; the roster lists each client's number of rows
};

/// Reads the data and deals the rows to clients in this process. Throws Error.
DataSetup prepare_partition(const Configuration& configuration);
/// Like prepare_partition, for a run whose clients may have their rows elsewhere. Throws Error.
DataSetup prepare_data(const Configuration& configuration, RowsAre rows);

/// The data of a client that has its own rows: data.train holds only its rows, in the experiment's schema; other clients' rows
/// and the test part are unknown. Throws Error.
DataSetup prepare_own_data(const Configuration& configuration, ClientId client, const Schema& schema);

/// A client's rows as sent by the coordinator.
struct ToldRows {
  std::string partition_hash;
  std::vector<std::uint64_t> row_counts;  ///< number of rows of every client
  std::vector<Row> rows;                  ///< the client's training rows, followed by the test rows for its personal model
};

/// The data of a client that receives its rows from the coordinator (partitions that read a file): that file is not opened,
/// and only the number of other clients' rows is known. Throws Error (failure) if the rows in `told` cannot be this client's.
DataSetup prepare_told_data(const Configuration& configuration, ClientId client, ToldRows told);

/// The weight of each client's update in a round's mean.
std::vector<std::uint64_t> client_weights(const DataSetup& setup);
/// The data set whose rows clients.test lists.
const Dataset& client_test_data(const DataSetup& setup);

/// The manifest that --partition file reads. write_partition writes it to a file (write_manifest), plus two more files if it is
/// large.
std::string partition_json(const DataSetup& setup);
void write_partition(const DataSetup& setup, const std::filesystem::path& path);
/// Rows per class per client as a text heat map.
std::string partition_text(const DataSetup& setup);

}  // namespace fedstride
