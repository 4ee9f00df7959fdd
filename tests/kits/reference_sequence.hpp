#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "nn/layer.hpp"
#include "tests/kits/reference_place.hpp"

// The slow twin's layers of sequences (tests/kits/reference.hpp). A position's values lie one behind the other, without gaps.
namespace fedstride::reference {

template <class Scalar>
void forward(const Embedding& table, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (int t = 0; t < at.out.height; ++t)
    for (int i = 0; i < table.size; ++i) out[t * table.size + i] = at.tensors.table[static_cast<int>(in[t]) * table.size + i];
}

template <class Scalar>
void backward(const Embedding& table, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar*) {
  for (int t = 0; t < at.out.height; ++t)
    for (int i = 0; i < table.size; ++i)
      at.gradients.table[static_cast<int>(in[t]) * table.size + i] += out_gradient[t * table.size + i];
}

template <class Scalar>
void forward(const Positions&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  for (std::size_t i = 0; i < at.in.size(); ++i) out[i] = in[i] + at.tensors.table[i];
}

template <class Scalar>
void backward(const Positions&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  for (std::size_t i = 0; i < at.in.size(); ++i) {
    in_gradient[i] = out_gradient[i];
    at.gradients.table[i] += out_gradient[i];
  }
}

template <class Scalar>
Scalar sigmoid(Scalar x) {
  return 1 / (1 + std::exp(-x));
}

/// sum_i in[i] weight[i][o] + bias[o].
template <class Scalar>
Scalar product(const Scalar* in, int inputs, const Scalar* weight, const Scalar* bias, int outputs, int o) {
  Scalar sum = bias[o];
  for (int i = 0; i < inputs; ++i) sum += in[i] * weight[i * outputs + o];
  return sum;
}

/// The same backwards: adds to the gradients of inputs, weight and bias, for one output's gradient.
template <class Scalar>
void add_product(const Scalar* in, int inputs, const Scalar* weight, int outputs, int o, Scalar d_output, Scalar* d_in,
                 Scalar* d_weight, Scalar* d_bias) {
  d_bias[o] += d_output;
  for (int i = 0; i < inputs; ++i) {
    d_in[i] += d_output * weight[i * outputs + o];
    d_weight[i * outputs + o] += d_output * in[i];
  }
}

/// All values of a recurrent layer's run over a sequence; index 0 is the state before the first position.
template <class Scalar>
struct Recurrence {
  std::vector<std::vector<Scalar>> outputs, cells, gates, products;
};

template <class Scalar>
Recurrence<Scalar> recurrence(const Lstm& layer, const Place<Scalar>& at, const Scalar* in) {
  const int units = layer.units, gates = 4 * units, inputs = at.in.channels;
  Recurrence<Scalar> all{{std::vector<Scalar>(units)}, {std::vector<Scalar>(units)}, {{}}, {{}}};
  for (int t = 0; t < at.in.height; ++t) {
    std::vector<Scalar> gate(gates), cell(units), output(units);
    for (int o = 0; o < gates; ++o)
      gate[o] = product(in + t * inputs, inputs, at.tensors.weight, at.tensors.bias, gates, o) +
                product(all.outputs[t].data(), units, at.tensors.second_weight, at.tensors.second_bias, gates, o);
    for (int o = 0; o < gates; ++o) gate[o] = o / units == 2 ? std::tanh(gate[o]) : sigmoid(gate[o]);
    for (int j = 0; j < units; ++j) {
      cell[j] = gate[units + j] * all.cells[t][j] + gate[j] * gate[2 * units + j];
      output[j] = gate[3 * units + j] * std::tanh(cell[j]);
    }
    all.gates.push_back(gate);
    all.cells.push_back(cell);
    all.outputs.push_back(output);
  }
  return all;
}

template <class Scalar>
Recurrence<Scalar> recurrence(const Gru& layer, const Place<Scalar>& at, const Scalar* in) {
  const int units = layer.units, gates = 3 * units, inputs = at.in.channels;
  Recurrence<Scalar> all{{std::vector<Scalar>(units)}, {}, {{}}, {{}}};
  for (int t = 0; t < at.in.height; ++t) {
    std::vector<Scalar> gate(gates), second(gates), output(units);
    for (int o = 0; o < gates; ++o) {
      gate[o] = product(in + t * inputs, inputs, at.tensors.weight, at.tensors.bias, gates, o);
      second[o] = product(all.outputs[t].data(), units, at.tensors.second_weight, at.tensors.second_bias, gates, o);
    }
    for (int o = 0; o < 2 * units; ++o) gate[o] = sigmoid(gate[o] + second[o]);
    for (int j = 0; j < units; ++j) {
      const int n = 2 * units + j;
      gate[n] = std::tanh(gate[n] + gate[j] * second[n]);
      output[j] = (1 - gate[units + j]) * gate[n] + gate[units + j] * all.outputs[t][j];
    }
    all.gates.push_back(gate);
    all.products.push_back(second);
    all.outputs.push_back(output);
  }
  return all;
}

template <class Layer>
concept RecurrentLayer = std::same_as<Layer, Lstm> || std::same_as<Layer, Gru>;

template <RecurrentLayer Layer, class Scalar>
void forward(const Layer& layer, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  const auto all = recurrence(layer, at, in);
  for (int t = 0; t < at.in.height; ++t) std::copy_n(all.outputs[t + 1].begin(), layer.units, out + t * layer.units);
}

/// Gradients by the products with the input and with the last output, and what goes past them to the state before.
template <class Scalar>
struct StepGradient {
  std::vector<Scalar> first, second, cell, past;
};

template <class Scalar>
StepGradient<Scalar> step_back(const Lstm& layer, const Recurrence<Scalar>& all, int t, const std::vector<Scalar>& d_output,
                               const std::vector<Scalar>& d_cell) {
  const int units = layer.units;
  StepGradient<Scalar> step{std::vector<Scalar>(4 * units), {}, std::vector<Scalar>(units), std::vector<Scalar>(units)};
  const auto& gate = all.gates[t + 1];
  for (int j = 0; j < units; ++j) {
    const Scalar i = gate[j], f = gate[units + j], g = gate[2 * units + j], o = gate[3 * units + j];
    const Scalar squashed = std::tanh(all.cells[t + 1][j]);
    const Scalar d = d_cell[j] + d_output[j] * o * (1 - squashed * squashed);
    step.first[j] = d * g * i * (1 - i);
    step.first[units + j] = d * all.cells[t][j] * f * (1 - f);
    step.first[2 * units + j] = d * i * (1 - g * g);
    step.first[3 * units + j] = d_output[j] * squashed * o * (1 - o);
    step.cell[j] = d * f;
  }
  step.second = step.first;
  return step;
}

template <class Scalar>
StepGradient<Scalar> step_back(const Gru& layer, const Recurrence<Scalar>& all, int t, const std::vector<Scalar>& d_output,
                               const std::vector<Scalar>&) {
  const int units = layer.units;
  StepGradient<Scalar> step{std::vector<Scalar>(3 * units), {}, std::vector<Scalar>(units), std::vector<Scalar>(units)};
  const auto& gate = all.gates[t + 1];
  step.second.resize(3 * units);
  for (int j = 0; j < units; ++j) {
    const Scalar r = gate[j], z = gate[units + j], n = gate[2 * units + j];
    const Scalar d_candidate = d_output[j] * (1 - z) * (1 - n * n);
    step.first[j] = step.second[j] = d_candidate * all.products[t + 1][2 * units + j] * r * (1 - r);
    step.first[units + j] = step.second[units + j] = d_output[j] * (all.outputs[t][j] - n) * z * (1 - z);
    step.first[2 * units + j] = d_candidate;
    step.second[2 * units + j] = d_candidate * r;
    step.past[j] = d_output[j] * z;
  }
  return step;
}

template <RecurrentLayer Layer, class Scalar>
void backward(const Layer& layer, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  const auto all = recurrence(layer, at, in);
  const int units = layer.units, inputs = at.in.channels;
  std::vector<Scalar> d_output(units), d_cell(units);
  for (int t = at.in.height; t-- > 0;) {
    for (int j = 0; j < units; ++j) d_output[j] += out_gradient[t * units + j];
    const auto step = step_back(layer, all, t, d_output, d_cell);
    const int gates = static_cast<int>(step.first.size());
    d_output = step.past;
    d_cell = step.cell;
    for (int o = 0; o < gates; ++o) {
      add_product(in + t * inputs, inputs, at.tensors.weight, gates, o, step.first[o], in_gradient + t * inputs,
                  at.gradients.weight, at.gradients.bias);
      add_product(all.outputs[t].data(), units, at.tensors.second_weight, gates, o, step.second[o], d_output.data(),
                  at.gradients.second_weight, at.gradients.second_bias);
    }
  }
}

/// Queries, keys and values of every position; the weights of each head; the heads' outputs.
template <class Scalar>
struct Attended {
  std::vector<Scalar> projected, weights, outputs;
};

template <class Scalar>
Attended<Scalar> attended(const Attention& layer, const Place<Scalar>& at, const Scalar* in) {
  const int size = at.in.channels, length = at.in.height, each = size / layer.heads;
  Attended<Scalar> all{std::vector<Scalar>(3 * size * length), std::vector<Scalar>(layer.heads * length * length),
                       std::vector<Scalar>(size * length)};
  for (int t = 0; t < length; ++t)
    for (int o = 0; o < 3 * size; ++o)
      all.projected[t * 3 * size + o] = product(in + t * size, size, at.tensors.weight, at.tensors.bias, 3 * size, o);
  for (int head = 0; head < layer.heads; ++head)
    for (int t = 0; t < length; ++t) {
      Scalar* const row = all.weights.data() + (head * length + t) * length;
      Scalar total = 0;
      for (int s = 0; s <= t; ++s) {
        Scalar score = 0;
        for (int i = 0; i < each; ++i)
          score += all.projected[t * 3 * size + head * each + i] * all.projected[s * 3 * size + size + head * each + i];
        total += row[s] = std::exp(score / std::sqrt(static_cast<Scalar>(each)));
      }
      for (int s = 0; s <= t; ++s) {
        row[s] /= total;
        for (int i = 0; i < each; ++i)
          all.outputs[t * size + head * each + i] += row[s] * all.projected[s * 3 * size + 2 * size + head * each + i];
      }
    }
  return all;
}

template <class Scalar>
void forward(const Attention& layer, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  const auto all = attended(layer, at, in);
  const int size = at.in.channels;
  for (int t = 0; t < at.in.height; ++t)
    for (int o = 0; o < size; ++o)
      out[t * size + o] = product(all.outputs.data() + t * size, size, at.tensors.second_weight, at.tensors.second_bias, size, o);
}

template <class Scalar>
void backward(const Attention& layer, const Place<Scalar>& at, const Scalar* in, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  const auto all = attended(layer, at, in);
  const int size = at.in.channels, length = at.in.height, each = size / layer.heads;
  const Scalar factor = 1 / std::sqrt(static_cast<Scalar>(each));
  std::vector<Scalar> d_heads(size * length), d_projected(3 * size * length);
  for (int t = 0; t < length; ++t)
    for (int o = 0; o < size; ++o)
      add_product(all.outputs.data() + t * size, size, at.tensors.second_weight, size, o, out_gradient[t * size + o],
                  d_heads.data() + t * size, at.gradients.second_weight, at.gradients.second_bias);
  for (int head = 0; head < layer.heads; ++head)
    for (int t = 0; t < length; ++t) {
      const auto index = [&](int part, int position, int i) { return position * 3 * size + part * size + head * each + i; };
      const Scalar* const row = all.weights.data() + (head * length + t) * length;
      std::vector<Scalar> d_weight(length);
      Scalar mean = 0;
      for (int s = 0; s <= t; ++s) {
        for (int i = 0; i < each; ++i) d_weight[s] += d_heads[t * size + head * each + i] * all.projected[index(2, s, i)];
        mean += d_weight[s] * row[s];
      }
      for (int s = 0; s <= t; ++s)
        for (int i = 0; i < each; ++i) {
          const Scalar d_score = factor * row[s] * (d_weight[s] - mean);
          d_projected[index(0, t, i)] += d_score * all.projected[index(1, s, i)];
          d_projected[index(1, s, i)] += d_score * all.projected[index(0, t, i)];
          d_projected[index(2, s, i)] += row[s] * d_heads[t * size + head * each + i];
        }
    }
  for (int t = 0; t < length; ++t)
    for (int o = 0; o < 3 * size; ++o)
      add_product(in + t * size, size, at.tensors.weight, 3 * size, o, d_projected[t * 3 * size + o], in_gradient + t * size,
                  at.gradients.weight, at.gradients.bias);
}

template <class Scalar>
void forward(const Last&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  std::copy_n(in + (at.in.height - 1) * at.in.channels, at.in.channels, out);
}

template <class Scalar>
void backward(const Last&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  std::copy_n(out_gradient, at.in.channels, in_gradient + (at.in.height - 1) * at.in.channels);
}

template <class Scalar>
void forward(const Sequence&, const Place<Scalar>& at, const Scalar* in, Scalar* out) {
  std::copy_n(in, at.in.size(), out);
}

template <class Scalar>
void backward(const Sequence&, const Place<Scalar>& at, const Scalar*, const Scalar*, const Scalar* out_gradient,
              Scalar* in_gradient) {
  std::copy_n(out_gradient, at.in.size(), in_gradient);
}

}  // namespace fedstride::reference
