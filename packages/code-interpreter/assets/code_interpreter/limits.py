"""What one sandbox's server takes and gives at most."""

PORT = 49999
# Bytes of the body of a request.
REQUEST_BYTES = 32 * 1024 * 1024
# Characters of output in one line of the answer.
TEXT_CHARACTERS = 64 * 1024
# Bytes of one line with a result. Images and tables are the large ones.
RESULT_BYTES = 24 * 1024 * 1024
# Contexts at once. Each is a process with 30 to 70 MB of memory, so most sandboxes run out of memory before.
CONTEXTS = 64
# Seconds from the interrupt of a cell until its kernel is killed and started again.
INTERRUPT_SECONDS = 5.0
# Seconds that a kernel has to come up.
START_SECONDS = 60.0
