import type { MessageInitShape } from '@bufbuild/protobuf';
import type { EgressPolicy, EgressProxy, Placeholder } from '@svc/network-policy';
import type {
  Placeholder as PlaceholderMessage,
  Policy,
  PolicySchema,
  Report,
  ReportSchema,
  Sandbox,
  SandboxSchema,
} from '../gen/egress/egress_pb.js';
import type { EgressReport, EgressSandbox } from './types.js';

export function sandboxToWire(sandbox: EgressSandbox): MessageInitShape<typeof SandboxSchema> {
  const { id, address, execution = '', policy } = sandbox;
  return { id, address, execution, ...(policy === undefined ? {} : { policy: policyToWire(policy) }) };
}

export function sandboxFromWire({ id, address, execution, policy }: Sandbox): EgressSandbox {
  return {
    id,
    address,
    ...(execution === '' ? {} : { execution }),
    ...(policy === undefined ? {} : { policy: policyFromWire(policy) }),
  };
}

function policyToWire(policy: EgressPolicy): MessageInitShape<typeof PolicySchema> {
  const { allowOut, denyOut, rules, proxy } = policy;
  return {
    allowOut: [...allowOut],
    denyOut: [...denyOut],
    rules: Object.fromEntries(
      Object.entries(rules).map(([host, { headers }]) => [host, { headers: { ...headers } }]),
    ),
    ...(proxy === undefined ? {} : { proxy: proxyToWire(proxy) }),
  };
}

function proxyToWire({ tls, ...proxy }: EgressProxy) {
  return tls?.enabled === true
    ? { ...proxy, tls: { ...optional('serverName', tls.serverName), ...optional('caCert', tls.caCert) } }
    : proxy;
}

function policyFromWire({ allowOut, denyOut, rules, proxy }: Policy): EgressPolicy {
  return {
    allowOut,
    denyOut,
    rules: Object.fromEntries(Object.entries(rules).map(([host, { headers }]) => [host, { headers }])),
    ...(proxy === undefined ? {} : { proxy: proxyFromWire(proxy) }),
  };
}

function proxyFromWire({ address, username, password, tls }: NonNullable<Policy['proxy']>): EgressProxy {
  return {
    address,
    ...optional('username', username),
    ...optional('password', password),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            enabled: true,
            ...optional('serverName', tls.serverName),
            ...optional('caCert', tls.caCert),
          },
        }),
  };
}

export function reportToWire(report: EgressReport): MessageInitShape<typeof ReportSchema> {
  const { execution = '', host = '', address = '', at, ...rest } = report;
  return { ...rest, execution, host, address, atMs: at.getTime() };
}

export function reportFromWire(report: Report): EgressReport {
  const { sandboxId, execution, host, address, port, outcome, rule, attempts, bytesSent, bytesReceived } =
    report;
  return {
    sandboxId,
    ...optional('execution', execution || undefined),
    ...optional('host', host || undefined),
    ...optional('address', address || undefined),
    port,
    outcome: outcome === 'allowed' || outcome === 'denied' ? outcome : 'failed',
    rule,
    attempts,
    bytesSent,
    bytesReceived,
    at: new Date(report.atMs),
  };
}

export function placeholderFromWire({ kind, name }: PlaceholderMessage): Placeholder {
  return kind === 'identity' ? { kind, name } : { kind: 'secret', name };
}

/** An optional property: there only when it has a value. */
function optional<K extends string, T>(key: K, value: T | undefined): { [P in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: T });
}
