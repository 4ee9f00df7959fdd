#include "partitions/from_file.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/files.hpp"
#include "core/json.hpp"
#include "core/npy.hpp"
#include "partitions/dealing.hpp"

namespace fedstride {
namespace {

constexpr const char* kFileForm = "valid: {\"clients\": [[row, ...], ...]}";

/// The lists in a file, concatenated, and their sizes.
struct Lists {
  std::vector<std::uint32_t> rows;
  std::vector<std::size_t> sizes;
  std::uint64_t unused = 0;  ///< training rows that no client holds, according to the file
  bool any_unused = false;   ///< the file's "unused" is "any"
};

Json parsed(const std::string& path, std::uint64_t limit) {
  try {
    return parse_json_or_throw(read_text_file(path, limit));
  } catch (const JsonError& error) {
    throw failure("'" + path + "' is not JSON (at byte " + std::to_string(error.byte) + "); " + kFileForm);
  }
}

/// Throws Error (usage) unless the file has as many clients as the configuration.
void require_clients(std::size_t found, const PartitionInput& input, const std::string& path) {
  if (found != static_cast<std::size_t>(input.clients))
    throw usage_error("clients is " + std::to_string(input.clients) + "; '" + path + "' has " + std::to_string(found));
}

// Clients are numbered from 0, as in the results.
std::string client_of(const std::string& path, std::size_t client) { return "'" + path + "': client " + std::to_string(client); }

/// Maps row numbers in a file to rows of the data set; kHeldOut marks a test row.
class FileRows {
 public:
  static constexpr std::uint32_t kHeldOut = std::numeric_limits<std::uint32_t>::max();

  explicit FileRows(const PartitionInput& input) : end_(input.labels.size()) {
    if (input.file_rows.empty()) return;
    end_ = std::max(std::size_t{*std::ranges::max_element(input.file_rows)} + 1, input.rows_in_file);
    rows_.assign(end_, kHeldOut);
    for (std::uint32_t row = 0; row < input.file_rows.size(); ++row) rows_[input.file_rows[row]] = row;
  }
  std::size_t end() const { return end_; }
  std::uint32_t row(std::uint32_t in_file) const { return rows_.empty() ? in_file : rows_[in_file]; }

 private:
  std::size_t end_;
  std::vector<std::uint32_t> rows_;
};

std::string valid_rows(const FileRows& rows) { return "; rows are whole numbers from 0 to " + std::to_string(rows.end() - 1); }

Lists lists_in(const Json& clients, const PartitionInput& input, const FileRows& known, const std::string& path) {
  require_clients(clients.size(), input, path);
  Lists lists;
  for (std::size_t client = 0; client < clients.size(); ++client) {
    const Json& list = clients[client];
    if (!list.is_array() || list.empty())
      throw failure(client_of(path, client) + " has no rows; each client needs a list of at least one row");
    for (const Json& entry : list) {
      if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() >= known.end())
        throw failure(client_of(path, client) + " has row " + dump_json(entry).substr(0, 40) + valid_rows(known));
      lists.rows.push_back(entry.get<std::uint32_t>());
    }
    lists.sizes.push_back(list.size());
  }
  return lists;
}

/// Reads the arrays that a manifest of format 2 names, from files next to the manifest.
Lists lists_beside(const Json& document, const PartitionInput& input, const FileRows& known, const std::string& path) {
  const auto array = [&](const char* key, std::size_t most) {
    const auto found = document.find(key);
    const std::string name = found != document.end() && found->is_string() ? found->get<std::string>() : "";
    if (name.empty() || std::filesystem::path(name).filename() != name)
      throw failure("'" + path + "' has no key \"" + key + "\" that names a file in its folder; " + kFileForm);
    return read_npy(std::filesystem::path(path).parent_path() / name, most);
  };
  Lists lists{.rows = array("rows", known.end()), .sizes = {}, .unused = 0};
  const auto sizes = array("sizes", known.end());
  require_clients(sizes.size(), input, path);
  lists.sizes.assign(sizes.begin(), sizes.end());
  std::uint64_t sum = 0;
  for (std::size_t client = 0; client < sizes.size(); ++client) {
    if (sizes[client] == 0) throw failure(client_of(path, client) + " has no rows; each client needs a list of at least one row");
    sum += sizes[client];
    if (sum > lists.rows.size()) break;
    for (const std::uint32_t row : std::span(lists.rows).subspan(sum - sizes[client], sizes[client]))
      if (row >= known.end()) throw failure(client_of(path, client) + " has row " + std::to_string(row) + valid_rows(known));
  }
  if (sum != lists.rows.size())
    throw failure("'" + path + "': the client sizes do not sum to the " + std::to_string(lists.rows.size()) +
                  " rows in its file of rows; all three files must belong to the same partition");
  return lists;
}

Lists lists_of(const std::string& path, const PartitionInput& input, const FileRows& known) {
  // Allows for indented row lists and for the tables of a manifest with this many clients and classes.
  const std::uint64_t limit = (std::uint64_t{1} << 20) + 32 * std::uint64_t{known.end()} +
                              16 * static_cast<std::uint64_t>(input.clients) * (input.classes + std::uint64_t{4});
  const Json document = parsed(path, limit);
  Lists lists;
  if (document.is_object() && document.contains("rows") && document.contains("sizes")) {
    lists = lists_beside(document, input, known, path);
  } else {
    const auto clients = document.is_object() ? document.find("clients") : document.end();
    if (clients == document.end() || !clients->is_array()) throw failure("'" + path + "' has no list \"clients\"; " + kFileForm);
    lists = lists_in(*clients, input, known, path);
  }
  if (const auto unused = document.find("unused"); unused != document.end()) {
    lists.any_unused = unused->is_string() && unused->get<std::string>() == "any";
    if (unused->is_number_unsigned()) lists.unused = unused->get<std::uint64_t>();
  }
  return lists;
}

/// Translates the file's row numbers into those of the data set and drops rows held out for testing: the lists' author need not
/// know which rows those are.
void leave_out_test_rows(Lists& lists, const FileRows& known, const std::string& path) {
  std::size_t to = 0;
  std::size_t from = 0;
  for (std::size_t client = 0; client < lists.sizes.size(); ++client) {
    const std::size_t begin = to;
    for (const std::size_t end = from + lists.sizes[client]; from < end; ++from)
      if (const std::uint32_t row = known.row(lists.rows[from]); row != FileRows::kHeldOut) lists.rows[to++] = row;
    if (to == begin) throw failure(client_of(path, client) + " has only test rows; it needs at least one training row");
    lists.sizes[client] = to - begin;
  }
  lists.rows.resize(to);
}

/// The first client that has the row.
std::size_t holder_of(const Lists& lists, std::uint32_t row) {
  const auto place = static_cast<std::size_t>(std::ranges::find(lists.rows, row) - lists.rows.begin());
  std::size_t client = 0;
  for (std::size_t end = lists.sizes[0]; end <= place; end += lists.sizes[client]) ++client;
  return client;
}

}  // namespace

ClientRows FromFile::assign(const PartitionInput& input) const {
  check_input(input);
  if (partition_file.empty())
    throw usage_error("partition-file is empty; it must name a JSON file of the form {\"clients\": [[row, ...], ...]}");
  const FileRows known(input);
  Lists lists = lists_of(partition_file, input, known);
  leave_out_test_rows(lists, known, partition_file);
  const auto in_file = [&](std::uint32_t row) { return std::to_string(input.file_rows.empty() ? row : input.file_rows[row]); };

  enum class State : std::uint8_t { held_out, free, taken };
  std::vector<State> state(input.labels.size(), State::held_out);
  for (const std::uint32_t row : input.rows) state[row] = State::free;
  std::size_t at = 0;
  for (std::size_t client = 0; client < lists.sizes.size(); ++client)
    for (const std::size_t end = at + lists.sizes[client]; at < end; ++at) {
      const std::uint32_t row = lists.rows[at];
      if (state[row] == State::held_out)
        throw failure(client_of(partition_file, client) + " has row " + in_file(row) +
                      ", which is not a training row (is it held out for validation?)");
      if (state[row] == State::taken) {
        const std::size_t holder = holder_of(lists, row);
        throw failure(client_of(partition_file, client) + " has row " + in_file(row) +
                      (holder == client ? " twice" : ", as does client " + std::to_string(holder)) +
                      "; each row must be in exactly one list");
      }
      state[row] = State::taken;
    }
  if (!lists.any_unused && lists.rows.size() + lists.unused != input.rows.size())
    for (const std::uint32_t row : input.rows)
      if (state[row] == State::free)
        throw failure("'" + partition_file + "': " + std::to_string(input.rows.size() - lists.rows.size()) +
                      " training rows are missing (the first is row " + in_file(row) + "); each row must be in exactly one list");
  return {std::move(lists.rows), lists.sizes};
}

}  // namespace fedstride
