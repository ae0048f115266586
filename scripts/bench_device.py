"""Prediction by torch on a device beside the processor's: ``bench.py device``."""

import argparse
import time
from typing import Any

from bench_scale import make_models, make_units


def bench_device(options: argparse.Namespace) -> None:
    """Print seconds of both and the decisions that differ."""
    import torch

    from harness.models import linear_svm, rbf_svm
    from harness.models.mlp import MLP

    data = make_units(options.n_documents, options.n_train, 10_000, options.seed)
    x, labels = data.documents.x_true, data.labels
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else "the processor, by torch"
    print(f"{x.shape[0]:,} documents, {labels.shape[1]} categories; {options.device}: {name}")

    def predict(model: Any, fitted: Any, device: str) -> tuple[Any, float]:
        start = time.perf_counter()
        decisions = model.predict(fitted, x, run=data.run, device=device)
        return decisions, time.perf_counter() - start

    for module in (linear_svm, rbf_svm):  # their own check knows auto, cpu and cuda only
        module.resolve_device = lambda device: device
    for model_name, model in make_models().items():
        fitted = model.fit(data.documents.x_train, labels, seed=options.seed, run=data.run)
        there = "cpu" if isinstance(model, MLP) and options.device == "cpu:0" else options.device
        ours, spent = predict(model, fitted, "cpu")
        other, other_spent = predict(model, fitted, there)
        differ = int((ours != other).sum())
        print(
            f"  {model_name:12} processor {spent:8.2f} s   {options.device} {other_spent:8.2f} s   "
            f"{differ} of {ours.size:,} decisions differ",
            flush=True,
        )
