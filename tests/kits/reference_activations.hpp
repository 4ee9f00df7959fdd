#pragma once

#include <cmath>
#include <numbers>

#include "nn/layer.hpp"
#include "tests/kits/reference_place.hpp"

// The slow twin of functions of single values (tests/kits/reference.hpp).

namespace fedstride::reference {

template <class Scalar>
void forward(const Relu&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i] > 0 ? in[i] : Scalar{0};
}

template <class Scalar>
void backward(const Relu&, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) in_gradient[i] = in[i] > 0 ? out_gradient[i] : Scalar{0};
}

template <class Scalar>
void forward(const Tanh&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = std::tanh(in[i]);
}

template <class Scalar>
void backward(const Tanh&, const Place<Scalar>& at, const Scalar*, const Scalar* out, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) in_gradient[i] = out_gradient[i] * (1 - out[i] * out[i]);
}

template <class Scalar>
void forward(const LeakyRelu& relu, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i] > 0 ? in[i] : in[i] * static_cast<Scalar>(relu.slope);
}

template <class Scalar>
void backward(const LeakyRelu& relu, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i)
    in_gradient[i] = in[i] > 0 ? out_gradient[i] : out_gradient[i] * static_cast<Scalar>(relu.slope);
}

/// The standard normal distribution's function.
template <class Scalar>
Scalar normal_distribution(Scalar x) {
  return std::erfc(-x / std::numbers::sqrt2_v<Scalar>) / 2;
}

template <class Scalar>
void forward(const Gelu&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i] * normal_distribution(in[i]);
}

template <class Scalar>
void backward(const Gelu&, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  const Scalar peak = std::numbers::inv_sqrtpi_v<Scalar> / std::numbers::sqrt2_v<Scalar>;
  for (std::size_t i = 0; i < at.in.size(); ++i)
    in_gradient[i] = out_gradient[i] * (normal_distribution(in[i]) + in[i] * peak * std::exp(-in[i] * in[i] / 2));
}

template <class Scalar>
void forward(const Sigmoid&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = 1 / (1 + std::exp(-in[i]));
}

template <class Scalar>
void backward(const Sigmoid&, const Place<Scalar>& at, const Scalar*, const Scalar* out, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) in_gradient[i] = out_gradient[i] * out[i] * (1 - out[i]);
}

}  // namespace fedstride::reference
