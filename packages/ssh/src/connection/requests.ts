import type { FieldReader } from '../wire/read.js';

/** A request of a client about a session (RFC 4254, 6). */
export type SessionRequest =
  | { type: 'exec'; command: string }
  | { type: 'shell' }
  | { type: 'subsystem'; name: string }
  | { type: 'env'; name: string; value: string }
  | { type: 'pty-req'; term: string; cols: number; rows: number }
  | { type: 'window-change'; cols: number; rows: number }
  | { type: 'signal'; name: string }
  | { type: 'other'; name: string };

/** Reads the fields of a request of a session. @throws {ProtocolError} Pure. */
export function readSessionRequest(type: string, reader: FieldReader): SessionRequest {
  switch (type) {
    case 'exec':
      return { type, command: reader.text() };
    case 'shell':
      return { type };
    case 'subsystem':
      return { type, name: reader.text() };
    case 'env':
      return { type, name: reader.text(), value: reader.text() };
    case 'pty-req':
      return { type, term: reader.text(), cols: reader.uint32(), rows: reader.uint32() };
    case 'window-change':
      return { type, cols: reader.uint32(), rows: reader.uint32() };
    case 'signal':
      return { type, name: reader.text() };
    default:
      return { type: 'other', name: type };
  }
}

/** A stream to something that listens, which a client asks for: `-L`, `-D`, `-W`. */
export type ForwardTarget = { host: string; port: number } | { socketPath: string };

/** The purpose of a channel that a client opens. */
export type ChannelPurpose =
  | { kind: 'session' }
  | { kind: 'forward'; to: ForwardTarget }
  | { kind: 'unknown' };

/** @throws {ProtocolError} Pure. */
export function readChannelPurpose(type: string, reader: FieldReader): ChannelPurpose {
  if (type === 'session') return { kind: 'session' };
  if (type === 'direct-tcpip') return { kind: 'forward', to: { host: reader.text(), port: reader.uint32() } };
  if (type === 'direct-streamlocal@openssh.com')
    return { kind: 'forward', to: { socketPath: reader.text() } };
  return { kind: 'unknown' };
}
