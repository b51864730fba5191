import type { EgressDestination } from '@svc/sdk';
import { useState } from 'preact/hooks';
import { readStatus } from '../connection/status.js';
import { usePoll } from '../connection/use-poll.js';
import { listeningPorts } from '../format/listening-ports.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { Known } from '../parts/known.js';
import { Empty, Failure, Loading } from '../parts/notice.js';
import { type Column, Table } from '../parts/table.js';
import { Foreign, When } from '../parts/text.js';
import type { TabProps } from './tab-props.js';

const LOOK_MS = 5_000;
/** Port of the daemon, which is no program of the sandbox's owner. */
const DAEMON_PORT = 49_983;

/** Ports of a sandbox, and what left it or did not. */
export function Network(props: TabProps) {
  return (
    <>
      <Ports {...props} />
      <Egress {...props} />
    </>
  );
}

function Ports({ handle, detail }: TabProps) {
  const running = detail.state === 'running';
  const [typed, setTyped] = useState('');
  const isPrivate = detail.network?.allowPublicTraffic === false;
  const { value, error } = usePoll(`ports ${detail.sandboxId} ${running}`, LOOK_MS, async (signal) => {
    const status = await readStatus(signal);
    const read = (path: string) => handle.files.read(path, { signal, user: 'root' });
    const tables = running ? await Promise.allSettled([read('/proc/net/tcp'), read('/proc/net/tcp6')]) : [];
    const texts = tables.flatMap((table) => (table.status === 'fulfilled' ? [table.value] : []));
    return { status, ports: listeningPorts(texts).filter((port) => port !== DAEMON_PORT) };
  });
  const linkOf = (port: number) =>
    value === undefined ? undefined : portUrl(value.status.sandboxUrl, detail.domain, detail.sandboxId, port);
  const wanted = Number(typed);
  return (
    <section class="part" aria-label="Ports">
      <h2>Ports</h2>
      <Failure error={error} />
      {isPrivate && (
        <p>
          Its ports are private. <code>svc port {detail.sandboxId} PORT --expires 1h</code> makes a link to
          one.
        </p>
      )}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <>
          {value.ports.length === 0 ? (
            <p class="faint">Nothing listens{running ? '' : ': the sandbox is paused'}.</p>
          ) : (
            <ul class="ports">
              {value.ports.map((port) => (
                <li key={port}>
                  <PortLink port={port} url={isPrivate ? undefined : linkOf(port)} />
                </li>
              ))}
            </ul>
          )}
          {!isPrivate && (
            <form class="filters" onSubmit={(event) => event.preventDefault()}>
              <label>
                Another port
                <input
                  type="number"
                  min="1"
                  max="65535"
                  value={typed}
                  onInput={(event) => setTyped(event.currentTarget.value)}
                />
              </label>
              {wanted >= 1 && wanted <= 65_535 && <PortLink port={wanted} url={linkOf(wanted)} />}
            </form>
          )}
        </>
      )}
    </section>
  );
}

function PortLink({ port, url }: { port: number; url: string | undefined }) {
  if (url === undefined) return <code>{port}</code>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      <code>{port}</code> <span class="faint">{url}</span>
    </a>
  );
}

function Egress({ handle, detail }: TabProps) {
  const egress = usePoll(`egress ${detail.sandboxId}`, LOOK_MS, (signal) => handle.egress({ signal }));
  const columns: Column<EgressDestination>[] = [
    {
      name: 'Destination',
      show: ({ host, address, port }) => (
        <Foreign text={`${host ?? address ?? 'any'}${port === 0 ? '' : `:${port}`}`} longest={200} />
      ),
    },
    { name: 'Address', minor: true, show: ({ address }) => <Foreign text={address ?? '–'} longest={60} /> },
    { name: 'Allowed', numeric: true, show: ({ allowed }) => formatCount(allowed) },
    {
      name: 'Denied',
      numeric: true,
      show: ({ denied }) => (denied > 0 ? <strong class="bad">{formatCount(denied)}</strong> : 0),
    },
    { name: 'Failed', numeric: true, show: ({ failed }) => formatCount(failed) },
    { name: 'Sent', numeric: true, minor: true, show: ({ bytesSent }) => formatBytes(bytesSent) },
    { name: 'Received', numeric: true, minor: true, show: ({ bytesReceived }) => formatBytes(bytesReceived) },
    { name: 'Decided by', show: ({ rule }) => <Foreign text={rule} longest={200} /> },
    { name: 'Last', show: ({ lastAt }) => <When time={lastAt} /> },
  ];
  return (
    <section class="part" aria-label="Egress">
      <h2>What left it, and what did not</h2>
      <Known polled={egress}>
        {(value) =>
          value.destinations.length === 0 ? (
            <Empty title="No connection was decided yet">
              <p>
                Connections are decided one by one where the sandbox has network rules and the driver enforces
                them.
              </p>
            </Empty>
          ) : (
            <>
              <p class="faint">
                {formatCount(value.totals.allowed)} allowed, {formatCount(value.totals.denied)} denied,{' '}
                {formatCount(value.totals.failed)} failed; {formatBytes(value.totals.bytesSent)} sent,{' '}
                {formatBytes(value.totals.bytesReceived)} received
                {value.dropped > 0 && `; ${formatCount(value.dropped)} destinations are counted here alone`}
              </p>
              <Table
                label="Destinations"
                rows={value.destinations}
                columns={columns}
                keyOf={({ host, address, port }) => `${host} ${address} ${port}`}
              />
            </>
          )
        }
      </Known>
    </section>
  );
}

/** Domain under which a server on this machine reaches ports of sandboxes. */
const LOCAL_DOMAIN = 'svc.localhost';

/**
 * The address of a public port of a sandbox.
 * @param sandboxUrl address of the gateway, as the server reports it
 * @param domain that of the sandbox, where it has one
 */
function portUrl(
  sandboxUrl: string,
  domain: string | undefined,
  sandboxId: string,
  port: number,
): string | undefined {
  if (!URL.canParse(sandboxUrl)) return undefined;
  const gateway = new URL(sandboxUrl);
  if (!/^https?:$/.test(gateway.protocol)) return undefined;
  const behind = gateway.port === '' ? '' : `:${gateway.port}`;
  const local = gateway.hostname === 'localhost' || /^(127\.|\[)/.test(gateway.hostname);
  const host = domain ?? (local ? LOCAL_DOMAIN : gateway.hostname);
  return `${gateway.protocol}//${port}-${sandboxId}.${host}${host.includes(':') ? '' : behind}/`;
}
