"""The same small classifier twice: with PyTorch, and with numpy where there is no PyTorch."""

from typing import Any

import numpy as np


class TorchNetwork:
    """Two convolutions and a linear layer."""

    def __init__(self, side: int) -> None:
        import torch
        from torch import nn

        self.torch = torch
        torch.manual_seed(0)
        first = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        second = (nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.net = nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32 * (side // 4) ** 2, 10))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)

    def learn(self, images: np.ndarray, labels: np.ndarray) -> float:
        answers = self.net(self.torch.from_numpy(images)[:, None])
        loss = self.torch.nn.functional.cross_entropy(answers, self.torch.from_numpy(labels))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def guess(self, images: np.ndarray) -> np.ndarray:
        with self.torch.no_grad():
            return self.net(self.torch.from_numpy(images)[:, None]).argmax(1).numpy()

    def get_state(self) -> list[Any]:
        return [self.net.state_dict(), self.optimizer.state_dict()]

    def set_state(self, state: list[Any]) -> None:
        self.net.load_state_dict(state[0])
        self.optimizer.load_state_dict(state[1])


class NumpyNetwork:
    """One hidden layer, where there is no PyTorch."""

    def __init__(self, side: int) -> None:
        random = np.random.default_rng(0)
        sizes = ((side * side, 128), (128, 10))
        self.weights = [random.normal(0, (2 / size[0]) ** 0.5, size).astype(np.float32) for size in sizes]

    def learn(self, images: np.ndarray, labels: np.ndarray) -> float:
        flat = images.reshape(len(images), -1)
        hidden = np.maximum(flat @ self.weights[0], 0)
        scores = hidden @ self.weights[1]
        odds = np.exp(scores - scores.max(1, keepdims=True))
        odds /= odds.sum(1, keepdims=True)
        wrong = (odds - np.eye(10, dtype=np.float32)[labels]) / len(labels)
        slopes = (flat.T @ (wrong @ self.weights[1].T * (hidden > 0)), hidden.T @ wrong)
        self.weights = [weight - 0.1 * slope for weight, slope in zip(self.weights, slopes, strict=True)]
        return float(-np.log(odds[np.arange(len(labels)), labels] + 1e-9).mean())

    def guess(self, images: np.ndarray) -> np.ndarray:
        hidden = np.maximum(images.reshape(len(images), -1) @ self.weights[0], 0)
        return (hidden @ self.weights[1]).argmax(1)

    def get_state(self) -> list[Any]:
        return self.weights

    def set_state(self, state: list[Any]) -> None:
        self.weights = state
