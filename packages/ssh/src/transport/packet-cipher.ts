import { createCipheriv, createDecipheriv, createHmac, randomFillSync, timingSafeEqual } from 'node:crypto';
import { ProtocolError } from '../wire/protocol-error.js';
import { type CipherName, ciphers, isAuthenticated } from './algorithms.js';

/** Longest packet that is taken, bytes: what a data message of our channels needs, and room. */
export const maxPacketBytes = 256 * 1024;

/** One direction of a connection: how packets (RFC 4253, 6) are encrypted. Sequence numbers are the caller's. */
export interface PacketCipher {
  /** The whole packet of a payload. */
  seal(payload: Buffer, sequence: number): Buffer;
  /** Bytes of a whole packet, of which at least four are there. @throws {ProtocolError} */
  lengthOf(start: Buffer): number;
  /** The payload of a whole packet. @throws {ProtocolError} when it was changed on the way */
  open(packet: Buffer, sequence: number): Buffer;
}

/** Keys of one direction, as they come of a key exchange. */
export interface DirectionKeys {
  iv: (bytes: number) => Buffer;
  key: (bytes: number) => Buffer;
  mac: (bytes: number) => Buffer;
}

/** Before the first key exchange. */
export const plain: PacketCipher = {
  seal(payload) {
    // At least 16 bytes in all, a multiple of 8.
    return frame(payload, 8, 4);
  },
  lengthOf: (start) => checkLength(start.readUInt32BE(0), 8, 4) + 4,
  open: (packet) => payloadOf(packet.subarray(4)),
};

export function createPacketCipher(name: CipherName, keys: DirectionKeys): PacketCipher {
  return isAuthenticated(name) ? authenticated(name, keys) : counted(name, keys);
}

const tagBytes = 16;

/** AES-GCM (RFC 5647): the length is authenticated and not encrypted, the nonce counts packets. */
function authenticated(name: CipherName, keys: DirectionKeys): PacketCipher {
  const { node, keyBytes, ivBytes } = ciphers[name];
  const algorithm = node as 'aes-128-gcm';
  const key = keys.key(keyBytes);
  const nonce = Buffer.from(keys.iv(ivBytes));
  const countUp = () => nonce.writeBigUInt64BE(BigInt.asUintN(64, nonce.readBigUInt64BE(4) + 1n), 4);
  return {
    seal(payload) {
      const packet = frame(payload, 16, 0);
      const cipher = createCipheriv(algorithm, key, nonce);
      cipher.setAAD(packet.subarray(0, 4));
      const body = cipher.update(packet.subarray(4));
      cipher.final();
      countUp();
      return Buffer.concat([packet.subarray(0, 4), body, cipher.getAuthTag()]);
    },
    lengthOf: (start) => checkLength(start.readUInt32BE(0), 16, 0) + 4 + tagBytes,
    open(packet) {
      const end = packet.length - tagBytes;
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(packet.subarray(0, 4));
      decipher.setAuthTag(packet.subarray(end));
      const body = decipher.update(packet.subarray(4, end));
      try {
        decipher.final();
      } catch {
        throw new ProtocolError('a packet was changed on its way');
      }
      countUp();
      return payloadOf(body);
    },
  };
}

const macBytes = 32;

/** AES-CTR, and a MAC over the sequence number, the length and the encrypted bytes. */
function counted(name: CipherName, keys: DirectionKeys): PacketCipher {
  const { node, keyBytes, ivBytes } = ciphers[name];
  const key = keys.key(keyBytes);
  const iv = keys.iv(ivBytes);
  const macKey = keys.mac(macBytes);
  // Each of them counts by itself; a direction uses one.
  const cipher = createCipheriv(node, key, iv);
  const decipher = createDecipheriv(node, key, iv);
  const macOf = (bytes: Buffer, sequence: number) => {
    const counter = Buffer.allocUnsafe(4);
    counter.writeUInt32BE(sequence, 0);
    return createHmac('sha256', macKey).update(counter).update(bytes).digest();
  };
  return {
    seal(payload, sequence) {
      const packet = frame(payload, 16, 0);
      const sealed = Buffer.concat([packet.subarray(0, 4), cipher.update(packet.subarray(4))]);
      return Buffer.concat([sealed, macOf(sealed, sequence)]);
    },
    lengthOf: (start) => checkLength(start.readUInt32BE(0), 16, 0) + 4 + macBytes,
    open(packet, sequence) {
      const end = packet.length - macBytes;
      const sealed = packet.subarray(0, end);
      if (!timingSafeEqual(macOf(sealed, sequence), packet.subarray(end)))
        throw new ProtocolError('a packet was changed on its way');
      return payloadOf(decipher.update(sealed.subarray(4)));
    },
  };
}

/** Length, length of the padding, payload, padding. @param counted bytes of the length that belong to the blocks */
function frame(payload: Buffer, blockBytes: number, counted: number): Buffer {
  const bare = counted + 1 + payload.length;
  let padding = blockBytes - (bare % blockBytes);
  if (padding < 4) padding += blockBytes;
  const packet = Buffer.allocUnsafe(5 + payload.length + padding);
  packet.writeUInt32BE(1 + payload.length + padding, 0);
  packet[4] = padding;
  payload.copy(packet, 5);
  randomFillSync(packet, 5 + payload.length);
  return packet;
}

function checkLength(length: number, blockBytes: number, counted: number): number {
  if (length < 5 || length > maxPacketBytes || (length + counted) % blockBytes !== 0)
    throw new ProtocolError('a packet has an impossible length');
  return length;
}

function payloadOf(body: Buffer): Buffer {
  const padding = body[0]!;
  if (padding < 4 || padding + 2 > body.length) throw new ProtocolError('a packet has impossible padding');
  return body.subarray(1, body.length - padding);
}
