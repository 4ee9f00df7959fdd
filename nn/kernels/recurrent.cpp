#include "nn/kernels/recurrent.hpp"

#include <algorithm>

#include "core/simd.hpp"

namespace fedstride {
namespace {

/// Calls body(first unit, load, save) for the units, a vector at a time; load and save touch no unit behind the last.
template <class Body>
FEDSTRIDE_INLINE void for_units(int units, Body&& body) {
  int j = 0;
  for (; j + kLanes <= units; j += kLanes)
    body(
        j, [](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load(from); },
        [](float* to, Lanes value) FEDSTRIDE_INLINE_LAMBDA { store(to, value); });
  const int tail = units - j;
  if (tail > 0)
    body(
        j, [=](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load_first(from, tail); },
        [=](float* to, Lanes value) FEDSTRIDE_INLINE_LAMBDA { store_first(to, value, tail); });
}

}  // namespace

void lstm_forward(int units, float* gates, const float* recurrent, const float* last_cell, float* cell, float* output) {
  for_units(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const auto sum = [&](int gate)
                         FEDSTRIDE_INLINE_LAMBDA { return get(gates + gate * units + j) + get(recurrent + gate * units + j); };
    const Lanes in = sigmoid(sum(0)), forget = sigmoid(sum(1)), candidate = tanh(sum(2)), out = sigmoid(sum(3));
    const Lanes now = forget * get(last_cell + j) + in * candidate;
    put(gates + j, in);
    put(gates + units + j, forget);
    put(gates + 2 * units + j, candidate);
    put(gates + 3 * units + j, out);
    put(cell + j, now);
    put(output + j, out * tanh(now));
  });
}

void lstm_backward(int units, const float* gates, const float* last_cell, const float* cell, const float* d_output, float* d_cell,
                   float* d_gates) {
  for_units(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const Lanes in = get(gates + j), forget = get(gates + units + j);
    const Lanes candidate = get(gates + 2 * units + j), out = get(gates + 3 * units + j);
    const Lanes squashed = tanh(get(cell + j)), d_out = get(d_output + j);
    const Lanes d_now = get(d_cell + j) + d_out * out * (1.0F - squashed * squashed);
    put(d_gates + j, d_now * candidate * in * (1.0F - in));
    put(d_gates + units + j, d_now * get(last_cell + j) * forget * (1.0F - forget));
    put(d_gates + 2 * units + j, d_now * in * (1.0F - candidate * candidate));
    put(d_gates + 3 * units + j, d_out * squashed * out * (1.0F - out));
    put(d_cell + j, d_now * forget);
  });
}

void gru_forward(int units, float* gates, const float* recurrent, const float* last_output, float* kept, float* output) {
  for_units(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const Lanes reset = sigmoid(get(gates + j) + get(recurrent + j));
    const Lanes update = sigmoid(get(gates + units + j) + get(recurrent + units + j));
    const Lanes product = get(recurrent + 2 * units + j);
    const Lanes candidate = tanh(get(gates + 2 * units + j) + reset * product);
    put(gates + j, reset);
    put(gates + units + j, update);
    put(gates + 2 * units + j, candidate);
    put(kept + j, product);
    put(output + j, candidate + update * (get(last_output + j) - candidate));
  });
}

void gru_backward(int units, const float* gates, const float* last_output, const float* kept, const float* d_output,
                  float* d_gates, float* d_recurrent, float* d_last) {
  for_units(units, [&](int j, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    const Lanes reset = get(gates + j), update = get(gates + units + j), candidate = get(gates + 2 * units + j);
    const Lanes d_out = get(d_output + j);
    const Lanes d_candidate = d_out * (1.0F - update) * (1.0F - candidate * candidate);
    const Lanes d_update = d_out * (get(last_output + j) - candidate) * update * (1.0F - update);
    const Lanes d_reset = d_candidate * get(kept + j) * reset * (1.0F - reset);
    put(d_gates + j, d_reset);
    put(d_gates + units + j, d_update);
    put(d_gates + 2 * units + j, d_candidate);
    put(d_recurrent + j, d_reset);
    put(d_recurrent + units + j, d_update);
    put(d_recurrent + 2 * units + j, d_candidate * reset);
    put(d_last + j, d_out * update);
  });
}

}  // namespace fedstride
