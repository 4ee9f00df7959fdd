#pragma once

#include <string>
#include <string_view>

#include "core/part.hpp"
#include "core/setting.hpp"

namespace fedstride {

/// A kind of personal model, separate from the federation's model or part of it. Personal models never leave the clients. There
/// are two kinds, and a part uses at most one of them:
///   epochs() > 0     a second pass over the client's rows, after its ordinary training and independent of it, trains the
///                    personal model, starting from the client's own or from the model received
///   layers()         some layers belong to the client during its ordinary training, and their change is not sent
class PersonalPart : public Part {
 public:
  static PartFamily& family();  ///< client/personal/kinds.cpp has the list

  /// True if a client keeps its own parameters between rounds; before its first round, these are the ones received.
  virtual bool keeps() const { return false; }
  /// Epochs of the second pass; 0: no second pass.
  virtual int epochs() const { return 0; }
  /// The pull, at least 0: a step of the second pass uses grad f_k(v) + pull (v - theta), with theta the model received.
  virtual double pull() const { return 0; }
  /// The client's own layers: names as for `freeze`, or "last". Empty: the whole model, if there is a second pass.
  virtual std::string_view layers() const { return {}; }
  /// The number of ordinary epochs that train only the client's own layers; the rest train only the shared ones. 0: every epoch
  /// trains all layers.
  virtual int local_first() const { return 0; }

  /// True if clients have personal models.
  bool makes() const { return epochs() > 0 || !layers().empty(); }
};

/// The setting shared by all kinds with a second pass.
struct SecondPass {
  int personal_epochs = 1;
  static constexpr auto kFields =
      fields(Field{"personal-epochs", &SecondPass::personal_epochs,
                   "epochs for which a client trains its personal model in each round", Valid{.low = 1, .high = 1e6}});
};

/// The kind of personal model chosen for a run; none by default.
using Personal = Chosen<PersonalPart>;

}  // namespace fedstride
