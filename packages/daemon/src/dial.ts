export { askDaemon, type DaemonLimits, type DaemonReply } from './dial/ask-daemon.js';
export { createDialTransport } from './dial/dial-transport.js';
export { EnvelopeTracker, isConnectStream, unavailableFrame } from './dial/envelopes.js';
export { type DaemonDial, DaemonProtocolError, type DaemonRequest, exchange } from './dial/exchange.js';
export type { DialTransportOptions } from './dial/options.js';
