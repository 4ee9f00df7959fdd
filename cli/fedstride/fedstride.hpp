#pragma once

#include "cli/command_line.hpp"
#include "client/attacks/attack.hpp"
#include "client/compression/compressor.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/optim/optimizer.hpp"
#include "client/personal/personal.hpp"
#include "core/random.hpp"
#include "data/datasets.hpp"
#include "data/skew/feature_skew.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/bounds/bounds.hpp"
#include "dp/draws/draws.hpp"
#include "nn/model.hpp"
#include "nn/network.hpp"
#include "partitions/partitions.hpp"
#include "server/aggregation.hpp"
#include "server/aggregation/coordinates.hpp"
#include "server/cohort.hpp"
#include "server/server_optimizer.hpp"
#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"
#include "sim/time/availability.hpp"
#include "sim/time/devices.hpp"
#include "sim/time/mode.hpp"
#include "sim/time/timed_run.hpp"

// The public header. A part is one final class with a kName and a kSummary, registered before command_line or resolve is called:
//
//   optimizer         OptimizerBase<Mine, Settings, State>              add_part<Optimizer>(Mine{})
//   local objective   ObjectiveBase                                     add_part<LocalObjective>(Mine{})
//   partition         PartBase<PartitionPart, Mine>                     add_part<Partitioner>(Mine{})
//   feature skew      PartBase<FeatureSkewPart, Mine>                   add_part<FeatureSkew>(Mine{})
//   aggregation       SummingAggregation or ComparingAggregation        add_part<Aggregation>(Mine{})
//   server optimizer  ServerOptimizerBase                               add_part<ServerOptimizer>(Mine{})
//   cohort            PartBase<CohortPart, Mine>                        add_part<Cohort>(Mine{})
//   personal models   PartBase<PersonalPart, Mine>                      add_part<Personal>(Mine{})
//   attack            AttackBase<Mine, Settings>, with Settings derived from Attackers; add_part<Attack>(Mine{})
//   compression       PartBase<Way, Mine<Way>>, a template for both directions;
//                     add_part<UpCompression>(Mine<UpCompressor>{}) and add_part<DownCompression>(Mine<DownCompressor>{})
//   mode of time      PartBase<ModePart, Mine>, which makes a TimedRun  add_part<Mode>(Mine{})
//   devices           DrawnDevices<Mine>                                add_part<Devices>(Mine{})
//   availability      SometimesThere<Mine, Settings>, with Settings derived from AwaySettings; add_part<Availability>(Mine{})
//   data set          a name and a function that creates it             add_dataset({...})
//
// The lists of accountants, bounds, draws and layers are fixed when fedstride is compiled (CONTRIBUTING.md). The header of each
// base class has the contract. command_line(argc, argv) runs the whole program; run(settings, observer) and resume(folder, ...)
// run a federation from code, and resolve(settings) makes a Configuration that a program may change before run.
