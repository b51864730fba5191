import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { createOperations, type SftpUser } from './operations.js';
import { BadMessageError, FieldReader, packet, string, uint32 } from './packet.js';
import { statusOf, statusPacket } from './status.js';

/** Longest message, bytes: those of OpenSSH are 256 KiB at most. */
export const MAX_MESSAGE = 256 * 1024 + 1024;

const INIT = 1;
const VERSION = 2;

/** Extensions that the client may use, and their versions. */
const EXTENSIONS = {
  'posix-rename@openssh.com': '1',
  'hardlink@openssh.com': '1',
  'fsync@openssh.com': '1',
  'lsetstat@openssh.com': '1',
  'statvfs@openssh.com': '2',
  'limits@openssh.com': '1',
  'expand-path@openssh.com': '1',
};

/**
 * Serves SFTP version 3 to its end. Requests are answered one after another, so that a client that does not read is not read
 * from either.
 */
export async function serveSftp(stream: Duplex, user: SftpUser): Promise<void> {
  const operations = createOperations(user);
  try {
    for await (const message of messagesOf(stream)) {
      const reader = new FieldReader(message);
      const type = reader.byte();
      if (type === INIT) await send(stream, versionPacket());
      else {
        const id = reader.uint32();
        await send(stream, await answer(operations, type, id, reader));
      }
    }
    stream.end();
  } catch {
    // The client broke the protocol, or left.
    stream.destroy();
  } finally {
    await operations.close();
  }
}

async function answer(
  operations: ReturnType<typeof createOperations>,
  type: number,
  id: number,
  reader: FieldReader,
): Promise<Buffer> {
  try {
    return await operations.run(type, id, reader);
  } catch (error) {
    if (error instanceof BadMessageError) throw error;
    return statusPacket(id, statusOf(error), (error as Error).message);
  }
}

function versionPacket(): Buffer {
  const extensions = Object.entries(EXTENSIONS).flatMap(([name, version]) => [string(name), string(version)]);
  return packet(VERSION, uint32(3), ...extensions);
}

async function send(stream: Duplex, bytes: Buffer): Promise<void> {
  if (stream.destroyed) throw new Error('the client has left');
  if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]);
}

/** Cuts what arrives into messages. @throws {BadMessageError} for one that is too long or empty */
async function* messagesOf(stream: Duplex): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let length = 0;
  // The answers still have to go out when the client has said its last word.
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    for (let wanted = 4; length >= wanted; ) {
      if (chunks[0]!.length < wanted) chunks = [Buffer.concat(chunks, length)];
      const first = chunks[0]!;
      const size = first.readUInt32BE(0);
      if (size === 0 || size > MAX_MESSAGE) throw new BadMessageError('a message has an impossible length');
      wanted = 4 + size;
      if (length < wanted) break;
      if (first.length < wanted) continue;
      yield first.subarray(4, wanted);
      chunks[0] = first.subarray(wanted);
      length -= wanted;
      if (chunks[0].length === 0) chunks.shift();
      wanted = 4;
    }
  }
}
