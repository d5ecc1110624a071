"""Count the words of a text with Spark, on a cluster of Spark's own that lives as long as the job."""

import csv
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main():
    text = Path(sys.argv[1]).resolve().as_uri()  # on a file system that all nodes share
    spark = SparkSession.builder.appName("wordcount").getOrCreate()
    print(f"{spark.sparkContext.defaultParallelism} cores at {spark.sparkContext.master}", flush=True)

    lines = spark.read.text(text).repartition(spark.sparkContext.defaultParallelism)
    words = lines.select(f.explode(f.split(f.lower("value"), r"[^\w'-]+")).alias("word")).where("word != ''")
    counts = words.groupBy("word").count().orderBy(f.desc("count"), "word").collect()
    spark.stop()

    for word, count in counts[:5]:
        print(f"{count:4} {word}")
    Path("results").mkdir(exist_ok=True)
    with open("results/counts.csv", "w", newline="") as file:
        csv.writer(file).writerows([("word", "count"), *counts])


if __name__ == "__main__":
    main()
