import type { IncomingMessage } from 'node:http';
import { isConnectStream } from '@svc/daemon/dial';
import type { AddressedRequest } from './contract.js';
import { resolveTarget } from './host.js';
import { readRequestLine } from './request-line.js';
import type { GatewaySettings } from './settings.js';

/** Reads which sandbox and port a request means: the only place that does. */
export function readRequest(req: IncomingMessage, settings: GatewaySettings): AddressedRequest {
  const line = readRequestLine(req);
  if (typeof line === 'string') return { kind: 'refused', reason: line };
  const target = resolveTarget(line.host, req.headers, settings.target);
  if (target.kind === 'refused') return target;
  const { sandboxId, port } = target;
  const toDaemon = port === settings.daemonPort;
  const daemonStream =
    !toDaemon || !isConnectStream(req.headers['content-type'])
      ? undefined
      : line.url.endsWith('/StreamInput')
        ? 'input'
        : 'output';
  return { kind: 'target', sandboxId, port, ...line, toDaemon, daemonStream };
}
