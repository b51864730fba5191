import type { OperatedTeam, TeamUse } from '@svc/sdk/operator';

export type LimitName = keyof OperatedTeam['limits'];

/** The unit of a limit: pieces, MiB, or ms. */
export type LimitKind = 'count' | 'size' | 'time';

export interface LimitField {
  name: LimitName;
  label: string;
  kind: LimitKind;
  /** Least that makes sense. Default: 0. */
  least?: number;
  /** The part of it that is in use, where that is reported. */
  use?: keyof TeamUse;
  /** Its label where it is set, if not the same. */
  setLabel?: string;
}

/** The limits of a team, those first whose use is known. */
export const limitFields: readonly LimitField[] = [
  { name: 'maxConcurrentSandboxes', label: 'Sandboxes at once', kind: 'count', use: 'sandboxes' },
  { name: 'maxTotalMemoryMiB', label: 'Memory of all that run', kind: 'size', use: 'memoryMiB' },
  { name: 'maxStorageMiB', label: 'Storage', kind: 'size', use: 'storageMiB' },
  {
    name: 'maxEgressMonthMiB',
    label: 'Egress this month',
    setLabel: 'Egress a month',
    kind: 'size',
    use: 'egressMonthMiB',
  },
  { name: 'maxSecrets', label: 'Secrets', kind: 'count', use: 'secrets' },
  { name: 'maxWebhooks', label: 'Webhooks', kind: 'count', use: 'webhooks' },
  { name: 'maxTimeoutMs', label: 'Longest run of a sandbox', kind: 'time', least: 1_000 },
  { name: 'maxConcurrentBuilds', label: 'Builds at once', kind: 'count' },
  { name: 'maxCpuCount', label: 'CPUs of a sandbox', kind: 'count', least: 1 },
  { name: 'maxMemoryMiB', label: 'Memory of a sandbox', kind: 'size', least: 1 },
  { name: 'maxVolumeMiB', label: 'Size of a volume', kind: 'size', least: 1 },
];

const UNITS: Readonly<Record<LimitKind, readonly (readonly [name: string, size: number])[]>> = {
  count: [['', 1]],
  size: [
    ['TiB', 2 ** 20],
    ['GiB', 2 ** 10],
    ['MiB', 1],
  ],
  time: [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ],
};

const EXAMPLES: Readonly<Record<LimitKind, string>> = {
  count: 'a whole number, such as 20',
  size: 'a number with its unit, such as 512 MiB or 8 GiB',
  time: 'a number with its unit, such as 90 s, 30 min, 2 h or 7 d',
};

/** The most that the service takes: of pieces, MiB, and seconds. */
const MOST = 2 ** 31 - 1;

/** A limit in the largest unit that shows it exactly; `parseLimit` reads it back. */
export function formatLimit(kind: LimitKind, value: number): string {
  const [name, size] =
    UNITS[kind].find(([, each]) => value !== 0 && value % each === 0) ?? UNITS[kind].at(-1)!;
  return `${value / size} ${name}`.trim();
}

/** Reads a typed limit; empty is null, the server's own. */
export function parseLimit(
  { kind, least = 0 }: Pick<LimitField, 'kind' | 'least'>,
  text: string,
): { value: number | null } | { problem: string } {
  const typed = text.trim();
  if (typed === '') return { value: null };
  const [, digits = '', unit = ''] = /^(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)$/i.exec(typed) ?? [];
  // Nothing of it is the same in every unit.
  const size =
    Number(digits) === 0 && unit === ''
      ? 1
      : UNITS[kind].find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1];
  if (digits === '' || size === undefined) return { problem: `Write ${EXAMPLES[kind]}.` };
  const value = Number(digits) * size;
  const step = kind === 'time' ? 1_000 : 1;
  if (value % step !== 0) return { problem: `Write ${EXAMPLES[kind]}.` };
  if (value < least) return { problem: `The least is ${formatLimit(kind, least)}.` };
  if (value > MOST * step) return { problem: `The most is ${formatLimit(kind, MOST * step)}.` };
  return { value };
}

/** Returns the effect of a limit that is not above the current use; undefined: nothing at once. */
export function consequenceOf(
  { use }: LimitField,
  value: number | null,
  used: TeamUse | undefined,
): string | undefined {
  const amount = use === undefined ? undefined : used?.[use];
  if (use === undefined || value === null || amount === undefined || amount < value || amount === 0)
    return undefined;
  if (use === 'egressMonthMiB')
    return 'That much was sent already: running sandboxes lose their way out within a minute, and none starts until the month ends.';
  return use === 'sandboxes' || use === 'memoryMiB'
    ? 'That much is in use: running ones continue, and nothing more starts.'
    : 'That much is in use: what is there stays, and nothing is added.';
}
