"""Fine-tune a language model to tell good reviews from bad ones. Its weights lie in a folder: no internet is needed."""

import argparse
import csv
from pathlib import Path

import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from windlass_job import run


class Windlass(TrainerCallback):
    """Tells how far the training is, and saves and ends it in time."""

    def on_step_end(self, args, state, control, **more):
        run.progress(state.global_step, state.max_steps, unit="steps")
        if run.should_stop():
            control.should_save = control.should_training_stop = True

    def on_log(self, args, state, control, logs, **more):
        run.log(state.global_step, **logs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=5e-3, help="for a tiny model; a large one wants 2e-5")
    options = parser.parse_args()

    set_seed(0)
    tokenizer = AutoTokenizer.from_pretrained("weights")
    model = AutoModelForSequenceClassification.from_pretrained("weights")
    with open("reviews.csv", newline="") as file:
        data = [{**tokenizer(text), "labels": int(label)} for label, text in csv.reader(file)]
    saves = Path("checkpoints")
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=saves,
            num_train_epochs=options.epochs,
            per_device_train_batch_size=8,
            learning_rate=options.lr,
            save_strategy="epoch",
            save_total_limit=2,
            logging_strategy="epoch",
            dataloader_pin_memory=torch.cuda.is_available(),
            disable_tqdm=True,
            report_to="none",
        ),
        train_dataset=data,
        data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=[Windlass()],
    )
    trainer.train(resume_from_checkpoint=get_last_checkpoint(saves) if saves.exists() else None)
    if trainer.state.global_step < trainer.state.max_steps:
        return
    answers = torch.tensor(trainer.predict(data).predictions).argmax(1)
    right = sum(int(answer) == one["labels"] for answer, one in zip(answers, data))
    print(f"{right} of {len(data)} reviews judged right")
    trainer.save_model("results")


if __name__ == "__main__":
    main()
