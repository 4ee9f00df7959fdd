#pragma once

#include <optional>
#include <string>

#include "client/model_coding.hpp"
#include "client/trainer.hpp"
#include "core/secret_key.hpp"
#include "nn/model.hpp"
#include "server/round.hpp"
#include "sim/prepare/data_setup.hpp"
#include "sim/prepare/privacy_setup.hpp"

namespace fedstride {

/// The objects of a run, built from a configuration in this order: data and clients, model, privacy, training, round rules. All
/// checks are made before a folder is created or a step is taken. Afterwards, use_secrets changes the source of noise, and
/// releases (sim/prepare/private_inputs.hpp) and attackers (poison) change the data.
struct Setup : DataSetup {
  Model model;
  PrivacySetup privacy;
  LocalTraining training;
  RoundRules rules;
  ModelCoding broadcast;       ///< how the server encodes its model
  Vector initial;              ///< the initial weights, from `init` or drawn
  std::string time_hash = {};  ///< hash of files that determine virtual time; empty without any, or if no cohorts are drawn here
  std::string cohort_hash;     ///< hash of the file that determines cohorts; empty without one, or if no cohorts are drawn here
};

/// The source of a run's initial weights.
enum class FirstWeights {
  drawn,      ///< drawn, or read from the `init` file
  continued,  ///< from the run's checkpoint; the `init` file is not read
  elsewhere   ///< from another process or a results file; files that determine cohorts or times are not read either
};

/// Prepares a run. Throws Error.
Setup prepare(const Configuration& configuration, FirstWeights first = FirstWeights::drawn, RowsAre rows = RowsAre::here);
/// Prepares a client of a networked federation, given its data. Throws Error.
Setup prepare_client(DataSetup data);

/// The weights with which the model would begin without `init`.
Vector drawn_weights(const Configuration& configuration, const Model& model);

/// Poisons the attackers' training data in this process. Call it once, before training.
void poison(Setup& setup);

/// The configuration with only the settings that must not change when a run continues; others have their defaults.
Configuration lasting_configuration(const Setup& setup);
/// Like lasting_configuration(Setup), but always keeps the given number of rounds.
Configuration lasting_configuration(const Configuration& given);
/// The configuration with input files by name, without their folders.
Configuration without_folders(Configuration configuration);
/// The lasting configuration as text, the same from any folder: input files appear by name, without their folders.
std::string lasting_settings(const Setup& setup);

/// Digest of everything that determines the results, including the numerics version and, if it decides the noise, the number of
/// rounds. A run continues only if its digest is unchanged.
std::string identity(const Setup& setup);

/// Digest of everything that determines a run's releases except the models of its rounds: identity, noise and clips. It depends
/// on private rows, so under privacy it is written only as run_identity.
std::string releases_identity(const Setup& setup);

/// releases_identity as stored in a run's folder; with a key, an HMAC that also covers the program's version.
std::string run_identity(const Setup& setup, const std::optional<SecretKey>& key);

/// The source of noise, lots and cohorts. Its key is derived from releases_identity and from the seed, or from the secret key and
/// the version. Different data, settings or builds therefore draw different noise even if no check notices, and the same run
/// repeats its draws.
RandomSource private_source(const Setup& setup, const std::optional<SecretKey>& key);

/// Set the source of noise, lots and cohorts; use_secrets sets it to private_source under privacy, and otherwise does nothing.
void use_source(Setup& setup, const RandomSource& source);
void use_secrets(Setup& setup, const std::optional<SecretKey>& key);
/// The source in use, for another process of the same run. Requires setup.privacy.on().
const RandomSource& source_of(const Setup& setup);

}  // namespace fedstride
