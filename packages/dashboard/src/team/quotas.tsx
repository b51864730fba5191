import type { OperatedTeam, TeamUse } from '@svc/sdk/operator';
import { formatLimit, type LimitField, limitFields } from '../format/limits.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { Fact } from '../parts/fact.js';

const formatOf = ({ kind }: LimitField) =>
  kind === 'size' ? (mib: number) => formatBytes(mib * 2 ** 20) : formatCount;

/** The limits of a team, and its current use of each. */
export function Quotas({ team, use }: { team: OperatedTeam; use: TeamUse | undefined }) {
  const whose = ({ name }: LimitField) =>
    team.ownLimits.includes(name) ? 'set for this team' : "the server's default";
  return (
    <section class="part" aria-label="Quotas">
      <div class="tiles">
        {limitFields.map((field) =>
          field.use === undefined || use === undefined ? null : (
            <Meter
              key={field.name}
              name={field.label}
              used={use[field.use]}
              limit={team.limits[field.name]}
              format={formatOf(field)}
              note={whose(field)}
            />
          ),
        )}
      </div>
      <dl class="facts card across">
        {limitFields.map((field) => {
          const value = team.limits[field.name];
          if (field.use !== undefined || value === undefined) return null;
          return (
            <Fact key={field.name} name={field.label}>
              {formatLimit(field.kind, value)} <span class="faint">{whose(field)}</span>
            </Fact>
          );
        })}
      </dl>
    </section>
  );
}

/** Shares of a limit from which on a meter warns, and from which on nothing is left. */
const WARN = 0.8;
const FULL = 1;

/** The use of something, as a bar under its words. */
function Meter(props: {
  name: string;
  used: number;
  /** Undefined: no limit. */
  limit: number | undefined;
  format: (value: number) => string;
  note?: string;
}) {
  const { name, used, limit, format, note } = props;
  const share = limit === undefined ? 0 : limit === 0 ? FULL : used / limit;
  const level = share >= FULL ? 'full' : share >= WARN ? 'warn' : '';
  return (
    <div class={`card tile meter ${level}`}>
      <span class="faint">{name}</span>
      <span>
        <strong>{format(used)}</strong>{' '}
        <span class="faint">{limit === undefined ? 'used, no limit' : `of ${format(limit)}`}</span>
      </span>
      <span class={limit === undefined ? '' : 'bar'} aria-hidden="true">
        <span style={{ width: `${Math.min(share, 1) * 100}%` }} />
      </span>
      <span class="faint">
        {level === 'full' && <span class="level">nothing left, </span>}
        {level === 'warn' && <span class="level">{Math.floor(share * 100)} %, </span>}
        {note}
      </span>
    </div>
  );
}
