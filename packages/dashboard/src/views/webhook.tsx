import type { Delivery, DeliveryAttempt } from '@svc/sdk';
import { useState } from 'preact/hooks';
import { clientOf } from '../connection/clients.js';
import { usePoll } from '../connection/use-poll.js';
import { formatCount } from '../format/numbers.js';
import { formatDuration, formatTime } from '../format/times.js';
import { visibleText } from '../format/visible-text.js';
import { Confirm } from '../parts/dialog.js';
import { ListView } from '../parts/list-view.js';
import { Failure } from '../parts/notice.js';
import type { Column } from '../parts/table.js';
import { Foreign, State, When } from '../parts/text.js';
import { usePages } from '../parts/use-pages.js';
import { formatRoute } from '../router/route.js';

const LOOK_MS = 5_000;

/** A webhook, and what became of each event. */
export function Webhook({ team, id }: { team: string; id: string }) {
  const [opened, setOpened] = useState<string>();
  const [again, setAgain] = useState<Delivery>();
  const webhook = usePoll(`webhook ${team} ${id}`, LOOK_MS, async (signal) => {
    const { webhooks } = clientOf(team);
    const [info, stats] = await Promise.all([webhooks.get(id, { signal }), webhooks.stats(id, { signal })]);
    return { info, totals: stats.totals };
  });
  const pages = usePages(`deliveries ${team} ${id}`, LOOK_MS, (nextToken, signal) =>
    clientOf(team).webhooks.deliveries(id, { nextToken, signal }),
  );
  const last = ({ attempts }: Delivery): DeliveryAttempt | undefined => attempts.at(-1);
  const columns: Column<Delivery>[] = [
    {
      name: 'Event',
      show: (delivery) => (
        <button
          type="button"
          class="link"
          aria-expanded={opened === delivery.eventId}
          onClick={() => setOpened(opened === delivery.eventId ? undefined : delivery.eventId)}
        >
          {delivery.eventType.slice(delivery.eventType.lastIndexOf('.') + 1)}
        </button>
      ),
    },
    {
      name: 'Sandbox',
      show: ({ sandboxId }) => (
        <a class="id" href={formatRoute({ team, view: 'sandboxes', id: sandboxId })}>
          {sandboxId}
        </a>
      ),
    },
    { name: 'State', show: ({ status }) => <State state={status === 'pending' ? 'waiting' : status} /> },
    {
      name: 'Answer',
      show: (delivery) => {
        const attempt = last(delivery);
        return (
          <Foreign text={String(attempt?.responseStatus ?? attempt?.errorMessage ?? '–')} longest={120} />
        );
      },
    },
    { name: 'Attempts', numeric: true, show: ({ attempts }) => attempts.length },
    { name: 'Last', show: (delivery) => <When time={last(delivery)?.timestamp} /> },
    {
      name: 'Again',
      show: (delivery) => (
        <button
          type="button"
          disabled={delivery.status === 'pending' || webhook.value?.info.enabled !== true}
          onClick={() => setAgain(delivery)}
        >
          Send again
        </button>
      ),
    },
  ];
  const shown = pages.value?.items.find(({ eventId }) => eventId === opened);
  const { value } = webhook;
  return (
    <>
      <div class="head">
        <h1>
          <a href={formatRoute({ team, view: 'webhooks' })}>Webhooks</a>
          <span class="faint"> / </span>
          <Foreign text={value?.info.name ?? id} longest={120} />
        </h1>
        {value !== undefined && <State state={value.info.enabled ? 'enabled' : 'disabled'} />}
      </div>
      <Failure error={webhook.error} />
      {value !== undefined && (
        <p>
          <Foreign text={value.info.url} longest={300} />
          <span class="faint">
            {' '}
            In 24 hours: {formatCount(value.totals.deliveries)} deliveries, {formatCount(value.totals.failed)}{' '}
            failed.
          </span>
        </p>
      )}
      {shown !== undefined && <Attempts delivery={shown} />}
      <ListView
        title="Deliveries"
        part
        pages={pages}
        columns={columns}
        keyOf={({ eventId }) => eventId}
        empty="Nothing was delivered yet"
      />
      {again !== undefined && (
        <Confirm
          title="Send this event again?"
          action="Send again"
          onClose={() => setAgain(undefined)}
          onConfirm={async () => {
            await clientOf(team).webhooks.redeliver(id, again.eventId);
            pages.reload();
          }}
        >
          <p>
            The receiver gets event <span class="id">{again.eventId}</span> once more, with the same
            identifier. It may arrive after newer events of its sandbox.
          </p>
        </Confirm>
      )}
    </>
  );
}

function Attempts({ delivery }: { delivery: Delivery }) {
  return (
    <section class="card part" aria-label="Attempts">
      <h2>Attempts for event {delivery.eventId}</h2>
      {delivery.attempts.map((attempt) => (
        <details key={attempt.id} open={attempt === delivery.attempts.at(-1)}>
          <summary>
            {attempt.attempt}. <State state={attempt.status} /> {formatTime(attempt.timestamp)}, took{' '}
            {formatDuration(attempt.durationMs)}
          </summary>
          {attempt.errorMessage !== undefined && (
            <p class="bad">
              <Foreign text={`${attempt.errorClass ?? ''} ${attempt.errorMessage}`} longest={500} />
            </p>
          )}
          <p>Sent</p>
          <pre>{visibleText(attempt.requestBody)}</pre>
          <p>Answered{attempt.responseStatus === undefined ? ': nothing' : `: ${attempt.responseStatus}`}</p>
          {attempt.responseBody !== undefined && <pre>{visibleText(attempt.responseBody)}</pre>}
        </details>
      ))}
    </section>
  );
}
