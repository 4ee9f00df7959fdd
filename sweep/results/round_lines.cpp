#include "sweep/results/read_cell.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string_view>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "sim/settings/client_reports.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;
constexpr std::size_t kBlock = std::size_t{1} << 18;

/// Calls visit(line) for every complete line. Holds only one line in memory.
template <class Visitor>
void for_each_line(const std::filesystem::path& path, Visitor&& visit) {
  std::ifstream file = opened_stream(path);
  std::string buffer;
  for (std::size_t searched = 0; file;) {
    const std::size_t had = buffer.size();
    buffer.resize(had + kBlock);
    file.read(buffer.data() + had, static_cast<std::streamsize>(kBlock));
    buffer.resize(had + static_cast<std::size_t>(file.gcount()));
    if (file.bad()) throw failure("cannot read '" + path.string() + "'");
    std::size_t begin = 0;
    for (auto end = buffer.find('\n', searched); end != std::string::npos; end = buffer.find('\n', begin)) {
      visit(std::string_view(buffer).substr(begin, end - begin));
      begin = end + 1;
    }
    buffer.erase(0, begin);
    searched = buffer.size();
    if (buffer.size() > kMaxLineBytes)
      throw failure("'" + path.string() + "' has a line of more than " + std::to_string(kMaxLineBytes) + " bytes");
  }
}

/// Reads one line as JSON events. Skips nesting that a run does not write.
class RoundLine final : public JsonEvents {
 public:
  RoundLine(CellResult& result, bool keep_clients) : result_(result), keep_clients_(keep_clients) {}

  /// Reads a line; returns false if it is invalid or has a different round number.
  bool take(std::string_view line, std::uint32_t round) {
    depth_ = 0;
    place_ = Place::elsewhere;
    line_round_ = -1;
    totals_ = ClientTotals();
    round_ = CellResult::Round{.round = round, .numbers = {}, .model_hash = {}};
    round_.numbers.reserve(round_size_);
    first_client_ = result_.clients.size();
    if (!sax_parse_json(line, *this) || line_round_ != round) return false;
    // A line without its clients' entries (--client-reports) already has these totals.
    if (!round_.numbers.contains("participants"))
      totals_.visit([&](std::string_view name, double value, bool) {
        if (!std::isnan(value)) round_.numbers[std::string(name)] = value;
      });
    round_size_ = std::max(round_size_, round_.numbers.size());
    const auto begin = result_.clients.begin() + static_cast<std::ptrdiff_t>(first_client_);
    if (!std::ranges::is_sorted(begin, result_.clients.end(), {}, &CellResult::Client::client))
      std::ranges::stable_sort(begin, result_.clients.end(), {}, &CellResult::Client::client);
    result_.rounds.push_back(std::move(round_));
    return true;
  }

  bool scalar(Json value) override {
    if (value.is_number()) return number(value.get<double>());
    if (depth_ == 1 && key_ == "model_hash" && value.is_string()) round_.model_hash = value.text();
    return true;
  }
  bool key(std::string& name) override {
    key_.swap(name);
    return true;
  }
  bool start_object() override {
    ++depth_;
    if (depth_ == 2)
      place_ = key_ == "example_privacy"  ? Place::example_privacy
               : key_ == "client_privacy" ? Place::client_privacy
                                          : Place::elsewhere;
    if (depth_ == 3 && place_ == Place::clients) {
      client_.numbers.reserve(client_size_);
      client_number_ = -1;
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == 3 && place_ == Place::clients) end_client();
    return leave();
  }
  bool start_array() override {
    ++depth_;
    if (depth_ == 2) place_ = key_ == "clients" ? Place::clients : Place::elsewhere;
    return depth_ > 1;
  }
  bool end_array() override { return leave(); }

 private:
  enum class Place { elsewhere, clients, example_privacy, client_privacy };

  bool leave() {
    --depth_;
    if (depth_ < 2) place_ = Place::elsewhere;
    return true;
  }

  bool number(double value) {
    if (!std::isfinite(value)) return true;
    if (depth_ == 1) {
      if (key_ == "round")
        line_round_ = value;
      else
        round_.numbers[key_ == "failed_clients" ? "failed_updates" : key_] = value;
    } else if (depth_ == 2 && place_ == Place::example_privacy) {
      round_.numbers[key_ + "_spent"] = value;
    } else if (depth_ == 2 && place_ == Place::client_privacy) {
      round_.numbers["client_" + key_ + "_spent"] = value;
    } else if (depth_ == 3 && place_ == Place::clients) {
      client_value(value);
    }
    return depth_ > 0;
  }

  void client_value(double value) {
    if (key_ == "client") {
      client_number_ = value;
      return;
    }
    totals_.add(key_, value);
    if (keep_clients_) client_.numbers[key_] = value;
  }

  void end_client() {
    constexpr double kMaxClientNumber = 4294967295.0;
    if (!keep_clients_ || !(client_number_ >= 0 && client_number_ <= kMaxClientNumber)) {
      client_.numbers.clear();
      return;
    }
    client_.round = round_.round;
    client_.client = static_cast<std::uint32_t>(client_number_);
    if (const double share = client_.numbers.of("rejected") / client_.numbers.of("steps"); std::isfinite(share))
      client_.numbers["rejected_share"] = share;
    client_size_ = std::max(client_size_, client_.numbers.size());
    result_.clients.push_back(std::move(client_));
    client_ = {};
  }

  CellResult& result_;
  bool keep_clients_;
  std::string key_;
  int depth_ = 0;
  Place place_ = Place::elsewhere;
  CellResult::Round round_;
  CellResult::Client client_;
  std::size_t round_size_ = 0, client_size_ = 0;  // largest numbers of entries seen so far
  double line_round_ = -1;
  double client_number_ = -1;
  std::size_t first_client_ = 0;
  ClientTotals totals_;
};

}  // namespace

void read_rounds(const std::filesystem::path& path, bool clients, CellResult& result) {
  RoundLine taker(result, clients);
  std::uint32_t round = 0;
  for_each_line(path, [&](std::string_view line) {
    if (!taker.take(line, ++round))
      throw failure("line " + std::to_string(round) + " of '" + path.string() + "' is not a valid line for round " +
                    std::to_string(round) + "; remove the cell's folder to run it again");
  });
}

}  // namespace fedstride
