"""Notebooks, TensorBoard, shells and tunnels, as a user meets them."""
