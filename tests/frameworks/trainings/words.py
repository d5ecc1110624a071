"""Spark counts the words of a text, on every worker some of them."""

import socket
import sys

from pyspark.sql import SparkSession

TEXT = ["the ship sails", "the sea sails the ship"] * 300


def main():
    spark = SparkSession.builder.appName("words").getOrCreate()
    lines = spark.sparkContext.parallelize(TEXT, 12)
    counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda one, other: one + other)
    for word, count in sorted(counts.collect()):
        print(f"word {word} {count}", flush=True)
    for host in sorted(set(lines.map(lambda line: socket.gethostname()).collect())):
        print(f"counted on {host}", flush=True)
    spark.stop()
    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)


if __name__ == "__main__":
    main()
