"""Fetch a model where there is internet: on your laptop or a login node. Compute nodes then need none."""

import argparse
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, PreTrainedTokenizerFast

FOLDER = Path("weights")
SPECIAL = {"unk_token": "[UNK]", "pad_token": "[PAD]"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="prajjwal1/bert-tiny", help="its name at huggingface.co")
    parser.add_argument("--tiny", action="store_true", help="without internet: a small model that has learnt nothing")
    options = parser.parse_args()

    if options.tiny:
        tokenizer, model = make_tiny()
    else:
        tokenizer = AutoTokenizer.from_pretrained(options.model)
        model = AutoModelForSequenceClassification.from_pretrained(options.model, num_labels=2)
    tokenizer.save_pretrained(FOLDER)
    model.save_pretrained(FOLDER)
    print(f"{sum(one.numel() for one in model.parameters())} parameters in {FOLDER}/")


def make_tiny():
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    words.train(["reviews.csv"], trainers.WordLevelTrainer(special_tokens=list(SPECIAL.values())))
    config = BertConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=2,
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL)
    return tokenizer, AutoModelForSequenceClassification.from_config(config)


if __name__ == "__main__":
    main()
