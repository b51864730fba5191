import { SandboxNotFoundError } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';
import { Known } from '../parts/known.js';
import { Empty } from '../parts/notice.js';
import { State } from '../parts/text.js';
import { formatRoute } from '../router/route.js';
import { Actions } from './actions.js';
import { Events } from './events.js';
import { Files } from './files.js';
import { Forks } from './forks.js';
import { Logs } from './logs.js';
import { Network } from './network.js';
import { Overview } from './overview.js';
import type { TabProps } from './tab-props.js';
import { TerminalTab } from './terminal.js';

const LOOK_MS = 3_000;

const tabs = {
  overview: { name: 'Overview', show: (props: TabProps) => <Overview {...props} /> },
  logs: { name: 'Logs', show: (props: TabProps) => <Logs {...props} /> },
  terminal: { name: 'Terminal', show: (props: TabProps) => <TerminalTab {...props} /> },
  files: { name: 'Files', show: (props: TabProps) => <Files {...props} /> },
  network: { name: 'Network', show: (props: TabProps) => <Network {...props} /> },
  forks: { name: 'Forks', show: (props: TabProps) => <Forks {...props} /> },
  events: { name: 'Events', show: (props: TabProps) => <Events {...props} /> },
};

/** One sandbox: what it is, what it does, and what may be done with it. */
export function Sandbox({
  team,
  id,
  tab = 'overview',
}: {
  team: string;
  id: string;
  tab: string | undefined;
}) {
  const polled = usePoll(`sandbox ${team} ${id}`, LOOK_MS, async (signal) => {
    const { sandboxes } = clientOf(team);
    const handle = await sandboxes.get(id, { signal });
    return { handle, detail: await handle.info({ signal }) };
  });
  const { value, error, reload } = polled;
  const chosen = tab in tabs ? (tab as keyof typeof tabs) : 'overview';
  if (SandboxNotFoundError.is(error)) return <Gone team={team} id={id} />;
  return (
    <>
      <div class="head">
        <h1>
          <a href={formatRoute({ team, view: 'sandboxes' })}>Sandboxes</a>
          <span class="faint"> / </span>
          <span class="id">{id}</span>
        </h1>
        {value !== undefined && <State state={value.detail.state} />}
        {value !== undefined && <Actions team={team} {...value} onDone={reload} />}
      </div>
      <nav class="tabs" aria-label="Parts of the sandbox">
        {Object.entries(tabs).map(([name, entry]) => (
          <a
            key={name}
            href={formatRoute({ team, view: 'sandboxes', id, tab: name })}
            aria-current={chosen === name ? 'page' : undefined}
          >
            {entry.name}
          </a>
        ))}
      </nav>
      <Known polled={polled}>{(known) => tabs[chosen].show({ team, ...known })}</Known>
    </>
  );
}

function Gone({ team, id }: { team: string; id: string }) {
  return (
    <Empty title={`There is no sandbox ${id}`}>
      <p>
        It was killed, its time ended, or it belongs to another team.{' '}
        <a href={formatRoute({ team, view: 'sandboxes' })}>Show all sandboxes</a>
      </p>
    </Empty>
  );
}
