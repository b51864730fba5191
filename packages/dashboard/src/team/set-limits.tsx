import type { OperatedTeam, TeamUse } from '@svc/sdk/operator';
import { useState } from 'preact/hooks';
import { operator } from '../connection/clients.js';
import {
  consequenceOf,
  formatLimit,
  type LimitField,
  type LimitName,
  limitFields,
  parseLimit,
} from '../format/limits.js';
import { Confirm } from '../parts/dialog.js';

/** Asks for limits of a team, and sets those that were changed. */
export function SetLimits(props: {
  team: OperatedTeam;
  use: TeamUse | undefined;
  onDone: () => void;
  onClose: () => void;
}) {
  const { team, use, onDone, onClose } = props;
  // A change that others make meanwhile is not taken for a change in this form.
  const [before] = useState(() =>
    Object.fromEntries(limitFields.map((field) => [field.name, ownText(team, field)])),
  );
  const [texts, setTexts] = useState<Record<string, string>>(before);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const isChanged = ({ name }: LimitField) => texts[name]?.trim() !== before[name];
  const set = async () => {
    setLeft(new Set(limitFields.map(({ name }) => name)));
    const limits: Partial<Record<LimitName, number | null>> = {};
    for (const field of limitFields.filter(isChanged)) {
      const parsed = parseLimit(field, texts[field.name]!);
      if ('problem' in parsed) {
        document.getElementById(idOf(field))?.focus();
        throw new Error(`${labelOf(field)}: ${parsed.problem}`);
      }
      limits[field.name] = parsed.value;
    }
    if (Object.keys(limits).length === 0) throw new Error('Nothing is changed yet.');
    await operator.teams.update(team.teamId, { limits });
    onDone();
  };
  return (
    <Confirm title={`Limits of ${team.slug}`} action="Set limits" wide onConfirm={set} onClose={onClose}>
      <p class="faint">
        They hold at once. What is left empty follows the server. Nothing that is there already is ended.
      </p>
      <div class="limits">
        {limitFields.map((field) => (
          <LimitInput
            key={field.name}
            field={field}
            text={texts[field.name]!}
            placeholder={placeholderOf(team, field)}
            changed={isChanged(field)}
            checked={left.has(field.name)}
            use={use}
            onInput={(text) => setTexts((all) => ({ ...all, [field.name]: text }))}
            onLeave={() => setLeft((all) => new Set(all).add(field.name))}
          />
        ))}
      </div>
    </Confirm>
  );
}

function LimitInput(props: {
  field: LimitField;
  text: string;
  placeholder: string;
  changed: boolean;
  /** True once a problem is shown: not while it is typed. */
  checked: boolean;
  use: TeamUse | undefined;
  onInput: (text: string) => void;
  onLeave: () => void;
}) {
  const { field, text, placeholder, changed, checked, use, onInput, onLeave } = props;
  const parsed = parseLimit(field, text);
  const problem = checked && changed && 'problem' in parsed ? parsed.problem : undefined;
  const consequence = changed && 'value' in parsed ? consequenceOf(field, parsed.value, use) : undefined;
  const told = problem ?? consequence;
  const id = idOf(field);
  return (
    <div class={`limit ${changed ? 'changed' : ''}`}>
      <label for={id}>{labelOf(field)}</label>
      <input
        id={id}
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={problem !== undefined}
        aria-describedby={told === undefined ? undefined : `${id}-told`}
        onInput={(event) => onInput(event.currentTarget.value)}
        onBlur={onLeave}
      />
      {told !== undefined && (
        <span id={`${id}-told`} class={problem === undefined ? 'consequence' : 'bad'}>
          {told}
        </span>
      )}
    </div>
  );
}

const labelOf = ({ label, setLabel = label }: LimitField) => setLabel;
const idOf = ({ name }: LimitField) => `limit-${name}`;

/** A limit that was set for the team, as it is typed; empty where it follows the server. */
function ownText({ limits, ownLimits }: OperatedTeam, { name, kind }: LimitField): string {
  const value = limits[name];
  return value === undefined || !ownLimits.includes(name) ? '' : formatLimit(kind, value);
}

function placeholderOf({ limits, ownLimits }: OperatedTeam, { name, kind }: LimitField): string {
  if (ownLimits.includes(name)) return "the server's";
  const value = limits[name];
  return value === undefined ? 'no limit' : formatLimit(kind, value);
}
