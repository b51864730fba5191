import { readFileSync } from 'node:fs';
import type { EgressDestination, EgressOptions, EgressProxy, NetworkRule } from '@svc/sdk';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { UsageError } from '../../errors/cli-error.js';
import { formatBytes } from '../../output/format.js';
import { collectList } from '../../parse/pairs.js';

export function addNetwork(sandbox: Command): void {
  const command = leaf(
    sandbox,
    'network <id>',
    'show the outbound network rules of a sandbox; with options, replace all of them',
  )
    .option('--internet', 'allow the internet')
    .option('--no-internet', 'no connections to the internet');
  addEgressOptions(command).action(
    act(async (cli, id: string, flags: EgressFlags & { internet?: boolean }) => {
      const egress = toEgress(flags);
      const { internet } = flags;
      const changes = internet !== undefined || Object.keys(egress).length > 0;
      const { signal } = cli;
      const handle = await cli.sandbox(id);
      if (changes) await handle.updateNetwork({ ...egress, allowInternetAccess: internet }, { signal });
      const { network, allowInternetAccess } = await handle.info({ signal });
      cli.out.result({ sandboxId: id, allowInternetAccess, network }, () =>
        [
          `Internet: ${allowInternetAccess === false ? 'no' : 'yes'}`,
          ...(network === undefined ? [] : [JSON.stringify(network, null, 2)]),
          '',
        ].join('\n'),
      );
    }),
  );
}

/** Options about what may leave a sandbox. */
export interface EgressFlags {
  allowOut?: string[];
  denyOut?: string[];
  rule?: Record<string, NetworkRule[]>;
  egressProxy?: string;
  egressProxyTls?: boolean;
  egressProxyServerName?: string;
  /** PEM. */
  egressProxyCa?: string;
}

/** Adds them to a command. */
export function addEgressOptions(command: Command): Command {
  return command
    .option('--allow-out <destinations>', 'allow these hosts and CIDR ranges; repeatable', collectList)
    .option(
      '--deny-out <cidrs>',
      'deny these CIDR ranges; 0.0.0.0/0 denies all that is not allowed; repeatable',
      collectList,
    )
    .option(
      '--rule <host:header=value>',
      'add a header to requests to a host, which may begin with *.; repeatable',
      collectRule,
    )
    .option(
      '--egress-proxy <url>',
      'SOCKS5 proxy for outbound connections: socks5://[user:password@]host:port',
    )
    .option('--egress-proxy-tls', 'speak TLS to the proxy')
    .option('--egress-proxy-server-name <name>', 'with TLS: the name in its certificate (default: its host)')
    .option(
      '--egress-proxy-ca <file>',
      'with TLS: the authority that signed its certificate, as PEM (default: the well-known ones)',
      readCertificate,
    );
}

/** The SDK's options. What was not said stays away. Pure. */
export function toEgress(flags: EgressFlags): EgressOptions {
  const { allowOut, denyOut, rule } = flags;
  const egressProxy = toProxy(flags);
  return {
    ...(allowOut === undefined ? {} : { allowOut }),
    ...(denyOut === undefined ? {} : { denyOut }),
    ...(rule === undefined ? {} : { rules: rule }),
    ...(egressProxy === undefined ? {} : { egressProxy }),
  };
}

function toProxy(flags: EgressFlags): EgressProxy | undefined {
  const { egressProxy, egressProxyServerName: serverName, egressProxyCa: caCert } = flags;
  const more = serverName !== undefined || caCert !== undefined;
  if (egressProxy === undefined) {
    if (flags.egressProxyTls || more)
      throw new UsageError('Options of the TLS to a proxy need the proxy.', 'Add --egress-proxy URL.');
    return undefined;
  }
  const proxy = parseProxy(egressProxy);
  if (!flags.egressProxyTls) {
    if (!more) return proxy;
    throw new UsageError(
      '--egress-proxy-server-name and --egress-proxy-ca are about TLS.',
      'Add --egress-proxy-tls.',
    );
  }
  return {
    ...proxy,
    tls: {
      enabled: true,
      ...(serverName === undefined ? {} : { serverName }),
      ...(caCert === undefined ? {} : { caCert }),
    },
  };
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--egress-proxy-ca: ${(error as Error).message}`);
  }
}

/** Reads `host:header=value`; the host has no colon, the value may have anything. Pure. */
export function collectRule(
  text: string,
  soFar: Record<string, NetworkRule[]> = {},
): Record<string, NetworkRule[]> {
  const match = /^([^:=\s]+):([^=\s]+)=(.*)$/s.exec(text);
  if (match === null)
    throw new UsageError(
      `"${text}" is not a rule.`,
      "Write HOST:HEADER=VALUE, for example api.example.com:Authorization='Bearer ${svc.secrets.key}'.",
    );
  const [, host = '', header = '', value = ''] = match;
  const headers = soFar[host]?.[0]?.transform?.headers;
  return { ...soFar, [host]: [{ transform: { headers: { ...headers, [header]: value } } }] };
}

/** Reads the address of a SOCKS5 proxy. Pure. */
function parseProxy(text: string): EgressProxy {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== 'socks5:' || url.port === '')
    throw new UsageError('--egress-proxy must be socks5://[user:password@]host:port.');
  return {
    address: `${url.hostname}:${url.port}`,
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  };
}

export function addEgress(sandbox: Command): void {
  leaf(
    sandbox,
    'egress <id>',
    'show what left a sandbox whose network rules decide, and what they denied, by destination',
  )
    .option('--denied', 'only destinations that were denied')
    .action(
      act(async (cli, id: string, flags: { denied?: boolean }) => {
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        const { destinations } = await handle.egress({ signal });
        cli.out.table(
          flags.denied ? destinations.filter(({ denied }) => denied > 0) : [...destinations],
          [
            { head: 'DESTINATION', value: destinationName },
            { head: 'ALLOWED', value: ({ allowed }) => allowed, align: 'right' },
            { head: 'DENIED', value: ({ denied }) => denied, align: 'right' },
            { head: 'FAILED', value: ({ failed }) => failed, align: 'right' },
            { head: 'SENT', value: ({ bytesSent }) => formatBytes(bytesSent), align: 'right' },
            { head: 'RECEIVED', value: ({ bytesReceived }) => formatBytes(bytesReceived), align: 'right' },
            { head: 'RULE', value: ({ rule }) => rule },
          ],
          'Nothing: no connection was decided by network rules yet.',
        );
      }),
    );
}

function destinationName({ host, address, port }: EgressDestination): string {
  // Packets that the network refused are counted by reason alone.
  const name = host ?? address ?? '(packets)';
  return port === 0 ? name : `${name}:${port}`;
}
