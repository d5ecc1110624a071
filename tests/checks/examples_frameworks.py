"""C526 and C527: what the code tells TensorFlow and Spark."""

from dataclasses import replace

from tests.builders import PLAN
from tests.checks.cases import Example
from tests.checks.code_cases import code_case

TWO_WORKERS = replace(PLAN, nodes=2, launcher="tensorflow")
SPARK = replace(PLAN, nodes=3, launcher="spark")
RESOLVER = "import tensorflow as tf\ntf.distribute.cluster_resolver.SlurmClusterResolver()"
SESSION = "from pyspark.sql import SparkSession\nSparkSession.builder.master({}).getOrCreate()"

EXAMPLES = {
    "C526": Example(
        trips=code_case(RESOLVER, plan=TWO_WORKERS),
        passes=code_case(RESOLVER, plan=replace(PLAN, nodes=1)),
        says="SlurmClusterResolver sorts hosts as text and takes port 8888 for every job",
        also_passes=(
            code_case("import tensorflow as tf", "tf.distribute.MultiWorkerMirroredStrategy()", plan=TWO_WORKERS),
        ),
    ),
    "C527": Example(
        trips=code_case(SESSION.format("'local[4]'"), plan=SPARK),
        passes=code_case(SESSION.format("'local[4]'"), plan=replace(PLAN, launcher="single")),
        says="the code says master('local[4]'): Spark then uses one node only",
        also_trips=(
            code_case("from pyspark import SparkConf", "SparkConf().setMaster('local')", plan=SPARK),
            code_case(SESSION.format("where").replace("SparkSession.b", "where = 'local'\nSparkSession.b"), plan=SPARK),
        ),
        also_passes=(code_case(SESSION.format("os.environ['MASTER']"), plan=SPARK),),
    ),
}
