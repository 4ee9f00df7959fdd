#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "core/part.hpp"
#include "core/setting.hpp"
#include "data/dataset.hpp"

namespace fedstride {

// Inputs that differ from client to client. The skew belongs to a client's examples: they are the same in every epoch, and the
// client is tested on examples of the same kind. The test part of the data set and the validation rows are nobody's and have none,
// unless a kind says that test rows are read as the clients have theirs.

/// A kind of feature skew.
///   kName, kSummary, kFields   core/part.hpp
///   check_data(data)           throws Error (usage) if the skew means nothing for this data set
///   redraws(client)            true if the client's pictures are drawn anew, by
///   redraw(client, from, shape, to)   which writes the picture `from` (planes, as in Dataset) as the client has it
///   noise(client, clients)     the variance of the normal noise on each value of the client's inputs, 0 for none. Values of
///                              pictures count from 0 to 1, other features in standard deviations of their columns
///   draws_anew()               true if a training example's noise is drawn whenever it is read, and not once
///   is_on_test()               true if the test part is read as clients have their examples: row r as client r mod K
template <class T>
concept FeatureSkewRule = requires(const T skew, const Dataset& data, std::uint32_t client, const std::uint8_t* from,
                                   const Shape& shape, std::uint8_t* to) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  {skew.check_data(data)};
  { skew.redraws(client) } -> std::convertible_to<bool>;
  {skew.redraw(client, from, shape, to)};
  { skew.noise(client, client) } -> std::convertible_to<double>;
  { skew.draws_anew() } -> std::convertible_to<bool>;
  { skew.is_on_test() } -> std::convertible_to<bool>;
};

/// The functions that most kinds do without.
struct FeatureSkewDefaults {
  static void check_data(const Dataset&) {}
  static bool redraws(std::uint32_t) { return false; }
  static void redraw(std::uint32_t, const std::uint8_t*, const Shape&, std::uint8_t*) {}
  static double noise(std::uint32_t, std::uint32_t) { return 0; }
  static bool draws_anew() { return false; }
  static bool is_on_test() { return false; }
};

template <FeatureSkewRule T>
class FeatureSkewOf;

/// The abstract interface of a feature skew.
class FeatureSkewPart : public Part {
 public:
  static PartFamily& family();  ///< data/skew/feature_skews.cpp has the list
  template <FeatureSkewRule T>
  using Of = FeatureSkewOf<T>;

  virtual void check_data(const Dataset& data) const = 0;
  virtual bool redraws(std::uint32_t client) const = 0;
  virtual void redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const = 0;
  virtual double noise(std::uint32_t client, std::uint32_t clients) const = 0;
  virtual bool draws_anew() const = 0;
  virtual bool is_on_test() const = 0;
};

template <FeatureSkewRule T>
class FeatureSkewOf final : public PartOf<FeatureSkewPart, FeatureSkewOf<T>, T> {
  using Base = PartOf<FeatureSkewPart, FeatureSkewOf<T>, T>;

 public:
  using Base::Base;
  void check_data(const Dataset& data) const final { this->part_.check_data(data); }
  bool redraws(std::uint32_t client) const final { return this->part_.redraws(client); }
  void redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const final {
    this->part_.redraw(client, from, shape, to);
  }
  double noise(std::uint32_t client, std::uint32_t clients) const final { return this->part_.noise(client, clients); }
  bool draws_anew() const final { return this->part_.draws_anew(); }
  bool is_on_test() const final { return this->part_.is_on_test(); }
};

/// A feature skew that has been chosen; the default is none.
using FeatureSkew = Chosen<FeatureSkewPart>;

/// Throws Error (usage): "feature-skew is 'rotation', ...; data set 'csv' has no pictures: valid are none and noise".
void require_pictures(std::string_view skew, const Dataset& data);

}  // namespace fedstride
