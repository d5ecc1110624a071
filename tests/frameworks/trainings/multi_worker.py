"""TensorFlow's MultiWorkerMirroredStrategy, in a loop of its own: no Keras, whose versions differ in what they bear."""

import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import tensorflow as tf

GLOBAL_BATCH = 64
STEPS = 12
LEARNING_RATE = 0.1
SHAPES = ((64, 32), (32,), (32, 10), (10,))


def main():
    ring = tf.distribute.experimental.CommunicationImplementation.RING
    options = tf.distribute.experimental.CommunicationOptions(implementation=ring)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    rank = strategy.cluster_resolver.task_id or 0
    # In one piece, with its end: ranks of a node share a log.
    sys.stdout.write(f"rank {rank} of {strategy.num_replicas_in_sync} on {socket.gethostname()}\n")
    sys.stdout.flush()
    images, labels = load_digits()
    with strategy.scope():
        weights = [tf.Variable(tf.random.stateless_normal(shape, seed=(1, 2)) * 0.1) for shape in SHAPES]

    @tf.function
    def step(images, labels):
        strategy.run(learn, args=(weights, images, labels))

    for batch in np.split(np.arange(GLOBAL_BATCH * STEPS), STEPS):
        mine = batch[rank :: strategy.num_replicas_in_sync]
        step(tf.constant(images[mine]), tf.constant(labels[mine]))
    if rank == 0:
        print(f"loss {compute_loss(weights, images, labels).numpy() / len(labels):.9f}", flush=True)


def load_digits():
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = np.loadtxt(file, np.float32, delimiter=",", max_rows=GLOBAL_BATCH * STEPS)
    return table[:, :-1] / 16, table[:, -1].astype(np.int64)


def learn(weights, images, labels):
    with tf.GradientTape() as tape:
        loss = compute_loss(weights, images, labels) / GLOBAL_BATCH
    replica = tf.distribute.get_replica_context()
    gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, tape.gradient(loss, weights))
    # Of each replica's own copy: all have the same gradient.
    for weight, gradient in zip(weights, gradients, strict=True):
        replica.merge_call(subtract, args=(weight, LEARNING_RATE * gradient))


def subtract(strategy, weight, change):
    strategy.extended.update(weight, lambda one, by: one.assign_sub(by), args=(change,))


def compute_loss(weights, images, labels):
    inner, inner_bias, outer, outer_bias = weights
    logits = tf.tanh(images @ inner + inner_bias) @ outer + outer_bias
    return tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


if __name__ == "__main__":
    main()
