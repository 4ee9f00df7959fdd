#include "data/normalization.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "data/named_facts.hpp"

namespace fedstride {
namespace {

/// Sets the mean and standard deviation of each channel of the images, of pixel values / 255, from a histogram of the values.
void standardize_pictures(Dataset& train) {
  const auto channels = static_cast<std::size_t>(train.shape.channels);
  const std::size_t plane = train.shape.size() / channels;
  // Four counters per value, summed at the end, so consecutive equal values do not wait for one another.
  std::vector<std::array<std::array<std::uint64_t, 256>, 4>> counted(channels);
  const Borrowable<std::uint8_t>& pixels = train.pixels;
  for (std::size_t i = 0; i < pixels.size(); i += plane) {
    auto& [first, second, third, fourth] = counted[i / plane % channels];
    const std::uint8_t* at = pixels.data() + i;
    const std::uint8_t* const end = at + plane;
    for (; end - at >= 4; at += 4) {
      ++first[at[0]];
      ++second[at[1]];
      ++third[at[2]];
      ++fourth[at[3]];
    }
    for (; at != end; ++at) ++first[*at];
  }
  std::vector<std::array<std::uint64_t, 256>> counts(channels);
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (const auto& part : counted[channel])
      for (std::size_t value = 0; value < part.size(); ++value) counts[channel][value] += part[value];
  for (const auto& count : counts) {
    double sum = 0;
    double squares = 0;
    double all = 0;
    for (std::size_t value = 0; value < count.size(); ++value) {
      const auto many = static_cast<double>(count[value]);
      const double number = static_cast<double>(value) / 255;
      all += many;
      sum += many * number;
      squares += many * number * number;
    }
    const double mean = sum / all;
    const double variance = std::max(0.0, squares / all - mean * mean);
    train.mean.push_back(static_cast<float>(mean));
    train.deviation.push_back(variance > 1e-10 ? static_cast<float>(std::sqrt(variance)) : 1);
  }
}

/// True for a number that an input may be divided by.
bool is_deviation(float number) { return number > 0 && std::isnormal(number) && std::isnormal(1 / number); }

std::string shown_numbers(std::span<const float> numbers) {
  constexpr std::size_t kMost = 64;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMost); ++i) text += (i == 0 ? "" : ",") + number_text(numbers[i]);
  return text + (numbers.size() > kMost ? ",... (" + std::to_string(numbers.size()) + " numbers)" : "");
}

void say_normalization(DataPair& pair, const std::string& source) {
  pair.normalized_by = source;
  pair.facts.push_back("mean " + shown_numbers(pair.train.mean) + ", deviation " + shown_numbers(pair.train.deviation) + " (" +
                       source + ")");
}

/// The number of normalized channels: all but a table's 0/1 columns, which come last.
std::size_t normalized_channels(const Dataset& data) {
  return static_cast<std::size_t>(data.shape.channels - data.binary_columns);
}

/// Sets the 0/1 columns' mean to 0 and deviation to 1.
void keep_binary_columns(Dataset& data) {
  const auto channels = static_cast<std::size_t>(data.shape.channels);
  data.mean.resize(normalized_channels(data));
  data.mean.resize(channels, 0);
  data.deviation.resize(normalized_channels(data));
  data.deviation.resize(channels, 1);
}

/// Repeats a single number for all channels; otherwise requires one per channel.
std::vector<float> for_channels(std::vector<float> numbers, std::string_view setting, const Dataset& train) {
  const std::size_t channels = normalized_channels(train);
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
                      " is missing; mean and deviation go together (--mean 0.5 --deviation 0.25)");
  const std::vector<std::string> columns = number_columns(pair.columns);
  pair.train.mean = for_channels(named_numbers("mean", settings.mean, columns), "mean", pair.train);
  pair.train.deviation = for_channels(named_numbers("deviation", settings.deviation, columns), "deviation", pair.train);
  for (const float deviation : pair.train.deviation)
    if (!is_deviation(deviation)) throw usage_error("deviation has " + number_text(deviation) + "; it must be a number above 0");
  keep_binary_columns(pair.train);
  say_normalization(pair, "named");
}

void take_range(DataPair& pair, const ReadSettings& settings) {
  std::vector<ValueRange> ranges = named_ranges(settings, number_columns(pair.columns));
  if (ranges.empty() && !pair.train.is_pictures())
    throw usage_error("data set '" + pair.train.name + "' has numeric inputs, and nothing public says how to normalize them" +
                      (settings.rows_are_protected ? " (under dp nothing is inferred from the rows)" : "") +
                      "; give --range LOW,HIGH, or --mean and --deviation, or --public-data FILE");
  // The default, [0, 1], is the range of pixel values / 255.
  ranges.resize(std::max<std::size_t>(1, ranges.size()));
  std::vector<float> middles, halves;
  for (const ValueRange& range : ranges) {
    middles.push_back((range.low + range.high) / 2);
    halves.push_back((range.high - range.low) / 2);
  }
  pair.train.mean = for_channels(std::move(middles), "range", pair.train);
  pair.train.deviation = for_channels(std::move(halves), "range", pair.train);
  keep_binary_columns(pair.train);
  say_normalization(pair,
                    !settings.range.empty() ? "of the range " + settings.range + ", named" : "of the range of 8-bit numbers");
}

void take_none(DataPair& pair, const std::string& source) {
  pair.train.mean.assign(static_cast<std::size_t>(pair.train.shape.channels), 0);
  pair.train.deviation.assign(static_cast<std::size_t>(pair.train.shape.channels), 1);
  say_normalization(pair, source);
}

void take_from(DataPair& pair, Dataset& from, const std::string& source) {
  from.mean.clear();
  from.deviation.clear();
  standardize(from);
  pair.train.mean = from.mean;
  pair.train.deviation = from.deviation;
  say_normalization(pair, source);
}

void take_each_client(DataPair& pair) {
  const Dataset& train = pair.train;
  const std::string set = "normalize is 'client'; data set '" + train.name + "' has ";
  if (train.is_pictures()) throw usage_error(set + "images: use rows, given, range, public or none");
  if (train.clients.empty()) throw usage_error(set + "no natural clients: use rows, or name them (--client-column)");
  const std::size_t each = train.shape.size();
  std::vector<std::vector<float>> inputs(train.client_names.size());
  for (Row row = 0; row < train.size(); ++row) {
    const float* const from = train.features.data() + row * each;
    inputs[train.clients[row]].insert(inputs[train.clients[row]].end(), from, from + each);
  }
  for (std::size_t client = 0; client < inputs.size(); ++client) {
    if (inputs[client].empty()) continue;
    Dataset own;
    own.shape = train.shape;
    own.binary_columns = train.binary_columns;
    own.features = std::move(inputs[client]);
    standardize(own);
    pair.client_moments.push_back({train.client_names[client], std::move(own.mean), std::move(own.deviation)});
  }
}

Normalize chosen(const DataPair& pair, const ReadSettings& settings, bool has_public) {
  if (settings.normalize != Normalize::automatic) return settings.normalize;
  if (!settings.mean.empty() || !settings.deviation.empty()) return Normalize::given;
  if (!pair.train.mean.empty()) return Normalize::automatic;
  if (has_public) return Normalize::from_public;
  return settings.rows_are_protected || !settings.range.empty() ? Normalize::range : Normalize::rows;
}

}  // namespace

void check_normalization(const ExampleForm& form, std::span<const float> mean, std::span<const float> deviation,
                         const std::string& set, const std::string& whose) {
  const auto places = static_cast<std::size_t>(form.vocabulary > 0 ? 0 : form.shape.channels);
  bool good = mean.size() == places && deviation.size() == places;
  for (std::size_t i = 0; good && i < places; ++i)
    good = is_deviation(deviation[i]) && std::isfinite(mean[i] * (1 / deviation[i]));
  if (!good)
    throw failure(set + whose + " mean and deviation must have " + std::to_string(places) +
                  " finite numbers each, with deviations above 0 and mean / deviation finite");
}

void standardize(Dataset& train) {
  if (train.vocabulary > 0) return;
  if (train.is_pictures()) return standardize_pictures(train);
  const auto columns = static_cast<std::size_t>(train.shape.channels);
  std::vector<double> sum(columns, 0);
  std::vector<double> squares(columns, 0);
  const Borrowable<float>& features = train.features;
  const std::size_t count = features.size() / columns;
  const auto rows = static_cast<double>(count);
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t c = 0; c < columns; ++c) sum[c] += features[row * columns + c];
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t c = 0; c < columns; ++c) {
      const double difference = features[row * columns + c] - sum[c] / rows;
      squares[c] += difference * difference;
    }
  train.mean.resize(columns);
  train.deviation.resize(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    train.mean[c] = static_cast<float>(sum[c] / rows);
    const auto deviation = static_cast<float>(std::sqrt(squares[c] / rows));
    train.deviation[c] = is_deviation(deviation) ? deviation : 1;
  }
  keep_binary_columns(train);
}

void normalize(DataPair& pair, const ReadSettings& settings, const std::string& published_by, Dataset* public_rows) {
  Dataset& train = pair.train;
  if (train.vocabulary > 0) {
    train.mean.clear();
    train.deviation.clear();
    return;
  }
  if (settings.keeps_constants && settings.mean.empty() && settings.deviation.empty() &&
      settings.normalize == Normalize::automatic) {
    train.mean = settings.schema->mean;
    train.deviation = settings.schema->deviation;
    pair.client_moments = settings.schema->client_moments;
    check_normalization(train.form(), train.mean, train.deviation, "data set '" + train.name + "': ", "the run's");
    return say_normalization(pair, settings.schema->normalized_by);
  }
  switch (chosen(pair, settings, public_rows != nullptr)) {
    case Normalize::automatic:
      if (train.binary_columns > 0 && train.mean.size() == normalized_channels(train)) keep_binary_columns(train);
      check_normalization(train.form(), train.mean, train.deviation, "data set '" + train.name + "': ", "its");
      return say_normalization(pair, published_by);
    case Normalize::given:
      return take_given(pair, settings);
    case Normalize::privately:
      if (!settings.rows_are_protected)
        throw usage_error("normalize is 'private', which needs dp; without dp use rows, given, range, public or none");
      pair.normalizes_privately = true;
      if (named_moment_bounds(settings)) return take_none(pair, "until an accounted release");
      return take_range(pair, settings);
    case Normalize::range:
      return take_range(pair, settings);
    case Normalize::from_public: {
      if (public_rows == nullptr) throw usage_error("normalize is 'public', which needs public rows: give --public-data FILE");
      if (public_rows->shape != train.shape || public_rows->is_pictures() != train.is_pictures() || public_rows->vocabulary > 0)
        throw usage_error("public-data has examples of " + public_rows->shape.text() +
                          (public_rows->is_pictures() ? " in 8 bits" : "") + ", the data set of " + train.shape.text() +
                          (train.is_pictures() ? " in 8 bits" : "") + "; they must match");
      return take_from(pair, *public_rows, "of public-data");
    }
    case Normalize::rows:
      if (settings.rows_are_protected)
        throw usage_error(
            "normalize is 'rows', which uses the training rows without an accounted release; under dp use given, range, "
            "public, private or none");
      return take_from(pair, train, "of the training rows");
    case Normalize::client:
      if (settings.rows_are_protected)
        throw usage_error(
            "normalize is 'client', which uses each client's training rows without an accounted release; under dp use given, "
            "range, public, private or none");
      take_each_client(pair);
      return take_none(pair, "of each client's training rows");
    case Normalize::none:
      return take_none(pair, "none, named");
  }
}

void normalize_by_client(DataPair& pair) {
  if (pair.client_moments.empty()) return;
  for (Dataset* part : {&pair.train, &pair.test}) {
    std::vector<const ClientMoments*> moments;
    for (const std::string& name : part->client_names) {
      const auto found = std::ranges::find(pair.client_moments, name, &ClientMoments::client);
      moments.push_back(found == pair.client_moments.end() ? nullptr : &*found);
    }
    std::vector<float>& inputs = part->features.edit();
    const std::size_t each = part->shape.size();
    for (Row row = 0; row < part->size(); ++row) {
      const ClientMoments* own = part->clients.empty() ? nullptr : moments[part->clients[row]];
      if (own == nullptr) {
        std::vector<std::string> names;
        for (const ClientMoments& one : pair.client_moments) names.push_back(one.client);
        throw failure(
            "data set '" + part->name + "': row " + std::to_string(row) +
            (part->clients.empty() ? " has no client" : " belongs to client '" + part->client_names[part->clients[row]] + "'") +
            "; inputs are normalized by their client's mean and deviation, known for " + joined(names));
      }
      const std::size_t columns = own->mean.size();
      for (std::size_t i = 0; i < each; ++i) {
        float& input = inputs[row * each + i];
        input = (input - own->mean[i % columns]) / own->deviation[i % columns];
      }
    }
  }
}

std::uint64_t make_valid(Dataset& data, const ReadSettings& settings, const TableColumns& columns) {
  const std::vector<ValueRange> ranges = named_ranges(settings, number_columns(columns));
  std::uint64_t replaced = 0;
  const bool fills_in = settings.missing_rule() == Missing::mean || settings.missing_rule() == Missing::indicator;
  if (!data.features.empty() && (!ranges.empty() || settings.rows_are_protected || fills_in)) {
    const Borrowable<float>& features = data.features;
    const auto channels = static_cast<std::size_t>(data.shape.channels);
    const std::size_t in_range = normalized_channels(data);
    const auto range_of = [&](std::size_t i) {
      const std::size_t channel = i % channels;
      return ranges.empty() || channel >= in_range ? nullptr : &ranges[ranges.size() == 1 ? 0 : channel];
    };
    const auto valid = [&](float value, std::size_t i) {
      const ValueRange* range = range_of(i);
      return std::isfinite(value) && (range == nullptr || (value >= range->low && value <= range->high));
    };
    bool all_valid = true;
    for (std::size_t i = 0; all_valid && i < features.size(); ++i) all_valid = valid(features[i], i);
    if (!all_valid) {
      std::vector<float>& own = data.features.edit();  // copies a lent list only if needed
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (valid(own[i], i)) continue;
        ++replaced;
        const ValueRange* range = std::isnan(own[i]) ? nullptr : range_of(i);
        own[i] = range != nullptr ? std::clamp(own[i], range->low, range->high) : data.mean[i % data.mean.size()];
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
