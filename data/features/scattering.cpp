#include "data/features/scattering.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/simd.hpp"
#include "core/text.hpp"

namespace fedstride {
namespace {

// Each lane holds one image plane, so the number of lanes does not affect the bits.
struct Complex {
  Lanes re;
  Lanes im;
};

FEDSTRIDE_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
FEDSTRIDE_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }

struct Turn {
  float re = 1;
  float im = 0;
};

FEDSTRIDE_INLINE Complex operator*(Complex a, Turn b) { return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)}; }

std::complex<double> unit(double turns) {
  const portable::Direction direction = portable::direction(turns - std::floor(turns));
  return {direction.cosine, direction.sine};
}

/// The unnormalized discrete Fourier transform of lines of `size` numbers (Stockham's order; radix 4, then prime factors).
class Fourier {
 public:
  explicit Fourier(int size) : size_(size), other_(static_cast<std::size_t>(size)) {
    for (int left = size; left > 1; left /= radices_.back()) {
      int radix = left % 4 == 0 ? 4 : 2;
      while (left % radix != 0) ++radix;
      radices_.push_back(radix);
    }
    for (int k = 0; k < size; ++k) {
      const std::complex<double> turn = unit(-static_cast<double>(k) / size);
      turns_.push_back({static_cast<float>(turn.real()), static_cast<float>(turn.imag())});
    }
  }
  int size() const { return size_; }

  void transform(Complex* line) {
    Complex* from = line;
    Complex* to = other_.data();
    int left = size_;
    int stride = 1;
    for (const int radix : radices_) {
      left /= radix;
      for (int p = 0; p < left; ++p)
        for (int q = 0; q < stride; ++q)
          pass(radix, from + q + stride * p, stride * left, to + q + stride * radix * p, stride, p * stride);
      stride *= radix;
      std::swap(from, to);
    }
    if (from != line) std::copy_n(from, size_, line);
  }

 private:
  /// Transforms `radix` numbers, then rotates the k-th result by the angle -2 pi turn k / size.
  FEDSTRIDE_INLINE void pass(int radix, const Complex* in, int in_step, Complex* out, int out_step, int turn) const {
    const auto turned = [&](Complex value, int times) FEDSTRIDE_INLINE_LAMBDA {
      return turn == 0 ? value : value * turns_[static_cast<std::size_t>(turn * times)];
    };
    if (radix == 2) {
      out[0] = in[0] + in[in_step];
      out[out_step] = turned(in[0] - in[in_step], 1);
      return;
    }
    if (radix == 4) {
      const Complex even = in[0] + in[2 * in_step];
      const Complex difference = in[0] - in[2 * in_step];
      const Complex odd = in[in_step] + in[3 * in_step];
      const Complex side = in[in_step] - in[3 * in_step];
      out[0] = even + odd;
      out[out_step] = turned({difference.re + side.im, difference.im - side.re}, 1);
      out[2 * out_step] = turned(even - odd, 2);
      out[3 * out_step] = turned({difference.re - side.im, difference.im + side.re}, 3);
      return;
    }
    // For odd radices, inputs j and radix - j have conjugate factors, and so do outputs k and radix - k.
    const int part = size_ / radix;
    Complex sum = in[0];
    for (int j = 1; j < radix; ++j) sum = sum + in[j * in_step];
    out[0] = sum;
    for (int k = 1; 2 * k < radix; ++k) {
      Complex even = in[0];
      Complex odd{};
      for (int j = 1, angle = k; 2 * j < radix; ++j, angle = angle + k < radix ? angle + k : angle + k - radix) {
        const Complex one = in[j * in_step];
        const Complex other = in[(radix - j) * in_step];
        const Turn factor = turns_[static_cast<std::size_t>(angle * part)];
        even = {fma(one.re + other.re, factor.re, even.re), fma(one.im + other.im, factor.re, even.im)};
        odd = {fma(one.re - other.re, factor.im, odd.re), fma(one.im - other.im, factor.im, odd.im)};
      }
      out[k * out_step] = turned({even.re - odd.im, even.im + odd.re}, k);
      out[(radix - k) * out_step] = turned({even.re + odd.im, even.im - odd.re}, radix - k);
    }
  }

  int size_;
  std::vector<int> radices_;
  std::vector<Turn> turns_;  ///< e^(-2 pi i k / size)
  std::vector<Complex> other_;
};

constexpr std::string_view kCentered = "centered";

using Spectrum = std::vector<double>;

/// The frequencies of a line of `size` samples that remain if only every 2^scale-th sample is kept, in the order of the shorter
/// line's transform.
std::vector<int> band(int size, int scale) {
  const int kept = size >> scale;
  std::vector<int> frequencies;
  for (int k = 0; k < size; ++k)
    if (scale == 0 || k < kept / 2 || k >= size - (kept - kept / 2)) frequencies.push_back(k);
  return frequencies;
}

/// Weights that average one axis with phi, for an image sampled every 2^scale pixels: output y is sum_i weights[y][i] value[i].
std::vector<float> averaging(int size, int scale, int scales, int outputs) {
  const double sigma = 0.8 * (1 << (scales - 1));
  std::vector<double> gaussian(static_cast<std::size_t>(size), 0.0);
  for (int x = 0; x < size; ++x)
    for (int period = -2; period <= 2; ++period) {
      const double at = x + period * size;
      gaussian[static_cast<std::size_t>(x)] +=
          portable::exp(-at * at / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * std::numbers::pi));
    }
  const int samples = size >> scale;
  std::vector<double> kernel(static_cast<std::size_t>(samples), 0.0);
  const std::vector<int> frequencies = band(size, scale);
  for (int k = 0; k < samples; ++k) {
    double response = 0;
    for (int x = 0; x < size; ++x)
      response += gaussian[static_cast<std::size_t>(x)] *
                  unit(static_cast<double>(frequencies[static_cast<std::size_t>(k)]) * x / size).real();
    for (int d = 0; d < samples; ++d)
      kernel[static_cast<std::size_t>(d)] += response / samples * unit(static_cast<double>(k) * d / samples).real();
  }
  std::vector<float> weights;
  for (int y = 0; y < outputs; ++y)
    for (int i = 0; i < samples; ++i) {
      const int distance = ((y + 1) << (scales - scale)) - i;
      weights.push_back(static_cast<float>(kernel[static_cast<std::size_t>((distance % samples + samples) % samples)]));
    }
  return weights;
}

/// The real response of psi_(j,l) at each frequency of an image of height x width samples.
Spectrum morlet(int height, int width, int scale, int orientation, int orientations) {
  const double sigma = 0.8 * (1 << scale);
  const double slant = 4.0 / orientations;
  const std::complex<double> angle = unit(static_cast<double>((orientations - 2) / 2 - orientation) / (2.0 * orientations));
  const double cosine = angle.real();
  const double sine = angle.imag();
  const double across = slant * slant;
  const double yy = (cosine * cosine + sine * sine * across) / (2 * sigma * sigma);
  const double xy = 2 * cosine * sine * (1 - across) / (2 * sigma * sigma);
  const double xx = (sine * sine + cosine * cosine * across) / (2 * sigma * sigma);
  const double turns = 3.0 / 8 / (1 << scale);  // xi / 2 pi
  const auto size = static_cast<std::size_t>(height) * width;
  std::vector<std::complex<double>> wave(size);
  std::vector<double> envelope(size, 0.0);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int down = -2; down <= 2; ++down)
        for (int right = -2; right <= 2; ++right) {
          const double v = y + down * height;
          const double u = x + right * width;
          const auto at = static_cast<std::size_t>(y) * width + x;
          const double weight = portable::exp(-(yy * v * v + xy * u * v + xx * u * u));
          envelope[at] += weight;
          wave[at] += weight * unit(turns * (v * cosine + u * sine));
        }
  std::complex<double> sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < size; ++i) {
    sum += wave[i];
    weights += envelope[i];
  }
  const double length = 2 * std::numbers::pi * sigma * sigma / slant;
  for (std::size_t i = 0; i < size; ++i) wave[i] = (wave[i] - sum / weights * envelope[i]) / length;
  // Transforms columns, then rows. The result is real, since the wavelet's real part is even and its imaginary part odd.
  std::vector<std::complex<double>> columns(size);
  for (int k = 0; k < height; ++k)
    for (int y = 0; y < height; ++y) {
      const std::complex<double> turn = unit(-static_cast<double>(k) * y / height);
      for (int x = 0; x < width; ++x)
        columns[static_cast<std::size_t>(k) * width + x] += wave[static_cast<std::size_t>(y) * width + x] * turn;
    }
  Spectrum response(size, 0.0);
  for (int k = 0; k < width; ++k)
    for (int x = 0; x < width; ++x) {
      const std::complex<double> turn = unit(-static_cast<double>(k) * x / width);
      for (int y = 0; y < height; ++y)
        response[static_cast<std::size_t>(y) * width + k] += (columns[static_cast<std::size_t>(y) * width + x] * turn).real();
    }
  return response;
}

/// The transforms and signals for one sampling rate: every 2^scale pixels.
struct Level {
  Level(int full_height, int full_width, int scale, int scales, const Shape& output)
      : rows(full_width >> scale),
        columns(full_height >> scale),
        down(averaging(full_height, scale, scales, output.height)),
        across(averaging(full_width, scale, scales, output.width)),
        signal(static_cast<std::size_t>(height()) * width()),
        line(static_cast<std::size_t>(height())) {}
  int height() const { return columns.size(); }
  int width() const { return rows.size(); }

  void transform() {
    for (int y = 0; y < height(); ++y) rows.transform(signal.data() + static_cast<std::ptrdiff_t>(y) * width());
    for (int x = 0; x < width(); ++x) {
      for (int y = 0; y < height(); ++y) line[static_cast<std::size_t>(y)] = signal[static_cast<std::size_t>(y) * width() + x];
      columns.transform(line.data());
      for (int y = 0; y < height(); ++y) signal[static_cast<std::size_t>(y) * width() + x] = line[static_cast<std::size_t>(y)];
    }
  }

  Fourier rows;
  Fourier columns;
  std::vector<float> down;
  std::vector<float> across;
  std::vector<Complex> signal;
  std::vector<Complex> line;
};

class Scatterer {
 public:
  Scatterer(const Shape& picture, const Shape& output, int scales, int orientations, int paths, float middle)
      : picture_(picture), output_(output), scales_(scales), orientations_(orientations), paths_(paths), middle_(middle) {
    const int step = 1 << scales;
    height_ = (picture.height / step + 2) * step;
    width_ = (picture.width / step + 2) * step;
    for (int scale = 0; scale < scales; ++scale) levels_.emplace_back(height_, width_, scale, scales, output);
    for (int scale = 0; scale < scales; ++scale)
      for (int orientation = 0; orientation < orientations; ++orientation) {
        const Spectrum full = morlet(height_, width_, scale, orientation, orientations);
        auto& responses = wavelets_.emplace_back();
        for (int level = 0; level <= std::max(0, scale - 1); ++level) responses.push_back(cut(full, level));
      }
    averaged_.resize(static_cast<std::size_t>(height_) * output.width);
  }

  void operator()(std::span<const float> values, std::span<float> features) {
    const std::size_t plane = static_cast<std::size_t>(picture_.height) * picture_.width;
    const std::size_t planes = values.size() / plane;
    for (std::size_t first = 0; first < planes; first += kLanes) {
      count_ = std::min<std::size_t>(kLanes, planes - first);
      first_ = first;
      features_ = features;
      pad(values.subspan(first * plane, count_ * plane), plane);
      scatter();
    }
  }

 private:
  /// The response at a level's frequencies, divided by their number, since the inverse transform is not normalized.
  std::vector<float> cut(const Spectrum& full, int level) const {
    const std::vector<int> down = band(height_, level);
    const std::vector<int> across = band(width_, level);
    std::vector<float> response;
    for (const int y : down)
      for (const int x : across)
        response.push_back(static_cast<float>(full[static_cast<std::size_t>(y) * width_ + x] /
                                              static_cast<double>(down.size() * across.size())));
    return response;
  }

  /// Extends the planes by reflection, one plane per lane.
  void pad(std::span<const float> values, std::size_t plane) {
    const auto reflected = [](int at, int size) {
      if (at < 0) at = -at;
      return at < size ? at : 2 * (size - 1) - at;
    };
    const int top = (height_ - picture_.height) / 2;
    const int left = (width_ - picture_.width) / 2;
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x) {
        const auto from =
            static_cast<std::size_t>(reflected(y - top, picture_.height)) * picture_.width + reflected(x - left, picture_.width);
        Complex& to = levels_[0].signal[static_cast<std::size_t>(y) * width_ + x];
        to = Complex{};
        for (std::size_t lane = 0; lane < count_; ++lane) to.re[static_cast<int>(lane)] = values[lane * plane + from] - middle_;
      }
  }

  void scatter() {
    int path = 0;
    int second = 1 + scales_ * orientations_;
    average(levels_[0], path++);
    levels_[0].transform();
    picture_spectrum_ = levels_[0].signal;
    for (int j = 0; j < scales_; ++j)
      for (int l = 0; l < orientations_; ++l) {
        modulus(picture_spectrum_, levels_[0], wavelet(j, l, 0), j);
        Level& first = levels_[static_cast<std::size_t>(j)];
        average(first, path++);
        if (j + 1 == scales_) continue;
        first.transform();
        first_spectrum_ = first.signal;
        for (int k = j + 1; k < scales_; ++k)
          for (int m = 0; m < orientations_; ++m) {
            modulus(first_spectrum_, first, wavelet(k, m, j), k);
            average(levels_[static_cast<std::size_t>(k)], second++);
          }
      }
  }

  const std::vector<float>& wavelet(int scale, int orientation, int level) const {
    return wavelets_[static_cast<std::size_t>(scale * orientations_ + orientation)][static_cast<std::size_t>(level)];
  }

  /// Filters a spectrum of level `from`, samples the result every 2^scale pixels, and stores its modulus as the signal of level
  /// `scale`.
  void modulus(const std::vector<Complex>& spectrum, const Level& from, const std::vector<float>& response, int scale) {
    Level& to = levels_[static_cast<std::size_t>(scale)];
    const int copies_down = from.height() / to.height();
    const int copies_across = from.width() / to.width();
    for (int y = 0; y < to.height(); ++y)
      for (int x = 0; x < to.width(); ++x) {
        Complex sum{};
        for (int down = 0; down < copies_down; ++down)
          for (int across = 0; across < copies_across; ++across) {
            const auto at = static_cast<std::size_t>(y + down * to.height()) * from.width() + x + across * to.width();
            sum.re = fma(spectrum[at].re, response[at], sum.re);
            sum.im = fma(spectrum[at].im, response[at], sum.im);
          }
        // Swapping real and imaginary parts makes this the inverse transform, with the same modulus.
        to.signal[static_cast<std::size_t>(y) * to.width() + x] = {sum.im, sum.re};
      }
    to.transform();
    for (Complex& value : to.signal) value = {square_root(fma(value.re, value.re, value.im * value.im)), Lanes{}};
  }

  static Lanes square_root(Lanes value) {
    Lanes root = value;
    for (int lane = 0; lane < kLanes; ++lane) root[lane] = std::sqrt(value[lane]);
    return root;
  }

  /// Averages a level's real signal with phi, samples the result every 2^J pixels, and stores it as the features of a path.
  void average(const Level& level, int path) {
    const auto outputs = static_cast<std::size_t>(output_.width);
    for (int y = 0; y < level.height(); ++y)
      for (std::size_t x = 0; x < outputs; ++x) {
        const float* weights = level.across.data() + x * static_cast<std::size_t>(level.width());
        const Complex* from = level.signal.data() + static_cast<std::ptrdiff_t>(y) * level.width();
        Lanes sum{};
        for (int i = 0; i < level.width(); ++i) sum = fma(from[i].re, weights[i], sum);
        averaged_[static_cast<std::size_t>(y) * outputs + x].re = sum;
      }
    for (int y = 0; y < output_.height; ++y)
      for (std::size_t x = 0; x < outputs; ++x) {
        const float* weights = level.down.data() + static_cast<std::ptrdiff_t>(y) * level.height();
        Lanes sum{};
        for (int i = 0; i < level.height(); ++i)
          sum = fma(averaged_[static_cast<std::size_t>(i) * outputs + x].re, weights[i], sum);
        const std::size_t place = (static_cast<std::size_t>(y) * outputs + x) * static_cast<std::size_t>(output_.channels);
        const auto channels = static_cast<std::size_t>(picture_.channels);
        for (std::size_t lane = 0; lane < count_; ++lane) {
          const std::size_t plane = first_ + lane;
          features_[plane / channels * output_.size() + place + plane % channels * static_cast<std::size_t>(paths_) +
                    static_cast<std::size_t>(path)] = sum[static_cast<int>(lane)];
        }
      }
  }

  Shape picture_;
  Shape output_;
  int scales_;
  int orientations_;
  int paths_;
  float middle_;    ///< subtracted from the values
  int height_ = 0;  ///< of the extended image
  int width_ = 0;
  std::vector<Level> levels_;
  std::vector<std::vector<std::vector<float>>> wavelets_;  ///< by scale and orientation, then by the level that is filtered
  std::vector<Complex> picture_spectrum_;
  std::vector<Complex> first_spectrum_;  ///< of a first-order modulus
  std::vector<Complex> averaged_;
  // the planes being processed
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::span<float> features_;
};

}  // namespace

Scattering Scattering::read(std::span<const std::string_view> words) {
  int numbers[] = {2, 8};
  constexpr int kMost[] = {5, 32};
  constexpr const char* kWhat[] = {"scales", "orientations"};
  const bool is_centered = words.back() == kCentered;
  if (is_centered) words = words.first(words.size() - 1);
  if (words.size() > 3)
    throw usage_error("features has " + std::to_string(words.size()) + " words; valid: " + std::string(kSyntax));
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!parse_number(words[i], numbers[i - 1]) || numbers[i - 1] < 1 || numbers[i - 1] > kMost[i - 1])
      throw usage_error("features has '" + std::string(words[i]) + "' " + kWhat[i - 1] + "; valid: a whole number from 1 to " +
                        std::to_string(kMost[i - 1]));
  return Scattering(numbers[0], numbers[1], is_centered);
}

std::string Scattering::text() const {
  return std::string(kWord) + ' ' + std::to_string(scales_) + ' ' + std::to_string(orientations_) +
         (is_centered_ ? ' ' + std::string(kCentered) : "");
}

Shape Scattering::output(const Shape& picture) const {
  const int step = 1 << scales_;
  const int least = 2 * step;
  if (std::min(picture.height, picture.width) < least)
    throw usage_error("features is '" + text() + "', which reads images of at least " + std::to_string(least) + "x" +
                      std::to_string(least) + "; these are " + picture.text());
  return {picture.height / step, picture.width / step, picture.channels * paths()};
}

MapPictures Scattering::mapper(const Shape& picture) const {
  auto scatterer =
      std::make_shared<Scatterer>(picture, output(picture), scales_, orientations_, paths(), is_centered_ ? 0.5F : 0);
  return [scatterer](std::span<const float> values, std::span<float> features) { (*scatterer)(values, features); };
}

}  // namespace fedstride
