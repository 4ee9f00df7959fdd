#include "partitions/own_rows.hpp"

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

constexpr std::string_view kForm = R"({"client": 0, "rows": 100, "data": "64 hexadecimal digits"})";
constexpr std::uint64_t kMaxLineBytes = 1 << 14;
constexpr std::size_t kHashDigits = 64;
constexpr std::uint64_t kMaxOwnRows = 1'000'000'000;

bool is_hash(const Json& value) {
  return value.is_string() && value.text().size() == kHashDigits &&
         value.text().find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

ClientRows OwnRows::assign(const PartitionInput& /*input*/) const {
  throw usage_error(
      "partition is 'own': clients bring their own rows, which only 'fedstride serve' supports; use any other "
      "partition here");
}

std::string roster_line(std::uint32_t client, const RosterLine& line) {
  Json users = Json::object();
  for (const auto& [rows, count] : line.users) users[std::to_string(rows)] = count;
  return R"({"client": )" + std::to_string(client) + R"(, "rows": )" + std::to_string(line.rows) + R"(, "data": ")" +
         line.data_hash + '"' + (line.columns.empty() ? "" : R"(, "columns": )" + dump_json(Json(line.columns))) +
         (line.users.empty() ? "" : R"(, "users": )" + dump_json(users)) + '}';
}

std::vector<RosterLine> read_roster(const std::string& path, int clients) {
  if (path.empty()) throw usage_error("roster is ''; partition 'own' needs a file with lines of the form " + std::string(kForm));
  const std::string text =
      read_text_file(path, (std::uint64_t{1} << 20) + kMaxLineBytes * static_cast<std::uint64_t>(std::max(clients, 0)));
  std::vector<RosterLine> roster(static_cast<std::size_t>(clients));
  std::size_t number = 0;
  std::size_t found = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    const auto wrong = [&](const std::string& what) {
      return failure("'" + path + "', line " + std::to_string(number) + ": " + what);
    };
    const Json entry = parse_json(line);
    if (!entry.is_object() || !entry.contains("client") || !entry.contains("rows") || !entry.contains("data") ||
        !entry["client"].is_number_unsigned() || !entry["rows"].is_number_unsigned() || !is_hash(entry["data"]))
      throw wrong("it must have the form that 'fedstride data roster' writes: " + std::string(kForm));
    const auto client = entry["client"].get<std::uint64_t>();
    const auto rows = entry["rows"].get<std::uint64_t>();
    if (client >= roster.size())
      throw wrong("client is " + std::to_string(client) + "; with clients " + std::to_string(clients) +
                  " it must be a whole number from 0 to " + std::to_string(clients - 1));
    if (rows == 0 || rows > kMaxOwnRows)
      throw wrong("rows is " + std::to_string(rows) + "; it must be a whole number from 1 to " + std::to_string(kMaxOwnRows));
    if (roster[client].rows != 0) throw wrong("client " + std::to_string(client) + " is listed twice");
    roster[client] = {rows, entry["data"].get<std::string>()};
    if (const auto columns = entry.find("columns"); columns != entry.end()) {
      if (!columns->is_array()) throw wrong("columns is not a list of names");
      for (const Json& name : *columns) {
        if (!name.is_string()) throw wrong("columns is not a list of names");
        roster[client].columns.push_back(one_line(name.text()));
      }
    }
    if (const auto users = entry.find("users"); users != entry.end()) {
      std::uint64_t held = 0;
      for (const auto& [own, count] : users->is_object() ? users->items() : Json::object().items()) {
        std::uint64_t each = 0;
        const bool is_count = parse_number(own, each) && each >= 1 && each <= rows && count.is_number_unsigned();
        const std::uint64_t many = is_count ? count.get<std::uint64_t>() : 0;
        if (many < 1 || many > rows || held > rows)
          throw wrong("users must be numbers of users by their number of rows, such as {\"2\": 40}");
        roster[client].users[each] += many;
        held += each * many;
      }
      if (held != rows)
        throw wrong("its users have " + std::to_string(held) + " rows together, but rows is " + std::to_string(rows));
    }
    ++found;
  }
  if (found != roster.size())
    throw usage_error("clients is " + std::to_string(clients) + "; '" + path + "' has " + std::to_string(found) +
                      ", but each client needs a line");
  return roster;
}

}  // namespace fedstride
