export { Code, ConnectError, type Transport } from '@connectrpc/connect';
export type { FetchLike } from '@svc/platform/openapi-client';
export { createDaemonClient, type DaemonClient, type DaemonClientOptions } from './daemon-client.js';
export { type DaemonFeatures, parseDaemonFeatures } from './features.js';
export { type FileSignatureOptions, signFilePath } from './file-signature.js';
export type { components, operations, paths } from './gen/daemon.js';
export { daemonOperations } from './gen/daemon-operations.js';
// The schemas' friendly names are a generated table of contents of their own: a new schema needs no edit here.
export type * from './gen/daemon-schemas.js';
export type { EntryInfo, FilesystemEvent, WatchDirResponse } from './gen/filesystem/filesystem_pb.js';
export { EventType, Filesystem, FileType } from './gen/filesystem/filesystem_pb.js';
export type {
  ConnectResponse,
  ProcessConfig,
  ProcessEvent,
  ProcessInfo,
  ProcessInput,
  ProcessSelector,
  StartRequest,
  StartResponse,
  StreamInputRequest,
} from './gen/process/process_pb.js';
export { Process, Signal } from './gen/process/process_pb.js';
export { basicAuthorization, type DaemonAddress, daemonHeaders, defaultDaemonPort } from './headers.js';
export { createDefaultTransport } from './transport/default-transport.js';
export { createFetchTransport } from './transport/fetch-transport.js';
export type { DefaultTransportOptions, FetchFunction, FetchTransportOptions } from './transport/options.js';
export { withHeaders } from './transport/with-headers.js';
