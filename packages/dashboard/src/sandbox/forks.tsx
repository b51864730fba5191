import type { SandboxInfo } from '@svc/sdk';
import { clientOf } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';
import { type ForkTree, forkTree } from '../format/fork-tree.js';
import { Known } from '../parts/known.js';
import { State, When } from '../parts/text.js';
import { formatRoute } from '../router/route.js';
import type { TabProps } from './tab-props.js';

/** Most sandboxes of a team that are looked through. */
const MOST = 20_000;

/** The sandbox's origin by fork, and its own forks. */
export function Forks({ team, detail }: TabProps) {
  const forks = usePoll(`forks ${team} ${detail.sandboxId}`, 0, (signal) =>
    clientOf(team).sandboxes.list({ limit: 100, signal }).toArray({ limit: MOST }),
  );
  return (
    <>
      <div class="terminal-tools">
        <span class="faint">A fork names the sandbox that it was made of. A deleted one is named only.</span>
        <button type="button" onClick={forks.reload}>
          Look again
        </button>
      </div>
      <Known polled={forks}>
        {(all) => (
          <ul class="tree card">
            <Branch team={team} tree={forkTree(all, detail.sandboxId)} here={detail.sandboxId} />
          </ul>
        )}
      </Known>
    </>
  );
}

function Branch({ team, tree, here }: { team: string; tree: ForkTree<SandboxInfo>; here: string }) {
  const { sandboxId, known, forks } = tree;
  return (
    <li>
      <span class="node">
        {known === undefined ? (
          <>
            <span class="id">{sandboxId}</span> <span class="faint">deleted</span>
          </>
        ) : (
          <>
            <a
              class="id"
              href={formatRoute({ team, view: 'sandboxes', id: sandboxId, tab: 'forks' })}
              aria-current={sandboxId === here ? 'true' : undefined}
            >
              {sandboxId}
            </a>
            <State state={known.state} />
            <span class="faint">
              started <When time={known.startedAt} />
            </span>
          </>
        )}
      </span>
      {forks.length > 0 && (
        <ul>
          {forks.map((fork) => (
            <Branch key={fork.sandboxId} team={team} tree={fork} here={here} />
          ))}
        </ul>
      )}
    </li>
  );
}
