import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** Writes down every packet of all interfaces of a network namespace, as bytes one after another. */
const PROGRAM = `
import socket, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
packets.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
sys.stdout.write('ready\\n')
sys.stdout.flush()
with open(sys.argv[1], 'wb', 0) as file:
    while True:
        data, where = packets.recvfrom(1 << 18)
        file.write(where[0].encode() + b' ' + data)
`;

export interface PacketCapture {
  /** The packets so far: before each one the name of its interface and a space. */
  packets(): Promise<Buffer>;
  stop(): Promise<void>;
}

/** Captures what passes in the network namespace of a process, into a file. Needs root and Python. */
export async function capturePackets(pid: number, file: string): Promise<PacketCapture> {
  const child = spawn('nsenter', [`--net=/proc/${pid}/ns/net`, 'python3', '-c', PROGRAM, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const ready = createInterface({ input: child.stdout });
  const [first] = (await Promise.race([once(ready, 'line'), ended])) as [unknown];
  if (first !== 'ready') throw new Error('Packets cannot be captured here: it takes root and Python.');
  return {
    packets: () => readFile(file),
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
