#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/setting.hpp"

namespace fedstride {

/// A part of a family (an optimizer, a partition, ...); code that uses a part does not know its type. A family is an abstract
/// class derived from Part, whose optional functions have defaults. Its parts look like this:
///   struct MySettings { double alpha = 1; static constexpr auto kFields = fields(Field{"my-alpha", &MySettings::alpha, ...}); };
///   struct MyPart final : PartBase<FamilyPart, MyPart, MySettings> {
///     static constexpr std::string_view kName = "my-part", kSummary = "...";
///     ... override ...
///   };
/// Flags, keys, help, error messages, the resolved configuration file and the conformance tests are derived from the parts.
class Part {
 public:
  virtual ~Part() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual std::span<const SettingInfo> settings() const = 0;
  virtual const void* object() const = 0;  ///< its settings
  virtual void* object() = 0;
  virtual std::unique_ptr<Part> clone() const = 0;

  /// The setting with this name, or nullptr.
  const SettingInfo* find(std::string_view setting) const;
  SettingValue get(const SettingInfo& setting) const { return setting.get(object()); }
  /// Throws Error (usage) if the value is not valid.
  void set(const SettingInfo& setting, const SettingValue& value);
  /// Throws Error (usage) unless every value is valid.
  void check() const;

 protected:
  Part() = default;
  Part(const Part&) = default;
  Part& operator=(const Part&) = default;
};

/// For parts without settings.
struct NoSettings {
  static constexpr auto kFields = fields();
};

/// The base of part Self in family Interface: the settings are its members. Self({.alpha = 2}) sets them if Self inherits the
/// constructor (using PartBase::PartBase).
template <class Interface, class Self, class Settings = NoSettings>
class PartBase : public Interface, public Settings {
 public:
  PartBase(Settings settings = {}) : Settings(std::move(settings)) {}  // NOLINT: implicit on purpose
  std::string_view name() const final { return Self::kName; }
  std::string_view summary() const final { return Self::kSummary; }
  std::span<const SettingInfo> settings() const final { return settings_of<Settings>(); }
  const void* object() const final { return static_cast<const Settings*>(this); }
  void* object() final { return static_cast<Settings*>(this); }
  std::unique_ptr<Part> clone() const final {
    static_assert(std::is_final_v<Self>, "a part must be final: a copy of an object of a derived class would be sliced");
    return std::unique_ptr<Part>(new Self(static_cast<const Self&>(*this)));
  }
};

/// The registry of a family: its parts with default settings. The first part is the family's default.
class PartFamily {
 public:
  PartFamily(std::string_view key, std::string_view purpose, Question question, Shown shown = Shown::seldom)
      : key_(key), purpose_(purpose), question_(question), shown_(shown) {}

  std::string_view key() const { return key_; }          ///< "optimizer": flag and key that choose a part
  std::string_view purpose() const { return purpose_; }  ///< "how clients train"
  Question question() const { return question_; }        ///< the question answered by its flag and its parts' settings
  Shown shown() const { return shown_; }                 ///< how often a part other than the default is chosen
  std::span<const std::unique_ptr<Part>> parts() const { return parts_; }
  std::vector<std::string> names() const;

  /// Must be called before the first configuration is resolved. Throws Error (usage) for a name already taken, a duplicate
  /// setting or invalid defaults.
  void add(std::unique_ptr<Part> part);
  /// A copy of the part with this name. Throws Error (usage): "optimizer 'agd' is unknown; did you mean 'sgd'? valid: ..."
  std::unique_ptr<Part> make(std::string_view name) const;

 private:
  std::string_view key_;
  std::string_view purpose_;
  Question question_;
  Shown shown_;
  std::vector<std::unique_ptr<Part>> parts_;
};

/// The number of parts added to all families. Anything derived from the registries is valid until this changes.
std::size_t registered_parts();

/// A chosen part, held by value.
class ChosenPart {
 public:
  ChosenPart(PartFamily& family, std::unique_ptr<Part> part) : family_(&family), part_(std::move(part)) {}
  ChosenPart(const ChosenPart& other) : family_(other.family_), part_(other.part_->clone()) {}
  ChosenPart(ChosenPart&&) = default;
  ChosenPart& operator=(ChosenPart other) {
    std::swap(family_, other.family_);
    part_.swap(other.part_);
    return *this;
  }

  const PartFamily& family() const { return *family_; }
  const Part& part() const { return *part_; }
  Part& part() { return *part_; }
  std::string_view name() const { return part_->name(); }
  /// Chooses the family's part with this name and default settings. Throws Error (usage) if there is none.
  void choose(std::string_view name) { part_ = family_->make(name); }

  /// The part if it is a P, otherwise nullptr.
  template <class P>
  const P* as() const {
    return dynamic_cast<const P*>(part_.get());
  }
  template <class P>
  P* as() {
    return dynamic_cast<P*>(part_.get());
  }

 protected:
  PartFamily* family_;
  std::unique_ptr<Part> part_;
};

/// A chosen part of the family with this Interface, whose registry is Interface::family().
template <class Interface>
class Chosen : public ChosenPart {
 public:
  /// Chooses the family's default.
  Chosen() : ChosenPart(Interface::family(), Interface::family().parts().front()->clone()) {}
  /// Chooses this part.
  template <std::derived_from<Interface> P>
  Chosen(P part)  // NOLINT: implicit on purpose
      : ChosenPart(Interface::family(), std::unique_ptr<Part>(new P(std::move(part)))) {}

  static PartFamily& registry() { return Interface::family(); }

  const Interface* operator->() const { return static_cast<const Interface*>(part_.get()); }
  Interface* operator->() { return static_cast<Interface*>(part_.get()); }
  const Interface& operator*() const { return *operator->(); }
};

/// Adds parts to a family, in order.
template <class Interface, std::derived_from<Interface>... P>
void add_parts(PartFamily& family) {
  (family.add(std::unique_ptr<Part>(new P)), ...);
}

/// Adds a part to its family under its kName: add_part<Optimizer>(MyOptimizer{}). Its settings become the defaults. Must be
/// called before the first configuration is resolved. Throws Error (usage) for a name already taken.
template <class Family, class P>
void add_part(P part) {
  Family::registry().add(Family(std::move(part)).part().clone());
}

}  // namespace fedstride
