#!/usr/bin/env python3
"""Optuna chooses a run's learning rate by validation accuracy and prunes trials that fall behind. Needs python3-optuna.

    python3 examples/python/optuna_search.py [TRIALS] [FOLDER]
"""
import sys

import optuna

import fedstride

FOLDER = sys.argv[2] if len(sys.argv) > 2 else "runs"


def objective(trial):
    rate = trial.suggest_float("learning_rate", 1e-4, 1, log=True)

    def on_round(record):
        trial.report(record["validation_accuracy"], record["round"])
        return not trial.should_prune()  # False stops the run

    run = fedstride.run(dataset="synthetic", model="logistic", clients=5, rounds=8, validation_fraction=0.2, optimizer="sgd",
                        learning_rate=rate, on_round=on_round, progress=False, out=f"{FOLDER}/optuna-{trial.number}")
    if run.state != "finished":
        raise optuna.TrialPruned
    return run.rounds[-1]["validation_accuracy"]


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(3, 2))
    study.optimize(objective, int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    pruned = sum(trial.state == optuna.trial.TrialState.PRUNED for trial in study.trials)
    print(f"learning rate {study.best_params['learning_rate']:.3g}, validation accuracy {study.best_value:.3f}; "
          f"{pruned} of {len(study.trials)} trials were pruned")
