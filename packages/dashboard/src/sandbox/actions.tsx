import { useState } from 'preact/hooks';
import { Confirm } from '../parts/dialog.js';
import { formatRoute } from '../router/route.js';
import { goTo } from '../router/use-route.js';
import type { TabProps } from './tab-props.js';

type Question = 'pause' | 'resume' | 'fork' | 'kill';

/** Time to live of what is resumed or forked here, ms. */
const TIMEOUT_MS = 300_000;

/** Pauses, resumes, forks and kills, each after a question. */
export function Actions({ team, handle, detail, onDone }: TabProps & { onDone: () => void }) {
  const [question, setQuestion] = useState<Question>();
  const [count, setCount] = useState(1);
  const [forks, setForks] = useState<string[]>([]);
  const close = () => setQuestion(undefined);
  const running = detail.state === 'running';
  const done = async (work: Promise<unknown>) => {
    await work;
    onDone();
  };
  const fork = async () => {
    const results = await handle.fork({ count, timeoutMs: TIMEOUT_MS });
    const failed = results.find((result) => !result.ok);
    setForks(results.flatMap((result) => (result.ok ? [result.sandbox.sandboxId] : [])));
    onDone();
    if (failed !== undefined && !failed.ok) throw failed.error;
  };
  return (
    <div class="buttons">
      {forks.length > 0 && (
        <span role="status">
          Forked:{' '}
          {forks.map((id) => (
            <a key={id} class="id" href={formatRoute({ team, view: 'sandboxes', id })}>
              {id}{' '}
            </a>
          ))}
        </span>
      )}
      {running ? (
        <>
          <button type="button" onClick={() => setQuestion('pause')}>
            Pause
          </button>
          <button type="button" onClick={() => setQuestion('fork')}>
            Fork
          </button>
        </>
      ) : (
        <button type="button" onClick={() => setQuestion('resume')}>
          Resume
        </button>
      )}
      <button type="button" class="danger" onClick={() => setQuestion('kill')}>
        Kill
      </button>
      {question === 'pause' && (
        <Confirm
          title="Pause this sandbox?"
          action="Pause"
          onClose={close}
          onConfirm={() => done(handle.pause())}
        >
          <p>Its memory and files are stored, and its programs stop until it is resumed.</p>
        </Confirm>
      )}
      {question === 'resume' && (
        <Confirm
          title="Resume this sandbox?"
          action="Resume"
          onClose={close}
          onConfirm={() => done(handle.resume({ timeoutMs: TIMEOUT_MS }))}
        >
          <p>It runs on where it was paused, for five minutes unless somebody extends that.</p>
        </Confirm>
      )}
      {question === 'fork' && (
        <Confirm title="Fork this sandbox?" action="Fork" onClose={close} onConfirm={fork}>
          <p>
            Copies of it, memory included, start beside it and live for five minutes. It stands still for a
            moment.
          </p>
          <label>
            Copies
            <input
              type="number"
              min="1"
              max="100"
              value={count}
              onInput={(event) => setCount(Number(event.currentTarget.value))}
            />
          </label>
        </Confirm>
      )}
      {question === 'kill' && (
        <Confirm
          title={`Kill ${detail.sandboxId}?`}
          action="Kill"
          dangerous
          onClose={close}
          onConfirm={async () => {
            await handle.kill();
            goTo(formatRoute({ team, view: 'sandboxes' }));
          }}
        >
          <p>Its programs end, and its memory and files are deleted for good.</p>
        </Confirm>
      )}
    </div>
  );
}
