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

/// A configuration turned into the objects of a run: data and clients, model, privacy, training, rules of rounds, each made from
/// earlier ones. All checks precede the creation of a folder and the first step. Afterwards only the source of noise changes
/// (use_secrets), and the data: by releases (sim/prepare/private_inputs.hpp) and attackers (poison).
struct Setup : DataSetup {
  Model model;
  PrivacySetup privacy;
  LocalTraining training;
  RoundRules rules;
  ModelCoding broadcast;       ///< how the server codes its model
  Vector initial;              ///< the initial weights, from `init` or drawn
  std::string time_hash = {};  ///< hash of the files that determine virtual time; empty if there is none, or as for cohort_hash
  std::string cohort_hash;     ///< of the file that determines cohorts; empty without one, and in processes that draw no cohorts
};

/// The source of a run's initial weights.
enum class FirstWeights {
  drawn,      ///< drawn, or read from the file that `init` names
  continued,  ///< from the run's checkpoint; the file that `init` names is not read
  elsewhere   ///< from another process or a file of results; the file that determines cohorts is not read either
};

/// Prepares everything. Throws Error.
Setup prepare(const Configuration& configuration, FirstWeights first = FirstWeights::drawn, RowsAre rows = RowsAre::here);
/// The same for a client of a networked federation, with its data.
Setup prepare_client(DataSetup data);

/// Poisons the attackers' training data in this process. Call it once, before training.
void poison(Setup& setup);

/// The configuration with only the settings that must not change when a run continues; others have their defaults.
Configuration lasting_configuration(const Setup& setup);
/// The same, except for the given number of rounds.
Configuration lasting_configuration(const Configuration& given);
/// The text of that configuration, identical from any folder: input files appear by name, without their folder.
std::string lasting_settings(const Setup& setup);

/// Digest of everything that determines the results, including the numerics version but not the number of rounds: a run continues
/// only if it is unchanged.
std::string identity(const Setup& setup);

/// Digest of everything that determines a run's releases except its rounds' models: its identity, noise and clips. It depends on private
/// rows, so under privacy it is written only as run_identity.
std::string releases_identity(const Setup& setup);

/// releases_identity as stored in a run's folder: an HMAC, also over the program's version, with the run's key, if any.
std::string run_identity(const Setup& setup, const std::optional<SecretKey>& key);

/// The source of noise, lots and cohorts. Its key is derived from the seed, or the secret key and the version, and from
/// releases_identity: different data, settings or builds draw different noise even if no check notices; the same run repeats
/// its draws.
RandomSource private_source(const Setup& setup, const std::optional<SecretKey>& key);

/// Set the source of noise, lots and cohorts; under privacy, use_secrets sets it to private_source.
void use_source(Setup& setup, const RandomSource& source);
void use_secrets(Setup& setup, const std::optional<SecretKey>& key);
/// The source in use, for another process of the same run. Requires setup.privacy.on().
const RandomSource& source_of(const Setup& setup);

}  // namespace fedstride
