import { eventually } from '#support/eventually';
import type { DaemonClient } from '../../src/testing/daemon-client.js';

/** A program that counts in its memory and makes one more step when asked. It works in `/tmp/<name>`. */
export interface CountingProgram {
  name: string;
  title: string;
  /** Shell script that becomes the program; it makes `out` once it is ready. */
  start: string;
  /** Shell script that asks for one more step. Default: a line into the fifo `in`. */
  ask?: string;
}

const NODE = 'node';
const PYTHON_LOOP = (setup: string, body: string) => `mkfifo in; exec 3<>in; exec python3 -u -c '
${setup}
f = open(3)
open("out", "w").write("0")
for line in iter(f.readline, ""):
${body}
'`;

export const PROGRAMS: CountingProgram[] = [
  {
    name: 'shell',
    title: 'a bash that counts',
    start: `mkfifo in; exec bash -c 'exec 3<>in; n=0; echo 0 > out; while read line <&3; do echo $((++n)) > out; done'`,
  },
  {
    name: 'http',
    title: 'a Node HTTP server with open connections',
    // It holds both ends of one connection, idle, while it counts what comes over others.
    start: `exec ${NODE} -e '
let n = 0; const net = require("net"), fs = require("fs");
require("http").createServer((q, a) => a.end(String(++n))).listen(8080, "0.0.0.0", () =>
  net.connect(8080, "127.0.0.1", () => fs.writeFileSync("out", "0")).on("error", () => {}))'`,
    ask: `bash -c 'exec 3<>/dev/tcp/127.0.0.1/8080; printf "GET / HTTP/1.0\r\n\r\n" >&3; tail -n 1 <&3 > /tmp/http/out'`,
  },
  {
    name: 'repl',
    title: 'a Python REPL fed over stdin',
    start:
      'mkfifo in; exec 3<>in; (echo "n=0"; echo \'_=open("out","w").write("0")\') >&3; exec python3 -i -q <&3 2>/dev/null',
    ask: 'echo \'n+=1; _=open("out","w").write(str(n))\' > /tmp/repl/in',
  },
  {
    name: 'terminal',
    title: 'a shell in a terminal',
    start: `mkfifo in; exec 3<>in; exec python3 -c '
import pty, os, threading
pid, fd = pty.fork()
if pid == 0: os.execlp("bash", "bash", "--norc", "--noprofile")
threading.Thread(target=lambda: [os.read(fd, 1024) for _ in iter(int, 1)], daemon=True).start()
os.write(fd, b"n=0; tty > term; echo 0 > out\\n")
f = open(3)
for line in iter(f.readline, ""): os.write(fd, b"n=$((n+1)); test -t 0 && echo $n > out\\n")'`,
  },
  {
    name: 'sqlite',
    title: 'an open SQLite transaction',
    start: PYTHON_LOOP(
      'import sqlite3\nd = sqlite3.connect("db", isolation_level=None)\nd.execute("create table t (n)"); d.execute("begin immediate")',
      '  d.execute("insert into t values (1)")\n  open("out", "w").write(str(d.execute("select count(*) from t").fetchone()[0]))',
    ),
  },
  {
    name: 'files',
    title: 'a program with open files',
    // Locked and appended to, and read to its middle: each step moves both on.
    start: PYTHON_LOOP(
      `import fcntl, os
with open("story", "w") as file: file.write("".join("%04d" % n for n in range(1, 1000)))
story = open("story", "rb", buffering=0); log = open("log", "ab", buffering=0); fcntl.flock(log, fcntl.LOCK_EX)
def held():
    try: fcntl.flock(open("log"), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError: return True
    return False`,
      `  log.write(b"x"); n = int(story.read(4))
  open("out", "w").write(str(n) if held() and n == os.path.getsize("log") else "spoilt")`,
    ),
  },
  {
    name: 'deleted',
    title: 'a deleted file that is open',
    start: PYTHON_LOOP(
      'import os\ndeleted = open("deleted", "w+b", buffering=0); os.unlink("deleted")',
      '  deleted.write(b"x")\n  open("out", "w").write(str(os.fstat(deleted.fileno()).st_size))',
    ),
  },
  {
    name: 'watcher',
    title: 'a watcher of a directory',
    start: `mkdir box; exec ${NODE} -e '
let n = 0; const fs = require("fs"); const seen = new Set();
fs.watch("box", (kind, file) => { if (!seen.has(file)) { seen.add(file); fs.writeFileSync("out", String(++n)); } });
fs.writeFileSync("out", "0")'`,
    ask: 'mktemp /tmp/watcher/box/XXXXXX > /dev/null',
  },
  {
    name: 'family',
    title: 'a tree of processes joined by pipes',
    start:
      'mkfifo in; echo 0 > out; exec 3<>in; cat <&3 | sh -c "cat" | (n=0; while read line; do n=$((n+1)); echo $n > out; done)',
  },
];

/** 400 MB that no compression makes small; every step looks at all of it and changes a part. */
export const MEMORY: CountingProgram = {
  name: 'memory',
  title: '400 MB of memory',
  start: PYTHON_LOOP(
    'import os, zlib\nn = 0\nb = bytearray(os.urandom(400 * 10**6)); s = zlib.adler32(b)',
    `  n += 1
  same = zlib.adler32(b) == s
  b[n * 4096 : (n + 1) * 4096] = os.urandom(4096); s = zlib.adler32(b)
  open("out", "w").write(str(n) if same else "spoilt")`,
  ),
};

/** The time for an answer: eight copies of 400 MB read all of theirs on two busy processors. */
const PATIENCE_MS = 120_000;

/** Starts a program and waits until it is ready for its first step. */
export async function startProgram(client: DaemonClient, program: CountingProgram): Promise<void> {
  await client.start(`mkdir -p /tmp/${program.name} && cd /tmp/${program.name} && ${program.start}`);
  await eventually(
    `${program.title} to be ready`,
    async () => (await client.run(`test -s /tmp/${program.name}/out`)).exitCode === 0,
    PATIENCE_MS,
  );
}

/** Asks a program for one more step and gives its count, trimmed. */
export async function step(client: DaemonClient, program: CountingProgram): Promise<string> {
  const read = () => client.output(`cat /tmp/${program.name}/out`);
  const before = await read();
  await client.output(program.ask ?? `echo go > /tmp/${program.name}/in`);
  return eventually(
    `${program.title} to make a step`,
    async () => {
      const now = await read();
      return now !== before && now !== '' ? now : undefined;
    },
    PATIENCE_MS,
  );
}
