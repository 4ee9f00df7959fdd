#pragma once

#include "nn/layer.hpp"
#include "tests/kits/reference_place.hpp"

// The slow twin of what residual blocks are made of (tests/kits/reference.hpp).

namespace fedstride::reference {

template <class Scalar>
void forward(const Fork&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i];
}

template <class Scalar>
void backward(const Fork&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) in_gradient[i] = out_gradient[i];
}

template <class Scalar>
void forward(const Add&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i] + at.added[i];
}

template <class Scalar>
void backward(const Add&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) {
    in_gradient[i] = out_gradient[i];
    at.added_gradient[i] += out_gradient[i];
  }
}

template <class Scalar>
void forward(const Subsample& shortcut, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for_each_value(at.out, [&](int row, int column, int channel) {
    out[at.out_at(row, column, channel)] =
        channel < at.in.channels ? in[at.in_at(row * shortcut.stride, column * shortcut.stride, channel)] : Scalar{0};
  });
}

template <class Scalar>
void backward(const Subsample& shortcut, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for_each_value(at.out, [&](int row, int column, int channel) {
    if (channel < at.in.channels)
      in_gradient[at.in_at(row * shortcut.stride, column * shortcut.stride, channel)] +=
          out_gradient[at.out_at(row, column, channel)];
  });
}

}  // namespace fedstride::reference
