#include "data/normalisation.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/named_facts.hpp"
#include "data/table.hpp"

namespace fedstride {
namespace {

std::string shown_numbers(std::span<const float> numbers) {
  constexpr std::size_t kMost = 64;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMost); ++i) text += (i == 0 ? "" : ",") + number_text(numbers[i]);
  return text + (numbers.size() > kMost ? ",... (" + std::to_string(numbers.size()) + " numbers)" : "");
}

void say_normalisation(DataPair& pair, const std::string& source) {
  pair.facts.push_back("mean " + shown_numbers(pair.train.mean) + ", deviation " + shown_numbers(pair.train.deviation) + " (" +
                       source + ")");
}

/// One number for all channels, or one for each.
std::vector<float> for_channels(std::vector<float> numbers, std::string_view setting, const Dataset& train) {
  const auto channels = static_cast<std::size_t>(train.shape.channels);
  if (numbers.size() == 1) numbers.resize(channels, numbers.front());
  if (numbers.size() != channels)
    throw usage_error(std::string(setting) + " has " + counted(numbers.size(), "number") + "; data set '" + train.name +
                      "' needs one, or one for each of its " + std::to_string(channels) +
                      (train.is_pictures() ? " channels" : " channels or columns"));
  return numbers;
}

void take_given(DataPair& pair, const ReadSettings& settings) {
  if (settings.mean.empty() || settings.deviation.empty())
    throw usage_error(std::string(settings.mean.empty() ? "mean" : "deviation") +
                      " is not named; mean and deviation go together (--mean 0.5 --deviation 0.25)");
  pair.train.mean = for_channels(named_numbers("mean", settings.mean), "mean", pair.train);
  pair.train.deviation = for_channels(named_numbers("deviation", settings.deviation), "deviation", pair.train);
  for (const float deviation : pair.train.deviation)
    if (!(deviation > 0) || !std::isnormal(deviation) || !std::isnormal(1 / deviation))
      throw usage_error("deviation has " + number_text(deviation) + "; valid are numbers above 0");
  say_normalisation(pair, "named");
}

void take_range(DataPair& pair, const ReadSettings& settings) {
  const std::optional<ValueRange> named = named_range(settings);
  if (!named && !pair.train.is_pictures())
    throw usage_error("data set '" + pair.train.name +
                      "' has numbers, and nothing that is public says how they are to be normalised" +
                      (settings.rows_are_protected ? " (under dp nothing is read off the rows)" : "") +
                      "; name --range LOW,HIGH, or --mean and --deviation, or --public-data FILE");
  // Pixels count in units of 255.
  const ValueRange range = named.value_or(ValueRange{});
  const auto channels = static_cast<std::size_t>(pair.train.shape.channels);
  pair.train.mean.assign(channels, (range.low + range.high) / 2);
  pair.train.deviation.assign(channels, (range.high - range.low) / 2);
  say_normalisation(pair, named ? "of the range " + settings.range + ", named" : "of the range of 8-bit numbers");
}

void take_from(DataPair& pair, Dataset& from, const std::string& source) {
  from.mean.clear();
  from.deviation.clear();
  standardise(from);
  pair.train.mean = from.mean;
  pair.train.deviation = from.deviation;
  say_normalisation(pair, source);
}

Normalise chosen(const DataPair& pair, const ReadSettings& settings, bool has_public) {
  if (settings.normalise != Normalise::automatic) return settings.normalise;
  if (!settings.mean.empty() || !settings.deviation.empty()) return Normalise::given;
  if (!pair.train.mean.empty()) return Normalise::automatic;
  if (has_public) return Normalise::from_public;
  return settings.rows_are_protected || !settings.range.empty() ? Normalise::range : Normalise::rows;
}

void check_published(const DataPair& pair) {
  const Dataset& train = pair.train;
  const auto places = static_cast<std::size_t>(train.vocabulary > 0 ? 0 : train.shape.channels);
  bool good = train.mean.size() == places && train.deviation.size() == places;
  for (std::size_t i = 0; good && i < places; ++i)
    good = std::isfinite(train.mean[i]) && train.deviation[i] > 0 && std::isnormal(train.deviation[i]) &&
           std::isnormal(1 / train.deviation[i]);
  if (!good)
    throw failure("data set '" + train.name + "': its mean and deviation are not " + std::to_string(places) +
                  " finite numbers each, deviations above 0");
}

}  // namespace

void normalise(DataPair& pair, const ReadSettings& settings, const std::string& published_by, Dataset* public_rows) {
  Dataset& train = pair.train;
  if (train.vocabulary > 0) {
    train.mean.clear();
    train.deviation.clear();
    return;
  }
  switch (chosen(pair, settings, public_rows != nullptr)) {
    case Normalise::automatic:
      check_published(pair);
      return say_normalisation(pair, published_by);
    case Normalise::given:
      return take_given(pair, settings);
    case Normalise::privately:
      if (!settings.rows_are_protected)
        throw usage_error(
            "normalise is 'private', which an accounted release pays for; without dp valid are rows, given, range, public and "
            "none");
      pair.normalises_privately = true;
      return take_range(pair, settings);
    case Normalise::range:
      return take_range(pair, settings);
    case Normalise::from_public: {
      if (public_rows == nullptr) throw usage_error("normalise is 'public', which needs rows that are: name --public-data FILE");
      if (public_rows->shape != train.shape || public_rows->is_pictures() != train.is_pictures() || public_rows->vocabulary > 0)
        throw usage_error("public-data has examples of " + public_rows->shape.text() +
                          (public_rows->is_pictures() ? " in 8 bits" : "") + ", the data set of " + train.shape.text() +
                          (train.is_pictures() ? " in 8 bits" : "") + "; they must be alike");
      return take_from(pair, *public_rows, "of public-data");
    }
    case Normalise::rows:
      if (settings.rows_are_protected)
        throw usage_error(
            "normalise is 'rows': mean and deviation of the training rows, which under dp no release covers; valid are given, "
            "range, "
            "public, private and none");
      return take_from(pair, train, "of the training rows");
    case Normalise::none:
      train.mean.assign(static_cast<std::size_t>(train.shape.channels), 0);
      train.deviation.assign(static_cast<std::size_t>(train.shape.channels), 1);
      say_normalisation(pair, "none, named");
  }
}

std::uint64_t make_valid(Dataset& data, const ReadSettings& settings) {
  const std::optional<ValueRange> range = named_range(settings);
  std::uint64_t replaced = 0;
  if (!data.features.empty() && (range || settings.rows_are_protected)) {
    const Borrowable<float>& features = data.features;
    const auto valid = [&](float value) {
      return std::isfinite(value) && (!range || (value >= range->low && value <= range->high));
    };
    if (!std::ranges::all_of(features, valid)) {
      std::vector<float>& own = data.features.edit();  // a lent list is copied only for this
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (valid(own[i])) continue;
        ++replaced;
        own[i] = range && !std::isnan(own[i]) ? std::clamp(own[i], range->low, range->high) : data.mean[i % data.mean.size()];
      }
    }
  }
  if (!settings.rows_are_protected) return replaced;
  const auto count_below = [&](auto& numbers, int limit, auto instead) {
    for (auto& number : numbers)
      if (number >= limit) {
        number = instead;
        ++replaced;
      }
  };
  if (data.targets == Targets::classes) count_below(data.labels, data.classes, Label{0});
  if (data.targets == Targets::positions) {
    for (Label& label : data.position_labels)
      if (label != kNoLabel && label >= data.classes) label = kNoLabel;
  }
  if (data.vocabulary > 0) count_below(data.tokens, data.vocabulary, std::uint16_t{0});
  return replaced;
}

}  // namespace fedstride
