"""Suggests the package's own names for names that people expect from other libraries or from the command line."""

from . import _core

_MODULE = {
    "fedstride.run(train=function)": "NumPyClient ClientApp ServerApp start_client start_numpy_client start_server start_simulation run_simulation",
    "fedstride.run(dp=fedstride.ExamplePrivacy(...))": "DP DPOptimizer PrivacyEngine make_private",
    "fedstride.Run(folder)": "load load_run open",
    "fedstride.Run(folder).predict()": "predict predict_proba inference",
    "fedstride.Run(folder).evaluate()": "evaluate eval test score",
    "fedstride.load_dataset(name)": "datasets get_dataset load_data",
    "fedstride.privacy.epsilon(...)": "account accountant compute_dp_sgd_privacy compute_epsilon epsilon get_epsilon",
}
_RUN = {
    'summary["test_accuracy"]': "accuracy score test_acc test_accuracy",
    'summary["test_loss"]': "loss test_loss",
    'summary["privacy"]': "epsilon privacy",
    "rounds, a list of dicts": "history log logs metrics",
    "model()": "get_parameters get_weights parameters state_dict weights",
    "settings": "config",
    "folder, whose files are complete": "path save",
    "fedstride.privacy.audit(run)": "audit",
}
_KEYWORDS = {
    "train=, a function that trains a client": "client client_fn model_fn train_fn trainer",
    "evaluate=, a function, with train=": "eval_fn evaluate_fn",
    "on_round=, a function called after each round": "callback callbacks on_round_end",
    "data=(x, y)": "X X_train features x x_train y y_train",
    "fedstride.resume(folder)": "resume resume_from",
}


def _found(table, name):
    return next((f"it is {here}" for here, names in table.items() if name in names.split()), "")


def of_module(name, public):
    """What replaces a missing attribute of the package, followed by "; "; empty if unknown."""
    if here := _found(_MODULE, name):
        return here + "; "
    if name in _core.commands():
        return f"it is the command 'fedstride {name}'; "
    hint = _core.advice("algorithm", name, []) or _core.advice("command", name, public)
    return _core.in_python_words(hint).replace("'fedstride run'", "'fedstride.run'")


def of_run(name):
    """What replaces a missing attribute of a run; empty if unknown."""
    return _found(_RUN, name)


def of_keyword(name):
    """What replaces a keyword that `run` lacks; empty if unknown."""
    return _found(_KEYWORDS, name)
