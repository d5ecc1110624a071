"""A training that writes TensorBoard's event files by itself: with the standard library alone, as nodes have it."""

# events.out.tfevents.*: records of a length, its checksum, the bytes, their checksum; the bytes are a protobuf Event.
WRITER = """
import pathlib, struct, sys, time

def crc32c(data):
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = (found >> 1) ^ (0x82F63B78 if found & 1 else 0)
    return found ^ 0xFFFFFFFF

def mask(data):
    found = crc32c(data)
    return struct.pack("<I", ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF)

def frame(event):
    size = struct.pack("<Q", len(event))
    return size + mask(size) + event + mask(event)

def number(value):
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])

def piece(tag, content):
    return number(tag << 3 | 2) + number(len(content)) + content

def head():
    return frame(struct.pack("<Bd", 9, time.time()) + piece(3, b"brain.Event:2"))

def scalar(name, step, value):
    told = piece(1, name.encode()) + struct.pack("<Bf", 0x15, value)
    return frame(struct.pack("<Bd", 9, time.time()) + b"\\x10" + number(step) + piece(5, piece(1, told)))

class Writer:
    def __init__(self, folder):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        self.path = pathlib.Path(folder) / "events.out.tfevents.{:.0f}.node".format(time.time())
        self.path.write_bytes(head())

    def add(self, name, step, value):
        with open(self.path, "ab") as file:
            file.write(scalar(name, step, value))
"""
# One value, another when somebody says `go`, and the end when somebody says `end`.
TRAIN = (
    WRITER
    + """
def wait_for(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.05)

writer = Writer("runs/first")
writer.add("loss", 1, 0.5)
print("first", flush=True)
wait_for("go")
writer.add("loss", 2, 0.25)
print("second", flush=True)
wait_for("end")
"""
)
