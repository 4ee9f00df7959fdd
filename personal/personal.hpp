#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>

#include "core/part.hpp"
#include "core/setting.hpp"

namespace fedstride {

// Models that clients have for themselves, beside the one that the federation trains or as a part of it. They never leave them.

/// A kind of personal model.
///   kName, kSummary, kFields   core/part.hpp
///   kKeeps          what is a client's own stays with it from round to round; before its first round that is what it receives
///   epochs()        of a second pass over the client's rows, after its ordinary training and beside it, which trains the personal
///                   model from the client's own, or from the model received; 0: none
///   pull()          in that pass, from 0: a step sees grad f_k(v) + pull (v - theta), theta the model received
///   layers()        the layers that are a client's own within its ordinary training: names as `freeze` takes them, or "last". The
///                   client sends no change of them. Empty: the whole model is its own, where it has a second pass
///   local_first()   so many of the ordinary epochs train the client's own layers alone, and the others the shared ones alone; 0:
///                   every epoch trains all
template <class T>
concept PersonalRule = requires(const T personal) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  { T::kKeeps } -> std::convertible_to<bool>;
  { personal.epochs() } -> std::convertible_to<int>;
  { personal.pull() } -> std::convertible_to<double>;
  { personal.layers() } -> std::convertible_to<std::string_view>;
  { personal.local_first() } -> std::convertible_to<int>;
};

/// The parts that most kinds do without.
struct PersonalDefaults {
  static constexpr bool kKeeps = false;
  static int epochs() { return 0; }
  static double pull() { return 0; }
  static std::string_view layers() { return {}; }
  static int local_first() { return 0; }
};

/// A second pass, and how long it is.
struct SecondPass : PersonalDefaults {
  int personal_epochs = 1;
  static constexpr auto kEpochsField =
      std::tuple{Field{"personal-epochs", &SecondPass::personal_epochs, "epochs a client trains its personal model in a round",
                       Valid{.low = 1, .high = 1e6}}};
  int epochs() const { return personal_epochs; }
};

template <PersonalRule T>
class PersonalOf;

/// The abstract interface of a kind of personal model.
class PersonalPart : public Part {
 public:
  static PartFamily& family();  ///< personal/kinds.cpp has the list
  template <PersonalRule T>
  using Of = PersonalOf<T>;

  virtual bool keeps() const = 0;
  virtual int epochs() const = 0;
  virtual double pull() const = 0;
  virtual std::string_view layers() const = 0;
  virtual int local_first() const = 0;
  /// True if clients have personal models at all.
  bool makes() const { return epochs() > 0 || !layers().empty(); }
};

template <PersonalRule T>
class PersonalOf final : public PartOf<PersonalPart, PersonalOf<T>, T> {
  using Base = PartOf<PersonalPart, PersonalOf<T>, T>;

 public:
  using Base::Base;
  bool keeps() const final { return T::kKeeps; }
  int epochs() const final { return this->part_.epochs(); }
  double pull() const final { return this->part_.pull(); }
  std::string_view layers() const final { return this->part_.layers(); }
  int local_first() const final { return this->part_.local_first(); }
};

/// A kind of personal model that has been chosen; the default is none.
using Personal = Chosen<PersonalPart>;

}  // namespace fedstride
