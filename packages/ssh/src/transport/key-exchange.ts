import { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';
import { message } from '../wire/message.js';
import { ProtocolError } from '../wire/protocol-error.js';
import { FieldReader } from '../wire/read.js';
import { byte, positiveInteger, string } from '../wire/write.js';
import type { HostKey } from './host-key.js';
import type { DirectionKeys } from './packet-cipher.js';

/** The first messages of both sides, as the exchange hash wants them. */
export interface Greetings {
  clientVersion: string;
  serverVersion: string;
  clientOffer: Buffer;
  serverOffer: Buffer;
}

/** Outcome of a key exchange. */
export interface ExchangedKeys {
  /** SSH_MSG_KEX_ECDH_REPLY, to be sent. */
  reply: Buffer;
  hash: Buffer;
  keysFor(sessionId: Buffer): { incoming: DirectionKeys; outgoing: DirectionKeys };
}

/** Answers the client's share of a curve25519 key exchange (RFC 8731). @throws {ProtocolError} for a bad share */
export function exchangeKeys(init: Buffer, greetings: Greetings, hostKey: HostKey): ExchangedKeys {
  const reader = new FieldReader(init);
  reader.byte();
  const clientShare = reader.string();
  const pair = generateKeyPairSync('x25519');
  const serverShare = Buffer.from(pair.publicKey.export({ format: 'jwk' }).x!, 'base64url');
  const secret = positiveInteger(sharedSecret(pair.privateKey, clientShare));
  const hash = createHash('sha256')
    .update(string(greetings.clientVersion))
    .update(string(greetings.serverVersion))
    .update(string(greetings.clientOffer))
    .update(string(greetings.serverOffer))
    .update(string(hostKey.publicBlob))
    .update(string(clientShare))
    .update(string(serverShare))
    .update(secret)
    .digest();
  return {
    reply: Buffer.concat([
      byte(message.ecdhReply),
      string(hostKey.publicBlob),
      string(serverShare),
      string(hostKey.sign(hash)),
    ]),
    hash,
    keysFor(sessionId) {
      const derive = (letter: string) => (bytes: number) => deriveKey(secret, hash, letter, sessionId, bytes);
      return {
        incoming: { iv: derive('A'), key: derive('C'), mac: derive('E') },
        outgoing: { iv: derive('B'), key: derive('D'), mac: derive('F') },
      };
    },
  };
}

function sharedSecret(
  privateKey: ReturnType<typeof generateKeyPairSync>['privateKey'],
  share: Buffer,
): Buffer {
  if (share.length !== 32) throw new ProtocolError('the key share has a wrong length');
  try {
    const jwk = { kty: 'OKP', crv: 'X25519', x: share.toString('base64url') };
    return diffieHellman({
      privateKey: privateKey as never,
      publicKey: createPublicKey({ key: jwk, format: 'jwk' }),
    });
  } catch {
    throw new ProtocolError('the key share is no point of the curve');
  }
}

/** RFC 4253, 7.2. */
function deriveKey(secret: Buffer, hash: Buffer, letter: string, sessionId: Buffer, bytes: number): Buffer {
  const digest = (...parts: (Buffer | string)[]) => {
    const made = createHash('sha256').update(secret).update(hash);
    for (const part of parts) made.update(part);
    return made.digest();
  };
  let key = digest(letter, sessionId);
  while (key.length < bytes) key = Buffer.concat([key, digest(key)]);
  return key.subarray(0, bytes);
}
