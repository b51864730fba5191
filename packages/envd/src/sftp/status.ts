import { errnoName } from '../filesystem/rpc-errors.js';
import { packet, string, uint32 } from './packet.js';

export const STATUS = {
  ok: 0,
  eof: 1,
  noSuchFile: 2,
  permissionDenied: 3,
  failure: 4,
  unsupported: 8,
} as const;

/** Answers that something was done, or why not. */
export function statusPacket(id: number, status: keyof typeof STATUS, text = ''): Buffer {
  return packet(101, uint32(id), uint32(STATUS[status]), string(text), string(''));
}

/** What a failure is to the client. Pure. */
export function statusOf(error: unknown): keyof typeof STATUS {
  const name = errnoName(error);
  if (name === 'ENOENT' || name === 'ENOTDIR' || name === 'ELOOP') return 'noSuchFile';
  if (name === 'EACCES' || name === 'EPERM' || name === 'EROFS') return 'permissionDenied';
  return 'failure';
}
