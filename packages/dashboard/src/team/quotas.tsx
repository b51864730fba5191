import type { OperatedTeam, TeamUse } from '@svc/sdk/operator';
import { formatLimit, type LimitField, limitFields } from '../format/limits.js';
import { formatBytes, formatCount } from '../format/numbers.js';
import { Fact } from '../parts/fact.js';
import { Meter } from '../parts/meter.js';

const formatOf = ({ kind }: LimitField) =>
  kind === 'size' ? (mib: number) => formatBytes(mib * 2 ** 20) : formatCount;

/** What a team may use, and how much of it is used. */
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
