"""The digits with TensorFlow on several nodes: MultiWorkerMirroredStrategy and a loop of our own.

The workers share one batch of 64, so the training is the same however many they are.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import tensorflow as tf

from windlass_job import run

GLOBAL_BATCH = 64


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()

    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before anything else of TensorFlow's
    is_chief = strategy.cluster_resolver.task_id in (0, None)
    print(f"rank {strategy.cluster_resolver.task_id or 0} of {strategy.num_replicas_in_sync}", flush=True)
    images, labels = load_digits()
    tf.keras.utils.set_random_seed(0)
    with strategy.scope():
        model = make_model()
        optimizer = tf.keras.optimizers.SGD(learning_rate=0.2)
    saves = run.checkpoint("checkpoints", keep=2)
    first = load(saves.latest(), model)

    @tf.function
    def learn(images, labels):
        def learn_on_one(images, labels):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(find_losses(model, images, labels)) / GLOBAL_BATCH
            slopes = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(slopes, model.trainable_variables))  # of all workers together
            return loss

        return strategy.reduce("sum", strategy.run(learn_on_one, args=(images, labels)), axis=None)

    @tf.function
    def add_up(number):
        return strategy.reduce("sum", strategy.run(lambda: number), axis=None)

    for epoch in range(first, options.epochs):
        for batch in share_out(strategy, images, labels, epoch):
            loss = learn(*batch)
        if is_chief:
            with saves.save(epoch + 1) as folder:
                np.savez(folder / "state.npz", *model.get_weights(), epoch=epoch + 1)
            run.log(epoch + 1, loss=float(loss))
            run.progress(epoch + 1, options.epochs)
        # The same answer for all: a worker that left alone would leave the others waiting.
        if add_up(tf.constant(float(run.should_stop()))) > 0:
            return
    if is_chief:
        print(f"loss {np.mean(find_losses(model, images, labels)):.6f}", flush=True)


def make_model():
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPool2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPool2D(),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )


def share_out(strategy, images, labels, epoch):
    """Whole batches; of each, every worker gets its part."""
    order = np.random.default_rng(epoch).permutation(len(images))[: len(images) // GLOBAL_BATCH * GLOBAL_BATCH]

    def make(context):
        data = tf.data.Dataset.from_tensor_slices((images[order], labels[order]))
        mine = data.shard(context.num_input_pipelines, context.input_pipeline_id)
        return mine.batch(context.get_per_replica_batch_size(GLOBAL_BATCH))

    return strategy.distribute_datasets_from_function(make)


def find_losses(model, images, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))


def load(folder, model):
    """The epochs that are done."""
    if folder is None:
        return 0
    state = np.load(folder / "state.npz")
    model.set_weights([state[f"arr_{number}"] for number in range(len(model.weights))])
    return int(state["epoch"])


def load_digits():
    """The 1,797 digits that lie in scikit-learn, without its import, which takes two seconds."""
    file = Path(find_spec("sklearn").origin).parent / "datasets" / "data" / "digits.csv.gz"
    table = np.loadtxt(file, np.float32, delimiter=",")
    return table[:, :-1].reshape(-1, 8, 8, 1) / 16, table[:, -1].astype(np.int64)


if __name__ == "__main__":
    main()
