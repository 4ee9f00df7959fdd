#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/part.hpp"
#include "core/random.hpp"
#include "core/setting.hpp"
#include "core/task.hpp"

namespace fedstride {

/// How fast a client's device is. A property of the client, not of a round.
struct Device {
  double example_seconds = 0;  ///< time to train on one example once, forward and backward
  double upload = 0;           ///< bytes per second; 0: transfers take no time
  double download = 0;         ///< like upload
  double latency = 0;          ///< seconds per transfer
};

/// The facts that determine a client's device.
struct DeviceQuestion {
  ClientId client = 0;
  std::uint64_t seed = 0;
  double example_flops = 0;  ///< operations to train on one example; the backward pass takes twice as many as the forward pass
};

/// A model of the clients' devices: each client's device is drawn once at the address (devices, client).
class DevicesPart : public Part {
 public:
  static PartFamily& family();  ///< sim/time/devices.cpp has the list

  /// False if there is no virtual time.
  virtual bool has_time() const { return true; }
  /// The client's device, which depends only on the question. Throws Error if a file lacks the client.
  virtual Device device(const DeviceQuestion& question) const = 0;
  /// The standard deviation of the logarithm of the lognormal factor by which each task's training time varies.
  virtual double jitter() const { return 0; }
  /// The hash of the file that the part reads; empty if none. Throws Error if the file lacks clients.
  virtual std::string file_hash(std::size_t /*clients*/) const { return {}; }
  /// The path of that file, which callers may change; null if none.
  virtual std::string* reads() { return nullptr; }
};
using Devices = Chosen<DevicesPart>;

struct NoDevices final : PartBase<DevicesPart, NoDevices> {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "no virtual time";
  bool has_time() const override { return false; }
  Device device(const DeviceQuestion& /*question*/) const override { return {}; }
};

/// The settings of all drawn devices.
struct DeviceSettings {
  double example_seconds = 0.01;
  double device_gigaflops = 0;
  double upload_megabits = 0;
  double download_megabits = 0;
  double latency = 0;
  double device_jitter = 0;
  static constexpr auto kFields = fields(
      Field{"example-seconds", &DeviceSettings::example_seconds,
            "seconds to train on one example once; a client's factor multiplies it", Valid{.low = 0, .high = 1e5}},
      Field{"device-gigaflops", &DeviceSettings::device_gigaflops,
            "speed in 10^9 operations per second, divided by each client's factor; replaces example-seconds, with the backward "
            "pass counted as two forward passes; 0: not used",
            kNonNegative},
      Field{"upload-megabits", &DeviceSettings::upload_megabits,
            "upload speed in 10^6 bits per second, divided by the factor of each client's link; 0: transfers take no time",
            kNonNegative},
      Field{"download-megabits", &DeviceSettings::download_megabits, "download speed, like upload-megabits", kNonNegative},
      Field{"latency", &DeviceSettings::latency, "seconds before each transfer", Valid{.low = 0, .high = 1e5}},
      Field{"device-jitter", &DeviceSettings::device_jitter,
            "standard deviation of the logarithm of a factor drawn for each task; 0: a client always takes the same time",
            Valid{.low = 0, .high = 10}});
};

/// The base of drawn devices. Self must have `double factor(RandomStream&) const`.
template <class Self, class Settings = DeviceSettings>
struct DrawnDevices : PartBase<DevicesPart, Self, Settings> {
  using PartBase<DevicesPart, Self, Settings>::PartBase;

  Device device(const DeviceQuestion& question) const final {
    const auto factor = [&](std::uint32_t step) {
      RandomStream random(question.seed, {.purpose = Purpose::devices, .client = question.client, .step = step});
      return static_cast<const Self&>(*this).factor(random);
    };
    const double seconds =
        this->device_gigaflops > 0 ? question.example_flops / (this->device_gigaflops * 1e9) : this->example_seconds;
    Device device{.example_seconds = seconds * factor(0), .latency = this->latency};
    if (this->upload_megabits > 0 || this->download_megabits > 0) {
      const double slower = factor(Self::kLinkIsApart ? 1 : 0);
      device.upload = this->upload_megabits * 1e6 / 8 / slower;
      device.download = this->download_megabits * 1e6 / 8 / slower;
    }
    return device;
  }
  double jitter() const final { return this->device_jitter; }

  static constexpr bool kLinkIsApart = true;  ///< the link's factor and the processor's are separate draws
};

struct EqualDevices final : DrawnDevices<EqualDevices> {
  using DrawnDevices::DrawnDevices;
  static constexpr std::string_view kName = "equal";
  static constexpr std::string_view kSummary = "factor 1 for every client";
  double factor(RandomStream& /*random*/) const { return 1; }
};

struct UniformDeviceSettings : DeviceSettings {
  double least_factor = 0.5;
  static constexpr auto kFields =
      fields(DeviceSettings::kFields, Field{"least-factor", &UniformDeviceSettings::least_factor,
                                            "smallest factor; the largest is 2 minus the smallest", kFraction});
};
struct UniformDevices final : DrawnDevices<UniformDevices, UniformDeviceSettings> {
  static constexpr std::string_view kName = "uniform";
  static constexpr std::string_view kSummary = "uniform factors around 1";
  double factor(RandomStream& random) const { return least_factor + (2 - 2 * least_factor) * random.uniform(); }
};

struct ExponentialDevices final : DrawnDevices<ExponentialDevices> {
  using DrawnDevices::DrawnDevices;
  static constexpr std::string_view kName = "exponential";
  static constexpr std::string_view kSummary = "exponential factors with mean 1";
  double factor(RandomStream& random) const;
};

struct LognormalDeviceSettings : DeviceSettings {
  double device_sigma = 0.6;
  static constexpr auto kFields =
      fields(DeviceSettings::kFields, Field{"device-sigma", &LognormalDeviceSettings::device_sigma,
                                            "standard deviation of the factor's logarithm", Valid{.low = 0, .high = 10}});
};
struct LognormalDevices final : DrawnDevices<LognormalDevices, LognormalDeviceSettings> {
  using DrawnDevices::DrawnDevices;
  static constexpr std::string_view kName = "lognormal";
  static constexpr std::string_view kSummary = "lognormal factors with median 1";
  double factor(RandomStream& random) const;
};

struct HalfNormalDevices final : DrawnDevices<HalfNormalDevices> {
  using DrawnDevices::DrawnDevices;
  static constexpr std::string_view kName = "half-normal";
  static constexpr std::string_view kSummary = "half-normal factors, absolute values of standard normals (Nguyen et al. 2022)";
  double factor(RandomStream& random) const;
};

struct TierSettings : DeviceSettings {
  std::string tier_factors = "1,3,10";
  static constexpr auto kFields = fields(DeviceSettings::kFields, Field{"tier-factors", &TierSettings::tier_factors,
                                                                        "factors of equally likely tiers, separated by commas"});
};
struct TierDevices final : DrawnDevices<TierDevices, TierSettings> {
  using DrawnDevices::DrawnDevices;
  static constexpr std::string_view kName = "tiers";
  static constexpr std::string_view kSummary = "factors from a list";
  static constexpr bool kLinkIsApart = false;
  /// Throws Error (usage) if tier-factors is not a list of numbers above 0.
  double factor(RandomStream& random) const;
};

struct DeviceTableSettings {
  std::string device_table;
  double device_jitter = 0;
  static constexpr auto kFields = fields(
      Field{"device-table", &DeviceTableSettings::device_table,
            "CSV file whose header, or .npz file whose array names, give the units (docs/time.md); without a column client, "
            "a random line is drawn for each client",
            kFile},
      Field{"device-jitter", &DeviceTableSettings::device_jitter,
            "standard deviation of the logarithm of a factor drawn for each task; 0: a client always takes the same time",
            Valid{.low = 0, .high = 10}});
};
struct TableDevices final : PartBase<DevicesPart, TableDevices, DeviceTableSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "table";
  static constexpr std::string_view kSummary = "from a file";
  Device device(const DeviceQuestion& question) const override;
  double jitter() const override { return device_jitter; }
  std::string file_hash(std::size_t clients) const override;
  std::string* reads() override { return &device_table; }
};

}  // namespace fedstride
