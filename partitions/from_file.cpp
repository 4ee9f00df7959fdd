#include "partitions/from_file.hpp"

#include "core/files.hpp"
#include "core/json.hpp"
#include "partitions/dealing.hpp"

namespace fedstride {
namespace {

Json parsed(const std::string& path, std::uint64_t limit) {
  Json document;
  try {
    document = parse_json_or_throw(read_file(path, limit));
  } catch (const Json::parse_error& error) {
    throw failure("'" + path + "' is not JSON (from byte " + std::to_string(error.byte) +
                  "); it must be {\"clients\": [[row, ...], ...]}");
  }
  const auto clients = document.is_object() ? document.find("clients") : document.end();
  if (clients == document.end() || !clients->is_array())
    throw failure("'" + path + "' has no list \"clients\"; it must be {\"clients\": [[row, ...], ...]}");
  return std::move(*clients);
}

}  // namespace

Assignment FromFile::assign(const PartitionInput& input) const {
  check_input(input);
  if (partition_file.empty())
    throw usage_error("partition-file is empty; it must name a JSON file {\"clients\": [[row, ...], ...]}");
  // Room for indented row lists and for the tables of a manifest with as many clients and classes.
  const std::uint64_t limit = (std::uint64_t{1} << 20) + 32 * std::uint64_t{input.rows.size()} +
                              16 * static_cast<std::uint64_t>(input.clients) * (input.classes + std::uint64_t{4});
  const Json lists = parsed(partition_file, limit);
  const std::string file = "'" + partition_file + "': ";
  if (lists.size() != static_cast<std::size_t>(input.clients))
    throw usage_error("clients is " + std::to_string(input.clients) + "; '" + partition_file + "' needs it to be " +
                      std::to_string(lists.size()));

  enum class State : std::uint8_t { held_out, free, taken };
  std::vector<State> state(input.labels.size(), State::held_out);
  for (const std::uint32_t row : input.rows) state[row] = State::free;
  Assignment assignment(lists.size());
  std::size_t dealt = 0;
  for (std::size_t client = 0; client < lists.size(); ++client) {
    const std::string who = file + "client " + std::to_string(client);  // counted from 0, as in the results
    if (!lists[client].is_array() || lists[client].empty())
      throw failure(who + " has no rows; it must be a list of at least one");
    for (const Json& entry : lists[client]) {
      const bool whole = entry.is_number_unsigned() && entry.get<std::uint64_t>() < state.size();
      if (!whole)
        throw failure(who + " has the row " + dump_json(entry).substr(0, 40) + "; rows are whole numbers from 0 to " +
                      std::to_string(state.size() - 1));
      const auto row = entry.get<std::uint32_t>();
      if (state[row] == State::held_out)
        throw failure(who + " has row " + std::to_string(row) + ", which is not a training row (held out for validation?)");
      if (state[row] == State::taken)
        throw failure(who + " has row " + std::to_string(row) + " a second time; each row belongs to one client, once");
      state[row] = State::taken;
      assignment[client].push_back(row);
      ++dealt;
    }
  }
  if (dealt != input.rows.size())
    for (const std::uint32_t row : input.rows)
      if (state[row] == State::free)
        throw failure(file + std::to_string(input.rows.size() - dealt) + " training rows are missing, row " +
                      std::to_string(row) + " first; each row belongs to one client");
  finish(assignment);
  return assignment;
}

}  // namespace fedstride
