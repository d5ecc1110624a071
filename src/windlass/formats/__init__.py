"""Other ways to put many small files into a few large ones, each read and written.

What is recognised by looking is asked in this order: whoever has a mark of its own before plain archives.
"""

from windlass.formats.form import Format
from windlass.formats.hdf5 import HDF5
from windlass.formats.lmdb_file import LMDB
from windlass.formats.mds import MDS
from windlass.formats.shards import SHARDS
from windlass.formats.squashfs import SQUASHFS
from windlass.formats.tfrecord import TFRECORD
from windlass.formats.webdataset import WEBDATASET
from windlass.formats.zip_archive import ZIP

FORMATS: dict[str, Format] = {one.name: one for one in (SHARDS, MDS, LMDB, HDF5, SQUASHFS, ZIP, TFRECORD, WEBDATASET)}
