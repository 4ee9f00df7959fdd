#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include "core/part.hpp"
#include "core/random.hpp"
#include "core/setting.hpp"
#include "core/vector.hpp"
#include "data/dataset.hpp"

namespace fedstride {

// Attacks on a federation, simulated: they show what an aggregation withstands. Every one of a run's attackers does the same.

/// Facts of a round that attackers know.
struct AttackRound {
  std::uint64_t seed = 0;
  std::uint32_t round = 0;
  double clients = 0;    ///< that take part, on average
  double attackers = 0;  ///< of them, on average
};

/// An attack.
///   kName, kSummary, kFields   core/part.hpp
///   attackers                  how many, a member: below 1 the share of all clients, from 1 their number
///   kPoisons     attackers train on other data: poison(data, rows, seed) changes the examples of one attacker, in place
///                and check_data(data), if it cannot be done to all: throws Error (usage)
///   kFalsifies   each changes its own update before it sends it: falsify(round, client, change)
///   kConspires   together they see the honest updates of a round, and all send what
///                conspire(round, honest, attackers, out) makes of them. `honest` are at least one; out has zeros
///   kBackdoor    it wants pictures with its trigger to be taken for one class: trigger(data, row) puts it in, target()
template <class T>
concept AttackRule = requires {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  { T::kPoisons } -> std::convertible_to<bool>;
  { T::kFalsifies } -> std::convertible_to<bool>;
  { T::kConspires } -> std::convertible_to<bool>;
  { T::kBackdoor } -> std::convertible_to<bool>;
};

/// The parts that most attacks do without, and how many attackers there are.
struct AttackDefaults {
  static constexpr bool kPoisons = false;
  static constexpr bool kFalsifies = false;
  static constexpr bool kConspires = false;
  static constexpr bool kBackdoor = false;
  double attackers = 0.2;
  static constexpr auto kAttackersField = std::tuple{Field{"attackers", &AttackDefaults::attackers,
                                                           "attackers: below 1 the share of all clients, from 1 their number",
                                                           Valid{.low = 0, .high = 1e7, .low_included = false}}};
};

template <AttackRule T>
class AttackOf;

/// The abstract interface of an attack.
class AttackPart : public Part {
 public:
  static PartFamily& family();  ///< attacks/attacks.cpp has the list
  template <AttackRule T>
  using Of = AttackOf<T>;

  virtual double attackers() const = 0;  ///< 0: nobody attacks
  virtual bool poisons() const = 0;
  virtual bool falsifies() const = 0;
  virtual bool conspires() const = 0;
  virtual bool has_backdoor() const = 0;
  /// Throws Error (usage) if it cannot be done to these data.
  virtual void check_data(const Dataset& data) const = 0;
  virtual void poison(Dataset& data, std::span<const Row> rows, std::uint64_t seed) const = 0;
  virtual void falsify(const AttackRound& round, std::uint32_t client, std::span<float> change) const = 0;
  virtual void conspire(const AttackRound& round, std::span<const std::span<const float>> honest, std::size_t attackers,
                        std::span<float> out) const = 0;
  virtual void trigger(Dataset& data, Row row) const = 0;
  virtual Label target() const = 0;
};

template <AttackRule T>
class AttackOf final : public PartOf<AttackPart, AttackOf<T>, T> {
  using Base = PartOf<AttackPart, AttackOf<T>, T>;

 public:
  using Base::Base;
  double attackers() const final {
    if constexpr (requires { this->part_.attackers; }) return this->part_.attackers;
    return 0;
  }
  bool poisons() const final { return T::kPoisons; }
  bool falsifies() const final { return T::kFalsifies; }
  bool conspires() const final { return T::kConspires; }
  bool has_backdoor() const final { return T::kBackdoor; }
  void check_data(const Dataset& data) const final {
    if constexpr (requires { this->part_.check_data(data); }) this->part_.check_data(data);
  }
  void poison(Dataset& data, std::span<const Row> rows, std::uint64_t seed) const final {
    if constexpr (T::kPoisons) this->part_.poison(data, rows, seed);
  }
  void falsify(const AttackRound& round, std::uint32_t client, std::span<float> change) const final {
    if constexpr (T::kFalsifies) this->part_.falsify(round, client, change);
  }
  void conspire(const AttackRound& round, std::span<const std::span<const float>> honest, std::size_t attackers,
                std::span<float> out) const final {
    if constexpr (T::kConspires) this->part_.conspire(round, honest, attackers, out);
  }
  void trigger(Dataset& data, Row row) const final {
    if constexpr (T::kBackdoor) this->part_.trigger(data, row);
  }
  Label target() const final {
    if constexpr (T::kBackdoor) return this->part_.target();
    return 0;
  }
};

/// An attack that has been chosen; the default is none.
using Attack = Chosen<AttackPart>;

}  // namespace fedstride
