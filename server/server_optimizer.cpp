#include "server/server_optimizer.hpp"

#include <sstream>

#include "core/error.hpp"

namespace fedstride {
namespace {

std::string saved(const PooledStatistic& pool) {
  std::ostringstream bytes;
  pool.save(bytes);
  return std::move(bytes).str();
}

}  // namespace

void Server::take(std::span<const ClientReport> reports, double mean_square) {
  at_work_->measure(mean_square);
  if (pool_ == nullptr) return;
  double sum = 0;
  std::uint64_t count = 0;
  for (const ClientReport& report : reports) {
    if (!report.failure.empty()) continue;
    sum += report.statistic;
    count += report.statistics;
  }
  pool_->take(sum, count);
}

// The server optimiser's bytes, then the pool's, whose length depends on nothing.
std::string Server::save() const { return at_work_->save() + (pool_ ? saved(*pool_) : std::string()); }

void Server::load(const std::string& bytes) {
  const std::size_t pooled = pool_ ? saved(*pool_).size() : 0;
  if (bytes.size() < pooled) throw failure("the checkpoint's state of the server is damaged, or of another optimizer");
  at_work_->load(bytes.substr(0, bytes.size() - pooled));
  if (!pool_) return;
  try {
    std::istringstream stream(bytes.substr(bytes.size() - pooled));
    pool_->load(stream);
  } catch (const std::exception&) {
    throw failure("the checkpoint's state of the pooled statistic is damaged");
  }
}

}  // namespace fedstride
