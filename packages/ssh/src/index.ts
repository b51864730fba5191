// An SSH server whose machine is a sandbox.
export { NotAllowedError } from './connection/serve-connection.js';
export { defaultUser, type ServeOptions, serveSandbox } from './serve-sandbox.js';
export { generateHostKey, type HostKey, knownHostsLine, parseHostKey } from './transport/host-key.js';
export { ProtocolError } from './wire/protocol-error.js';
