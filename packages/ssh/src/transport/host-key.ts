import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { string } from '../wire/write.js';
import { hostKeyAlgorithm } from './algorithms.js';

/** By what a server shows that it is the one it was before. */
export interface HostKey {
  /** The public key as the protocol has it. */
  readonly publicBlob: Buffer;
  /** The signature of data as the protocol has it. */
  sign(data: Buffer): Buffer;
}

/** Makes a private key, as PEM. */
export function generateHostKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
}

/** @throws Error when the text is no private Ed25519 key */
export function parseHostKey(pem: string): HostKey {
  const key: KeyObject = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('it is no Ed25519 key');
  const point = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x!, 'base64url');
  return {
    publicBlob: Buffer.concat([string(hostKeyAlgorithm), string(point)]),
    sign: (data) => Buffer.concat([string(hostKeyAlgorithm), string(sign(null, data, key))]),
  };
}

/** The line of a known-hosts file. */
export function knownHostsLine(alias: string, key: HostKey): string {
  return `${alias} ${hostKeyAlgorithm} ${key.publicBlob.toString('base64')}\n`;
}
