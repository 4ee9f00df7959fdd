#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/setting.hpp"

namespace fedstride {

/// The abstract interface of a part of a family (an optimiser, a partition, ...): code that holds one does not know which.
/// A part itself is a plain struct with
///   static constexpr std::string_view kName, kSummary;
///   static constexpr auto kFields = std::tuple{Field{...}, ...};
/// and the functions its family requires. Flags, keys, help, error texts, the resolved file and the conformance tests come
/// from these.
class Part {
 public:
  virtual ~Part() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual std::span<const SettingInfo> settings() const = 0;
  virtual const std::type_info& type() const = 0;
  virtual const void* object() const = 0;  ///< the struct, which is of type()
  virtual void* object() = 0;
  virtual std::unique_ptr<Part> clone() const = 0;

  /// The setting of that name, or nullptr.
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

/// Implements the functions of Part for the struct P. Interface: the family's, derived from Part; Self: the class that
/// completes it for P.
template <class Interface, class Self, class P>
class PartOf : public Interface {
 public:
  explicit PartOf(P part) : part_(std::move(part)) {}
  std::string_view name() const final { return P::kName; }
  std::string_view summary() const final { return P::kSummary; }
  std::span<const SettingInfo> settings() const final { return settings_of<P>(); }
  const std::type_info& type() const final { return typeid(P); }
  const void* object() const final { return &part_; }
  void* object() final { return &part_; }
  std::unique_ptr<Part> clone() const final { return std::make_unique<Self>(static_cast<const Self&>(*this)); }

 protected:
  P part_;
};

/// The registry of a family: its parts with their defaults, the first of which is the family's default.
class PartFamily {
 public:
  PartFamily(std::string_view key, std::string_view purpose) : key_(key), purpose_(purpose) {}

  std::string_view key() const { return key_; }          ///< "optimizer": flag and key that choose
  std::string_view purpose() const { return purpose_; }  ///< "how clients train"
  std::span<const std::unique_ptr<Part>> parts() const { return parts_; }
  std::vector<std::string> names() const;

  /// Must be called before the first configuration is resolved. Throws Error (usage) for a name that is taken, a setting
  /// given twice, or defaults that are not valid.
  void add(std::unique_ptr<Part> part);
  /// A copy of the part of that name. Throws Error (usage): "optimizer 'agd' is unknown; did you mean 'sgd'? valid: ..."
  std::unique_ptr<Part> make(std::string_view name) const;

 private:
  std::string_view key_;
  std::string_view purpose_;
  std::vector<std::unique_ptr<Part>> parts_;
};

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
  /// The family's part of that name, with its defaults. Throws Error (usage) if there is none.
  void choose(std::string_view name) { part_ = family_->make(name); }

  /// The struct, if it is a P.
  template <class P>
  const P* as() const {
    return part_->type() == typeid(P) ? static_cast<const P*>(std::as_const(*part_).object()) : nullptr;
  }
  template <class P>
  P* as() {
    return part_->type() == typeid(P) ? static_cast<P*>(part_->object()) : nullptr;
  }

 protected:
  PartFamily* family_;
  std::unique_ptr<Part> part_;
};

/// A part of the family with this Interface, which has
///   static PartFamily& family();        the registry
///   template <class P> using Of = ...;  the class that makes a part out of a struct P
template <class Interface>
class Chosen : public ChosenPart {
 public:
  /// The family's default.
  Chosen() : ChosenPart(Interface::family(), Interface::family().parts().front()->clone()) {}
  /// This part.
  template <class P>
    requires requires { P::kFields; }
  Chosen(P part)  // NOLINT: implicit on purpose
      : ChosenPart(Interface::family(), std::make_unique<typename Interface::template Of<P>>(std::move(part))) {}

  static PartFamily& registry() { return Interface::family(); }

  const Interface* operator->() const { return static_cast<const Interface*>(part_.get()); }
  Interface* operator->() { return static_cast<Interface*>(part_.get()); }
  const Interface& operator*() const { return *operator->(); }
};

/// Adds parts to the family of this Interface, in order.
template <class Interface, class... P>
void add_parts(PartFamily& family) {
  (family.add(std::make_unique<typename Interface::template Of<P>>(P{})), ...);
}

/// Adds a part to its family under its kName: add_part<Optimizer>(MyOptimizer{}). Its values are the defaults.
/// Must be called before the first configuration is resolved. Throws Error (usage) for a name that is taken.
template <class Family, class P>
void add_part(P part) {
  Family::registry().add(Family(std::move(part)).part().clone());
}

}  // namespace fedstride
