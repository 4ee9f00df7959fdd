#include "client/canaries.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {
namespace {

constexpr double kNormRounding = 1e-5;  // relative rounding error of a direction's norm in floats

}  // namespace

Canaries::Canaries(const Model& model, const std::vector<bool>& unsent, std::size_t count, const RandomSource& source,
                   std::uint32_t kind, bool alternates)
    : alternates_(alternates) {
  RandomStream random = source.at({Purpose::canaries, 0, 0, kind});
  std::vector<std::vector<std::uint32_t>> pools(1);  // coordinates by group
  for (int layer = 0; layer < static_cast<int>(std::max<std::size_t>(model.layers().size(), 1)); ++layer) {
    std::vector<std::uint32_t> own;
    for (const Parameter& parameter : model.parameters()) {
      extent_ = std::max(extent_, parameter.offset + parameter.size);
      if (parameter.layer != layer || (!unsent.empty() && unsent[static_cast<std::size_t>(layer)])) continue;
      for (std::size_t i = 0; i < parameter.size; ++i) own.push_back(static_cast<std::uint32_t>(parameter.offset + i));
    }
    if (own.size() < 2) continue;
    shuffle(std::span(own), random);
    const auto half = own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2);
    pools.front().insert(pools.front().end(), own.begin(), half);
    pools.emplace_back(half, own.end());
  }
  shuffle(std::span(pools.front()), random);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> owned;  // coordinate, canary
  for (std::uint32_t group = 0; group < pools.size(); ++group) {
    const std::vector<std::uint32_t>& pool = pools[group];
    const std::size_t wanted = group == 0 ? count - count / 2 : count / 2 / (pools.size() - 1);
    const std::size_t members = std::min(wanted, pool.size());
    for (std::size_t i = 0; i < std::min(pool.size(), members * kMostSpread); ++i)
      owned.emplace_back(pool[i], static_cast<std::uint32_t>(group_.size() + i % members));
    group_.resize(group_.size() + members, group);
  }
  std::ranges::sort(owned);
  std::vector<std::size_t> sizes(group_.size(), 0);
  for (const auto& [coordinate, canary] : owned) ++sizes[canary];
  for (const auto& [coordinate, canary] : owned) {
    const auto length = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes[canary])));
    coordinates_.push_back(coordinate);
    owner_.push_back(canary);
    direction_.push_back((random() & 1) != 0 ? length : -length);
  }
  for (std::uint32_t canary = 0; canary < group_.size(); ++canary) {
    in_.push_back((random() & 1) != 0);
    if (in_.back()) present_.push_back(canary);
  }
  own_.resize(extent_);
  heard_.resize(coordinates_.size());
  known_.resize(coordinates_.size());
  totals_.resize(in_.size());
  hits_.resize(in_.size());
  fits_.resize(pools.size());
}

std::pair<std::size_t, std::size_t> Canaries::within(std::size_t offset, std::size_t size) const {
  const auto first = std::ranges::lower_bound(coordinates_, offset);
  const auto last = std::lower_bound(first, coordinates_.end(), offset + size);
  return {static_cast<std::size_t>(first - coordinates_.begin()), static_cast<std::size_t>(last - coordinates_.begin())};
}

std::vector<Row> Canaries::beside(std::span<const Row> rows) const {
  std::vector<Row> all(rows.begin(), rows.end());
  for (const std::uint32_t canary : present_) all.push_back(kFirst + canary);
  return all;
}

void Canaries::begin(std::vector<Row>& drawn, const NoiseStep& noise) {
  noise_ = noise;
  drawn_.clear();
  std::erase_if(drawn, [&](Row row) {
    if (row < kFirst) return false;
    drawn_.push_back(row - kFirst);
    return true;
  });
  norms_.clear();
  for (const std::uint32_t canary : drawn_) norms_.push_back(length_of(canary) * noise.clip * (1 + kNormRounding));
  std::ranges::fill(known_, 0.0);
}

void Canaries::weighted_sum(std::span<const float> factors, SumSink sink) {
  std::vector<float> length(in_.size(), 0);
  for (std::size_t i = 0; i < drawn_.size(); ++i)
    length[drawn_[i]] = factors[i] * static_cast<float>(length_of(drawn_[i]) * noise_.clip);
  for (std::size_t i = 0; i < coordinates_.size(); ++i) own_[coordinates_[i]] = direction_[i] * length[owner_[i]];
  sink(0, own_);
  for (const std::uint32_t coordinate : coordinates_) own_[coordinate] = 0;
}

void Canaries::know(std::size_t offset, std::span<const double> part) {
  const auto [first, last] = within(offset, part.size());
  for (std::size_t i = first; i < last; ++i) known_[i] += part[coordinates_[i] - offset];
}

void Canaries::probe(Network& network, std::span<const float> factors, ForEachPiece for_each_piece) {
  constexpr std::uint64_t kFirstProbes = 4, kEvery = 16;
  if (factors.empty() || (releases_ >= kFirstProbes && releases_ % kEvery != 0)) return;
  std::vector<float> one(factors.size(), 0);
  one[releases_ % factors.size()] = factors[releases_ % factors.size()];
  const double squares = network.weighted_sum(
      one,
      [](std::size_t, std::span<const double> part) {
        double sum = 0;
        for (const double value : part) sum += value * value;
        return sum;
      },
      for_each_piece);
  largest_ = std::max(largest_, std::sqrt(squares) / noise_.clip);
}

void Canaries::hear(std::size_t offset, std::span<const float> values) {
  const auto [first, last] = within(offset, values.size());
  for (std::size_t i = first; i < last; ++i) heard_[i] = values[coordinates_[i] - offset];
}

void Canaries::score(double denominator) {
  for (float& value : heard_) value = static_cast<float>(value * denominator);
  score(drawn_, noise_.clip, noise_.clip * noise_.noise_multiplier);
}

void Canaries::write(std::uint32_t canary, double bound, Vector& update) const {
  const double length = length_of(canary) * bound;
  for (std::size_t i = 0; i < coordinates_.size(); ++i)
    if (owner_[i] == canary) update[coordinates_[i]] = static_cast<float>(length * static_cast<double>(direction_[i]));
}

void Canaries::score(std::span<const float> released, std::span<const float> known, double denominator,
                     std::span<const std::uint32_t> drawn, double contribution, double deviation) {
  for (std::size_t i = 0; i < coordinates_.size(); ++i) {
    heard_[i] = static_cast<float>(released[coordinates_[i]] * denominator);
    known_[i] = known[coordinates_[i]];
  }
  score(drawn, contribution, deviation);
}

void Canaries::copy(std::uint32_t canary, std::span<const float> from, std::span<float> to) const {
  for (std::size_t i = 0; i < coordinates_.size(); ++i)
    if (owner_[i] == canary) to[coordinates_[i]] = from[coordinates_[i]];
}

void Canaries::score(std::span<const std::uint32_t> drawn, double contribution, double deviation) {
  std::vector<double> scores(in_.size(), 0), contents(in_.size() + 1, excluded_ * contribution / deviation);
  for (std::size_t i = 0; i < coordinates_.size(); ++i)
    scores[owner_[i]] += (static_cast<double>(heard_[i]) - known_[i]) * static_cast<double>(direction_[i]) / deviation;
  for (const std::uint32_t canary : drawn) {
    contents[canary] = contribution / deviation;
    ++hits_[canary];
  }
  contents.back() = contribution / deviation;  // of a canary that is in every release
  if (!factor_.empty()) {
    const std::vector<double>& row = factor_.at(releases_);
    const auto solve = [&](std::vector<double>& values, std::vector<std::vector<double>>& before) {
      for (std::size_t t = 0; t < before.size(); ++t)
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= row[t] * before[t][i];
      for (double& value : values) value /= row.back();
      before.push_back(values);
    };
    solve(scores, scores_);
    solve(contents, contents_);
  }
  ++releases_;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    totals_[i] += scores[i] * contents.back();
    fits_[group_[i]].add(contents[i], scores[i]);
  }
}

std::vector<double> Canaries::totals(bool in) const {
  std::vector<double> found;
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (in_[i] == in) found.push_back(totals_[i]);
  return found;
}

std::vector<double> Canaries::scores(std::span<const float> vector, bool in) const {
  std::vector<double> sums(in_.size(), 0), found;
  for (std::size_t i = 0; i < coordinates_.size(); ++i)
    sums[owner_[i]] += static_cast<double>(vector[coordinates_[i]]) * static_cast<double>(direction_[i]);
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (in_[i] == in) found.push_back(sums[i]);
  return found;
}

}  // namespace fedstride
